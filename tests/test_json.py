"""JSON, strictly: one value, each key once, each number one that JSON has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._json import Number, Unreadable, canonical, describe, read

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    """Whatever JSON can hold."""
    found, faults = read(canonical(value))

    assert faults == []
    assert found == value


@given(VALUES)
def test_canonical_text_is_json(value: object) -> None:
    """And equal values have one text."""
    assert canonical(json.loads(canonical(value))) == canonical(value)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never another exception."""
    try:
        read(text)
    except Unreadable as error:
        assert error.reason


def test_numbers_keep_their_digits() -> None:
    """A fraction remembers how it was written; a whole number is exact."""
    (fraction, whole), _ = read("[0.10, 2512292042121000001]")

    assert isinstance(fraction, Number)
    assert fraction.text == "0.10"
    assert whole == 2512292042121000001


@pytest.mark.parametrize(
    ("text", "path"),
    [("NaN", ()), ('{"a": [1, -Infinity]}', ("a", 1)), ('{"a": {"b": 1e999}}', ("a", "b"))],
)
def test_what_is_no_number_is_found(text: str, path: tuple[object, ...]) -> None:
    """With its place."""
    _, faults = read(text)

    assert [place for place, _ in faults] == [path]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": {"b": 1, "b": 1}}', "in field `a`: the key `b` stands twice in one object"),
        ('[0, {"\\udc00": 1}]', "at index 1: a string holds half of a surrogate pair"),
        ('["\ud800"]', "at index 0: a string holds half of a surrogate pair"),
        ("[1,]", "line 1, column 4"),
        ("[1] x", "more text follows the value at line 1, column 5"),
        ('["a', "it ends in the middle"),
    ],
)
def test_faults_say_where(text: str, reason: str) -> None:
    """By path where there is one, else by line and column."""
    with pytest.raises(Unreadable) as caught:
        read(text)

    assert reason in caught.value.reason


def test_kinds_have_names() -> None:
    """Those of messages."""
    assert [describe(v) for v in (None, True, 1, 1.5, "", [], {})] == [
        "null",
        "a boolean",
        "a number",
        "a number",
        "a string",
        "an array",
        "an object",
    ]
