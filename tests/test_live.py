"""What the local model says: types held to, awaited, repaired; replayed from its recording."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator
from shapes import SHAPES, Node, User

from ingot import (
    Answer,
    AnswerError,
    Text,
    TruncatedError,
    UnreadableAnswerError,
    ask,
)
from ingot._shape.members import type_name

pytestmark = pytest.mark.ingot(cassette="live", unused="ignore", repeats="last")

small = ask.using(model="local/smollm2", max_tokens=140)

TYPES: dict[str, Any] = {type_name(t): t for t, _ in SHAPES}

SAYABLE = {"dict[date, int]", "datetime", "time", "Strict", "Stop", "EmailStr", "HttpUrl"}
"""Types whose text may name a day that there is not, or that are only told in words."""


@functools.cache
def outcome(name: str) -> Answer[Any] | AnswerError:
    """What the model makes of a type; greedy, so it is asked once."""
    try:
        return small.answer(TYPES[name], "Give one short example.")
    except AnswerError as error:
        return error


@pytest.mark.parametrize("name", sorted(TYPES), ids=str)
def test_the_model_is_held_to_the_type(name: str) -> None:
    """What comes whole is of the type; what does not is cut, or names a key twice."""
    found = outcome(name)

    if isinstance(found, AnswerError):
        cut = isinstance(found, TruncatedError)
        twice = isinstance(found, UnreadableAnswerError) and "stands twice" in found.reason
        assert cut or twice or name in SAYABLE, found
    else:
        assert found.constrained
        assert found.usage is not None
        assert found.usage.output_tokens > 0


def test_at_least_forty_types_come_whole() -> None:
    """So small a model does not come to the end of all."""
    whole = [name for name in TYPES if isinstance(outcome(name), Answer)]

    assert len(whole) >= 40


@pytest.mark.parametrize(
    "name", ["bool", "list[User]", "Point", "Level", "int | None", "UUID", "Decimal", "Ints"]
)
async def test_awaited_it_is_the_same(name: str) -> None:
    """Through the async client, word for word."""
    found = outcome(name)

    assert isinstance(found, Answer)
    assert await small.aio(TYPES[name], "Give one short example.") == found.value


async def test_many_at_once() -> None:
    """A server of one model takes them one after the other."""
    names = ["bool", "Point", "Level", "int | None"]
    done = await asyncio.gather(
        *(small.aio(TYPES[name], "Give one short example.") for name in names)
    )

    assert done == [found.value for name in names if isinstance(found := outcome(name), Answer)]


def test_blocking_and_awaited_are_the_same_ask() -> None:
    """Greedy, so word for word."""
    first = small(list[str], "List three European capital cities.")
    second = asyncio.run(small.aio(list[str], "List three European capital cities."))

    assert first == second == ["Paris", "London", "Berlin"]


def test_an_extraction_finds_what_the_text_says() -> None:
    """Into a model class, from a value that goes in by name."""

    class Invoice(BaseModel):
        number: str
        customer: str
        total: float

    letter = "Invoice number A-17. Customer: Ada Lovelace. Total: 99.50 EUR."

    assert small(Invoice, "Extract the invoice.", context={"invoice": letter}) == Invoice(
        number="A-17", customer="Ada Lovelace", total=99.5
    )


def test_what_is_streamed_is_what_comes_whole() -> None:
    """Greedy, so word for word; snapshots lead to it."""
    with small.stream(list[str], "List three European capital cities.") as s:
        *_, last = s

    assert last == s.value == ["Paris", "London", "Berlin"]


def test_prose_is_written_freely() -> None:
    """Not as JSON."""
    answer = small.answer(Text, "Say hello.")

    assert "hello" in answer.value.lower()
    assert not answer.constrained


def test_a_repair_turn_really_reaches_the_model() -> None:
    """The model is told what was wrong, answers again, and is checked as strictly."""
    seen: list[int] = []

    class Picky(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def second_time(cls, value: int) -> int:
            seen.append(value)
            if len(seen) == 1:
                raise ValueError("must be another number")
            return value

    answer = small.answer(Picky, "Choose a number from 1 to 9.", repair=2)

    assert answer.repairs == 1
    assert answer.value.number == seen[1]
    assert answer.turns[0].usage != answer.turns[1].usage


def test_a_cut_answer_is_an_error_with_its_text() -> None:
    """Even where it would parse."""
    with pytest.raises(TruncatedError, match="max_tokens=3") as caught:
        small(list[str], "List ten colours.", max_tokens=3)

    assert caught.value.text
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == 3


def test_bounds_hold_while_the_model_writes() -> None:
    """Of a number, of a list, of a choice."""
    assert 3 <= small(Annotated[int, Field(ge=3, le=9)], "Choose a number.") <= 9
    assert len(small(Annotated[list[int], Field(min_length=2, max_length=2)], "Two numbers.")) == 2
    assert small(Literal["positive", "negative"], "The food was wonderful.") == "positive"


def test_many_threads_share_one_server() -> None:
    """Each gets its own answer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: small(Literal[1, 2], f"Say {n}."), (1, 2, 1, 2)))

    assert done[0] == done[2]
    assert done[1] == done[3]


def test_the_first_command_of_the_readme_runs() -> None:
    """What `make ask` shows."""
    done = subprocess.run(
        [sys.executable, "docs/examples/first.py"], capture_output=True, text=True, check=True
    )

    assert done.stdout == (
        "['Paris', 'London', 'Berlin']\n"
        "Invoice(number='A-17', customer='Ada Lovelace', total=99.5)\n"
    )
    assert done.stderr == ""


def test_recursive_and_nested_types() -> None:
    """The grammar refers to itself as the schema does."""
    node = small(Node, "Give one short example.")
    users = small(Sequence[User], "Give one short example.")

    assert isinstance(node, Node)
    assert all(isinstance(user, User) for user in users)
