"""Values against descriptions of types: what a recording takes that a person wrote by hand."""

from __future__ import annotations

from typing import Any

import pytest
from test_descriptor import CASES

from ingot._shape.descriptor import descriptor_of
from ingot.cassette.fit import is_prose, misfits

LABEL = {"urgency": 1, "topic": "bug"}

FITS: dict[str, Any] = {
    "list": ["a"],
    "set": [1, 2],
    "dict": {"a": [1]},
    "tuple": [1, "a"],
    "tuple_of_any_length": [1, 2, 3],
    "empty_tuple": [],
    "optional": None,
    "union": [True],
    "literal": "a",
    "any": {"x": [1, None]},
    "contents": ["a", "b", {"free": 1}, {"name": "a"}],
    "words": [
        *("2026-01-01T00:00:00", "2026-01-01", "10:00:00", "PT1S", "1.5"),
        *("12345678-1234-5678-1234-567812345678", "/x", "1.2.3.4"),
    ],
    "model": LABEL,
    "model_aliased": {"second": 1, "number": 2, "outer": {"inner": 3}},
    "model_defaults": {},
    "model_open": {"a": 1, "z": 2},
    "recursive": {"value": 1, "next": {"value": 2}},
    "mutual": {"lays": [{"becomes": None}]},
    "generic": {"content": {"content": 1}},
    "enum": "red",
    "root_model": ["a"],
    "discriminated": {"kind": "cat"},
    "dataclass": {"x": 1},
    "typeddict": {"title": "x"},
    "namedtuple": [1, 2.5],
    "alias_recursive": {"a": [1]},
    "two_of_a_name": {"a": LABEL, "b": {"text": "x"}},
    "digits": "1.25",
    "custom": 5,
}

MISFITS: dict[str, tuple[Any, str]] = {
    "list": ([1], "at index 0: expected `string`, found a number"),
    "dict": ({"a": ["x"]}, "in field `a`: at index 0: expected `int`, found a string"),
    "optional": ("x", "expected `int`, found a string"),
    "literal": ("c", "expected 'a', 'b', 1 or True, found a string"),
    "short_list": ([], "at least 1 item"),
    "text": ("bcd", "should match pattern"),
    "digits": ("1.255", "no more than 2 decimal places"),
    "bounded_date": ("2025-01-01", "2026-01-01"),
    "model": ({**LABEL, "urgency": 11}, "in field `urgency`: expected a value less than or equal"),
    "model_strict": ({"a": 1, "b": 2}, "in field `b`: this field is not known"),
    "recursive": ({"value": 1, "next": {"value": "2"}}, "in field `next`: in field `value`: "),
    "mutual": ({"lays": [{"becomes": 1}]}, "expected `Hen`, found a number"),
    "enum": ("green", "expected 'blue' or 'red', found a string"),
    "discriminated": ({"kind": "cow"}, "in field `kind`: "),
    "dataclass": ({"y": 1}, "missing field `x`"),
    "typeddict": ({"year": "x"}, "in field `year`: "),
    "namedtuple": ([1, "x"], "at index 1: "),
    "email": ("x", "email"),
}


@pytest.mark.parametrize("name", FITS)
def test_a_value_of_the_type_fits(name: str) -> None:
    """Whatever the class was, its fields are read from their places in the reply."""
    assert misfits(descriptor_of(CASES[name]), FITS[name]) == ()


@pytest.mark.parametrize("name", MISFITS)
def test_another_value_does_not(name: str) -> None:
    """The place and what was expected there are told."""
    value, says = MISFITS[name]

    assert says in " ".join(map(str, misfits(descriptor_of(CASES[name]), value)))


OPEN = {"any", "bare_dict", "custom", "hooked", "iterable", "json_value", "model_defaults"}
"""Types that take any object, or say themselves what they take."""


@pytest.mark.parametrize("name", sorted(CASES.keys() - OPEN - {"typeddict"}))
def test_every_description_is_understood(name: str) -> None:
    """None is taken for one that somebody edited, where any value would fit."""
    assert misfits(descriptor_of(CASES[name]), {"no": "such"})


@pytest.mark.parametrize("described", [{"type": {"ref": "Gone"}, "classes": {}}, {}, 3, None])
def test_an_edited_description_refuses_nothing(described: Any) -> None:
    """What is wrong with it is told by `ingot cassette check`."""
    assert misfits(described, 1) == ()


def test_prose_is_no_json() -> None:
    """It is told by the word."""
    assert [is_prose(word) for word in ("text", "markdown", "str", {"list": "text"})] == [
        *(True, True, False, False)
    ]
