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
    played = [cassette.play(row["kind"], row["key"], n, "first") for n in (1, 0, 2)]

    assert played == [{"value": "b"}, {"value": "a"}, None]
    assert cassette.play("ask", row["key"], 0, "first") is None


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


def test_people_are_asked_anew_where_that_is_meant(tmp_path: Path) -> None:
    """Their rows go like all that was not asked; a pattern that does not mean them keeps them."""
    path = tmp_path / "a.json"
    kinds: list[list[str]] = []
    for only in (None, "g", "f"):
        save(path, lambda _: tape((HUMAN, 0, "yes")))
        with Cassette(path, "refresh", human=True, only=only, in_ci=True) as cassette:
            cassette.ready()
        kinds.append([row["kind"] for row in json.loads(path.read_text())["rows"]])

    assert kinds == [[], ["human"], []]


@pytest.mark.parametrize(
    ("values", "played"),
    [("a", "aaaa"), ("aa", "aaaa"), ("abc", "abcc"), ("", [None] * 4)],
)
def test_the_last_answer_is_played_again_where_that_is_meant(
    tmp_path: Path, values: str, played: Any
) -> None:
    """Equal answers or not; what comes before the last is played once, and none is no last."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape(*((TOOL, n, value) for n, value in enumerate(values))))
    cassette = Cassette(path, repeats="last")
    found = [cassette.play("tool", TOOL["key"], n, "first") for n in range(4)]

    assert [None if one is None else one["value"] for one in found] == list(played)
    assert cassette.unused() == []


def test_a_gap_is_no_last_answer(tmp_path: Path) -> None:
    """What lies between two recorded answers was not recorded."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape((TOOL, 0, "a"), (TOOL, 3, "b")))
    cassette = Cassette(path, repeats="last")
    found = [cassette.play("tool", TOOL["key"], n, "first") for n in (0, 1, 9)]

    assert found == [{"value": "a"}, None, {"value": "b"}]


def test_a_decorated_function_has_the_settings_of_its_cassette(tmp_path: Path) -> None:
    """Each call has a cassette of its own, and all of them are alike."""
    from ingot import _registry

    named: dict[str, Any] = {"human": True, "repeats": "last", "tools": "live", "stream": "words"}

    @Cassette(tmp_path / "a.json", "refresh", only="x", unused="fail", in_ci=True, **named)
    def told() -> Any:
        one = _registry.in_force()[-1]
        return {name: getattr(one, name) for name in (*named, "only", "on_unused", "mode")}

    assert told() == {**named, "only": "x", "on_unused": "fail", "mode": "refresh"}


def test_different_answers_to_several_lanes_are_ambiguous_for_tools_too(tmp_path: Path) -> None:
    """The lanes are those of the ask that a call belongs to."""
    path = tmp_path / "a.json"
    save(path, lambda _: tape((TOOL, 0, "a"), (TOOL, 1, "b")))
    cassette = Cassette(path)
    cassette._order._lanes["first"] = -1

    with pytest.raises(AmbiguousRepeatError):
        cassette.play("tool", TOOL["key"], 0, "first")


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({**ASK, "prompt": ["Label it.", "Now."]}, "<Row ask k1:9 a.py:f 'Label it.'>"),
        (TOOL, "<Row tool k1:7 a.py:f 'orders.find(id=7)'>"),
        (HUMAN, "<Row human k1:8 a.py:f 'Refund?'>"),
    ],
)
def test_a_row_shows_what_was_asked(row: dict[str, Any], shown: str) -> None:
    """Its key, its place and the first line, and no answer."""
    assert repr(Row(row, written=[{"value": "a"}])) == shown
