"""Requests: their key, which recordings are found by for ever, and how they read."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from ingot import ask
from ingot._messages import Message, ToolCall, ToolResult
from ingot._request import Attachment, Request
from ingot.testing import Script

PLAIN = Request(provider="openai", model="m", target="int", prompt="p")


def test_the_key_of_a_request_never_changes() -> None:
    """A recording made today is found by any later version."""
    assert PLAIN.digest() == "k1:c17c099e5df26bb76f454709af5b274b"


@pytest.mark.parametrize(
    "change",
    [
        {"target": "str"},
        {"prompt": "q"},
        {"context": (("a", 1),)},
        {"messages": (Message(role="user", text="x"),)},
        {"sample": 1},
        {"system": "s", "keyed": frozenset({"system"})},
        {"keyed": frozenset({"model"})},
        {"max_tokens": 5, "keyed": frozenset({"max_tokens"})},
        {"temperature": 0.0, "keyed": frozenset({"temperature"})},
        {"seed": 1, "keyed": frozenset({"seed"})},
        {"params": {"a": 1}, "keyed": frozenset({"params"})},
        {
            "attachments": (
                Attachment(media_type="image/png", size=1, sha256="f", name="a", content=b"x"),
            )
        },
    ],
    ids=str,
)
def test_what_decides_the_answer_is_in_the_key(change: dict[str, Any]) -> None:
    """Each part by itself."""
    assert replace(PLAIN, **change).digest() != PLAIN.digest()


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": 1.0},
        {"max_tokens": 5},
        {"temperature": 0.0},
        {"model": "other"},
        {"provider": "anthropic"},
        {"system": "from the environment"},
    ],
    ids=str,
)
def test_what_nobody_chose_is_not_in_the_key(change: dict[str, Any]) -> None:
    """Defaults, the environment, and how it is transported."""
    assert replace(PLAIN, **change).digest() == PLAIN.digest()


def test_the_vendors_names_for_calls_are_not_in_the_key() -> None:
    """Ids are counted in order, opaque blocks left out."""

    def turns(first: str, second: str, block: str) -> tuple[Message, ...]:
        calls = tuple(ToolCall(id=i, name="f", arguments="{}") for i in (first, second))
        results = tuple(ToolResult(id=i, text="1") for i in (first, second))
        return (
            Message(role="assistant", tool_calls=calls, blocks=({"signature": block},)),
            Message(role="user", tool_results=results),
        )

    one = replace(PLAIN, messages=turns("a", "b", "x"))
    two = replace(PLAIN, messages=turns("c", "d", "y"))
    other = replace(PLAIN, messages=(one.messages[0], turns("b", "a", "x")[1]))

    assert one.digest() == two.digest()
    assert one.digest() != other.digest()


def test_calls_are_numbered_through_all_turns() -> None:
    """Whether ids differ from turn to turn, or begin anew, as they do in a replay."""

    def turns(*ids: str) -> tuple[Message, ...]:
        return tuple(
            message
            for i in ids
            for message in (
                Message(role="assistant", tool_calls=(ToolCall(id=i, name="f", arguments="{}"),)),
                Message(role="user", tool_results=(ToolResult(id=i, text="1"),)),
            )
        )

    apart = replace(PLAIN, messages=turns("a", "b"))
    anew = replace(PLAIN, messages=turns("1", "1"))

    assert apart.digest() == anew.digest()


def test_content_is_in_no_repr() -> None:
    """What is attached is told by type, size and digest."""
    file = Attachment(media_type="t", size=6, sha256="f", name="a", content=b"secret")

    assert "secret" not in repr(replace(PLAIN, attachments=(file,)))


def test_the_way_an_ask_is_made_is_not_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question from a call, from `using`, of another server, with retries: one key."""
    for name in [n for n in os.environ if n.startswith("INGOT_")]:
        monkeypatch.delenv(name)
    with Script([1] * 5) as script:
        ask(int, "p", temperature=0)
        ask.using(temperature=0.0)(int, "p")
        ask(int, "p", temperature=0, retry=5, repair=2, timeout=3, base_url="http://x")
        monkeypatch.setenv("INGOT_SEED", "3")
        ask(int, "p", temperature=0)
        ask(int, "p", temperature=0, constrain="prompt")

    assert len({request.digest() for request in script.heard}) == 1
