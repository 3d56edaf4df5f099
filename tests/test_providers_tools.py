"""Tool conversations through the vendors' real SDKs, against a real server on this machine."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Heard, Loopback, Reply
from test_providers_loopback import APIS, KEY, body, every_api

from ingot.provider import Format, Message, Request, ToolCall, ToolDeclaration, ToolResult
from ingot_anthropic import messages
from ingot_local import _Loopback as Local  # pyright: ignore[reportPrivateUsage]
from ingot_openai import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.provider import Response, SDKProvider

TOOL = ToolDeclaration(
    name="look_up", description="Look up.", parameters={"type": "object"}, target="dict"
)
SCHEMA = {"type": "object", "properties": {"value": {"type": "integer"}}}
REQUEST = Request(
    provider="p",
    model="m",
    target=None,
    prompt="p",
    max_tokens=9,
    tools=(TOOL,),
    format=Format(name="Value", schema=SCHEMA, constrained=True, shown=False),
)


class VendorChat(OpenAIChat):
    """Chat Completions as at OpenAI itself, the vendor's address led to a server of the test."""

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        super().__init__(base_url=None, api_key=api_key)
        self.led_to = base_url

    def connect(self, *, awaiting: bool) -> Any:
        return super().connect(awaiting=awaiting).with_options(base_url=f"{self.led_to}/v1")


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def model_of(api: str, server: Loopback) -> SDKProvider:
    return APIS[api](base_url=server.url, api_key=KEY)


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl" * 9}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "Z3JheQ==",
}


def calling(api: str, *calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    """A reply that asks for *calls*: their id, name and arguments as JSON text."""
    made = body(api, text)
    if api == "openai.chat":
        choice = made["choices"][0]
        choice["finish_reason"] = "tool_calls"
        choice["message"]["tool_calls"] = [
            {"id": c.get("id"), "type": "function", "function": {"name": "look_up", **c["f"]}}
            for c in calls
        ]
    elif api == "openai.responses":
        items = [
            {"type": "function_call", "call_id": c.get("id"), "name": "look_up", **c["f"]}
            for c in calls
        ]
        made["output"] = [REASONING, *(made["output"] if text else []), *items]
    else:
        blocks = [
            {
                "type": "tool_use",
                "id": c.get("id"),
                "name": c["f"].get("name", "look_up"),
                "input": json.loads(c["f"]["arguments"]),
            }
            for c in calls
        ]
        made["content"] = [THINKING, REDACTED, *(made["content"] if text else []), *blocks]
        made["stop_reason"] = "tool_use"
    return made


def call(its_id: str | None, arguments: str) -> dict[str, Any]:
    return {"id": its_id, "f": {"arguments": arguments}}


def next_turn(request: Request, response: Response, *results: ToolResult) -> Request:
    """The request that brings *results* of the calls in *response*."""
    turns = (
        Message(
            role="assistant",
            text=response.text,
            tool_calls=response.tool_calls,
            blocks=response.blocks,
        ),
        Message(role="user", tool_results=results),
    )
    return replace(request, messages=(*request.messages, *turns))


def sent_turns(heard: Heard) -> list[dict[str, Any]]:
    """The conversation after the prompt."""
    turns: list[dict[str, Any]] = heard.json.get("input") or heard.json["messages"]
    return turns[1:]


@pytest.mark.parametrize("way", ["blocking", "awaiting"])
@every_api
def test_calls_and_their_results_make_the_round(api: str, way: str, server: Loopback) -> None:
    """The reply goes back as it came, thoughts and signatures whole, and each result follows."""
    asks = calling(
        api, call("a1", '{"id": 2512292042121000001}'), call("a2", '{"q": "ö"}'), text="Let me see."
    )
    final = body(api, '{"value": 1}')
    model = model_of(api, server)

    def send(request: Request) -> Response:
        return model.send(request) if way == "blocking" else asyncio.run(model.asend(request))

    with server.play([Reply(asks), Reply(final)]):
        first = send(REQUEST)
        results = (ToolResult(id="a1", text="12"), ToolResult(id="a2", text="no row", failed=True))
        last = send(next_turn(REQUEST, first, *results))

    assert first.tool_calls == (
        ToolCall(id="a1", name="look_up", arguments='{"id": 2512292042121000001}'),
        ToolCall(id="a2", name="look_up", arguments='{"q": "ö"}'),
    )
    assert (first.text, first.empty_reason, first.draft) == ("Let me see.", None, False)
    assert last.text == '{"value": 1}'
    [opening, following] = server.heard
    assert opening.json["tools"] == following.json["tools"]
    turns = sent_turns(following)
    if api == "openai.chat":
        assert turns == [
            {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": asks["choices"][0]["message"]["tool_calls"],
            },
            {"role": "tool", "tool_call_id": "a1", "content": "12"},
            {"role": "tool", "tool_call_id": "a2", "content": "Error: no row"},
        ]
    elif api == "openai.responses":
        assert opening.json["include"] == ["reasoning.encrypted_content"]
        assert turns == [
            *asks["output"],
            {"type": "function_call_output", "call_id": "a1", "output": "12"},
            {"type": "function_call_output", "call_id": "a2", "output": "Error: no row"},
        ]
    else:
        assert turns == [
            {"role": "assistant", "content": asks["content"]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a1", "content": "12"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "a2",
                        "content": "no row",
                        "is_error": True,
                    },
                ],
            },
        ]
    assert b"2512292042121000001" in following.body


@every_api
def test_calls_without_an_id_get_their_own(api: str, server: Loopback) -> None:
    """Also those that share one, and what is echoed agrees with the results."""
    asks = calling(api, call(None, "{}"), call("a", "{}"), call("a", '{"n": 2}'))
    with server.play([Reply(asks)]):
        model = model_of(api, server)
        response = model.send(REQUEST)
        results = [ToolResult(id=c.id, text=c.arguments) for c in response.tool_calls]
        model.send(next_turn(REQUEST, response, *results))
    echoed = json.dumps(sent_turns(server.heard[1]))

    assert [c.id for c in response.tool_calls] == ["call_1", "a", "call_2"]
    assert response.empty_reason == "tool_use_only"
    for its_id in ("call_1", "a", "call_2"):
        assert echoed.count(json.dumps(its_id)) == 2


@pytest.mark.parametrize(
    "written", ['{"price": 1.10, "big": 1e400}', '{"id": 2512292042121000001}', "{}"]
)
@every_api
def test_an_object_for_arguments_keeps_its_digits(api: str, written: str, server: Loopback) -> None:
    """Some servers write no text; the request that echoes it is one that can be sent."""
    wire = json.dumps(calling(api, call("a", '"HERE"')))
    for place in (json.dumps('"HERE"'), '"HERE"'):
        wire = wire.replace(place, written)
    with server.play([Reply(wire)]):
        model = model_of(api, server)
        response = model.send(REQUEST)
        model.send(next_turn(REQUEST, response, ToolResult(id="a", text="1")))

    assert [c.arguments for c in response.tool_calls] == [written]
    assert len(server.heard) == 2


def test_streamed_arguments_keep_their_digits() -> None:
    """Put together of pieces, they are what the whole-body call gives; cut ones are text."""

    def streamed(*pieces: str) -> list[str]:
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {"id": "m", "role": "assistant"}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            },
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in pieces
            ),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ]
        gathering = messages.Gathering()
        for event in events:
            gathering.add(event)
        read = messages.response(gathering.body(), provider="p", request_id=None)
        return [call.arguments for call in read.tool_calls]

    assert streamed('{"a": 1.1', '0, "b": 1e400}') == ['{"a": 1.10, "b": 1e400}']
    assert streamed('{"a": 1') == ['{"a": 1']
    assert streamed("") == streamed() == ["{}"]


def turns_of(api: str, arguments: str, result: ToolResult) -> Request:
    """A request whose turns come from a recording: without the vendor's own blocks."""
    asked = ToolCall(id="a", name="look_up", arguments=arguments)
    return replace(
        REQUEST,
        messages=(
            Message(role="assistant", text=" ", tool_calls=(asked,)),
            Message(role="user", tool_results=(result,)),
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "text", "value"),
    [
        (" ", "{}", {}),
        ('{"n": 1e400}', '{"n": 1e400}', {"n": "1e400"}),
        ('{"n": 25122920421210000011}', None, {"n": 25122920421210000011}),
        ('{"path": "/tm', None, {"unreadable": '{"path": "/tm'}),
        ("[1]", None, {"unreadable": [1]}),
        ('{"a": "\\ud83d"}', None, {"a": "?"}),
    ],
)
@every_api
def test_turns_without_blocks_are_sent_too(
    api: str, arguments: str, text: str | None, value: Any, server: Loopback
) -> None:
    """Text goes as the model wrote it, and an object where the vendor wants one."""
    request = turns_of(api, arguments, ToolResult(id="a", text="x\udc80", failed=True))
    with server.play([Reply(body(api, "ok"))]):
        model_of(api, server).send(request)
    asked, result = sent_turns(server.heard[0])[-2:]

    if api == "anthropic.messages":
        assert asked["content"] == [
            {"type": "tool_use", "id": "a", "name": "look_up", "input": value}
        ]
        assert (result["content"][0]["content"], result["content"][0]["is_error"]) == ("x?", True)
    elif api == "openai.chat":
        assert asked["tool_calls"][0]["function"]["arguments"] == (text or arguments)
        assert result["content"] == "Error: x?"
    else:
        assert asked["arguments"] == (text or arguments)
        assert result["output"] == "Error: x?"


def test_anthropic_takes_back_what_it_said_with_two_exceptions() -> None:
    """Blank text is refused, and so is an error of which nothing is said."""
    call = {"type": "tool_use", "id": "a", "input": dict[str, Any]()}
    blocks = ({"type": "text", "text": ""}, THINKING, call)
    turns = (
        Message(role="assistant", blocks=blocks),
        Message(role="user", tool_results=(ToolResult(id="a", text="", failed=True),)),
    )
    [_, echoed, results] = messages.arguments(replace(REQUEST, messages=turns))["messages"]

    assert echoed["content"] == [THINKING, call]
    assert results["content"][0]["content"] == "failed"


def test_results_come_before_what_else_is_said() -> None:
    """The vendor wants them first, all in one message."""
    results = (ToolResult(id="a", text="1"), ToolResult(id="b", text="2"))
    turn = Message(role="user", text="Go on.", tool_results=results)
    [_, said] = messages.arguments(replace(REQUEST, messages=(turn,)))["messages"]

    assert [block["type"] for block in said["content"]] == ["tool_result", "tool_result", "text"]


# Servers that do not do both at once


HELD = {
    "openai.chat": "response_format",
    "openai.responses": "text",
    "anthropic.messages": "output_config",
}


def at_local(*, base_url: str, api_key: str) -> Local:
    """A server of this process, which wants no key."""
    return Local(base_url=f"{base_url}/v1")


@pytest.mark.parametrize(
    ("cls", "api", "at_once"),
    [
        (APIS["openai.chat"], "openai.chat", False),
        (at_local, "openai.chat", False),
        (VendorChat, "openai.chat", True),
        (APIS["openai.responses"], "openai.responses", True),
        (APIS["anthropic.messages"], "anthropic.messages", True),
    ],
    ids=["another server", "local", "chat", "responses", "anthropic"],
)
def test_tools_and_a_schema(cls: Any, api: str, at_once: bool, server: Loopback) -> None:
    """Vendors take both; elsewhere the schema waits, and what is said meanwhile is a draft."""
    model = cls(base_url=server.url, api_key=KEY)
    free = replace(REQUEST, format=replace(REQUEST.format, constrained=False))  # type: ignore[arg-type]
    alone = replace(REQUEST, tools=())
    replies = [Reply(body(api, "It is 1.")), Reply(calling(api, call("a", "{}")))]
    with server.play([*replies, *replies[:1] * 3]):
        said, asked = model.send(REQUEST), model.send(REQUEST)
        awaited = asyncio.run(model.asend(REQUEST))
        others = [model.send(free), model.send(alone)]
    sent = [HELD[api] in heard.json for heard in server.heard]

    assert sent == [at_once, at_once, at_once, False, True]
    assert (said.draft, asked.draft, awaited.draft) == (not at_once, False, not at_once)
    assert [response.draft for response in others] == [False, False]
