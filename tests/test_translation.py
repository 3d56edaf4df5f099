"""Between two dialects: a request for a model that speaks another, and its reply back."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from ingot import Json, Text
from ingot._acting import acting
from ingot._config import checked
from ingot._shape.shape import shape_of
from ingot._translation import Translation
from ingot.provider import Message, Request, Response, ToolCall
from ingot.testing import Script

DIALECTS = ["open", "openai", "anthropic", "prompt"]
PAIRS = list(itertools.permutations(DIALECTS, 2))
Counts = dict[str, dict[str, int]]
VALUE = {"pens": {"red": 1}}


def count(items: dict[str, int]) -> int:
    """Count *items*."""
    return len(items)


def between(t: Any, plan: str, other: str, *, tools: bool = False) -> Translation:
    box = acting(checked({"tools": [count]}), None).tools if tools else None
    provider = Script([], dialect=other, model="m")
    return Translation(
        dialect=plan,
        shape=shape_of(t, plan),
        provider=provider,
        spoken=shape_of(t, other),
        tools=box,
    )


def request(translation: Translation, **given: Any) -> Request:
    shape, box = translation.shape, translation.tools
    return Request(
        provider="p",
        model="first",
        target=shape.descriptor,
        prompt="p",
        format=shape.format(shown=False),
        tools=() if box is None else box.declarations(translation.dialect),
        **given,
    )


@pytest.mark.parametrize(("plan", "other"), PAIRS)
def test_a_request_is_as_it_would_have_been_for_that_provider(plan: str, other: str) -> None:
    """Its name, model and bound, its schema and its tools."""
    there, own = between(Counts, plan, other, tools=True), between(Counts, other, plan, tools=True)

    sent = there.request(request(there), model="m", max_tokens=9)
    direct = request(own)

    assert (sent.provider, sent.model, sent.max_tokens) == ("script", "m", 9)
    assert sent.format == direct.format
    assert sent.tools == direct.tools


@pytest.mark.parametrize(("plan", "other"), PAIRS)
def test_a_reply_is_read_as_if_the_plans_own_model_had_said_it(plan: str, other: str) -> None:
    """Texts and the arguments of calls."""
    there = between(Counts, plan, other, tools=True)
    assert there.tools is not None
    arguments = json.dumps({"items": {"red": 1}})
    (call,) = there.tools.translated(
        (ToolCall(id="1", name="count", arguments=arguments),), "open", other
    )
    reply = Response(text=there.spoken.encode(VALUE), tool_calls=(call,))

    back = there.text(there.calls(reply))

    assert back.text is not None
    assert there.shape.read(back.text) == VALUE
    tool = there.tools.tools["count"]
    assert tool.tree(back.tool_calls[0].arguments, plan) == {"items": {"red": 1}}


@pytest.mark.parametrize(("plan", "other"), PAIRS)
def test_what_the_model_said_before_is_told_in_the_others_words(plan: str, other: str) -> None:
    """A repair builds on the reply that it repairs."""
    there = between(Counts, plan, other)
    said = Message(role="assistant", text=there.shape.encode(VALUE))
    wrong = Message(role="assistant", text="no JSON")
    told = Message(role="user", text=there.shape.encode(VALUE))

    messages = there.request(
        request(there, messages=(said, wrong, told)), model="m", max_tokens=None
    ).messages

    assert messages[0].text is not None
    assert there.spoken.read(messages[0].text) == VALUE
    assert messages[1:] == (wrong, told)


@pytest.mark.parametrize("t", [Text, Json])
def test_prose_and_free_json_are_not_touched(t: Any) -> None:
    """They are written alike everywhere, and a text that happens to be JSON is still a text."""
    there = between(t, "openai", "anthropic")
    reply = Response(text='{"a":   1}')

    assert there.text(reply) is reply


def test_one_dialect_needs_no_translation() -> None:
    """Nothing is written anew."""
    there = between(Counts, "openai", "openai", tools=True)
    reply = Response(
        text="{}", tool_calls=(ToolCall(id="1", name="count", arguments='{"items": []}'),)
    )

    assert there.text(there.calls(reply)) is reply
    assert not there.rewrites
