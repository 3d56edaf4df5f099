"""
Requests, calls of tools and questions to people of every kind, whose keys are golden.

They stand in `data/keys.json`.

Run as a program this adds the keys of new ones; those that are there never change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from test_descriptor import CASES

from ingot import Json, Markdown, Text
from ingot._messages import Message, ToolCall, ToolResult
from ingot._shape.descriptor import descriptor_of
from ingot.cassette.rows import key_of_deed
from ingot.provider import Attachment, Request, ToolDeclaration

GOLDEN = Path(__file__).parent / "data" / "keys.json"
ALL = frozenset({"model", "system", "max_tokens", "temperature", "seed", "params"})


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Label(BaseModel):
    """How a ticket is filed."""

    kind: Literal["billing", "bug"]
    urgency: Annotated[int, Field(ge=1, le=5)] = 3


@dataclass
class Point:
    x: float
    y: float


def asked(target: Any = int, prompt: str = "How many?", **parts: Any) -> Request:
    """A request for *target*."""
    named = {"provider": "openai", "model": "gpt-5", **parts}
    return Request(target=descriptor_of(target), prompt=prompt, **named)


TOOL = ToolDeclaration(
    name="find", description="Finds.", parameters={}, target=descriptor_of(Label)
)
TURNS = (
    Message(
        role="assistant", text="Hm.", tool_calls=(ToolCall(id="c7", name="f", arguments="{}"),)
    ),
    Message(role="user", tool_results=(ToolResult(id="c7", text='"no"', failed=True),)),
)
IMAGE = Attachment(media_type="image/png", size=3, sha256="ab" * 32, name="a.png", content=b"abc")

FULL = asked(
    Label,
    "One.\nTwo.",
    system="Be brief.",
    context=(("doc", "abc"), ("d", {"a": [1, 2]})),
    messages=TURNS,
    tools=(TOOL,),
    attachments=(IMAGE,),
    max_tokens=9,
    temperature=0.5,
    seed=1,
    params={"top_p": 1},
    sample=1,
    keyed=ALL,
)


REQUESTS: dict[str, Request] = {
    "plain": asked(),
    "named model": asked(keyed=ALL),
    "system": asked(system="Be brief.\nBe kind.", keyed=ALL),
    "system from elsewhere": asked(system="Be brief."),
    "lines": asked(prompt="One.\n\nTwo.\n"),
    "carriage returns": asked(prompt="One.\r\nTwo."),
    "other scripts": asked(prompt="Zażółć 漢字 🙂 \u2028"),
    "text in context": asked(context=(("doc", "a\nb"),)),
    "values in context": asked(context=(("n", None), ("d", {"b": [1, 2.5], "a": True}))),
    "numbers": asked(temperature=0.0, seed=7, max_tokens=9, keyed=ALL),
    "params": asked(params={"top_p": 0.5, "x": {"b": 1, "a": [None]}}, keyed=ALL),
    "sample number": asked(sample=0),
    "sample text": asked(sample=""),
    "turns": asked(messages=TURNS),
    "tools": asked(tools=(TOOL, replace(TOOL, name="g", description=None))),
    "tool of no words": asked(tools=(replace(TOOL, description=""),)),
    "files": asked(attachments=(IMAGE,)),
    "prose": asked(Text),
    "markdown": asked(Markdown),
    "free json": asked(Json),
    "model class": asked(Label),
    "list of enum": asked(list[Color]),
    "dataclass": asked(dict[str, Point]),
    "union": asked(int | str | None),
    "whole": FULL,
    **{
        f"whole, {name}": replace(
            FULL,
            target=descriptor_of(target),
            tools=(TOOL, replace(TOOL, name="put", target=descriptor_of(target))),
        )
        for name, target in CASES.items()
    },
}


_CALL = {
    "kind": "tool",
    "ask": "k1:" + "ab" * 16,
    "tool": "find",
    "args": {"b": [1, 2.5], "a": "é"},
}
_QUESTION = {"kind": "human", "ask": "k1:" + "ab" * 16, "question": ["Which?", "Say."]}

DEEDS: dict[str, dict[str, Any]] = {
    "call": _CALL,
    "call of another ask": {**_CALL, "ask": "k1:" + "cd" * 16},
    "call without arguments": {**_CALL, "args": {}},
    "call once more": {**_CALL, "repeat": 1},
    "question": _QUESTION,
    "question with choices": {**_QUESTION, "choices": ["x", "y"]},
    "question once more": {**_QUESTION, "repeat": 1},
    "approval": {**_QUESTION, "tool": "find", "args": {"a": 1}, "choices": ["yes", "no"]},
}
"""Calls of tools and questions to people, as rows."""


def keys() -> dict[str, str]:
    """The key of each request, call and question, as it is made now."""
    made = {name: request.digest() for name, request in REQUESTS.items()}
    return made | {name: key_of_deed(row) for name, row in DEEDS.items()}


def golden() -> dict[str, str]:
    """The key of each, as it was made once."""
    return dict(json.loads(GOLDEN.read_text()))


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(key)}" for name, key in (keys() | golden()).items())
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
