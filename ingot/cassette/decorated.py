"""A function each call of which runs in a cassette."""

from __future__ import annotations

import functools
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.cassette.recorder import Cassette

__all__ = ["in_cassette"]


def in_cassette(function: Callable[..., Any], cassette: Cassette) -> Callable[..., Any]:
    """Return *function*, or coroutine function, so that each call runs in one like *cassette*."""

    def opened() -> Cassette:
        return type(cassette)(
            cassette.path,
            cassette.mode,
            only=cassette.only,
            human=cassette.human,
            unused=cassette.on_unused,
            repeats=cassette.repeats,
            tools=cassette.tools,
            stream=cassette.stream,
            patterns=cassette.gate.patterns,
            redact=cassette.veil.redact,
            restore=cassette.veil.restore,
            max_bytes=cassette.gate.max_bytes,
            in_ci=True,
        )

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
