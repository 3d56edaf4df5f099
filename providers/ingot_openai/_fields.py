"""Parts of a reply's JSON that may be missing, or of another kind than the protocol says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["count", "mapping", "mappings", "text"]


def text(value: Any) -> str | None:
    """Return *value* if it is text."""
    return value if isinstance(value, str) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects in *value*; none if it is no array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(counted: Mapping[str, Any], name: str) -> int:
    """Return the number of tokens under *name*, 0 if there is none."""
    value = counted.get(name)
    return max(0, value) if isinstance(value, int) else 0
