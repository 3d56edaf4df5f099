"""A request of ingot as a message to a program, and what the program answers as a response."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ingot._echo import as_arguments, as_input, read_exactly, with_ids
from ingot._messages import ToolCall
from ingot._response import Response, Usage
from ingot.errors import NotConfiguredError
from ingot.exec.wire import Envelope, ProviderRequest
from ingot.exec.wire_parts import Offer, TestRef
from ingot.exec.words import clamped, empty_reason, is_blank, stop_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot._messages import Message
    from ingot._request import Request
    from ingot.exec.wire import ProviderReply
    from ingot.exec.wire_parts import Tokens

__all__ = ["as_request", "as_response", "field_text"]

_VALUE = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")

_STOPPED = "stop"
"""Stands for a stop reason that is not told: by exit code 0, the program says that it is done."""

_PARTIAL = ("truncated", "refusal", "content_filter")
"""What makes a text that did come no answer."""


def as_request(request: Request) -> ProviderRequest:
    """
    Return the message that asks a program for *request*.

    Its prompt is `{"text": …}` where there is nothing but a prompt, else `{"messages": […]}`; the
    context is in `vars` by name, beside its place in the prompt; `params` holds the settings, the
    descriptor of the type as `type` and the JSON Schema of the reply as `schema`.

    Raises:
        NotConfiguredError: A param has the name of one of these.
    """
    return ProviderRequest(
        envelope=Envelope(kind="provider"),
        prompt=_prompt(request),
        vars=dict(sorted(request.context)),
        params=_params(request),
        test=TestRef(id="ask"),
        tools=tuple(
            Offer(name=tool.name, description=tool.description, input_schema=dict(tool.parameters))
            for tool in request.tools
        ),
    )


def _params(request: Request) -> dict[str, Any]:
    settings = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "type": request.target,
        "schema": request.format.schema if request.format is not None else None,
    }
    for name in request.params:
        if name in settings:
            raise NotConfiguredError(
                f"params={{{name!r}: …}} is set by ingot for a program",
                advice="max_tokens, temperature and seed are settings; "
                "type and schema come from the type that is asked for",
            )
    return {**{n: v for n, v in settings.items() if v is not None}, **request.params}


def _prompt(request: Request) -> dict[str, Any]:
    system, text = request.system_text(), request.user_text()
    if system is None and not request.messages:
        return {"text": text}
    messages: list[dict[str, Any]] = []
    if system is not None:
        messages.append({"role": "system", "content": system})
    messages.append({"role": "user", "content": text})
    for message in request.messages:
        messages += _turns(message)
    return {"messages": messages}


def _turns(message: Message) -> Iterator[dict[str, Any]]:
    for result in message.tool_results:
        yield {"role": "tool", "content": result.told(), "tool_call_id": result.id}
    if message.tool_calls:
        calls = [
            {"id": call.id, "name": call.name, "arguments": as_input(call.arguments)}
            for call in message.tool_calls
        ]
        yield {"role": message.role, "content": message.text or "", "tool_calls": calls}
    elif message.text is not None:
        yield {"role": message.role, "content": message.text}


def as_response(reply: ProviderReply, document: str) -> Response:
    """
    Return what *reply* says.

    Args:
        reply: A reply that tells no error.
        document: The text it was read from, in which numbers still have all their digits.
    """
    text = _text(reply, document)
    reason = empty_reason(reply)
    stopped = stop_word(reply.stop_reason)
    if reason is None and stopped in _PARTIAL:
        reason = stopped
    elif reason == "blank" and (reply.tool_calls or (text is not None and text.strip())):
        reason = None  # an empty list is an answer where the type says so, and a call is one too
    declined = reason in ("refusal", "content_filter")
    return Response(
        text=None if declined else text,
        tool_calls=_calls(reply, document),
        usage=None if reply.usage is None else _usage(reply.usage),
        cost=None if reply.cost_usd is None else Decimal(repr(reply.cost_usd)),
        stop_reason=reply.stop_reason or _STOPPED,
        empty_reason=None if reason is None else clamped(reason),
        explanation=text if declined and not is_blank(reply.output) else None,
        model=reply.model,
    )


def _text(reply: ProviderReply, document: str) -> str | None:
    """The output as text: a text as it is, other JSON as the program wrote it."""
    if reply.output is None or isinstance(reply.output, str):
        return reply.output
    return field_text(document, "output")


def _calls(reply: ProviderReply, document: str) -> tuple[ToolCall, ...]:
    if not reply.tool_calls:
        return ()
    written = with_ids(read_exactly(field_text(document, "tool_calls")), "id")
    return tuple(
        ToolCall(id=call["id"], name=call["name"], arguments=as_arguments(call.get("arguments")))
        for call in written
    )


def field_text(document: str, name: str) -> str:
    """
    Return the text of a field's value, digit for digit.

    Args:
        document: One JSON object, known to be well formed.
        name: A field of it that stands there once.
    """
    decoder = json.JSONDecoder()
    position = document.index("{") + 1
    while True:
        position = document.index('"', position)
        field, end = decoder.raw_decode(document, position)
        colon = _VALUE.match(document, end)
        assert colon is not None, "the document is well formed"
        start = colon.end()
        _, position = decoder.raw_decode(document, start)
        if field == name:
            return document[start:position]


def _usage(tokens: Tokens) -> Usage:
    return Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_tokens or 0,
        cache_write_tokens=tokens.cache_write_tokens or 0,
        cache_write_1h_tokens=tokens.cache_write_1h_tokens or 0,
    )
