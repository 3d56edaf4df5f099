"""What an ask offers to a model: functions made into tools once, and each name used once."""

from __future__ import annotations

from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ingot._shape.annotations import own_of
from ingot._tool import Tool, is_tool
from ingot.errors import ToolDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["tools_of"]


def tools_of(items: Iterable[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """
    Return the tools among *items* as they are, and functions as tools, made once for each.

    Raises:
        ToolDefinitionError: A model cannot be offered a function, or two tools have one name.
    """
    made = tuple(map(_tool_of, items))
    names: set[str] = set()
    for one in made:
        one.check()
        if one.name in names:
            raise ToolDefinitionError(
                one.name, "another tool has this name", advice="give one of them tool(name=…)"
            )
        names.add(one.name)
    return made


def _tool_of(item: Any) -> Tool:
    if is_tool(item):
        return item
    if not isinstance(item, MethodType):
        return _kept(item, item, "__ingot_tool__")
    if is_tool(item.__func__):
        # What `@classmethod` over `@tool` gives since Python 3.13.
        return item.__func__.bound(item)
    return _kept(item.__func__, item, "__ingot_method__").bound(item)


def _kept(holder: Any, function: Any, name: str) -> Tool:
    """Return the tool of *function* that stands on *holder*, with which it goes."""
    if type(holder) not in (FunctionType, partial):
        return Tool(function)
    kept: Tool | None = own_of(holder).get(name)
    # What wraps a function inherits what stands on it.
    if kept is None or kept.function is not holder:
        kept = Tool(function)
        kept.function = holder  # and not the method of an object, which would live as long
        setattr(holder, name, kept)
    return kept
