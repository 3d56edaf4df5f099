"""From the text of a reply to a value of T, strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from ingot._json import Unreadable, describe, encoder, is_object, join_keys, read
from ingot._shape.problems import problems_of
from ingot.errors import MismatchedAnswerError, Problem, UnreadableAnswerError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ingot._shape.wire import Wire

__all__ = ["bare", "encode_value", "natural", "read_value", "wire_text"]

_Validate: TypeAlias = Callable[..., Any]
"""`_validate` for one type."""

_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\r?\n")
_THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_MARK = "\ufeff"


def bare(text: str) -> str:
    """
    Return *text* without what may stand around one JSON value and say nothing.

    That is a byte-order mark, one complete block of reasoning in front, and one code fence around
    the whole. A text with more than that is left for the reader to refuse.
    """
    if text[:1] in "{[" and text[-1:] in "}]":
        return text
    text = text.removeprefix(_MARK)
    thought = _THOUGHT.match(text)
    if thought:
        text = text[thought.end() :]
    whole = text.strip()
    fence = _FENCE.match(whole)
    if fence and whole.endswith("```"):
        return whole[fence.end() : -3].removeprefix(_MARK)
    return text


def read_value(
    text: str,
    adapter: TypeAdapter[Any],
    wire: Wire | None,
    target: str,
    context: Mapping[str, Any] | None = None,
) -> Any:
    """
    Read *text* as a value of the type of *adapter*.

    Args:
        text: The whole text of the reply.
        adapter: Pydantic's validator of T.
        wire: How T was written for the provider that replied; None for free JSON.
        target: T as text, for messages.
        context: What the validators of T are told; None for nothing.

    Raises:
        UnreadableAnswerError: The text is not one JSON value.
        MismatchedAnswerError: It does not fit T.
    """
    tree: Any
    faults: list[tuple[tuple[str | int, ...], str]] = []
    clean = text
    if isinstance(text, Written):
        tree = text.tree
    else:
        clean = bare(text)
        try:
            tree, faults = read(clean)
        except Unreadable as error:
            raise UnreadableAnswerError(_reason(error, clean), target=target, text=text) from None
    if faults:
        problems = [Problem(path, _number_fault(what)) for path, what in faults]
        raise MismatchedAnswerError(problems, target=target, text=text)
    try:
        return _read(clean, tree, partial(_validate, adapter, context), wire)
    except _MismatchError as error:
        raise MismatchedAnswerError(error.problems, target=target, text=text) from error.__cause__
    except _DeepError:
        reason = "it is nested too deeply"
        raise UnreadableAnswerError(reason, target=target, text=text) from None


def _read(text: str, tree: Any, validate: _Validate, wire: Wire | None) -> Any:
    if wire is None:
        return validate(text, tree, forbid=False)
    try:
        return _undo(text, tree, validate, wire)
    except _MismatchError:
        # Some models quote an object or array once too often; undone only where T has no place for
        # a string.
        with _bounded():
            again = _unquote(tree, wire)
            if again == tree:
                raise
        try:
            return _undo(None, again, validate, wire)
        except _MismatchError:
            pass
        raise


class Written(str):
    """
    JSON that ingot wrote itself, which has nothing in it that the strict reader would refuse.

    Attributes:
        tree: What was written.
    """

    __slots__ = ("tree",)
    tree: Any


class _DeepError(Exception):
    pass


@contextmanager
def _bounded() -> Generator[None]:
    """Say of a tree too deep for Python that it is, before any code of the caller is run."""
    try:
        yield
    except RecursionError:
        raise _DeepError from None


class _MismatchError(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems


def _undo(text: str | None, tree: Any, validate: _Validate, wire: Wire) -> Any:
    prefix: tuple[str, ...] = ()
    if wire.wrapped:
        tree, text, prefix = _unwrap(tree), None, ("value",)
    written = tree
    if wire.rewritten or text is None:
        with _bounded():
            tree, text = _decoded(tree, prefix, wire)
    # A member of a union that is all defaults must not swallow an object meant for another.
    exact = wire.object_union and not wire.open_objects
    value = validate(text, tree, forbid=exact and _CAN_FORBID, prefix=prefix)
    if exact and not _CAN_FORBID and not wire.plan.matches(written):
        raise _MismatchError([Problem(prefix, "no type of a union accounts for all of its keys")])
    return value


def _decoded(tree: Any, prefix: tuple[str, ...], wire: Wire) -> tuple[Any, str]:
    """The JSON of T that *tree* stands for, and its text."""
    if wire.rewritten:
        problems: list[Problem] = []
        tree = wire.plan.decode(tree, prefix, problems)
        if problems:
            raise _MismatchError(problems)
    return tree, _encode(tree)


def _validate(
    adapter: TypeAdapter[Any],
    context: Mapping[str, Any] | None,
    text: str,
    tree: Any,
    *,
    forbid: bool,
    prefix: tuple[str, ...] = (),
) -> Any:
    try:
        if forbid:
            return adapter.validate_json(text, strict=True, extra="forbid", context=context)
        return adapter.validator.validate_json(text, strict=True, context=context)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        if errors[0]["type"] == "json_invalid" and not errors[0]["loc"]:
            # It was read before: pydantic's reader alone goes no deeper than 200 levels.
            raise _DeepError from error
        raise _MismatchError(problems_of(errors, tree, prefix)) from error
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


def _number_fault(written: str) -> str:
    """What is wrong with a number that is none, or that is too large."""
    if any(char.isdigit() for char in written):
        return f"{written} is beyond the range of a float"
    return f"{written} is not a JSON number"


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
        dumped = adapter.dump_json(value, by_alias=by_alias, round_trip=True, warnings=False)
        tree = wire.plan.encode(json.loads(dumped))
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


def natural(text: str, wire: Wire | None) -> tuple[bool, Any]:
    """
    Say whether *text* is JSON in the form of *wire*, and return the JSON of T that it stands for.

    T itself is not asked: what fits the form may still not fit T.
    """
    try:
        tree, faults = read(bare(text))
    except Unreadable:
        return False, None
    if faults:
        return False, None
    if wire is None:
        return True, tree
    for candidate in (tree, _unquote(tree, wire)):
        problems: list[Problem] = []
        try:
            inner = _unwrap(candidate) if wire.wrapped else candidate
        except _MismatchError:
            continue
        if wire.rewritten:
            inner = wire.plan.decode(inner, (), problems)
        if not problems and _is_read_back(inner, wire, candidate):
            return True, inner
    return False, None


def _is_read_back(tree: Any, wire: Wire, before: Any) -> bool:
    """Whether *tree* is written again as it was read, so that nothing is lost by keeping it."""
    return not wire.rewritten or json.loads(wire_text(tree, wire)) == json.loads(json.dumps(before))


def wire_text(tree: Any, wire: Wire | None) -> str:
    """Return the text of a reply in the form of *wire* that stands for *tree*, the JSON of T."""
    if wire is not None and wire.rewritten:
        tree = wire.plan.encode(tree)
    if wire is not None and wire.wrapped:
        tree = {"value": tree}
    text = _encode(tree)
    if wire is not None and wire.rewritten:
        return text
    written = Written(text)
    written.tree = tree
    return written


_encode = encoder()
