"""Calls of tools and answers of people as rows: what is in their keys, and that they come back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from keyed import DEEDS

from ingot import Approval, Consultation, tool
from ingot._context import Context
from ingot._effects import Consult, Invocation, RecalledError, Returned
from ingot._handles import Handles
from ingot._messages import ToolCall
from ingot._workspace import Workspace
from ingot.cassette.acts import Acts
from ingot.cassette.costs import cost_of
from ingot.cassette.performed import Deeds, answer_of_deed, result_of
from ingot.cassette.rows import first_line, key_of_deed
from ingot.cassette.tape import Row, Tape
from ingot.cassette.veil import Veil

if TYPE_CHECKING:
    from collections.abc import Callable

ASK = "k1:" + "ab" * 16
PLAIN = Veil(None, None)


def called(name: str = "find", number: int = 1, **args: Any) -> Invocation:
    """A call of a tool of that name."""

    def function(context: Context) -> None: ...

    workspace = Workspace(".")
    return Invocation(
        tool=tool(function, name=name),
        call=ToolCall(id=f"c{number}", name=name, arguments=json.dumps(args)),
        tree=args,
        arguments=args,
        context=Context(deps=None, workspace=workspace, handles=Handles(workspace)),
        number=number,
    )


def nobody(question: Any) -> Any:
    raise AssertionError("a person was asked")


def put(question: str = "Which?", *choices: str) -> Consult:
    return Consult(Consultation(question=question, choices=choices), nobody)


def approval(tool: str = "find", **args: Any) -> Consult:
    return Consult(Approval(tool=tool, arguments=args), nobody)


def row(asked: Invocation | Consult, *, ask: str = ASK, veil: Veil = PLAIN) -> dict[str, Any]:
    return Deeds(ask, "a.py:f", veil).row(asked)


# Keys


DIFFERENT: dict[str, Callable[[], dict[str, Any]]] = {
    "call": lambda: row(called(id=7)),
    "another tool": lambda: row(called("found", id=7)),
    "another argument": lambda: row(called(id=8)),
    "an argument of another kind": lambda: row(called(id=7.0)),
    "one more argument": lambda: row(called(id=7, more=None)),
    "another name of an argument": lambda: row(called(di=7)),
    "another ask": lambda: row(called(id=7), ask="k1:" + "cd" * 16),
    "question": lambda: row(put("Which?", "x", "y")),
    "another question": lambda: row(put("Which one?", "x", "y")),
    "another choice": lambda: row(put("Which?", "x", "z")),
    "choices in another order": lambda: row(put("Which?", "y", "x")),
    "no choices": lambda: row(put("Which?")),
    "approval": lambda: row(approval(id=7)),
    "approval of other arguments": lambda: row(approval(id=8)),
    "approval of another tool": lambda: row(approval("found", id=7)),
}


def test_all_that_is_asked_is_in_the_key() -> None:
    """No two of these share one."""
    keys = {name: make()["key"] for name, make in DIFFERENT.items()}

    assert len(set(keys.values())) == len(DIFFERENT)


def test_what_says_nothing_is_not_in_the_key() -> None:
    """The vendor's id, the number of the call, the turn, the seconds, the order of names."""
    one = called(number=1, a=1, b=2)
    two = called(number=5, b=2, a=1)

    assert row(one)["key"] == row(two)["key"]


def test_equal_calls_of_one_ask_are_numbered() -> None:
    """In the order in which they are made; those of another ask begin anew."""
    deeds = Deeds(ASK, "a.py:f", PLAIN)
    rows = [deeds.row(called(id=n)) for n in (7, 8, 7, 7)] + [deeds.row(put()), deeds.row(put())]

    assert [each.get("repeat", 0) for each in rows] == [0, 0, 1, 2, 0, 1]
    assert len({each["key"] for each in rows}) == 6
    assert row(called(id=7)) == rows[0]


@pytest.mark.parametrize("name", DEEDS)
def test_a_row_is_checked_against_its_key(name: str) -> None:
    """An edit of any part is found."""
    key = key_of_deed(DEEDS[name])
    for part in DEEDS[name].keys() - {"kind"}:
        assert key_of_deed({**DEEDS[name], part: "edited"}) != key


# Answers


RESULTS: dict[str, Returned] = {
    "an object": Returned(text='{"a":1.1,"b":[null,true]}'),
    "a number": Returned(text="7"),
    "null": Returned(text="null"),
    "a text": Returned(text="one\n\ntwo\n"),
    "nothing": Returned(text=""),
    "JSON that a tool wrote": Returned(text='{ "a": 1 }'),
    "a key twice": Returned(text='{"a":1,"a":2}'),
    "many digits": Returned(text="1234567890123456789012345678901234567890"),
    "digits that a float forgets": Returned(text='{"price":1.10}'),
    "no number": Returned(text="NaN"),
    "half of a character": Returned(text='"\\ud83d"'),
    "a handle": Returned(text='{"path":"a.txt","lines":3}', files=({"path": "a.txt", "lines": 3},)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_comes_back_to_the_letter(name: str) -> None:
    """The model is told the same text, or the next turn would have another key."""
    asked = called()
    answer = json.loads(json.dumps(answer_of_deed(asked, RESULTS[name]), allow_nan=False))

    assert result_of(asked, answer) == RESULTS[name]


def test_a_result_is_kept_as_people_read_it() -> None:
    """JSON as JSON, a text as its lines."""
    asked = called()

    assert answer_of_deed(asked, RESULTS["an object"]) == {"value": {"a": 1.1, "b": [None, True]}}
    assert answer_of_deed(asked, RESULTS["a text"]) == {"text": ["one", "", "two", ""]}


class BadId(LookupError):
    """An error whose class a replay may not have."""


def test_an_error_comes_back_as_what_it_was() -> None:
    """By the names of its classes, of which `raise_errors` may name any."""
    asked = called()
    answer = json.loads(json.dumps(answer_of_deed(asked, Returned.raised(BadId("no 7")))))
    back: Returned = result_of(asked, answer)
    assert back.error is not None

    assert (back.text, back.failed, str(back.error)) == ("BadId: no 7", True, "no 7")
    assert [
        RecalledError.is_of(back.error, (each,))
        for each in (BadId, LookupError, Exception, KeyError)
    ] == [True, True, True, False]
    assert answer_of_deed(asked, back) == answer


def test_people_answer_in_words() -> None:
    """A decision is one of the choices, and comes back as what it was."""
    assert answer_of_deed(approval(), True) == {"value": "yes"}
    assert [result_of(approval(), {"value": said}) for said in ("yes", "no")] == [True, False]
    assert result_of(put(), answer_of_deed(put(), "x\ny")) == "x\ny"


# What must not be recorded


HIDDEN = Veil({"<MAIL>": r"\S+@\S+"}, {"<MAIL>": "MAIL"})


def test_what_is_redacted_is_not_in_a_row() -> None:
    """Arguments, questions and choices, also in letters that JSON escapes."""
    rows = [
        row(called(to="ann@example.org", ids={"bob@example.org": [1]}), veil=HIDDEN),
        row(put("Write to ann@example.org?", "bob@example.org", "no"), veil=HIDDEN),
        row(approval(to="ann@example.org"), veil=HIDDEN),
    ]

    assert "@" not in json.dumps(rows)
    assert rows[0]["args"] == {"to": "<MAIL>", "ids": {"<MAIL>": [1]}}
    assert rows[1]["choices"] == ["<MAIL>", "no"]


def test_calls_that_become_equal_are_numbered() -> None:
    """Whatever was said, a replay sees the placeholder twice."""
    deeds = Deeds(ASK, "a.py:f", HIDDEN)
    one, two = (deeds.row(called(to=to)) for to in ("ann@example.org", "bob@example.org"))

    assert two == {**one, "repeat": 1, "key": two["key"]}


def test_what_was_hidden_comes_back_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result, its handles and what a person said."""
    monkeypatch.setenv("MAIL", "ann@example.org")
    said = Returned(text='{"path":"ann@example.org"}', files=({"path": "ann@example.org"},))
    answer = answer_of_deed(called(), HIDDEN.result(said))
    spoken = answer_of_deed(put(), HIDDEN.result("ann@example.org"))

    assert answer == {"value": {"path": "<MAIL>"}, "files": [{"path": "<MAIL>"}]}
    assert result_of(called(), HIDDEN.played(answer)) == said
    assert result_of(put(), HIDDEN.played(spoken)) == "ann@example.org"
    assert HIDDEN.result(True) is True


# For people


def test_tools_and_people_cost_nothing() -> None:
    """An ask that acts costs what its turns cost."""
    tape = Tape()
    for asked, result in ((called(), Returned(text="7")), (put(), "x")):
        tape.add(row(asked), {}, 0, answer_of_deed(asked, result))

    assert cost_of(tape, tape, {}) == 0


def test_a_row_has_a_first_line() -> None:
    """A call as it would stand in a program, a question as it is."""
    assert first_line(row(called(id=7, by="é"))) == 'find(id=7, by="é")'
    assert first_line(row(put("\nWhich?\nSay."))) == "Which?"
    assert first_line(row(approval(id=7))) == "May the tool `find` be called?"


def test_rows_are_found_by_the_calls_that_led_to_them() -> None:
    """Each once; first whether it may be made. One in a vendor's form is found by its tool."""
    deeds = Deeds(ASK, "a.py:f", PLAIN)
    asked = [
        called(id=8),
        called(id=7),
        approval(id=7),
        put("Which?"),
        called("put", at=[["a", 1]]),
    ]
    rows = [Row(deeds.row(each), written=[]) for each in asked]
    acts = Acts(rows)
    find = {"tool": "find", "arguments": '{"id": 7}'}

    assert acts.of(find, exact=True) == [rows[2], rows[1]]
    assert acts.of(find, exact=True) == []
    assert acts.of({"tool": "consult", "arguments": '{"question": "Which?"}'}, exact=True) == [
        rows[3]
    ]
    assert acts.of({"tool": "put", "arguments": '{"at": {"a": 1}}'}, exact=False) == [rows[4]]
    assert acts.of({"tool": "find", "arguments": "{"}, exact=True) == []
    assert acts.left == [rows[0]]
