"""Features as rows of small numbers: which column, what number, and where room ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.rill.learner_columns import FULL, WIDTH, Columns


def parts(columns: Columns, **features: Any) -> dict[str, float]:
    """What stands in the columns of their own that are not 0."""
    row = memoryview(columns.row(features)).cast("b")
    return {key: round(row[n] / FULL, 2) for key, n in columns.own.items() if row[n]}


def test_the_first_column_is_always_full() -> None:
    """It is what an arm is worth whatever the features."""
    assert memoryview(Columns().row({})).cast("b").tolist() == [FULL] + [0] * (WIDTH - 1)


def test_numbers_bools_and_texts_have_columns() -> None:
    """A text has one for each value, and others are passed over."""
    features = {"depth": 0.5, "tools": True, "language": "de", "none": None, "list": [1]}

    assert parts(Columns(), **features) == {"depth": 0.5, "tools": 1.0, "language=de": 1.0}


def test_what_is_absent_is_nothing() -> None:
    """Be it a feature that was seen before, or another value of a text."""
    columns = Columns()
    parts(columns, depth=0.5, language="de")

    assert parts(columns, language="fr") == {"language=fr": 1.0}
    assert parts(columns, depth=-0.25) == {"depth": -0.25}


def test_large_numbers_keep_their_order() -> None:
    """The largest so far is 1, and twice as much is more by the same wherever it is."""
    columns = Columns()
    columns.row({"size": 10_000})

    told = [parts(columns, size=size)["size"] for size in (1, 10, 100, 1_000, 10_000)]
    assert told == [0.09, 0.32, 0.55, 0.77, 1.0]
    assert parts(columns, size=-100) == {"size": -0.55}


@pytest.mark.parametrize("size", [10**400, -(10**400), 1e308, -1e308])
def test_the_largest_numbers_are_numbers(size: float) -> None:
    """From a million on, all are alike, so that one of them does not make nothing of the others."""
    columns = Columns()

    assert abs(parts(columns, size=size)["size"]) == 1.0
    assert parts(columns, size=1_000) == {"size": 0.54}


def test_a_text_of_many_values_leaves_room() -> None:
    """Only some of them have columns of their own."""
    columns = Columns()
    for n in range(1_000):
        columns.row({"who": f"user {n}"})

    assert parts(columns, depth=1.0) == {"depth": 1.0}
    assert len(columns.own) == 7


def test_features_without_a_column_share_some() -> None:
    """None of those that came before is disturbed."""
    columns = Columns()
    names = [f"f{n}" for n in range(31)]
    columns.row(dict.fromkeys(names, 1.0))

    row = memoryview(columns.row({"late": 1.0, "x" * 99: 1.0})).cast("b").tolist()
    assert list(columns.own) == names
    assert not any(row[1:32])
    assert any(row[32:])


def test_what_was_dumped_is_loaded() -> None:
    """The same features have the same rows."""
    columns = Columns()
    columns.row({"size": 900, "language": "de", "tools": True})
    loaded = Columns.load(json.loads(json.dumps(columns.dump())))

    for features in ({"size": 300, "tools": False}, {"new": 2, "language": "de"}):
        assert columns.row(features) == loaded.row(features)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"own": [1], "peaks": {}},
        {"own": ["a", "a"], "peaks": {}},
        {"own": [str(n) for n in range(32)], "peaks": {}},
        {"own": ["a"], "peaks": {"a": "x"}},
        {"own": ["a"], "peaks": {"a": 0.0}},
        {"own": ["a"], "peaks": {"b": 2.0}},
    ],
)
def test_what_was_not_dumped_is_not_loaded(told: Any) -> None:
    """It would make other rows, or none."""
    with pytest.raises(ValueError, match="columns|numbers"):
        Columns.load(told)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=3,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=9), max_size=3))
def test_any_features_make_a_row(asked: list[dict[str, Any]]) -> None:
    """Of one width, and of numbers no larger than full."""
    columns = Columns()
    for features in asked:
        row = memoryview(columns.row(features)).cast("b").tolist()

        assert len(row) == WIDTH
        assert row[0] == FULL
        assert min(row) >= -FULL
