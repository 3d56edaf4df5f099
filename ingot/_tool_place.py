"""Where a tool stands, so that pickle finds it there again, as it finds a function."""

from __future__ import annotations

import sys
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["place_of"]


def place_of(tool: Any, function: Callable[..., Any]) -> str | tuple[Any, ...] | None:
    """
    Return what pickle finds *tool* by, as the result of `__reduce__`.

    Args:
        tool: The tool.
        function: Its function.

    Returns:
        Its name in its module, if it stands there as a decorated function does; how to take it from
        its object, as a decorated method; None where it must be made anew.
    """
    if isinstance(function, MethodType):
        owner, name = function.__self__, function.__name__
        return (getattr, (owner, name)) if type(getattr(owner, name, None)) is type(tool) else None
    name = getattr(tool, "__qualname__", "")
    try:
        found = attrgetter(name)(sys.modules[tool.__module__])
    except (AttributeError, KeyError):
        return None
    return name if found is tool else None
