"""Both ends against programs in bash and jq, node and Python alone, and against each other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ingot import ProviderRateLimitError, Text, Usage, ask
from ingot.exec import Exec, ExecError, ExecExitError, check, generate_tests, run_assert
from ingot.exec.host import Verdict

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
ENV = {"PYTHONPATH": str(ROOT)}
OURS = [sys.executable, str(PROGRAMS / "program_ingot.py")]


def needing(*names: str) -> pytest.MarkDecorator:
    """Let a test be skipped where a program is missing; in CI it runs, and fails."""
    missing = [name for name in names if shutil.which(name) is None]
    skipped = bool(missing) and not os.environ.get("CI")
    return pytest.mark.skipif(skipped, reason=f"not installed: {', '.join(missing)}")


BASH = needing("bash", "jq")
NODE = needing("node")

COMMANDS = [
    pytest.param(["bash", str(PROGRAMS / "program.sh")], id="bash", marks=BASH),
    pytest.param(["node", str(PROGRAMS / "program.js")], id="node", marks=NODE),
    pytest.param([sys.executable, str(PROGRAMS / "program.py")], id="python"),
    pytest.param(OURS, id="ingot"),
]
HOSTS = [
    pytest.param(["bash", str(PROGRAMS / "host.sh")], id="bash", marks=BASH),
    pytest.param(["node", str(PROGRAMS / "host.js")], id="node", marks=NODE),
    pytest.param([sys.executable, str(PROGRAMS / "host.py")], id="python"),
]

programs = pytest.mark.parametrize("command", COMMANDS)


# Our host


@programs
def test_prose(command: list[str]) -> None:
    """A program answers; usage, model and stop reason are its own."""
    answer = ask.answer(Text, "two words", model=Exec(command, env=ENV))

    assert answer.value == "ask: two words"
    assert answer.usage == Usage(input_tokens=2, output_tokens=2, cache_read_tokens=3)
    assert answer.model.startswith("exec/")
    assert answer.turns[-1].stop_reason == "end_turn"


@programs
def test_a_typed_answer(command: list[str]) -> None:
    """The schema reaches the program, and its JSON output is validated."""
    assert ask(list[str], "red green 藍", model=Exec(command, env=ENV)) == ["red", "green", "藍"]


@programs
async def test_async(command: list[str]) -> None:
    """The same, awaited."""
    assert await ask.aio(list[str], "a b", model=Exec(command, env=ENV)) == ["a", "b"]


@programs
def test_a_tool(command: list[str]) -> None:
    """A program may call a tool; it is run here, and the program is told the result."""
    heard: list[str] = []

    def shout(text: str) -> str:
        """Say it louder."""
        heard.append(text)
        return text.upper()

    said = ask(Text, "call it now", model=Exec(command, env=ENV), tools=[shout])

    assert heard == ["it now"]
    assert "IT NOW" in said


@programs
def test_a_failure_that_is_told(command: list[str]) -> None:
    """An error in the document, with exit code 0, is an error of its class."""
    model = Exec(command, env=ENV)
    with pytest.raises(ProviderRateLimitError, match="slow down") as caught:
        ask(Text, "x", context={"fail": "provider_rate_limit"}, model=model, retry=0)

    assert (caught.value.retryable, caught.value.retry_after) == (True, 0.02)
    assert caught.value.details == {"limit": 5}

    with pytest.raises(ExecError, match="slow down") as own:
        ask(Text, "x", context={"fail": "quota_of_ours"}, model=model, retry=0)

    assert own.value.type == "quota_of_ours"


@programs
def test_a_verdict(command: list[str]) -> None:
    """Pass, score, reason and details."""
    passed = run_assert(command, "hay needle hay", config={"needle": "needle"}, env=ENV)
    failed = run_assert(command, {"hay": ["hay"]}, config={"needle": "pin"}, env=ENV)

    assert passed == Verdict(passed=True, score=1.0, reason="found", details=None)
    assert failed == Verdict(passed=False, score=0.25, reason="no pin", details={"needle": "pin"})


@programs
@pytest.mark.parametrize("lines", [False, True], ids=["object", "lines"])
def test_test_cases(command: list[str], lines: bool) -> None:
    """As one object or as lines, in order."""
    config = {"words": ["one", "grün"], "lines": lines}

    assert generate_tests(command, config, env=ENV) == [
        {"id": "word/one", "vars": {"user_input": "one"}},
        {"id": "word/grün", "vars": {"user_input": "grün"}},
    ]
    assert generate_tests(command, env=ENV) == []


@BASH
def test_a_program_that_refuses_the_protocol() -> None:
    """A child may look at the variable of the protocol; it says why on stderr."""
    command = ["bash", str(PROGRAMS / "program.sh")]
    with pytest.raises(ExecExitError, match="DOMARINN_PROTOCOL is not 1"):
        ask(Text, "x", model=Exec(command, env={"DOMARINN_PROTOCOL": "2"}), retry=0)


def test_check_fails_with_reason_and_details() -> None:
    """In a test, an output that does not pass is an assertion that fails."""
    config = {"needle": "pin"}

    assert check(OURS, ["a", "pin"], config=config, env=ENV).passed

    with pytest.raises(AssertionError) as caught:
        check(OURS, ["a"], config=config, env=ENV)

    assert str(caught.value) == 'no pin (score 0.25)\n{\n  "needle": "pin"\n}'


# Our child


@pytest.mark.parametrize("host", HOSTS)
def test_our_child_in_other_hosts(host: list[str]) -> None:
    """A program that is written with ingot answers whoever speaks the protocol."""
    done = subprocess.run(
        [*host, "two words", *OURS],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, **ENV},
        timeout=60,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("t: two words\n", "", 0)
