"""Values of Python as the JSON that the other end reads."""

from __future__ import annotations

from typing import Any

from ingot._json import is_array, is_object

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """
    Return *value* as JSON, objects by the names that their fields have there.

    Raises:
        TypeError: JSON has no form for it.
    """
    if _is_plain(value):
        return value
    from pydantic_core import PydanticSerializationError, to_jsonable_python  # most do without

    try:
        return to_jsonable_python(value, by_alias=True)
    except PydanticSerializationError as error:
        raise TypeError(f"JSON has no form for it: {error}") from None


def _is_plain(value: Any) -> bool:
    if is_object(value):
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    if is_array(value):
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, bool, int, float)
