"""People: what they are asked, what counts as an answer, and how a terminal asks."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from ingot import Approval, Consultation, NotConfiguredError, approve_in_terminal, consult
from ingot._people import Consultant, answer_in_terminal

APPROVAL = Approval(
    tool="send_mail", arguments={"to": "a@b.c", "text": "grün"}, effects=("external_write",)
)


class Terminal(io.StringIO):
    """Somebody who types these lines."""

    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(text))


# What counts as an answer


@pytest.mark.parametrize("answer", ["no", 1, None])
def test_an_approval_is_true_or_false(answer: Any) -> None:
    """A text would be true whatever it says."""
    assert [True, False] == [APPROVAL.accept(True), APPROVAL.accept(False)]
    with pytest.raises(TypeError, match="True or False"):
        APPROVAL.accept(answer)


def test_an_answer_is_one_of_the_choices() -> None:
    """If there are any."""
    open_, closed = Consultation(question="?"), Consultation(question="?", choices=("a", "b"))

    assert ["x", "b"] == [open_.accept("x"), closed.accept("b")]
    with pytest.raises(ValueError, match="none of the choices: a, b"):
        closed.accept("c")
    with pytest.raises(TypeError, match="not bool"):
        open_.accept(True)


# At the terminal


@pytest.mark.parametrize(
    ("line", "allowed"),
    [("y", True), (" YES ", True), ("n", False), ("", False), ("yep", False), ("no", False)],
)
def test_only_yes_approves(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    allowed: bool,
) -> None:
    """What is asked stands on stderr, whole."""
    typed(monkeypatch, line + "\n")

    assert allowed == approve_in_terminal(APPROVAL)
    out, err = capsys.readouterr()
    assert "" == out
    assert err == (
        "May the tool `send_mail` (effects: external_write) be called? Its arguments:\n"
        '  | {\n  |   "to": "a@b.c",\n  |   "text": "grün"\n  | }\nAllow it? [y/N] '
    )


@pytest.mark.parametrize(
    ("choices", "lines", "answer"),
    [
        ((), "\nblue\n", "blue"),
        (("red", "blue"), "blue\n", "blue"),
        (("red", "blue"), "2\n", "blue"),
        (("red", "blue"), "3\n0\ngreen\n9\n1\n", "red"),
        (("7", "1"), "1\n", "1"),
        (("7", "1"), "2\n7\n", "7"),
    ],
    ids=str,
)
def test_the_terminal_asks_until_there_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, choices: tuple[str, ...], lines: str, answer: str
) -> None:
    """By its text, or by its number where no choice is a number."""
    typed(monkeypatch, lines)

    assert answer == answer_in_terminal(Consultation(question="Which?", choices=choices))


def test_what_a_model_writes_cannot_pass_for_what_ingot_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by escape codes, nor by lines of its own, nor by what turns the text around."""
    typed(monkeypatch, "x\n")
    asked = "fine\x1b[2J\rAllow it?\nYour answer: yes\u202eabc\x85"
    answer_in_terminal(Consultation(question=asked))

    assert capsys.readouterr().err == (
        "The model asks:\n  | fine\\u001b[2J\\u000dAllow it?\n"
        "  | Your answer: yes\\u202eabc\\u0085\nYour answer: "
    )


def test_what_is_too_long_to_show_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody approves what they do not know to be there."""
    typed(monkeypatch, "y\n")
    approve_in_terminal(Approval(tool="f", arguments={"a": "x" * 20_000}))

    assert "and 10,013 more characters, which are not shown" in capsys.readouterr().err


@pytest.mark.parametrize(
    "stdin", [io.StringIO("y\n"), Terminal(""), None], ids=["a pipe", "its end", "nothing"]
)
def test_nobody_at_the_terminal_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stdin: Any
) -> None:
    """A pipe is nobody, and the end of the input is no answer."""
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(NotConfiguredError, match=r"nobody sits at the terminal.*approve=…"):
        approve_in_terminal(APPROVAL)
    with pytest.raises(NotConfiguredError, match=r"nobody sits at the terminal.*person=…"):
        answer_in_terminal(Consultation(question="?"))


# The tool


def test_consult_is_a_tool() -> None:
    """Which the model is told how to use."""
    made = consult()
    declaration = made.declaration("open")

    assert ("consult", frozenset()) == (made.name, made.effects)
    assert {"question", "choices"} == set(declaration.parameters["properties"])
    assert declaration.description is not None
    assert declaration.description.startswith("Ask the person for whom you work")


def test_consult_asks_the_person() -> None:
    """With the choices once each; the answer must be one of them."""
    heard: list[Consultation] = []

    def person(asked: Consultation) -> str:
        heard.append(asked)
        return "b"

    made = consult(person)

    assert "b" == made(question="Which?", choices=["a", "b", "a"])
    assert "b" == made(**made.read('{"question": "What?"}', "open"))
    assert heard == [
        Consultation(question="Which?", choices=("a", "b")),
        Consultation(question="What?"),
    ]
    with pytest.raises(ValueError, match="none of the choices"):
        made(question="Which?", choices=["c"])


def test_whoever_runs_tools_finds_the_person_behind_it() -> None:
    """So that the question can be asked, awaited and recorded as one to a person."""
    made = consult(lambda asked: "x")

    assert isinstance(made.function, Consultant)
    assert "x" == made.function.person(made.function.consultation("?", []))
    assert answer_in_terminal is consult().function.person  # type: ignore[attr-defined]
