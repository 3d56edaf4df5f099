"""Between two dialects: a request for a model that speaks another, and its reply back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot._calls import Toolbox
    from ingot._messages import Message
    from ingot._provider import Provider
    from ingot._request import Request
    from ingot._response import Response
    from ingot._shape.shape import Shape

__all__ = ["Translation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """
    What lies between a plan and a provider whose dialect may not be the plan's.

    Attributes:
        dialect: The plan's.
        shape: T in it.
        provider: Who is asked.
        spoken: T in the dialect of *provider*.
        tools: The tools that may be called; None for none.
    """

    dialect: str
    shape: Shape
    provider: Provider
    spoken: Shape
    tools: Toolbox | None

    def request(self, request: Request, *, model: str, max_tokens: int | None) -> Request:
        """Return *request* as *provider* gets it: with its names, its bound and its dialect."""
        provider, tools = self.provider, request.tools
        if tools and self._calls_differ and self.tools is not None:
            tools = self.tools.declarations(provider.dialect)
        return replace(
            request,
            provider=provider.name,
            model=model,
            max_tokens=max_tokens,
            format=self.spoken.format(shown=provider.show_schema),
            tools=tools,
            messages=tuple(map(self._message, request.messages)),
        )

    def calls(self, response: Response) -> Response:
        """Return *response* with its calls in the plan's dialect."""
        if self.tools is None or not response.tool_calls or not self._calls_differ:
            return response
        calls = self.tools.translated(response.tool_calls, self.provider.dialect, self.dialect)
        return replace(response, tool_calls=calls)

    def text(self, response: Response) -> Response:
        """Return *response* with its text in the plan's dialect, where it has the form of a T."""
        text = response.text
        if text is None or not self.rewrites:
            return response
        return replace(response, text=_rewritten(text, self.spoken, self.shape))

    @property
    def _calls_differ(self) -> bool:
        return self.provider.dialect != self.dialect

    @property
    def rewrites(self) -> bool:
        """Whether texts change."""
        # A type without a schema is written alike everywhere, and prose must not be touched.
        return self.shape.kind == "schema" and self.shape.dialect != self.spoken.dialect

    def _message(self, message: Message) -> Message:
        """What the model said, as *provider* would have had it; else *message* itself."""
        text, calls = message.text, message.tool_calls
        if message.role != "assistant" or not (self._calls_differ or self.rewrites):
            return message
        if text is not None and self.rewrites:
            text = _rewritten(text, self.shape, self.spoken)
        if self.tools is not None and calls and self._calls_differ:
            calls = self.tools.translated(calls, self.dialect, self.provider.dialect)
        return replace(message, text=text, tool_calls=calls)


def _rewritten(text: str, source: Shape, target: Shape) -> str:
    """*text* as *target* writes it; as it is where it does not have the form of *source*."""
    fits, tree = source.natural(text)
    return target.to_wire(tree) if fits else text
