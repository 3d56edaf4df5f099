"""Words of the protocol: why an output is empty, and what kind of failure was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unicodedata import category

from ingot.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderProtocolError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from ingot.exec.errors import ExecError
from ingot.exec.wire import trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot.exec.wire import ProviderReply
    from ingot.exec.wire_parts import Failure

__all__ = [
    "clamped",
    "class_of",
    "empty_reason",
    "failure_of",
    "is_blank",
    "shown",
    "stop_word",
]

_STOPS = {
    "max_tokens": "truncated",
    "length": "truncated",
    "content_length": "truncated",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "tool_use": "tool_use_only",
    "tool_calls": "tool_use_only",
    "function_call": "tool_use_only",
}

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")

_OF_HOSTS = frozenset({"grader_missing", "render_failed", "assert_failed", "checker_failed"})
"""Classes that only a host may give a failure."""

_ERRORS: dict[str, type[ProviderError]] = {
    "provider_auth": ProviderAuthError,
    "provider_rate_limit": ProviderRateLimitError,
    "provider_timeout": ProviderTimeoutError,
    "provider_unavailable": ProviderUnavailableError,
    "provider_protocol": ProviderProtocolError,
    "provider_request": ProviderProtocolError,
}


def stop_word(stop_reason: str | None) -> str | None:
    """Return why an output is empty when the model stopped so; None where that says nothing."""
    # Letters of ASCII alone are made small, as other ends of the protocol do it.
    return _STOPS.get(trimmed(stop_reason or "").translate(_LOWER))


def is_blank(output: Any) -> bool:
    """Whether there is nothing in *output*."""
    if isinstance(output, str):
        return not trimmed(output)
    return output is None or output in ([], {})


def empty_reason(reply: ProviderReply) -> str | None:
    """
    Return why there is no answer in *reply*; None when there is one.

    What the program claims goes first, whatever its output is; then, of an output that is blank,
    what its stop reason says; then `blank`.
    """
    if reply.empty_reason:
        return reply.empty_reason
    return (stop_word(reply.stop_reason) or "blank") if is_blank(reply.output) else None


def clamped(reason: str) -> str:
    """Return a word that a program made up, fit for messages and recordings: 64 characters."""
    return "".join(char for char in reason if category(char) != "Cc")[:64]


def class_of(failure: Failure) -> str:
    """Return the class of *failure*: the program's own word, unless it is a host's."""
    told = failure.error_class
    return "exec_failed" if not told or told in _OF_HOSTS else told


def shown(text: str, secrets: Iterable[str]) -> str:
    """Return what a program said, fit for a message: no key in it, and nothing for a terminal."""
    from ingot._redact import redact

    printed = (char for char in text if char in "\n\t" or category(char) != "Cc")
    return redact("".join(printed), secrets).strip()


def failure_of(
    failure: Failure, metadata: Any, program: str, secrets: Iterable[str]
) -> ProviderError:
    """
    Return the error of ours for what a program told.

    Args:
        failure: What it told.
        metadata: Details where *failure* has none.
        program: Its name, for the message.
        secrets: What the message must not show.
    """
    told = class_of(failure)
    said = shown(failure.message, secrets)[:2000] or "it failed, and does not say why"
    cls = _ERRORS.get(told, ExecError)
    error = cls(f"{program}: {said}", provider="exec", type=told)
    error.retryable = failure.retriable
    if failure.retriable and failure.retry_after_ms is not None:
        error.retry_after = min(failure.retry_after_ms / 1000, _FOR_EVER)
    error.details = metadata if failure.details is None else failure.details
    if isinstance(error, ExecError):
        error.program = program
    return error


_FOR_EVER = 1e9
"""Seconds that outlast whoever waits, and that a clock can still count."""
