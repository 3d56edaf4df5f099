"""In pytest: cases that a program writes, and programs that judge, in small projects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ingot.exec.host
import ingot.exec.verdicts  # noqa: F401

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]

GENERATOR = """
import json, sys
request = json.load(sys.stdin)
tests = [{"id": f"word/{w}", "vars": {"word": w}} for w in request["config"] or []]
print(json.dumps({"tests": tests + [{"vars": {"word": "last"}}]}))
"""

CHECKER = """
import json, sys
request = json.load(sys.stdin)
fits = len(request["output"]) <= request["config"]["most"]
print(json.dumps({"pass": fits, "reason": "" if fits else "too long", "details": {"most": 3}}))
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # looking for all takes long
    pytester.makeini(
        "[pytest]\naddopts = --strict-markers -p no:cacheprovider -p ingot.pytest_plugin\n"
    )
    folder = pytester.mkdir("suite")
    (folder / "generate.py").write_text(GENERATOR)
    (folder / "check.py").write_text(CHECKER)
    return pytester


def run(project: pytest.Pytester, code: str, *arguments: str) -> pytest.RunResult:
    head = f"import pytest\nfrom ingot.exec import check\nPYTHON = {sys.executable!r}\n"
    (project.path / "suite" / "test_it.py").write_text(head + code)
    return project.runpytest("-rA", *arguments)


def test_a_program_writes_the_cases(project: pytest.Pytester) -> None:
    """One test for each case, named by its id; the program runs in the folder of the file."""
    result = run(
        project,
        """
@pytest.mark.ingot_generate([PYTHON, "generate.py"], ["one", "grün"])
def test_word(case):
    assert case["vars"]["word"] != "grün"
""",
    )

    result.assert_outcomes(passed=2, failed=1)
    assert "test_word[word/one]" in result.stdout.str()


def test_the_argument_has_another_name(project: pytest.Pytester) -> None:
    """It can be combined with other parameters and fixtures."""
    result = run(
        project,
        """
@pytest.fixture
def most(): return 4

@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.ingot_generate([PYTHON, "generate.py"], config=["one"], argument="word_case")
def test_word(word_case, side, most):
    assert len(word_case["vars"]["word"]) <= most
""",
    )

    result.assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("mark", "fault"),
    [
        ('[PYTHON, "-c", "raise SystemExit(3)"]', "exited with code 3"),
        ('["./absent"]', "could not be started"),
        ('[PYTHON, "-c", "print(1)"]', "test case"),
        ("", "command"),
        ('[PYTHON, "generate.py"], argument="other"', "no argument `other`"),
        (
            '[PYTHON, "generate.py"], kept=1',
            "ingot_generate: got an unexpected keyword argument 'kept'",
        ),
    ],
)
def test_a_generator_that_fails(project: pytest.Pytester, mark: str, fault: str) -> None:
    """The file cannot be collected, and it is said why; no test passes by being absent."""
    result = run(
        project,
        f"""
@pytest.mark.ingot_generate({mark})
def test_word(case):
    pass
""",
    )

    result.assert_outcomes(errors=1)
    assert fault in result.stdout.str()
    assert "marker ingot_generate" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_check_shows_the_line_that_called(project: pytest.Pytester) -> None:
    """Reason and details are the failure; no line of ingot stands between."""
    result = run(
        project,
        """
def test_short():
    check([PYTHON, "suite/check.py"], "abc", config={"most": 3})

def test_long():
    check([PYTHON, "suite/check.py"], "abcd", config={"most": 3})
""",
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([">*check(*", "E *AssertionError: too long", '*"most": 3*'])
    assert "verdicts.py" not in result.stdout.str()


def test_pytest_starts_light() -> None:
    """A run without generated cases does not load the room."""
    code = "import sys, ingot.pytest_plugin; print('ingot.exec.host' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )

    assert done.stdout.strip() == "False"
