"""Parts of a reply's JSON, each of which may be missing or of another kind than it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_count", "as_object", "as_objects", "as_text"]


def as_text(value: Any) -> str | None:
    """Return *value* if it is text."""
    return value if isinstance(value, str) else None


def as_object(value: Any) -> dict[str, Any]:
    """Return *value* if it is an object, else an empty one."""
    return value if is_object(value) else {}


def as_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in *value*; none if it is no array."""
    return [item for item in value if is_object(item)] if is_array(value) else []


def as_count(counted: Mapping[str, Any], name: str) -> int:
    """Return the number of tokens under *name*; 0 if there is none."""
    value = counted.get(name)
    return max(0, value) if isinstance(value, int) else 0
