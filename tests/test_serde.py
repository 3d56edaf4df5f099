"""JSON as serde_json reads and writes it, against what it writes."""

from __future__ import annotations

import enum
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._serde import Ordered, dumps, loads, pretty

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"

FLOATS = {
    0.0: "0.0",
    1.0: "1.0",
    0.1 + 0.2: "0.30000000000000004",
    1e-4: "0.0001",
    1e-5: "0.00001",
    -1.25e-5: "-0.0000125",
    9.999999999999999e-6: "9.999999999999999e-6",
    1.5e-7: "1.5e-7",
    2e-9: "2e-9",
    5e-324: "5e-324",
    1e15: "1000000000000000.0",
    9999999999999998.0: "9999999999999998.0",
    1e16: "1e+16",
    -1.5e300: "-1.5e+300",
    1.7976931348623157e308: "1.7976931348623157e+308",
}
VALUES: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (False, "false"),
    (-0.0, "-0.0"),
    (2**64 - 1, "18446744073709551615"),
    (2**64, "1.8446744073709552e+19"),
    (-(2**63), "-9223372036854775808"),
    (-(2**63) - 1, "-9.223372036854776e+18"),
    (10**300, "1e+300"),
    ("", '""'),
    ("é\u2028\x7f/😀", '"é\u2028\x7f/😀"'),
    ('"\\\b\f\n\r\t\x00\x1f', r'"\"\\\b\f\n\r\t\u0000\u001f"'),
    ([], "[]"),
    ((), "[]"),
    ({}, "{}"),
    ((1, [2.50, "x", None]), '[1,[2.5,"x",null]]'),
    ({"b": 1, "a": {"d": [], "c": {}}}, '{"a":{"c":{},"d":[]},"b":1}'),
    ({"😀": 1, "\uffff": 2, "Z": 3, "_": 4, "": 5}, '{"":5,"Z":3,"_":4,"\uffff":2,"😀":1}'),
    (Ordered(b=1, a={"d": 1, "c": 2}), '{"b":1,"a":{"c":2,"d":1}}'),
]
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "NaN": ([float("nan")], ValueError, "JSON has no number for nan"),
    "infinity": ({"a": -float("inf")}, ValueError, "JSON has no number for -inf"),
    "out of range": (10**400, ValueError, "an integer is out of range"),
    "just out of range": (2**1024 - 1, ValueError, "out of range"),
    "many digits": (10**10_000, ValueError, "an integer is out of range"),
    "half a pair": (["\ud83d"], ValueError, "half of a surrogate pair"),
    "half a pair in a key": ({"\udc00": 1}, ValueError, "half of a surrogate pair"),
    "two halves": ("\ud83d\ude00", ValueError, "half of a surrogate pair"),
    "bytes": (b"x", TypeError, "JSON has no form for a bytes"),
    "set": ([{1}], TypeError, "JSON has no form for a set"),
    "key": ({"a": 1, 2: 3}, TypeError, "a key of an object is a int, not a string"),
}


def vectors(name: str) -> list[Any]:
    """The cases of a table of upstream vectors; one skipped case where it is not at hand."""
    path = VECTORS / name
    if not path.is_file():
        skip = pytest.mark.skip(reason=f"no upstream vectors at {path}")
        return [pytest.param(None, marks=skip)]
    text = path.read_text("utf-8")
    if name.endswith(".json"):
        cases = json.loads(text)["canonical"]
    else:
        cases = [case for line in text.splitlines() if (case := json.loads(line))]
        cases = [case for case in cases if case["input"]["op"] == "render"]
    return [pytest.param(case, id=f"{n}") for n, case in enumerate(cases)]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("case", vectors("ingot_canon.json"))
def test_canonical_text_of_upstream(case):
    """What serde_json reads is written as serde_json writes it."""
    assert case["text"] == dumps(loads(case["json"]))


@pytest.mark.parametrize("case", vectors("ingot_digest.jsonl"))
def test_both_forms_of_upstream(case):
    """The line and the indented form are serde_json's."""
    value = loads(case["input"]["value_text"])

    assert case["expect"] == {"text": dumps(value), "pretty": pretty(value)}


@pytest.mark.parametrize(("number", "text"), FLOATS.items())
def test_a_float_has_the_shortest_digits(number, text):
    """It is plain from 1e-5 up to 1e16, and has a sign in its exponent elsewhere."""
    assert text == dumps(number)


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text for _, text in VALUES])
def test_the_line_of_a_value(value, text):
    """Keys are sorted by code point, and only what must be is escaped."""
    assert text == dumps(value)


@pytest.mark.parametrize("write", [dumps, pretty])
@pytest.mark.parametrize(("value", "kind", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_text(write, value, kind, reason):
    """What serde_json could not hold is refused, not bent."""
    with pytest.raises(kind, match=re.escape(reason)):
        write(value)


def test_what_holds_itself_is_refused():
    """A list within itself has no text."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        dumps(value)


def test_deep_values_are_read_back():
    """What may be read may be written."""
    assert nested(127) == loads(dumps(nested(127)))


def test_members_of_enums_are_their_values():
    """A string or number with a name is written as what it is."""
    Name = enum.StrEnum("Name", {"A": "a"})
    Number = enum.IntEnum("Number", {"ONE": 1})

    assert '{"a":[1,"a"]}' == dumps({Name.A: [Number.ONE, Name.A]})


def test_the_indented_form():
    """Two spaces a level, empty containers closed at once, no break at the end."""
    value = Ordered(b=[1, {"d": 2.0, "c": []}], a={}, e={"f": [[None]]})
    expected = """{
  "b": [
    1,
    {
      "c": [],
      "d": 2.0
    }
  ],
  "a": {},
  "e": {
    "f": [
      [
        null
      ]
    ]
  }
}"""

    assert expected == pretty(value)


def test_objects_can_be_made_by_the_caller():
    """Whoever must know of keys that stand twice sees the pairs."""
    assert [("a", 1), ("a", [("b", 2.0)])] == loads(
        '{"a": 1, "a": {"b": 2.0}}', object_pairs_hook=list
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_not_lost_on_the_way_out(number):
    """Any exact reader finds the same float in the text, which is of one of two forms."""
    text = dumps(number)

    assert repr(number) == repr(float(text))
    assert re.fullmatch(r"-?\d{1,16}\.\d+|-?\d(\.\d+)?e[+-][1-9]\d*", text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_without_floats_it_is_the_text_of_json(value):
    """Apart from numbers the standard library writes the same, in both forms."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    block = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)

    assert (line, block) == (dumps(value), pretty(value))
    assert value == loads(line)
