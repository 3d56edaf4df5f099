"""A provider for tests of many asks: it replies after a while, and counts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from ingot.provider import Provider, Response, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.provider import Request

__all__ = ["Double"]


class Double(Provider):
    """
    Replies to each request.

    Args:
        reply: Makes the value of a prompt; an exception is raised. By default its last word as a
            number.
        seconds: How long a prompt takes; a number is for all.

    Attributes:
        heard: The prompts, in the order in which they were sent.
        now: Requests in flight.
        peak: The most that were in flight at once.
    """

    name = "double"
    dialect = "openai"
    default_model = "double"

    def __init__(
        self,
        reply: Callable[[str], Any] = lambda prompt: int(prompt.split()[-1]),
        seconds: float | Callable[[str], float] = 0.0,
    ) -> None:
        self._reply = reply
        self._seconds = seconds
        self.heard: list[str] = []
        self.now = self.peak = 0

    def send(self, request: Request) -> Response:
        raise AssertionError("a map awaits")

    async def asend(self, request: Request) -> Response:
        prompt = request.prompt
        self.heard.append(prompt)
        self.now += 1
        self.peak = max(self.peak, self.now)
        try:
            seconds = self._seconds(prompt) if callable(self._seconds) else self._seconds
            await asyncio.sleep(seconds)
        finally:
            self.now -= 1
        value = self._reply(prompt)
        if isinstance(value, BaseException):
            raise value
        return Response(
            text=json.dumps({"value": value}),
            stop_reason="stop",
            usage=Usage(input_tokens=3, output_tokens=2),
        )
