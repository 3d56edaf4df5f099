"""Tapes: which answer is the n-th, what is written of it, and how two recordings unite."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from ingot.cassette.errors import AmbiguousRepeatError
from ingot.cassette.recorder import Cassette
from ingot.cassette.store import dump, parse, save
from ingot.cassette.tape import Row, Tape

TOOL = {"kind": "tool", "site": "a.py:f", "key": "k1:7", "tool": "orders.find", "args": {"id": 7}}
HUMAN = {
    "kind": "human",
    "site": "a.py:f",
    "key": "k1:8",
    "question": ["Refund?"],
    "choices": ["y"],
}
ASK = {"kind": "ask", "site": "a.py:f", "key": "k1:9", "type": "t1:x", "model": "default"}


def tape(*entries: tuple[dict[str, Any], int, Any], **types: Any) -> Tape:
    """A tape of these (row, number, value)."""
    made = Tape()
    for data, number, value in entries:
        made.add(data, types, number, {"value": value})
    return made


def again(one: Tape) -> Tape:
    """The same tape, written and read."""
    return parse(dump(one), Path("a.json"))


def answers(one: Tape, row: dict[str, Any]) -> dict[int, Any]:
    found = one.row(row["kind"], row["key"])
    return {} if found is None else {n: a["value"] for n, a in found.answers.items()}


@pytest.mark.parametrize(
    ("numbers", "values", "written"),
    [
        ((0,), "a", [{"value": "a"}]),
        ((0, 1, 2), "aaa", [{"times": 3, "value": "a"}]),
        ((0, 1, 2), "aba", [{"value": "a"}, {"value": "b"}, {"value": "a"}]),
        ((3,), "a", [{"n": 3, "value": "a"}]),
        ((1, 3), "aa", [{"n": [1, 3], "value": "a"}]),
        ((3, 1), "ab", [{"n": 1, "value": "b"}, {"n": 3, "value": "a"}]),
    ],
)
def test_answers_are_written_by_their_numbers(numbers: Any, values: Any, written: Any) -> None:
    """Equal ones once; numbers that are not 0, 1, 2 … by name; and read again they are the same."""
    made = tape(*((TOOL, n, v) for n, v in zip(numbers, values, strict=True)))

    assert made.to_json()["rows"][0]["answers"] == written
    assert answers(again(made), TOOL) == dict(sorted(zip(numbers, values, strict=True)))


def test_the_answer_that_is_there_stays() -> None:
    """An answer was paid for, and the second to come is too late."""
    made = tape((TOOL, 0, "a"), (TOOL, 0, "b"))

    assert answers(made, TOOL) == {0: "a"}


def test_equal_answers_are_found_equal_after_one_was_added() -> None:
    """What was true of the answers before is looked at again."""
    row = Row(dict(TOOL), written=[{"value": 1}])
    before = row.alike
    row.add(1, {"value": 2})

    assert (before, row.alike) == (True, False)


def test_tapes_unite_by_key_and_number() -> None:
    """Nothing is lost but the second of two answers to the same question."""
    one = tape((TOOL, 0, "a"), (HUMAN, 0, "yes"))
    two = tape((TOOL, 0, "x"), (TOOL, 1, "b"), (ASK, 0, 1), **{"t1:x": "int"})
    one.rest, two.rest = {"a": 1}, {"a": 2, "b": 3}
    one.unite(two)

    assert answers(one, TOOL) == {0: "a", 1: "b"}
    assert answers(one, HUMAN) == {0: "yes"}
    assert answers(one, ASK) == {0: 1}
    assert (one.types, one.rest) == ({"t1:x": "int"}, {"a": 1, "b": 3})


def test_the_order_of_rows_means_nothing() -> None:
    """However they came, the bytes are the same."""
    entries = [(TOOL, 0, "a"), (HUMAN, 0, "y"), (ASK, 0, 1)]

    assert len({dump(tape(*order)) for order in itertools.permutations(entries)}) == 1


def test_only_the_types_of_rows_are_written() -> None:
    """A type that no row names is dropped."""
    made = tape((ASK, 0, 1), **{"t1:x": "int", "t1:y": "str"})

    assert made.to_json()["types"] == {"t1:x": "int"}


@pytest.mark.parametrize("row", [TOOL, HUMAN], ids=["tool", "human"])
def test_calls_and_people_are_played_by_key_and_number(tmp_path: Path, row: Any) -> None:
    """Their rows are kinds of their own, with the rules of all."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape((row, 0, "a"), (row, 1, "b")))
    cassette = Cassette(path)
    played = [cassette.play(row["kind"], row["key"], n, "first")[0] for n in (1, 0, 2)]

    assert played == [{"value": "b"}, {"value": "a"}, None]
    assert cassette.play("ask", row["key"], 0, "first") == (None, 0)


def test_what_people_answered_survives_a_refresh(tmp_path: Path) -> None:
    """Nobody is asked again by accident; a tool's row goes with what is not asked."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape((TOOL, 0, "a"), (HUMAN, 0, "yes")))
    from cassette_kit import Echo

    from ingot import ask

    with Cassette(path, "refresh", in_ci=True):
        ask(str, "p", model=Echo())
    kinds = [row["kind"] for row in json.loads(path.read_text())["rows"]]

    assert sorted(kinds) == ["ask", "human"]


def test_different_answers_to_several_lanes_are_ambiguous_for_tools_too(tmp_path: Path) -> None:
    """The lanes are those of the ask that a call belongs to."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape((TOOL, 0, "a"), (TOOL, 1, "b")))
    cassette = Cassette(path)
    cassette._lanes["first"] = -1

    with pytest.raises(AmbiguousRepeatError):
        cassette.play("tool", TOOL["key"], 0, "first")
