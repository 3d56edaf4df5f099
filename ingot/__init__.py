"""Typed values out of language models: `ask(list[str], prompt)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot._answer import Answer
    from ingot._ask import Configured, ask
    from ingot._response import Response, Usage
    from ingot._retry import Retry
    from ingot._shape.content import File, Json, Markdown, Text
    from ingot.cassette.recorder import Cassette
    from ingot.errors import (
        AnswerError,
        ContentFilteredError,
        EmptyAnswerError,
        IngotError,
        InvalidAnswerError,
        MismatchedAnswerError,
        NotConfiguredError,
        PromptError,
        ProviderAuthError,
        ProviderError,
        ProviderProtocolError,
        ProviderRateLimitError,
        ProviderTimeoutError,
        ProviderUnavailableError,
        RefusedError,
        TruncatedError,
        UnreadableAnswerError,
        UnsupportedTypeError,
    )

__version__: str

__all__ = [
    "Answer",
    "AnswerError",
    "Cassette",
    "Configured",
    "ContentFilteredError",
    "EmptyAnswerError",
    "File",
    "IngotError",
    "InvalidAnswerError",
    "Json",
    "Markdown",
    "MismatchedAnswerError",
    "NotConfiguredError",
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
    "TruncatedError",
    "UnreadableAnswerError",
    "UnsupportedTypeError",
    "Usage",
    "ask",
]

_HOMES = {
    "Answer": "_answer",
    "Cassette": "cassette.recorder",
    "Configured": "_ask",
    "File": "_shape.content",
    "Json": "_shape.content",
    "Markdown": "_shape.content",
    "Response": "_response",
    "Retry": "_retry",
    "Text": "_shape.content",
    "Usage": "_response",
    "ask": "_ask",
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
