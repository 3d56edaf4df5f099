"""Typed values out of language models: `ask(list[str], prompt)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot._answer import Answer
    from ingot._ask import ask
    from ingot._attach import attachment
    from ingot._budget.limits import Budget
    from ingot._configured import Configured
    from ingot._context import Context
    from ingot._map.awaited import AsyncMap
    from ingot._map.blocking import Map
    from ingot._map_errors import Failure
    from ingot._people import Approval, Consultation, approve_in_terminal, consult
    from ingot._policy import Policy
    from ingot._rate import Rate
    from ingot._response import Response, Usage
    from ingot._retry import Retry
    from ingot._route import Route
    from ingot._shape.content import File, Json, Markdown, Text
    from ingot._stream import AsyncStream, Stream
    from ingot._tool import Tool, tool
    from ingot._workspace import Workspace
    from ingot.cassette.recorder import Cassette
    from ingot.errors import (
        AnswerError,
        BudgetExceededError,
        ContentFilteredError,
        EmptyAnswerError,
        FileAccessError,
        IngotError,
        InvalidAnswerError,
        MapError,
        MismatchedAnswerError,
        NotConfiguredError,
        PolicyError,
        PromptError,
        ProviderAuthError,
        ProviderError,
        ProviderProtocolError,
        ProviderRateLimitError,
        ProviderTimeoutError,
        ProviderUnavailableError,
        RefusedError,
        StoreError,
        ToolDefinitionError,
        ToolError,
        ToolResultError,
        TruncatedError,
        TurnLimitError,
        UnreadableAnswerError,
        UnsupportedTypeError,
    )
    from ingot.rill.objective import Objective
    from ingot.rill.router import Router

__version__: str

__all__ = [
    "Answer",
    "AnswerError",
    "Approval",
    "AsyncMap",
    "AsyncStream",
    "Budget",
    "BudgetExceededError",
    "Cassette",
    "Configured",
    "Consultation",
    "ContentFilteredError",
    "Context",
    "EmptyAnswerError",
    "Failure",
    "File",
    "FileAccessError",
    "IngotError",
    "InvalidAnswerError",
    "Json",
    "Map",
    "MapError",
    "Markdown",
    "MismatchedAnswerError",
    "NotConfiguredError",
    "Objective",
    "Policy",
    "PolicyError",
    "PromptError",
    "ProviderAuthError",
    "ProviderError",
    "ProviderProtocolError",
    "ProviderRateLimitError",
    "ProviderTimeoutError",
    "ProviderUnavailableError",
    "Rate",
    "RefusedError",
    "Response",
    "Retry",
    "Route",
    "Router",
    "StoreError",
    "Stream",
    "Text",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolResultError",
    "TruncatedError",
    "TurnLimitError",
    "UnreadableAnswerError",
    "UnsupportedTypeError",
    "Usage",
    "Workspace",
    "approve_in_terminal",
    "ask",
    "attachment",
    "consult",
    "tool",
]

_HOMES = {
    "Answer": "_answer",
    "Approval": "_people",
    "AsyncMap": "_map.awaited",
    "AsyncStream": "_stream",
    "Budget": "_budget.limits",
    "Cassette": "cassette.recorder",
    "Configured": "_configured",
    "Consultation": "_people",
    "Context": "_context",
    "Failure": "_map_errors",
    "File": "_shape.content",
    "Json": "_shape.content",
    "Map": "_map.blocking",
    "Markdown": "_shape.content",
    "Objective": "rill.objective",
    "Policy": "_policy",
    "Rate": "_rate",
    "Response": "_response",
    "Retry": "_retry",
    "Route": "_route",
    "Router": "rill.router",
    "Stream": "_stream",
    "Text": "_shape.content",
    "Tool": "_tool",
    "Usage": "_response",
    "Workspace": "_workspace",
    "approve_in_terminal": "_people",
    "ask": "_ask",
    "attachment": "_attach",
    "consult": "_people",
    "tool": "_tool",
}
"""Modules of the names that are not errors; each is imported when its name is first used."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take any name for one of ours.

    def __getattr__(name: str) -> object:
        if name not in __all__ and name != "__version__":
            raise AttributeError(f"module 'ingot' has no attribute {name!r}")
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version

            return version("ingot-ask")
        value = getattr(import_module(f"ingot.{_HOMES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
