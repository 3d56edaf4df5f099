"""What a model wrote keeps its digits, and can be sent back whatever it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._echo import as_arguments, as_input, exact, paired, read_exactly, sendable, with_ids

EXACT = [
    '{"id": 2512292042121000001}',
    '{"price": 1.10, "big": 1e400, "small": 1E-400}',
    '{"exact": 0.1234567890123456789012345}',
    '{"a": [1, -0.0, true, null, "x\\n", {}], "b": {}}',
    '{"ö": "日本", "half": "\\ud83d"}',
    "[]",
    '"text"',
]


@pytest.mark.parametrize("text", EXACT)
def test_keeps_every_digit(text: str) -> None:
    """What is read and written again is the same text."""
    assert exact(read_exactly(text)) == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_writes_what_json_writes(value: Any) -> None:
    """For a value without digits of its own it is Python's text."""
    assert json.loads(exact(value)) == value
    assert exact(read_exactly(exact(value))) == exact(value)


@given(JSON)
def test_what_can_be_sent_is_left_alone(value: Any) -> None:
    """Only what no body can hold is replaced."""
    assert sendable(value) == value


def test_what_no_body_can_hold_is_replaced() -> None:
    """A number becomes its text, half a surrogate pair a question mark."""
    read = read_exactly('{"n": [1e400, -1e400, NaN, 1.5], "\\ud83d": "\\ud83d\\ude00\\udc00"}')
    made = sendable(read)

    assert made == {"n": ["1e400", "-1e400", "NaN", 1.5], "?": "😀?"}
    json.dumps(made, allow_nan=False).encode()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (None, ""),
        ("", ""),
        ('{"a": 1.10}', '{"a": 1.10}'),
        ('{"a": 1', '{"a": 1'),
        (read_exactly('{"a": 1.10}'), '{"a": 1.10}'),
        ({}, "{}"),
        ([1], "[1]"),
    ],
)
def test_arguments_are_text(written: Any, text: str) -> None:
    """As the model wrote them, or the object it wrote."""
    assert as_arguments(written) == text


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        ('{"a": 2512292042121000001}', {"a": 2512292042121000001}),
        ('{"a": 1', {"unreadable": '{"a": 1'}),
        ("[1]", {"unreadable": [1]}),
        ('"x"', {"unreadable": "x"}),
        (None, {"unreadable": None}),
        ({"a": 1}, {"a": 1}),
        ("[" * 100_000, {"unreadable": "[" * 100_000}),
        ("9" * 5_000, {"unreadable": "9" * 5_000}),
    ],
)
def test_the_echo_of_arguments_is_an_object(written: Any, value: Any) -> None:
    """Whatever the model wrote."""
    assert as_input(written) == value


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["a", "b"], ["a", "b"]),
        ([None, ""], ["call_1", "call_2"]),
        (["a", "a", "a"], ["a", "call_1", "call_2"]),
        ([None, "call_1"], ["call_2", "call_1"]),
        ([5, False], ["call_1", "call_2"]),
    ],
)
def test_each_call_has_an_id_of_its_own(given: list[Any], made: list[str]) -> None:
    """Its result is known by it."""
    blocks = [{"id": its_id, "n": n} for n, its_id in enumerate(given)]

    assert with_ids(blocks, "id") == [{"id": i, "n": n} for n, i in enumerate(made)]


def test_only_calls_are_given_ids() -> None:
    """The other blocks of a reply stay as they are."""
    blocks = [{"type": "text"}, {"type": "call"}, {"type": "text", "id": "t"}]

    assert with_ids(blocks, "id", kind="call") == [
        {"type": "text"},
        {"type": "call", "id": "call_1"},
        {"type": "text", "id": "t"},
    ]


def test_halves_of_a_character_that_met_are_one() -> None:
    """Those that stand alone stay as they are."""
    half, other = "\ud83d", "\ude00"
    value = {"a": ["x" + half + other + "é", half, other + half], "b": 1.5, "c": None}

    assert paired(value) == {"a": ["x😀é", half, other + half], "b": 1.5, "c": None}
