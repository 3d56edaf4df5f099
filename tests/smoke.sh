#!/usr/bin/env bash
# Installs the built wheel into a new environment, away from the checkout, and asks.
set -euo pipefail
wheel=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python=${PYTHON:-python3}
"$python" -m venv env
env/bin/python -m pip install -q "$wheel"

env/bin/python - <<'PY'
import sys
from importlib.metadata import entry_points, requires
from pathlib import Path

import ingot
from ingot import NotConfiguredError, ask
from ingot.testing import Script

assert Path(ingot.__file__).is_relative_to(sys.prefix), ingot.__file__
assert {p.name for p in entry_points(group="ingot.providers")} >= {"anthropic", "openai", "openai-chat", "local"}
for package in ("ingot", "ingot_anthropic", "ingot_openai", "ingot_local"):
    assert (Path(ingot.__file__).parents[1] / package / "py.typed").is_file(), package
assert not (Path(ingot.__file__).parents[1] / "tests").exists()
core = {r.split(";")[0].split(">")[0].strip() for r in requires("ingot-ask") or () if "extra ==" not in r}
assert core == {"pydantic", "tenacity", "docstring-parser", "typing-extensions"}, core
with Script([["a", "b"], {"x": 1}]):
    assert ask(list[str], "p") == ["a", "b"]
    assert ask(dict[str, int], "p", model="anthropic/any") == {"x": 1}
try:
    ask(int, "p", model="openai/any", api_key="k")
except NotConfiguredError as error:
    assert "pip install 'ingot-ask[openai]'" in str(error), error
else:
    raise AssertionError("an SDK that is not installed was used")
PY
env/bin/ingot doctor || test $? -eq 3
if env/bin/ingot schema 'list[str]' --for openai 2>message; then exit 1; fi
grep -q "ingot-ask\[cli\]" message

env/bin/python -m pip install -q "$wheel[cli,openai,anthropic]"
env/bin/ingot schema 'list[str]' --for openai >/dev/null
env/bin/ingot --version
echo "smoke: ok"
