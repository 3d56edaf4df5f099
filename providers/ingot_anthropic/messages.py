"""The Messages API: a request as the SDK's arguments, and the JSON of a reply as a Response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot.provider import (
    Response,
    ToolCall,
    Usage,
    as_arguments,
    as_count,
    as_input,
    as_object,
    as_objects,
    as_text,
    failure,
    failure_in_body,
    read_exactly,
    with_ids,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingot.provider import Message, Request

__all__ = ["IMAGES", "PDF", "arguments", "gather", "response"]

IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
PDF = "application/pdf"

_CUT = {"max_tokens", "model_context_window_exceeded", "pause_turn"}
_THOUGHT = {"thinking", "redacted_thinking"}


def arguments(request: Request) -> dict[str, Any]:
    """Return the arguments of `messages.create`."""
    out: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [
            {"role": "user", "content": _prompt(request)},
            *(_turn(message) for message in request.messages),
        ],
    }
    system = request.system_text()
    if system is not None:
        out["system"] = system
    if request.timeout is not None:
        out["timeout"] = request.timeout
    if request.format is not None and request.format.constrained:
        out["output_config"] = {"format": {"type": "json_schema", "schema": request.format.schema}}
    if request.tools:
        out["tools"] = [
            {
                "name": tool.name,
                "input_schema": tool.parameters,
                "strict": tool.strict,
                **({"description": tool.description} if tool.description else {}),
            }
            for tool in request.tools
        ]
    return out


def _prompt(request: Request) -> str | list[dict[str, Any]]:
    """The first user turn: images and documents, each under its name, then the text."""
    parts: list[dict[str, Any]] = []
    for file in request.media():
        source = {"type": "base64", "media_type": file.media_type, "data": file.base64()}
        if file.media_type == PDF:
            parts.append({"type": "document", "title": file.name, "source": source})
        else:
            parts.append({"type": "text", "text": f"{file.name}:"})
            parts.append({"type": "image", "source": source})
    text = request.user_text()
    return [*parts, {"type": "text", "text": text}] if parts else text


def _turn(message: Message) -> dict[str, Any]:
    if message.role == "assistant" and message.blocks:
        return {"role": "assistant", "content": [*_echo(message.blocks)]}
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": result.id,
            # The vendor wants to hear what went wrong.
            "content": result.text or ("failed" if result.failed else ""),
            **({"is_error": True} if result.failed else {}),
        }
        for result in message.tool_results
    ]
    if message.text is not None:
        blocks.append({"type": "text", "text": message.text})
    blocks += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments}
        for c in message.tool_calls
    ]
    return {"role": message.role, "content": [*_echo(blocks)]}


def _echo(blocks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The blocks that the vendor takes back: none of blank text, and calls with an object."""
    for block in blocks:
        kind, text = block.get("type"), block.get("text")
        if kind == "text" and isinstance(text, str) and not text.strip():
            continue
        called = {"input": as_input(block.get("input"))} if kind == "tool_use" else {}
        yield {**block, **called}


def response(body: Mapping[str, Any], *, provider: str, request_id: str | None) -> Response:
    """
    Read a `message`.

    Raises:
        ProviderError: The body is an error, or has no `content`.
    """
    error = body.get("error")
    if error or body.get("type") == "error":
        its_id = request_id or as_text(body.get("request_id"))
        raise failure_in_body(error, provider=provider, request_id=its_id)
    content = body.get("content")
    facts: dict[str, Any] = {
        "usage": usage(body.get("usage")),
        "model": as_text(body.get("model")),
        "request_id": request_id,
    }
    if not isinstance(content, list):
        if not body.keys() & {"id", "role", "stop_reason", "usage"}:
            raise failure(
                "the reply is JSON, and no message",
                provider=provider,
                status=200,
                request_id=request_id,
                advice="see whether base_url is the address of a Messages server",
            )
        return Response(empty_reason="empty_body", **facts)
    blocks = with_ids(as_objects(content), "id", kind="tool_use")
    texts = [
        b["text"] for b in blocks if b.get("type") == "text" and isinstance(b.get("text"), str)
    ]
    text = "".join(texts) if texts else None
    calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use")
    kinds = tuple(str(block.get("type")) for block in blocks)
    stop = as_text(body.get("stop_reason"))
    reason = None
    if stop == "refusal":
        reason = "refusal"
    elif stop in _CUT:
        reason = "truncated"
    elif not blocks:
        reason = "no_content_blocks"
    elif text is None or not text.strip():
        reason = _empty(kinds, calls)
    said = as_text(as_object(body.get("stop_details")).get("explanation"))
    return Response(
        text=text,
        tool_calls=calls,
        stop_reason=stop,
        empty_reason=reason,
        explanation=said,
        kinds=kinds,
        blocks=tuple(blocks),
        **facts,
    )


def _call(block: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=block["id"],
        name=str(block.get("name") or ""),
        arguments=as_arguments(block.get("input")),
    )


def _empty(kinds: tuple[str, ...], calls: tuple[ToolCall, ...]) -> str:
    if calls:
        return "tool_use_only"
    return "thinking_only" if kinds and set(kinds) <= _THOUGHT else "blank"


def usage(counted: Any) -> Usage | None:
    """Read a `usage` object; None when there is none."""
    if not isinstance(counted, dict):
        return None
    counted = as_object(counted)
    hour = as_object(counted.get("cache_creation"))
    outputs = as_object(counted.get("output_tokens_details"))
    return Usage(
        input_tokens=as_count(counted, "input_tokens"),
        output_tokens=as_count(counted, "output_tokens"),
        cache_read_tokens=as_count(counted, "cache_read_input_tokens"),
        cache_write_tokens=as_count(counted, "cache_creation_input_tokens"),
        cache_write_1h_tokens=as_count(hour, "ephemeral_1h_input_tokens"),
        reasoning_tokens=as_count(outputs, "thinking_tokens"),
    )


def gather(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the events of a stream together as the body that a whole-body call returns."""
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    written: dict[int, str] = {}
    stop: str | None = None
    ended = False
    whole = True
    for event in events:
        kind = event.get("type")
        index = event["index"] if isinstance(event.get("index"), int) else None
        if kind == "error":
            return dict(event)
        if kind == "message_start":
            body = {**as_object(event.get("message"))}
        elif kind == "content_block_start" and index is not None:
            blocks[index] = {**as_object(event.get("content_block"))}
        elif kind == "content_block_delta":
            whole &= index in blocks and _add(blocks[index], written, event)
        elif kind == "message_delta":
            delta = as_object(event.get("delta"))
            stop = as_text(delta.get("stop_reason")) or stop
            if delta.get("stop_details"):
                body["stop_details"] = delta["stop_details"]
            counted = {k: v for k, v in as_object(event.get("usage")).items() if v is not None}
            body["usage"] = {**as_object(body.get("usage")), **counted}
        elif kind == "message_stop":
            ended = True
    for index, text in written.items():
        try:
            if text:
                blocks[index]["input"] = read_exactly(text)
        except (ValueError, RecursionError):
            blocks[index]["input"] = text
    body["content"] = [blocks[index] for index in sorted(blocks)]
    # Without its last event, or a part of a block, a stream is cut, whatever it said of the reason
    # to stop.
    body["stop_reason"] = stop if ended and whole else None
    return body


_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def _add(block: dict[str, Any], written: dict[int, str], event: Mapping[str, Any]) -> bool:
    """Add what *event* says to *block*; False if it is not what the protocol says."""
    delta = as_object(event.get("delta"))
    kind = delta.get("type")
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        return True
    name = "partial_json" if kind == "input_json_delta" else _DELTAS.get(str(kind))
    if name is None:
        return isinstance(kind, str)
    part = as_text(delta.get(name))
    if part is not None and kind == "input_json_delta":
        written[event["index"]] = written.get(event["index"], "") + part
    elif part is not None:
        block[name] = (as_text(block.get(name)) or "") + part
    return part is not None
