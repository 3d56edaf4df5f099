"""The Messages API: a request as the SDK's arguments, and the JSON of a reply as a Response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

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

__all__ = ["IMAGES", "PDF", "Gathering", "arguments", "response"]

IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
PDF = "application/pdf"

_CUT = {"max_tokens", "model_context_window_exceeded", "pause_turn"}
_FINAL = {*_CUT, "refusal"}
"""Reasons to stop that no later one makes good."""

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


class Gathering:
    """
    Puts the events of a stream together as the body that a whole-body call returns.

    Attributes:
        asked: What a call is given beside its arguments, so that its reply streams.
        ended: Whether the last event has come.
        whole: The same.
    """

    asked: ClassVar[Mapping[str, Any]] = {"stream": True}

    def __init__(self) -> None:
        self.ended = self.whole = False
        self._body: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._written: dict[tuple[int, str], list[str]] = {}
        self._stop: str | None = None
        self._torn = False

    def add(self, event: Mapping[str, Any]) -> str:
        """Take in the next event, and return what it adds to the answer's text."""
        kind = event.get("type")
        index = event["index"] if isinstance(event.get("index"), int) else None
        if kind == "content_block_delta":
            return self._add(index, as_object(event.get("delta")))
        if kind == "content_block_start" and index is not None:
            self._torn = self._torn or index in self._blocks
            block = self._blocks[index] = {**as_object(event.get("content_block"))}
            return (as_text(block.get("text")) or "") if block.get("type") == "text" else ""
        if kind == "message_start":
            self._torn = self._torn or bool(
                self._body
            )  # a gateway has begun anew, on top of what was said
            self._body = {**as_object(event.get("message"))}
        elif kind == "message_delta":
            self._conclude(event)
        elif kind == "error":
            self._body = dict(event)
        self.ended = self.whole = kind in ("message_stop", "error")
        return ""

    def _add(self, index: int | None, delta: Mapping[str, Any]) -> str:
        """Add *delta* to its block; what is not as the protocol says leaves the reply torn."""
        kind = delta.get("type")
        block = None if index is None else self._blocks.get(index)
        if index is None or block is None or not isinstance(kind, str):
            self._torn = True
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        elif kind in _DELTAS:
            name = _DELTAS[kind]
            part = as_text(delta.get(name))
            if part is None:
                self._torn = True
            else:
                self._written.setdefault((index, name), []).append(part)
                return part if kind == "text_delta" and block.get("type") == "text" else ""
        return ""

    def _conclude(self, event: Mapping[str, Any]) -> None:
        delta = as_object(event.get("delta"))
        stop = as_text(delta.get("stop_reason"))
        if stop and self._stop not in _FINAL:
            self._stop = stop
        if delta.get("stop_details"):
            self._body["stop_details"] = delta["stop_details"]
        counted = {k: v for k, v in as_object(event.get("usage")).items() if v is not None}
        self._body["usage"] = {**as_object(self._body.get("usage")), **counted}

    def body(self) -> dict[str, Any]:
        """
        Return what came so far.

        Without its last event, or a part of a block, it does not say why the model stopped.
        """
        if self._body.get("type") == "error":
            return self._body
        for (index, name), parts in self._written.items():
            block = self._blocks[index]
            if name == "partial_json":
                _put_input(block, "".join(parts))
            else:
                block[name] = (as_text(block.get(name)) or "") + "".join(parts)
        self._written.clear()
        stop = self._stop if self.whole and not self._torn else None
        content = [self._blocks[index] for index in sorted(self._blocks)]
        return {**self._body, "content": content, "stop_reason": stop}


def _put_input(block: dict[str, Any], text: str) -> None:
    """Give a call its arguments, as they are if they are no JSON."""
    if text:
        try:
            block["input"] = read_exactly(text)
        except (ValueError, RecursionError):
            block["input"] = text


_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
