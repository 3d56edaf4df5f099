"""Models that call tools, for tests: what they reply, what they are told, ways to ask them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from ingot import ask
from ingot.provider import Response, ToolCall, Usage
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot import Answer
    from ingot.provider import ToolResult

__all__ = ["DONE", "SPENT", "WAYS", "call", "calling", "told"]

SPENT = Usage(input_tokens=7, output_tokens=5)

DONE = Response(text='{"value": "done"}', stop_reason="stop", usage=SPENT, model="m")
"""The end of a conversation that is asked for a `str`."""


def call(name: str, arguments: str | None = None, /, **named: Any) -> ToolCall:
    """A call of the tool *name*, its arguments as written or by name; `calling` gives it an id."""
    return ToolCall(id="", name=name, arguments=arguments or json.dumps(named))


def calling(*calls: ToolCall | str, **facts: Any) -> Response:
    """A reply that makes *calls*, whose ids are `c1`, `c2`, …."""
    made = [call(each) if isinstance(each, str) else each for each in calls]
    return Response(
        **{
            "tool_calls": tuple(
                ToolCall(id=f"c{n}", name=each.name, arguments=each.arguments)
                for n, each in enumerate(made, 1)
            ),
            "stop_reason": "tool_use",
            "empty_reason": "tool_use_only",
            "usage": SPENT,
            "model": "m",
            **facts,
        }
    )


def told(script: Script, request: int = -1) -> tuple[ToolResult, ...]:
    """The results in the last turn of a request that *script* heard."""
    return script.heard[request].messages[-1].tool_results


def blocking(t: Any, prompt: str, **given: Any) -> Answer[Any]:
    """Ask in this thread."""
    return ask.answer(t, prompt, **given)


def awaiting(t: Any, prompt: str, **given: Any) -> Answer[Any]:
    """Ask in a task."""

    async def main() -> Any:
        return await ask.aio.answer(t, prompt, **given)

    return asyncio.run(main())


def blocking_in_a_loop(t: Any, prompt: str, **given: Any) -> Answer[Any]:
    """Ask as in a notebook, whose loop is running."""

    async def main() -> Any:
        return ask.answer(t, prompt, **given)

    return asyncio.run(main())


def streaming(t: Any, prompt: str, **given: Any) -> Answer[Any]:
    """Listen in this thread, to the end."""
    with ask.stream(t, prompt, **given) as s:
        for _ in s:
            pass
        return s.answer


def awaiting_a_stream(t: Any, prompt: str, **given: Any) -> Answer[Any]:
    """Listen in a task, to the end."""

    async def main() -> Any:
        async with ask.aio.stream(t, prompt, **given) as s:
            async for _ in s:
                pass
            return s.answer

    return asyncio.run(main())


WAYS: dict[str, Callable[..., Answer[Any]]] = {
    "blocking": blocking,
    "awaiting": awaiting,
    "notebook": blocking_in_a_loop,
    "streaming": streaming,
    "awaiting a stream": awaiting_a_stream,
}
