"""What a cassette sees of requests and answers where something in them must not be recorded."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._messages import Message
    from ingot._request import Request
    from ingot.cassette.redaction import Redaction

__all__ = ["Veil"]

_SAID = ("value", "text", "calls", "explanation", "error")
"""Parts of an answer that a model or a vendor worded."""


class Veil:
    """
    Stands between a cassette and the ask: the provider and the program see through it.

    Args:
        redact: Placeholders, and the regular expression of what each replaces.
        restore: Placeholders, and the environment variable that holds what one stands for.
    """

    __slots__ = ("_redaction", "redact", "restore")

    def __init__(self, redact: Mapping[str, str] | None, restore: Mapping[str, str] | None) -> None:
        self.redact = redact
        self.restore = restore
        self._redaction: Redaction | None = None
        if redact or restore:
            from ingot.cassette.redaction import Redaction

            self._redaction = Redaction(redact or {}, restore)

    def request(self, request: Request) -> Request:
        """Return *request* as it is keyed and written."""
        hidden = self._redaction
        if hidden is None:
            return request
        return replace(
            request,
            prompt=hidden.apply(request.prompt),
            system=None if request.system is None else hidden.apply(request.system),
            context=tuple((name, hidden.apply_json(value)) for name, value in request.context),
            messages=tuple(_message(message, hidden) for message in request.messages),
        )

    def answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return *answer* as it is written."""
        if self._redaction is None:
            return answer
        changed = {p: self._redaction.apply_json(answer[p]) for p in _SAID if p in answer}
        return {**answer, **changed}

    def played(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the written *answer* with what the environment has for its placeholders."""
        if self._redaction is None:
            return answer
        parts = [p for p in _SAID if p in answer]
        return {**answer, **{p: self._redaction.restore(answer[p], os.environ) for p in parts}}


def _message(message: Message, hidden: Redaction) -> Message:
    return replace(
        message,
        text=None if message.text is None else hidden.apply(message.text),
        tool_calls=tuple(
            replace(call, arguments=hidden.apply(call.arguments)) for call in message.tool_calls
        ),
        tool_results=tuple(
            replace(result, text=hidden.apply(result.text)) for result in message.tool_results
        ),
    )
