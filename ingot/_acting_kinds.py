"""The kinds of value that the settings of asks which act may have; see `_kinds`."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, TypeGuard, cast

if TYPE_CHECKING:
    from ingot._budget.limits import Budget
    from ingot._policy import Policy
    from ingot._tool import Tool
    from ingot._workspace import Workspace

__all__ = [
    "anything",
    "budget",
    "exceptions",
    "function",
    "listener",
    "policy",
    "tools",
    "workspace",
]

# What is imported here is imported when it is needed: most asks do not act.


def tools(value: Any) -> tuple[Tool, ...]:
    """
    Tools, and functions to make tools of.

    Raises:
        ToolDefinitionError: One of them cannot be offered to a model.
    """
    if isinstance(value, list | tuple) and all(map(callable, cast("list[Any]", value))):
        from ingot._offer import tools_of

        return tools_of(cast("list[Any]", value))
    raise ValueError("a list of functions and tools")


def anything(value: Any) -> Any:
    """Any object."""
    return value


def workspace(value: Any) -> Workspace:
    """A workspace, or the path of a folder."""
    from ingot._workspace import Workspace

    if isinstance(value, Workspace):
        return value
    if _is_path(value):
        return Workspace(value)
    raise ValueError("a Workspace, or the path of a folder")


def _is_path(value: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, str | os.PathLike) and bool(os.fsdecode(cast("str", value)))


def budget(value: Any) -> Budget:
    """A budget."""
    from ingot._budget.limits import Budget

    if isinstance(value, Budget):
        return value
    raise ValueError("a Budget")


def policy(value: Any) -> Policy:
    """A policy."""
    from ingot._policy import Policy

    if isinstance(value, Policy):
        return value
    raise ValueError("a Policy")


def function(value: Any) -> Any:
    """A function."""
    if callable(value) and not isinstance(value, type):
        return value
    raise ValueError("a function")


def listener(value: Any) -> Any:
    """A function that is not awaited."""
    if inspect.iscoroutinefunction(value):
        raise ValueError("a plain function, as it is not awaited")
    return function(value)


def exceptions(value: Any) -> tuple[type[Exception], ...]:
    """Classes of exceptions; True for all of them, False for none."""
    if isinstance(value, bool):
        return (Exception,) if value else ()
    classes = value if _is_tuple(value) else (value,)
    if all(isinstance(one, type) and issubclass(one, Exception) for one in classes):
        return classes
    raise ValueError("True, False, or classes of exceptions")


def _is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)
