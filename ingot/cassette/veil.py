"""What a cassette sees of requests and answers where something in them must not be recorded."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ingot._json import is_array
from ingot.cassette.rows import lines, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._messages import Message
    from ingot._request import Request
    from ingot.cassette.redaction import Redaction

__all__ = ["Veil"]

_SAID = ("value", "text", "calls", "explanation", "error", "files")
"""Parts of an answer that a model, a vendor or a tool worded."""

_ASKED = ("question", "args", "choices")
"""Parts of a call, or of a question to a person, that a model worded."""

_LINES = ("text", "explanation", "question", "message")
"""Parts that are a text in lines; a rule may find what goes over several."""


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
            tools=tuple(
                replace(tool, description=tool.description and hidden.apply(tool.description))
                for tool in request.tools
            ),
        )

    def answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return *answer* as it is written."""
        if self._redaction is None:
            return answer
        return _hidden(answer, _SAID, self._redaction)

    def deed(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a call, or a question to a person, as it is keyed and written."""
        return row if self._redaction is None else _hidden(row, _ASKED, self._redaction)

    def result(self, result: Any) -> Any:
        """Return what came of a call, or of such a question, as it is written."""
        hidden = self._redaction
        if hidden is None or isinstance(result, bool):
            return result
        if isinstance(result, str):
            return hidden.apply_written(result)
        files = tuple(map(hidden.apply_json, result.files))
        return replace(result, text=hidden.apply_written(result.text), files=files)

    def played(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the written *answer* with what the environment has for its placeholders."""
        hidden = self._redaction
        if hidden is None:
            return answer
        out = {**answer, **{p: hidden.restore(answer[p], os.environ) for p in _SAID if p in answer}}
        if "calls" in answer:
            out["calls"] = [
                {**call, "arguments": hidden.restore_written(call["arguments"], os.environ)}
                for call in answer["calls"]
            ]
        return out


def _hidden(
    written: Mapping[str, Any], parts: tuple[str, ...], hidden: Redaction
) -> dict[str, Any]:
    """Return *written* with placeholders in *parts* of it."""
    return {**written, **{p: _part(p, written[p], hidden) for p in parts if p in written}}


def _part(name: str, value: Any, hidden: Redaction) -> Any:
    if name == "calls":
        return [_hidden(call, ("arguments",), hidden) for call in value]
    if name == "arguments":
        return hidden.apply_written(value)
    if name == "error":
        # Its numbers are facts of the transport, which nobody worded.
        worded = tuple(part for part in value if isinstance(value[part], str | list))
        return _hidden(value, worded, hidden)
    if name in _LINES and is_array(value):
        return lines(hidden.apply(text_of(value)))
    return hidden.apply_json(value)


def _message(message: Message, hidden: Redaction) -> Message:
    return replace(
        message,
        text=None if message.text is None else hidden.apply(message.text),
        tool_calls=tuple(
            replace(call, arguments=hidden.apply_written(call.arguments))
            for call in message.tool_calls
        ),
        tool_results=tuple(
            replace(result, text=hidden.apply_written(result.text))
            for result in message.tool_results
        ),
    )
