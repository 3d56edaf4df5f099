"""A function each call of which runs in a cassette."""

from __future__ import annotations

import functools
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.cassette.recorder import Cassette

__all__ = ["in_cassette"]


def in_cassette(function: Callable[..., Any], opened: Callable[[], Cassette]) -> Callable[..., Any]:
    """Return *function*, or coroutine function, so that each call runs in what *opened* returns."""
    if iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **named: Any) -> Any:
            async with opened():
                return await function(*args, **named)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        with opened():
            return function(*args, **named)

    return called
