"""Chat Completions: a request as the SDK's arguments, and the JSON of a reply as a Response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ingot.provider import (
    Response,
    ToolCall,
    Usage,
    as_arguments,
    as_object,
    as_objects,
    as_text,
    failure,
    failure_in_body,
    with_ids,
)
from ingot_openai.tokens import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingot.provider import Message, Request

__all__ = ["IMAGES", "PDF", "Gathering", "arguments", "messages", "response"]

IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
PDF = "application/pdf"


def arguments(request: Request, *, vendor: bool) -> dict[str, Any]:
    """
    Return the arguments of `chat.completions.create`.

    Args:
        request: The request.
        vendor: Whether OpenAI itself is asked; other servers know the older name of the token
            bound, and many call no tool while they are held to a schema.
    """
    out: dict[str, Any] = {"model": request.model, "messages": messages(request)}
    if request.max_tokens is not None:
        out["max_completion_tokens" if vendor else "max_tokens"] = request.max_tokens
    if request.temperature is not None:
        out["temperature"] = request.temperature
    if request.seed is not None:
        out["seed"] = request.seed
    if request.timeout is not None:
        out["timeout"] = request.timeout
    held = request.format is not None and request.format.constrained
    if request.format is not None and held and (vendor or not request.tools):
        out["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": request.format.name,
                "schema": request.format.schema,
                "strict": True,
            },
        }
    if request.tools:
        out["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "parameters": tool.parameters,
                    "strict": tool.strict,
                    **({"description": tool.description} if tool.description else {}),
                },
            }
            for tool in request.tools
        ]
    return out


def messages(request: Request) -> list[dict[str, Any]]:
    """Return the conversation, the system prompt first."""
    out: list[dict[str, Any]] = []
    system = request.system_text()
    if system is not None:
        out.append({"role": "system", "content": system})
    out.append({"role": "user", "content": _prompt(request)})
    for message in request.messages:
        out += _turn(message)
    return out


def _prompt(request: Request) -> str | list[dict[str, Any]]:
    """The first user turn: images and documents, each under its name, then the text."""
    parts: list[dict[str, Any]] = []
    for file in request.media():
        url = f"data:{file.media_type};base64,{file.base64()}"
        if file.media_type == PDF:
            parts.append({"type": "file", "file": {"filename": file.name, "file_data": url}})
        else:
            parts.append({"type": "text", "text": f"{file.name}:"})
            parts.append({"type": "image_url", "image_url": {"url": url}})
    # A lone text goes as text: not every server takes it in parts.
    text = request.user_text()
    return [*parts, {"type": "text", "text": text}] if parts else text


def _turn(message: Message) -> Iterable[dict[str, Any]]:
    for result in message.tool_results:
        yield {"role": "tool", "tool_call_id": result.id, "content": result.told()}
    if message.role == "assistant":
        turn: dict[str, Any] = {"role": "assistant", "content": message.text}
        if message.tool_calls:
            turn["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    # Some servers read the arguments again, and blank ones are no JSON.
                    "function": {"name": call.name, "arguments": call.arguments.strip() or "{}"},
                }
                for call in message.tool_calls
            ]
        yield turn
    elif message.text is not None:
        yield {"role": "user", "content": message.text}


def response(body: Mapping[str, Any], *, provider: str, request_id: str | None) -> Response:
    """
    Read a `chat.completion`.

    Raises:
        ProviderError: The body is an error, or has no `choices`.
    """
    error = body.get("error")
    if error:
        raise failure_in_body(error, provider=provider, request_id=request_id)
    choices = body.get("choices")
    if choices is not None and not isinstance(choices, list):
        raise _malformed(provider, request_id)
    facts: dict[str, Any] = {
        "usage": usage(body.get("usage"), "prompt", "completion"),
        "model": as_text(body.get("model")),
        "request_id": request_id,
    }
    if choices is None:
        if not body.keys() & {"id", "object", "model", "usage"}:
            raise _malformed(provider, request_id)
        return Response(empty_reason="empty_body", **facts)
    if not choices:
        return Response(empty_reason="no_content_blocks", **facts)
    choice = as_object(choices[0])
    message = as_object(choice.get("message"))
    said, kinds = _content(message)
    calls = _calls(message)
    refusal = as_text(message.get("refusal"))
    stop = as_text(choice.get("finish_reason"))
    reason = None
    if refusal:
        reason = "refusal"
    elif stop == "content_filter":
        reason = "content_filter"
    elif stop == "length":
        reason = "truncated"
    elif said is None or not said.strip():
        reason = _empty(message, calls, facts["usage"])
    return Response(
        text=said,
        tool_calls=calls,
        stop_reason=stop,
        empty_reason=reason,
        explanation=refusal or None,
        kinds=tuple(kinds),
        **facts,
    )


def _malformed(provider: str, request_id: str | None) -> Exception:
    return failure(
        "the reply is JSON, and no chat completion",
        provider=provider,
        status=200,
        request_id=request_id,
        advice="see whether base_url is the address of a Chat Completions server",
    )


def _content(message: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """The text of a message, and the kinds of its parts; some servers send parts, not text."""
    content = message.get("content")
    kinds: list[str] = []
    if isinstance(content, str):
        kinds.append("text")
    else:
        kinds += [str(part.get("type")) for part in as_objects(content)]
    for name in ("reasoning_content", "reasoning"):
        if message.get(name):
            kinds.append(name)
    return _written(content), kinds


def _written(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    parts = [part for part in as_objects(content) if part.get("type") in ("text", "output_text")]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for call in with_ids(as_objects(message.get("tool_calls")), "id"):
        function = as_object(call.get("function") or call.get("custom"))
        written = function.get("arguments", function.get("input"))
        name = str(function.get("name") or "")
        calls.append(ToolCall(id=call["id"], name=name, arguments=as_arguments(written)))
    return tuple(calls)


def _empty(message: Mapping[str, Any], calls: tuple[ToolCall, ...], spent: Usage | None) -> str:
    if calls:
        return "tool_use_only"
    thought = message.get("reasoning_content") or message.get("reasoning")
    all_thought = spent is not None and 0 < spent.reasoning_tokens == spent.output_tokens
    return "thinking_only" if thought or all_thought else "blank"


class Gathering:
    """
    Puts the chunks of a stream together as the body that a whole-body call returns.

    Attributes:
        asked: What a call is given beside its arguments, so that its reply streams.
        ended: Whether nothing is to be waited for; usage follows the last word, so only an error
            ends a stream before its end.
        whole: Whether the model has said why it stopped.
    """

    asked: ClassVar[Mapping[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    def __init__(self) -> None:
        self.ended = self.whole = False
        self._body: dict[str, Any] = {"object": "chat.completion", "choices": []}
        self._said: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._numbered: dict[int, _Call] = {}
        self._stop: str | None = None
        self._begun = False

    def add(self, event: Mapping[str, Any]) -> str:
        """Take in the next chunk, and return what it adds to the answer's text."""
        for name in ("id", "model", "usage", "error"):
            if event.get(name):
                self._body[name] = event[name]
        self.ended = "error" in self._body
        told = ""
        for choice in as_objects(event.get("choices")):
            if not choice.get("index"):
                told += self._add(as_object(choice.get("delta")))
                stop = as_text(choice.get("finish_reason"))
                if stop and self._stop not in _FINAL:
                    self._stop = stop
                self._begun = True
        self.whole = self._stop is not None
        return told

    def _add(self, delta: Mapping[str, Any]) -> str:
        told = ""
        for name in delta.keys() & _SAID:
            part = _written(delta[name])
            if part is not None:
                self._said.setdefault(name, []).append(part)
                told = part if name == "content" else told
        for call in as_objects(delta.get("tool_calls")):
            self._add_call(call)
        return told

    def _add_call(self, part: Mapping[str, Any]) -> None:
        """Add *part* to its call; some servers number none, and some give all the same number."""
        number, its_id = part.get("index"), part.get("id")
        function = as_object(part.get("function"))
        if isinstance(number, int):
            call = self._numbered.get(number)
            begins = call is not None and bool(its_id) and call.id not in (None, its_id)
        else:
            call = self._calls[-1] if self._calls else None
            begins = bool(its_id or function.get("name"))
        if call is None or begins:
            call = _Call()
            self._calls.append(call)
        if isinstance(number, int):
            self._numbered[number] = call
        call.id = its_id or call.id
        call.name.append(as_text(function.get("name")) or "")
        call.arguments.append(as_arguments(function.get("arguments")))

    def body(self) -> dict[str, Any]:
        """Return what came so far."""
        if not self._begun:
            return self._body
        said = {name: "".join(parts) for name, parts in self._said.items()}
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, **said}
        if self._calls:
            message["tool_calls"] = [call.body() for call in self._calls]
        choice = {"index": 0, "message": message, "finish_reason": self._stop}
        return {**self._body, "choices": [choice]}


_SAID = {"content", "refusal", "reasoning_content", "reasoning"}

_FINAL = {"length", "content_filter"}
"""Reasons to stop that no later one makes good."""


@dataclass(slots=True)
class _Call:
    """A call of a tool, in the parts that came of it."""

    id: Any = None
    name: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])

    def body(self) -> dict[str, Any]:
        """Return it as it stands in a whole body."""
        function = {"name": "".join(self.name), "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}
