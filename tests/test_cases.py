"""Faults that users of neighbouring libraries reported: each reply has its one right reading."""

from __future__ import annotations

import contextlib
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from ingot import errors
from ingot._flow import _judge
from ingot._request import Request
from ingot._shape.dialects import DIALECTS
from ingot._shape.shape import shape_of
from ingot_anthropic import Anthropic
from ingot_openai import OpenAI, OpenAIChat

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases" / "cases.jsonl"

CLASSES: dict[str, tuple[type[BaseException], ...]] = {
    "SchemaError": (errors.UnsupportedTypeError,),
    "ParseError": (errors.UnreadableAnswerError,),
    "ValidationError": (errors.MismatchedAnswerError,),
    "TruncatedError": (errors.TruncatedError,),
    "EmptyReplyError": (errors.EmptyAnswerError,),
    "RefusalError": (errors.RefusedError,),
    "ContentFilterError": (errors.ContentFilteredError,),
    "UnexpectedToolCallError": (errors.UnexpectedToolCallError,),
    "ProviderError": (errors.ProviderError,),
    "AuthError": (errors.ProviderAuthError,),
    "RateLimitError": (errors.ProviderRateLimitError,),
    "OverloadedError": (errors.ProviderUnavailableError,),
    "ConnectionError": (errors.ProviderUnavailableError,),
    "TimeoutError": (errors.ProviderTimeoutError,),
    "KeyError": (KeyError,),
    "ToolLoopError": (errors.TurnLimitError,),
    "FileError": (errors.FileAccessError,),
}
"""The placeholders of the cases, as classes of ours."""

STRICT = {
    "A66": "ValidationError",  # a quoted boolean is not a boolean
    "A29": "ValidationError",  # a NamedTuple travels as an object
    "B14": "ValidationError",  # a bare value where a wrapped one was asked for
    "B15": "ValidationError",
    "B19": "ValidationError",
    "B20": "ValidationError",
}
"""Cases that leave room, read the strict way."""

READERS = {
    "openai.chat": OpenAIChat(api_key="x"),
    "openai.responses": OpenAI(api_key="x"),
    "anthropic.messages": Anthropic(api_key="x"),
}


def load(groups: str) -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    rows = map(json.loads, CASES.read_text().strip().split("\n"))
    return [row for row in rows if row["group"] in groups and not row.get("http")]


def declared(row: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The type of a case, and the names around it."""
    module = types.ModuleType("case_" + row["id"])
    sys.modules[module.__name__] = module
    names = vars(module)
    names["typing"] = typing
    exec(compile(row["setup"], row["id"], "exec", dont_inherit=True), names)  # noqa: S102
    return eval(row["type"], names), names  # noqa: S307


def answer(row: dict[str, Any], dialect: str, t: Any, names: dict[str, Any]) -> Any:
    """What ingot makes of the reply of *row*."""
    shape = shape_of(t, dialect, namespace=lambda: (names, {}))
    if row["reply"] is None:
        return None
    request = Request(provider="p", model="m", target=None, prompt="p")
    if row["reply_is"] == "body":
        response = READERS[row["api"]].decode(row["reply"])
        return _judge(response, request, shape)
    text = row["reply"]
    if row["group"] == "A" and "py" in row["expect"]:
        # The reply as a model would write it in this dialect.
        with contextlib.suppress(errors.IngotError):
            text = shape.encode(eval(row["expect"]["py"], names))  # noqa: S307
        if row["id"] in STRICT:
            text = row["reply"]
    return shape.read(text)


@pytest.mark.skipif(not CASES.is_file(), reason="the cases of shared/ are not beside this checkout")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("row", load("AB"), ids=lambda row: row["id"])
def test_reads_the_reply_as_it_is_meant(row: dict[str, Any], dialect: str) -> None:
    """The value of the case, or its error where it has one; never another value."""
    expect = row["expect"]
    wanted = STRICT.get(row["id"]) or expect.get("error")
    allowed = CLASSES[wanted] if wanted else ()
    if "or_error" in expect:
        allowed += CLASSES[expect["or_error"]]
    t, names = declared(row)
    try:
        value = answer(row, dialect, t, names)
    except BaseException as error:
        assert isinstance(error, allowed), f"{error!r}"
        if wanted and isinstance(error, CLASSES[wanted]) and row["id"] not in STRICT:
            assert [word for word in expect.get("mentions", ()) if word not in str(error)] == []
        assert [w for w in row.get("message_must_not_contain", ()) if w in str(error)] == []
        if isinstance(error, errors.InvalidAnswerError):
            assert json.loads(json.dumps(error.errors())) == error.errors()
    else:
        assert wanted is None
        if row["reply"] is not None:
            expected = eval(expect["py"], names)  # noqa: S307
            same = (
                value.__dict__ == expected.__dict__ if expect.get("compare") else value == expected
            )
            assert same, f"{value!r} is not {expected!r}"
            assert type(value).__name__ == type(expected).__name__
