"""Streams as the vendors send them, for tests and benches: the bytes of each event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["STREAMS", "data"]


def data(event: dict[str, Any]) -> bytes:
    """One event, under its name if it has a type."""
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def of_chat(pieces: Sequence[str]) -> Iterator[bytes]:
    """What Chat Completions sends for a text in *pieces*."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }
    for piece in pieces:
        choice = {"index": 0, "delta": {"content": piece}, "logprobs": None, "finish_reason": None}
        yield data({**head, "choices": [choice], "usage": None})
    choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    yield data({**head, "choices": [choice], "usage": None})
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    yield data({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def of_responses(pieces: Sequence[str]) -> Iterator[bytes]:
    """What Responses sends for a text in *pieces*."""
    whole: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "model": "m",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
    yield data({"type": "response.created", "sequence_number": 0, "response": whole})
    added = {**item, "content": []}
    yield data({"type": "response.output_item.added", "output_index": 0, "item": added})
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    for number, piece in enumerate(pieces, 1):
        delta = {"delta": piece, "logprobs": [], "sequence_number": number, "obfuscation": "abcdef"}
        yield data({"type": "response.output_text.delta", **place, **delta})
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    said = {**item, "status": "completed", "content": [part]}
    whole |= {"status": "completed", "output": [said], "usage": usage}
    yield data({"type": "response.completed", "response": whole})


def of_messages(pieces: Sequence[str]) -> Iterator[bytes]:
    """What Messages sends for a text in *pieces*."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }
    yield data({"type": "message_start", "message": message})
    block = {"type": "text", "text": ""}
    yield data({"type": "content_block_start", "index": 0, "content_block": block})
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        yield data({"type": "content_block_delta", "index": 0, "delta": delta})
    yield data({"type": "content_block_stop", "index": 0})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield data({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}})
    yield data({"type": "message_stop"})


STREAMS: dict[str, Callable[[Sequence[str]], Iterator[bytes]]] = {
    "openai.chat": of_chat,
    "openai.responses": of_responses,
    "anthropic.messages": of_messages,
}
"""The stream of each API."""
