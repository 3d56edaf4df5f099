"""Settings: where each comes from, what outweighs what, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingot import NotConfiguredError, Retry
from ingot._config import SETTINGS, checked, resolve


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine, and a folder of its own."""
    for setting in SETTINGS.values():
        if setting.variable:
            monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.chdir(tmp_path)


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_nothing_set_is_nothing_resolved() -> None:
    """Defaults are the provider's business."""
    assert resolve({}).values == {}


def test_the_nearer_source_outweighs_the_farther(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call, then environment, then project file."""
    write(tmp_path, '[tool.ingot]\nmodel = "a/file"\nseed = 1\ntemperature = 0.5\n')
    monkeypatch.setenv("INGOT_MODEL", "a/environment")
    monkeypatch.setenv("INGOT_SEED", "2")
    found = resolve(checked({"model": "a/call"}))

    assert found.values == {"model": "a/call", "seed": 2, "temperature": 0.5}
    assert found.chosen == {"model", "temperature"}


def test_the_file_is_the_nearest_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pyproject.toml counts, though others stand higher."""
    write(tmp_path, "[tool.ingot]\nseed = 1\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)

    assert resolve({}).values == {"seed": 1}
    write(tmp_path / "a", "[project]\nname = 'x'\n")
    monkeypatch.chdir(tmp_path / "a")
    assert resolve({}).values == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.ingot]\nmodell = 'x'\n", r"no setting 'modell'; did you mean 'model'"),
        (
            "[tool.ingot]\nseed = 'x'\n",
            r"pyproject.toml: \[tool.ingot\] seed must be a whole number",
        ),
        ("[tool.ingot]\napi_key = 'x'\n", r"may not set api_key: .*INGOT_API_KEY"),
        ("[tool.ingot]\nbase_url = 'x'\n", r"may not set base_url"),
        ("[tool.ingot]\nparams = 'x'\n", r"params must be a mapping"),
        ("[tool]\ningot = 3\n", r"tool.ingot must be a table"),
        ("[tool.ingot\n", r"no valid TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path: Path, text: str, message: str) -> None:
    """Before any request."""
    write(tmp_path, text)

    with pytest.raises(NotConfiguredError, match=message):
        resolve({})


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("INGOT_SEED", "many", "INGOT_SEED must be of type int, not 'many'"),
        ("INGOT_MAX_TOKENS", "0", "INGOT_MAX_TOKENS must be a whole number of at least 1"),
        ("INGOT_CONSTRAIN", "loose", "INGOT_CONSTRAIN must be one of"),
        ("INGOT_TEMPERATURE", "nan", "INGOT_TEMPERATURE must be"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, message: str
) -> None:
    """With what it should have been."""
    monkeypatch.setenv(variable, text)

    with pytest.raises(NotConfiguredError, match=message):
        resolve({})


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As shells leave them."""
    monkeypatch.setenv("INGOT_MODEL", "")

    assert resolve({}).values == {}


@pytest.mark.parametrize(
    ("call", "environment", "file", "meant"),
    [
        ({"model": "openai/a"}, {}, "", True),
        ({"model": "openai/a"}, {"INGOT_MODEL": "openai/b"}, "", True),
        ({"model": "anthropic/a"}, {"INGOT_MODEL": "openai/b"}, "", False),
        ({}, {"INGOT_MODEL": "openai/b"}, 'model = "x/y"', True),
        ({}, {}, 'model = "elsewhere/x"', False),
        ({}, {}, "", True),
    ],
)
def test_a_key_goes_only_where_it_was_meant_to(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: dict[str, Any],
    environment: dict[str, str],
    file: str,
    meant: bool,
) -> None:
    """A folder opened by chance, or a model of another vendor, does not get it."""
    write(tmp_path, f"[tool.ingot]\n{file}\n")
    for name, value in {**environment, "INGOT_API_KEY": "k"}.items():
        monkeypatch.setenv(name, value)

    assert ("api_key" in resolve(call).values) is meant


def test_a_retry_is_a_number_or_a_policy() -> None:
    """The number counts the further tries."""
    assert checked({"retry": 0})["retry"] == Retry(attempts=1)
    assert checked({"retry": Retry(attempts=5)})["retry"].attempts == 5


def test_what_enters_a_key_is_what_decides_the_answer() -> None:
    """Not how it is transported, tried or mended."""
    keyed = {name for name, setting in SETTINGS.items() if setting.keyed}

    assert keyed == {"model", "system", "max_tokens", "temperature", "seed", "params"}
