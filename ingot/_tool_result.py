"""What a tool returns, as the text that the model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from ingot._json import is_object
from ingot._shape.content import File
from ingot.errors import IngotError, ToolResultError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ingot._handles import Handles

__all__ = ["result_text"]

_BINARY = (bytes, bytearray, memoryview)
_CONTAINERS: tuple[type[Any], ...] = (list, tuple, set, frozenset)


def result_text(
    result: Any, adapter: TypeAdapter[Any] | None, handles: Handles, *, tool: str
) -> str:
    """
    Return the text for *result*: a text as it is, all else as JSON.

    Args:
        result: What the tool returned.
        adapter: Pydantic's for the type that the tool declares to return; None where it does not.
        handles: Is told of each `File` in the result.
        tool: Name of the tool, for messages.

    Raises:
        ToolResultError: It has no JSON form, or holds bytes.
        FileAccessError: A file in it does not lie in the workspace.
    """
    if isinstance(result, str):
        text = str.__str__(result)  # of an enum's member its value
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise ToolResultError(tool, "it holds half of a surrogate pair, which is no text")
        return text
    try:
        if _holds_bytes(result):
            raise ToolResultError(tool, "it holds bytes")
        # Not at once to text, in which pydantic would lose the cause of a failure.
        tree = _tree(result, adapter, handles)
        return to_json(tree, inf_nan_mode="null").decode()
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, ToolResultError):
            raise
        if isinstance(error.__cause__, IngotError):
            raise error.__cause__ from None
        raise ToolResultError(tool, f"it has no JSON form ({error!s:.200})") from error


def _tree(result: Any, adapter: TypeAdapter[Any] | None, handles: Handles) -> Any:
    """Return *result* as JSON: as the type that was declared, else as what it is."""
    context = {"handles": handles}
    if adapter is not None:
        try:
            return adapter.serializer.to_python(
                result, mode="json", by_alias=True, warnings="error", context=context
            )
        except PydanticSerializationError as error:
            if error.__cause__ is not None:
                raise

    def written(value: Any) -> Any:
        if isinstance(value, File):
            return handles.admit(value).to_dict()
        raise TypeError(f"there is none for a `{type(value).__name__}`")

    return to_jsonable_python(
        result, by_alias=True, inf_nan_mode="null", fallback=written, context=context
    )


def _holds_bytes(value: Any) -> bool:
    """Whether bytes are in *value* or a container in it; pydantic would make texts of them."""
    if isinstance(value, _BINARY):
        return True
    if is_object(value):
        value = [*value.values()]
    return isinstance(value, _CONTAINERS) and any(map(_holds_bytes, value))
