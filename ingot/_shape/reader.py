"""From the text of a reply to a value of T, strictly."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ingot._json import Unreadable, describe, is_object, join_keys, read
from ingot._shape.problems import problems_of
from ingot.errors import MismatchedAnswerError, Problem, UnreadableAnswerError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ingot._shape.wire import Wire

__all__ = ["bare", "encode_value", "read_value"]

_FENCE = re.compile(r"\s*```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_MARK = "\ufeff"


def bare(text: str) -> str:
    """
    Return *text* without what may stand around one JSON value and say nothing.

    That is a byte-order mark, one complete block of reasoning in front, and one code fence around
    the whole. A text with more than that is returned as it is, for the reader to refuse.
    """
    if text[:1] in "{[" and text[-1:] in "}]":
        return text
    text = text.removeprefix(_MARK)
    thought = _THOUGHT.match(text)
    if thought:
        text = text[thought.end() :]
    fence = _FENCE.fullmatch(text)
    if fence and "```" not in fence[1]:
        return fence[1].removeprefix(_MARK)
    return text


def read_value(text: str, adapter: TypeAdapter[Any], wire: Wire, target: str) -> Any:
    """
    Read *text* as a value of the type of *adapter*.

    Args:
        text: The whole text of the reply.
        adapter: Pydantic's validator of T.
        wire: How T was written for the provider that replied.
        target: T as text, for messages.

    Raises:
        UnreadableAnswerError: The text is not one JSON value.
        MismatchedAnswerError: It does not fit T.
    """
    clean = bare(text)
    try:
        tree, faults = read(clean)
    except Unreadable as error:
        raise UnreadableAnswerError(_reason(error, clean), target=target, text=text) from None
    if faults:
        problems = [Problem(path, f"{what} is not a JSON number") for path, what in faults]
        raise MismatchedAnswerError(problems, target=target, text=text)
    try:
        return _validate(clean, tree, adapter, wire)
    except _MismatchError as first:
        # Some models quote an object or array once too often; undone only where T has no place for
        # a string.
        again = _unquote(tree, wire)
        if again is not tree and again != tree:
            try:
                return _validate(None, again, adapter, wire)
            except _MismatchError:
                pass
        raise MismatchedAnswerError(first.problems, target=target, text=text) from first.__cause__


class _MismatchError(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems


def _validate(text: str | None, tree: Any, adapter: TypeAdapter[Any], wire: Wire) -> Any:
    prefix: tuple[str, ...] = ()
    if wire.wrapped:
        tree, text, prefix = _unwrap(tree), None, ("value",)
    if wire.rewritten:
        problems: list[Problem] = []
        tree, text = wire.plan.decode(tree, prefix, problems), None
        if problems:
            raise _MismatchError(problems)
    if text is None:
        text = json.dumps(tree, ensure_ascii=False)
    try:
        if wire.object_union and not wire.open_objects and _CAN_FORBID:
            # A member of a union that is all defaults must not swallow an object meant for another.
            return adapter.validate_json(text, strict=True, extra="forbid")
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        found = problems_of(error.errors(include_url=False), tree, prefix)
        raise _MismatchError(found) from error
    except Exception as error:
        error.add_note("raised by a validator of the declared type, on the model's reply")
        raise


def _unwrap(tree: Any) -> Any:
    if is_object(tree) and tree.keys() == {"value"}:
        return tree["value"]
    found = f"an object with {join_keys(tree)}" if is_object(tree) else describe(tree)
    raise _MismatchError(
        [Problem((), f"expected an object with the one field `value`, found {found}")]
    )


def _unquote(tree: Any, wire: Wire) -> Any:
    if isinstance(tree, str):
        try:
            tree, faults = read(tree)
        except Unreadable:
            return tree
        if faults:
            return tree
    if not wire.wrapped:
        return wire.plan.unquote(tree)
    if is_object(tree) and "value" in tree:
        return {**tree, "value": wire.plan.unquote(tree["value"])}
    return tree


def _reason(error: Unreadable, text: str) -> str:
    if "<html" in text[:500].lower() or "<!doctype" in text[:100].lower():
        return "it is an HTML page"
    if text.strip()[:1] not in ("{", "[", '"') and text.strip():
        return f"it is prose ({error.reason}); the server may not hold the model to a schema"
    return error.reason


def encode_value(value: Any, adapter: TypeAdapter[Any], wire: Wire) -> str:
    """Return the reply that reads as *value*: what a model would write for it."""
    text = ""
    for by_alias in (True, False):
        # A class may be read by other names than it is written with; only what reads back is a
        # reply.
        tree = json.loads(adapter.dump_json(value, by_alias=by_alias, warnings=False))
        if wire.rewritten:
            tree = wire.plan.encode(tree)
        text = json.dumps({"value": tree} if wire.wrapped else tree, ensure_ascii=False)
        try:
            read_value(text, adapter, wire, "")
        except MismatchedAnswerError:
            continue
        break
    return text


def _can_forbid() -> bool:
    """Whether this pydantic (2.12 and later) can refuse unknown keys for one validation."""
    from inspect import signature

    from pydantic import BaseModel

    return "extra" in signature(BaseModel.model_validate_json).parameters


_CAN_FORBID = _can_forbid()
