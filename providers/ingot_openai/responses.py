"""The Responses API: a request as the SDK's arguments, and the JSON of a reply as a Response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ingot.provider import (
    Response,
    ToolCall,
    as_arguments,
    as_object,
    as_objects,
    as_text,
    failure,
    failure_in_body,
    with_ids,
)
from ingot_openai.chat import PDF
from ingot_openai.tokens import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingot.provider import Message, Request

__all__ = ["Gathering", "arguments", "response"]

_UNFINISHED = {"incomplete", "in_progress", "queued", "cancelled"}


def arguments(request: Request) -> dict[str, Any]:
    """Return the arguments of `responses.create`; nothing is stored at the vendor."""
    out: dict[str, Any] = {"model": request.model, "input": _input(request), "store": False}
    system = request.system_text()
    if system is not None:
        out["instructions"] = system
    if request.max_tokens is not None:
        out["max_output_tokens"] = request.max_tokens
    if request.temperature is not None:
        out["temperature"] = request.temperature
    if request.timeout is not None:
        out["timeout"] = request.timeout
    if request.format is not None and request.format.constrained:
        out["text"] = {
            "format": {
                "type": "json_schema",
                "name": request.format.name,
                "schema": request.format.schema,
                "strict": True,
            }
        }
    if request.tools:
        out["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "parameters": tool.parameters,
                "strict": tool.strict,
                **({"description": tool.description} if tool.description else {}),
            }
            for tool in request.tools
        ]
        # Reasoning must come back with the calls it led to; stored nowhere, it has to travel whole.
        out["include"] = ["reasoning.encrypted_content"]
    return out


def _input(request: Request) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": "user", "content": _prompt(request)}]
    for message in request.messages:
        out += _turn(message)
    return out


def _prompt(request: Request) -> str | list[dict[str, Any]]:
    """The first user turn: images and documents, each under its name, then the text."""
    parts: list[dict[str, Any]] = []
    for file in request.media():
        url = f"data:{file.media_type};base64,{file.base64()}"
        if file.media_type == PDF:
            parts.append({"type": "input_file", "filename": file.name, "file_data": url})
        else:
            parts.append({"type": "input_text", "text": f"{file.name}:"})
            parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
    text = request.user_text()
    return [*parts, {"type": "input_text", "text": text}] if parts else text


def _turn(message: Message) -> Iterable[dict[str, Any]]:
    for result in message.tool_results:
        yield {"type": "function_call_output", "call_id": result.id, "output": result.told()}
    if message.role == "assistant" and message.blocks:
        yield from (dict(block) for block in message.blocks)
        return
    if message.text is not None:
        yield {"role": message.role, "content": message.text}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments.strip() or "{}",
        }


def response(body: Mapping[str, Any], *, provider: str, request_id: str | None) -> Response:
    """
    Read a `response` object.

    Raises:
        ProviderError: It is an error or a failed response, or has no `output`.
    """
    status = as_text(body.get("status"))
    error = body.get("error")
    if (error or status == "failed") and not _is_policy(error):
        why_not = error or {"message": "the response failed, unexplained", "code": "server_error"}
        raise failure_in_body(why_not, provider=provider, request_id=request_id)
    output = body.get("output")
    if not isinstance(output, list) and not body.keys() & {"id", "object", "status", "usage"}:
        raise failure(
            "the reply is JSON, and no response object",
            provider=provider,
            status=200,
            request_id=request_id,
            advice=(
                "see whether base_url is the address of a Responses server; "
                "openai-chat/… asks the older API"
            ),
        )
    facts: dict[str, Any] = {
        "usage": usage(body.get("usage"), "input", "output"),
        "model": as_text(body.get("model")),
        "request_id": request_id,
    }
    items = with_ids(as_objects(output), "call_id", kind="function_call")
    said, refusal = _texts(items)
    calls = tuple(_call(item) for item in items if item.get("type") == "function_call")
    why = as_text(as_object(body.get("incomplete_details")).get("reason"))
    stop = why if status == "incomplete" and why else status
    kinds = tuple(str(item.get("type")) for item in items)
    reason = None
    if not isinstance(output, list):
        reason = "empty_body"
    elif refusal:
        reason = "refusal"
    elif why == "content_filter" or error:
        reason = "content_filter"
    elif status == "incomplete" or (status in _UNFINISHED and items):
        reason = "truncated"
    elif not items:
        reason = "no_content_blocks"
    elif said is None or not said.strip():
        reason = _empty(kinds, calls)
    return Response(
        text=said,
        tool_calls=calls,
        stop_reason=stop,
        empty_reason=reason,
        explanation=refusal or as_text(as_object(error).get("message")),
        kinds=kinds,
        blocks=tuple(items),
        **facts,
    )


def _is_policy(error: Any) -> bool:
    return "_policy" in str(as_object(error).get("code"))


def _texts(items: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    """The answer's text and the refusal's; what a model says along the way is neither."""
    texts: list[str] = []
    refusals: list[str] = []
    for item in items:
        if not _answers(item):
            continue
        for part in as_objects(item.get("content")):
            if part.get("type") == "output_text" and isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif part.get("type") == "refusal":
                refusals.append(str(part.get("refusal") or ""))
    return ("".join(texts) if texts else None), (" ".join(refusals) if refusals else None)


def _answers(item: Mapping[str, Any]) -> bool:
    """Whether *item* is a part of the answer, and not what a model says along the way."""
    return item.get("type") == "message" and item.get("phase") in (None, "final_answer")


def _call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=item["call_id"],
        name=str(item.get("name") or ""),
        arguments=as_arguments(item.get("arguments")),
    )


def _empty(kinds: tuple[str, ...], calls: tuple[ToolCall, ...]) -> str:
    if calls:
        return "tool_use_only"
    return "thinking_only" if kinds and set(kinds) == {"reasoning"} else "blank"


class Gathering:
    """
    Finds in the events of a stream the body that a whole-body call returns; the last brings it.

    Attributes:
        asked: What a call is given beside its arguments, so that its reply streams.
        ended: Whether the last event has come.
        whole: The same.
    """

    asked: ClassVar[Mapping[str, Any]] = {"stream": True}

    def __init__(self) -> None:
        self.ended = self.whole = False
        self._body: dict[str, Any] = {}
        self._aside: set[str] = set()

    def add(self, event: Mapping[str, Any]) -> str:
        """Take in the next event, and return what it adds to the answer's text."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            aside = str(event.get("output_index")) in self._aside
            return "" if aside else as_text(event.get("delta")) or ""
        if kind == "error":
            self._body = {"error": event.get("error") or dict(event)}
            self.ended = self.whole = True
        elif kind == "response.output_item.added" and not _answers(as_object(event.get("item"))):
            self._aside.add(str(event.get("output_index")))
        elif isinstance(event.get("response"), dict):
            self._body = as_object(event["response"])
            self.ended = self.whole = kind in _LAST
        return ""

    def body(self) -> dict[str, Any]:
        """Return what came so far; without its last event it is not whole, whatever it says."""
        return self._body if self.whole else {**self._body, "status": None}


_LAST = ("response.completed", "response.incomplete", "response.failed")
