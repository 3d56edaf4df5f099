"""Typed values out of language models: `ask(list[str], prompt)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot._answer import Answer
    from ingot._ask import Configured, ask
    from ingot._attach import attachment
    from ingot._budget.limits import Budget
    from ingot._context import Context
    from ingot._people import Approval, Consultation, approve_in_terminal, consult
    from ingot._policy import Policy
    from ingot._response import Response, Usage
    from ingot._retry import Retry
    from ingot._shape.content import File, Json, Markdown, Text
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
        ToolDefinitionError,
        ToolError,
        ToolResultError,
        TruncatedError,
        TurnLimitError,
        UnreadableAnswerError,
        UnsupportedTypeError,
    )

__version__: str

__all__ = [
    "Answer",
    "AnswerError",
    "Approval",
    "Budget",
    "BudgetExceededError",
    "Cassette",
    "Configured",
    "Consultation",
    "ContentFilteredError",
    "Context",
    "EmptyAnswerError",
    "File",
    "FileAccessError",
    "IngotError",
    "InvalidAnswerError",
    "Json",
    "Markdown",
    "MismatchedAnswerError",
    "NotConfiguredError",
    "Policy",
    "PolicyError",
    "PromptError",
    "ProviderAuthError",
    "ProviderError",
    "ProviderProtocolError",
    "ProviderRateLimitError",
    "ProviderTimeoutError",
    "ProviderUnavailableError",
    "RefusedError",
    "Response",
    "Retry",
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
    "Budget": "_budget.limits",
    "Cassette": "cassette.recorder",
    "Configured": "_ask",
    "Consultation": "_people",
    "Context": "_context",
    "File": "_shape.content",
    "Json": "_shape.content",
    "Markdown": "_shape.content",
    "Policy": "_policy",
    "Response": "_response",
    "Retry": "_retry",
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
