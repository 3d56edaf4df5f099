"""What a tool returns, as the text that the model is told."""

from __future__ import annotations

from collections.abc import Iterator, MappingView
from datetime import datetime
from decimal import Decimal
from io import IOBase
from typing import TYPE_CHECKING, Any

from pydantic_core import (
    PydanticSerializationError,
    SchemaSerializer,
    ValidationError,
    core_schema,
    to_json,
    to_jsonable_python,
)

from ingot._json import is_object
from ingot._shape.content import File
from ingot._shape.members import type_name
from ingot.errors import IngotError, ToolResultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import TypeAdapter

    from ingot._handles import Handles

__all__ = ["consumed", "is_lazy", "result_text"]

_BINARY = (bytes, bytearray, memoryview)
_CONTAINERS: tuple[type[Any], ...] = (list, tuple, set, frozenset)
_ANY = SchemaSerializer(core_schema.any_schema())


def result_text(
    result: Any, adapter: TypeAdapter[Any] | None, handles: Handles, *, tool: str, returns: Any
) -> str:
    """
    Return the text for *result*: a text as it is, all else as JSON.

    Args:
        result: What the tool returned, `consumed`.
        adapter: Pydantic's for the type that the tool declares to return; None where it does not.
        handles: Is told of each `File` in the result.
        tool: Name of the tool, for messages.
        returns: The type that it declares, for messages.

    Raises:
        ToolResultError: It has no JSON form, holds bytes, or is not of the declared type.
        FileAccessError: A file in it does not lie in the workspace.
    """
    if isinstance(result, str) and any("\ud800" <= char <= "\udfff" for char in result):
        raise ToolResultError(tool, "it holds half of a surrogate pair, which is no text")
    try:
        if _holds_bytes(_in_python(result, adapter)):
            raise ToolResultError(tool, "it holds bytes")
        # Not at once to text, in which pydantic would lose the cause of a failure.
        tree = _tree(result, adapter, handles)
        if isinstance(result, str) and isinstance(tree, str):
            return tree
        return to_json(tree, inf_nan_mode="null").decode()
    except _MismatchError:
        kind, declared = type(result).__name__, type_name(returns)
        reason = f"it is a `{kind}`, and the tool declares to return `{declared}`"
        raise ToolResultError(tool, reason) from None
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, ToolResultError):
            raise
        if isinstance(error.__cause__, IngotError):
            raise error.__cause__ from None
        raise ToolResultError(tool, f"it has no JSON form ({error!s:.200})") from error


# Of the declared type


class _MismatchError(Exception):
    """A result is not of the declared type."""


def _tree(result: Any, adapter: TypeAdapter[Any] | None, handles: Handles) -> Any:
    """Return *result* as JSON: as the type that was declared, else as what it is."""
    if adapter is None:
        return _as_it_is(result, handles)
    try:
        return adapter.serializer.to_python(
            result,
            mode="json",
            by_alias=True,
            warnings="error",
            context={"handles": handles},
        )
    except PydanticSerializationError as error:
        if error.__cause__ is not None:
            raise
    # A tuple for a list, a dict for a dataclass or a Decimal for a float is as good.
    for value in (result, _loosened(result)):
        tree = _as_it_is(value, handles)
        try:
            adapter.validate_json(to_json(tree), strict=True, context={"handles": handles})
        except ValidationError:
            continue
        return tree
    raise _MismatchError


def _as_it_is(result: Any, handles: Handles) -> Any:
    def written(value: Any) -> Any:
        if isinstance(value, File):
            return handles.admit(value).to_dict()
        raise TypeError(f"there is none for a `{type(value).__name__}`")

    return to_jsonable_python(
        result,
        by_alias=True,
        inf_nan_mode="null",
        fallback=written,
        context={"handles": handles},
    )


def _loosened(value: Any) -> Any:
    """Return *value* with numbers and days in it as the plainer types that may be declared."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.date()
    return _mapped(value, _loosened)


# What is in it


def is_lazy(value: Any) -> bool:
    """Whether an iterator or a view is in *value*, itself or in its containers."""
    try:
        return _holds(value, _is_iterated)
    except RecursionError:
        return False  # it holds itself, and is no JSON


def consumed(value: Any) -> Any:
    """Return *value* with lists for the iterators and views in it, which runs their code."""
    return _listed(value) if is_lazy(value) else value


def _is_iterated(value: Any) -> bool:
    # An open file is an iterator, too, and was hardly meant as its lines.
    return isinstance(value, (Iterator, MappingView)) and not isinstance(value, IOBase)


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if _is_iterated(value) else _mapped(value, _listed)


def _in_python(result: Any, adapter: TypeAdapter[Any] | None) -> Any:
    """Return what pydantic would write, before it makes texts of bytes."""
    serializer = _ANY if adapter is None else adapter.serializer
    return serializer.to_python(result, warnings=False)


def _holds_bytes(value: Any) -> bool:
    return _holds(value, lambda part: isinstance(part, _BINARY))


def _holds(value: Any, bad: Callable[[Any], bool]) -> bool:
    """Whether *bad* is true of *value* or of what is in a container in it."""
    if bad(value):
        return True
    if is_object(value):
        value = [*value.values()]
    return isinstance(value, _CONTAINERS) and any(_holds(item, bad) for item in value)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return *value*, if it is a container, with each item changed; a dict, or else a list."""
    if is_object(value):
        return {key: change(item) for key, item in value.items()}
    return [*map(change, value)] if isinstance(value, _CONTAINERS) else value
