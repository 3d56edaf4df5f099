"""Recorded exchanges of the vendors: ingot reads of each what the vendor's own SDK objects say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import openai
import pytest
from loopback import no_certificates

from ingot import errors
from ingot.provider import Format, Message, Request, Response, Usage
from ingot_anthropic import Anthropic, messages
from ingot_openai import OpenAI, OpenAIChat, chat, responses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.provider import SDKProvider

WIRE = Path(__file__).resolve().parents[2] / "shared" / "wire" / "exchanges.jsonl"
ROWS: list[dict[str, Any]] = (
    [json.loads(line) for line in WIRE.read_text().split("\n") if line] if WIRE.is_file() else []
)
READ = [row for row in ROWS if row["status"] == 200]
BODIES = [row for row in READ if row["response"] is not None]
STREAMS = [row for row in READ if row["sse"] is not None]
REFUSED = [row for row in ROWS if row["status"] != 200]

CHAT, RESPONSES, MESSAGES = "chat/completions", "responses", "messages"
KEY = "sk-test-0123456789abcdef"
ASKED = Request(provider="p", model="m", target=None, prompt="p", max_tokens=100)

pytestmark = pytest.mark.skipif(
    not ROWS, reason="the exchanges of shared/ are not beside this checkout"
)


class Wire:
    """The other end of the line: it answers with *content*, and keeps what it was sent."""

    def __init__(self) -> None:
        self.status = 200
        self.content = b""
        self.kind = "application/json"
        self.heard: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.heard.append(request)
        headers = {"content-type": self.kind, "x-request-id": "req_1", "request-id": "req_1"}
        return httpx2.Response(self.status, headers=headers, content=self.content)

    def put(self, row: dict[str, Any]) -> None:
        """Answer with what *row* holds."""
        self.status = row["status"]
        if row["sse"] is not None:
            self.content, self.kind = row["sse"].encode(), "text/event-stream"
        else:
            self.content, self.kind = json.dumps(row["response"]).encode(), "application/json"


def wired(cls: type[SDKProvider], wire: Wire) -> SDKProvider:
    """A provider of *cls* whose SDK speaks to *wire*."""

    class Wired(cls):  # type: ignore[misc, valid-type]  # a class is made of a class
        def connect(self, *, awaiting: bool) -> Any:
            transport = httpx2.MockTransport(wire)
            made = httpx2.AsyncClient if awaiting else httpx2.Client
            return (
                super()
                .connect(awaiting=awaiting)
                .with_options(http_client=made(transport=transport))
            )

    return Wired(api_key=KEY)


CLASSES: dict[str, type[SDKProvider]] = {CHAT: OpenAIChat, RESPONSES: OpenAI, MESSAGES: Anthropic}
GATHERINGS: dict[str, Any] = {
    CHAT: chat.Gathering,
    RESPONSES: responses.Gathering,
    MESSAGES: messages.Gathering,
}
WIRE_END = Wire()
PROVIDERS = {api: wired(cls, WIRE_END) for api, cls in CLASSES.items()}


@pytest.fixture(scope="module", autouse=True)
def _no_certificates() -> Iterator[None]:
    with no_certificates():
        yield


@pytest.fixture(scope="module")
def sdk() -> Iterator[dict[str, Any]]:
    """The vendors' own clients, speaking to the same end."""
    with httpx2.Client(transport=httpx2.MockTransport(WIRE_END)) as http:
        own = openai.OpenAI(api_key=KEY, http_client=http, max_retries=0)
        other = anthropic.Anthropic(api_key=KEY, http_client=http, max_retries=0)
        yield {CHAT: own, RESPONSES: own, MESSAGES: other}


def parsed(client: Any, row: dict[str, Any]) -> Any:
    """The object that the vendor's SDK makes of *row*, streams gathered by its own helpers."""
    WIRE_END.put(row)
    streams = row["sse"] is not None
    if row["api"] == CHAT:
        said: Any = {"model": "m", "messages": [{"role": "user", "content": "p"}]}
        if not streams:
            return client.chat.completions.create(**said)
        with client.chat.completions.stream(**said) as stream:
            return stream.get_final_completion()
    if row["api"] == RESPONSES:
        if not streams:
            return client.responses.create(model="m", input="p")
        with client.responses.create(model="m", input="p", stream=True) as stream:
            return [event for event in stream if event.type == "response.completed"][-1].response
    said = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "p"}]}
    if not streams:
        return client.messages.create(**said)
    with client.messages.stream(**said) as stream:
        return stream.get_final_message()


# What the vendor's objects say, in the words of a Response


def of_chat(said: Any) -> dict[str, Any]:
    """The facts of a `ChatCompletion`."""
    [first, *_] = said.choices
    spent, calls = said.usage, first.message.tool_calls or []
    read = spent.prompt_tokens_details.cached_tokens or 0
    written = spent.prompt_tokens_details.cache_write_tokens or 0
    thought = spent.completion_tokens_details.reasoning_tokens or 0
    return {
        "text": first.message.content,
        "tool_calls": [called(c.id, c.function.name, c.function.arguments) for c in calls],
        "stop_reason": first.finish_reason,
        "empty_reason": "tool_use_only" if calls and not first.message.content else None,
        "model": said.model,
        "usage": Usage(
            input_tokens=spent.prompt_tokens - read - written,
            output_tokens=spent.completion_tokens,
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=thought,
        ),
    }


def of_responses(said: Any) -> dict[str, Any]:
    """The facts of a `Response` of OpenAI."""
    calls = [item for item in said.output if item.type == "function_call"]
    spoken = [item for item in said.output if item.type == "message"]
    final = [item for item in spoken if getattr(item, "phase", None) != "commentary"]
    text = "".join(part.text for item in final for part in item.content) if final else None
    if len(final) == len(spoken):
        assert said.output_text == (text or "")
    empty = None
    if not said.output:
        empty = "no_content_blocks"
    elif text is None:
        assert calls
        empty = "tool_use_only"
    spent = said.usage
    inputs = spent and spent.input_tokens_details
    read = inputs.cached_tokens if inputs else 0
    written = (getattr(inputs, "cache_write_tokens", None) or 0) if inputs else 0
    return {
        "text": text,
        "tool_calls": [called(item.call_id, item.name, item.arguments) for item in calls],
        "stop_reason": said.status,
        "empty_reason": empty,
        "model": said.model,
        "usage": spent
        and Usage(
            input_tokens=spent.input_tokens - read - written,
            output_tokens=spent.output_tokens,
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=spent.output_tokens_details.reasoning_tokens,
        ),
    }


def of_messages(said: Any) -> dict[str, Any]:
    """The facts of a `Message`."""
    # By `type`, not by class: the SDK makes TextBlocks of blocks that it does not know.
    calls = [block for block in said.content if block.type == "tool_use"]
    texts = [block.text for block in said.content if block.type == "text"]
    spent = said.usage
    hour = spent.cache_creation.ephemeral_1h_input_tokens if spent.cache_creation else 0
    thought = spent.output_tokens_details.thinking_tokens if spent.output_tokens_details else 0
    return {
        "text": "".join(texts) if texts else None,
        "tool_calls": [called(block.id, block.name, block.input) for block in calls],
        "stop_reason": said.stop_reason,
        "empty_reason": "tool_use_only" if calls and not texts else None,
        "model": said.model,
        "usage": Usage(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cache_read_tokens=spent.cache_read_input_tokens or 0,
            cache_write_tokens=spent.cache_creation_input_tokens or 0,
            cache_write_1h_tokens=hour,
            reasoning_tokens=thought,
        ),
    }


def called(id: str, name: str, arguments: Any) -> Any:
    """A tool call, its arguments as a value."""
    return (id, name, json.loads(arguments) if isinstance(arguments, str) else arguments)


def facts(response: Response) -> dict[str, Any]:
    """All of *response* that both sides know."""
    return {
        "text": response.text,
        "tool_calls": [called(c.id, c.name, c.arguments) for c in response.tool_calls],
        "stop_reason": response.stop_reason,
        "empty_reason": response.empty_reason,
        "model": response.model,
        "usage": response.usage,
    }


OBJECT = {CHAT: of_chat, RESPONSES: of_responses, MESSAGES: of_messages}


def events(sse: str) -> list[dict[str, Any]]:
    """The events of a stream's text."""
    found: list[dict[str, Any]] = []
    for block in sse.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].strip() for line in block.split("\n") if line.startswith("data:"))
        if data and data != "[DONE]":
            found.append(json.loads(data))
    return found


def gathered(api: str, told: list[dict[str, Any]]) -> dict[str, Any]:
    """The body that the events of a stream are put together as."""
    gathering = GATHERINGS[api]()
    for event in told:
        gathering.add(event)
    body: dict[str, Any] = gathering.body()
    return body


def test_the_exchanges_are_all_there() -> None:
    """Every exchange is fed to one of the tests below."""
    assert (len(BODIES), len(STREAMS), len(REFUSED), len(ROWS)) == (285, 19, 3, 307)


@pytest.mark.parametrize("api", PROVIDERS)
def test_reads_bodies_as_the_vendor_does(api: str, sdk: dict[str, Any]) -> None:
    """Text, calls, usage, model, stop and empty reason are those of the vendor's own object."""
    for row in (row for row in BODIES if row["api"] == api):
        expected = OBJECT[api](parsed(sdk[api], row))

        assert facts(PROVIDERS[api].decode(row["response"])) == expected, row["id"]


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["id"])
def test_gathers_a_stream_as_the_vendor_does(row: dict[str, Any], sdk: dict[str, Any]) -> None:
    """A stream is put together into the body that the vendor's own helpers put together."""
    expected = OBJECT[row["api"]](parsed(sdk[row["api"]], row))
    body = gathered(row["api"], events(row["sse"]))

    assert facts(PROVIDERS[row["api"]].decode(body)) == expected


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["id"])
def test_a_stream_that_stops_early_is_no_answer(row: dict[str, Any]) -> None:
    """Wherever the line breaks before the last event, no reason to stop is told."""
    told = events(row["sse"])
    last = next(
        n
        for n, event in enumerate(told)
        if event.get("type") in ("message_stop", "response.completed")
        or any(choice["finish_reason"] for choice in event.get("choices", ()))
    )

    for end in range(last):
        response = PROVIDERS[row["api"]].decode(gathered(row["api"], told[:end]) or {"id": "x"})
        assert response.stop_reason is None


@pytest.mark.parametrize(
    "row", [r for r in READ if r["api"] == MESSAGES], ids=lambda row: row["id"]
)
def test_keeps_every_block_for_the_next_turn(row: dict[str, Any], sdk: dict[str, Any]) -> None:
    """The blocks that are echoed are the vendor's: none lost, signatures whole."""
    if row["sse"] is None:
        expected = row["response"]["content"]
        body = row["response"]
    else:
        expected = [
            block.model_dump(exclude_none=True) for block in parsed(sdk[MESSAGES], row).content
        ]
        body = gathered(MESSAGES, events(row["sse"]))
    blocks = [dict(block) for block in PROVIDERS[MESSAGES].decode(body).blocks]
    if row["sse"] is not None:
        blocks = [{k: v for k, v in block.items() if v is not None} for block in blocks]

    assert blocks == expected


@pytest.mark.parametrize("api", CLASSES)
def test_the_whole_path_reads_the_same(api: str) -> None:
    """A reply that comes through the SDK's client is read as its JSON is."""
    provider = PROVIDERS[api]
    wrong = []
    for row in (row for row in BODIES if row["api"] == api):
        WIRE_END.put(row)
        if provider.send(ASKED) != provider.decode(row["response"], request_id="req_1"):
            wrong.append(row["id"])

    assert wrong == []


@pytest.mark.parametrize("api", CLASSES)
async def test_the_whole_awaited_path_reads_the_same(api: str) -> None:
    """A reply that comes through the SDK's async client is read as its JSON is."""
    provider = PROVIDERS[api]
    wrong = []
    for row in (row for row in BODIES if row["api"] == api):
        WIRE_END.put(row)
        if await provider.asend(ASKED) != provider.decode(row["response"], request_id="req_1"):
            wrong.append(row["id"])

    assert wrong == []


async def awaited(provider: SDKProvider) -> list[Any]:
    """All that a stream gives."""
    return [piece async for piece in provider.astream(ASKED)]


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["id"])
async def test_a_stream_is_read_as_it_comes(row: dict[str, Any]) -> None:
    """Its pieces are the text of the reply, which is the one that the events are gathered as."""
    provider = PROVIDERS[row["api"]]
    WIRE_END.put(row)
    expected = provider.decode(gathered(row["api"], events(row["sse"])), request_id="req_1")
    for said in (list(provider.stream(ASKED)), await awaited(provider)):
        *pieces, response = said

        assert response == expected
        assert "".join(pieces) == (expected.text or "")
        assert len(pieces) > 1 or not expected.text


@pytest.mark.parametrize("api", CLASSES)
async def test_a_stream_that_comes_whole_reads_the_same(api: str) -> None:
    """Of a server that does not stream, whatever it was asked."""
    provider = PROVIDERS[api]
    wrong = []
    for row in (row for row in BODIES if row["api"] == api):
        WIRE_END.put(row)
        expected = provider.decode(row["response"], request_id="req_1")
        said = [expected.text, expected] if expected.text else [expected]
        if list(provider.stream(ASKED)) != said or await awaited(provider) != said:
            wrong.append(row["id"])

    assert wrong == []


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["id"])
async def test_says_what_the_vendor_refused(row: dict[str, Any]) -> None:
    """A refused request is a protocol error with the vendor's own words, status and id."""
    provider = PROVIDERS[row["api"]]
    WIRE_END.put(row)
    said = row["response"]["error"]
    with pytest.raises(errors.ProviderProtocolError) as sync:
        provider.send(ASKED)
    with pytest.raises(errors.ProviderProtocolError) as blocking_stream:
        list(provider.stream(ASKED))
    with pytest.raises(errors.ProviderProtocolError) as awaiting:
        await provider.asend(ASKED)
    with pytest.raises(errors.ProviderProtocolError) as awaiting_stream:
        await awaited(provider)

    for raised in (sync, blocking_stream, awaiting, awaiting_stream):
        error = raised.value
        assert error.message == f"{provider.name}: {said['message']}"
        assert error.status == row["status"]
        assert error.type == (said["code"] or said["type"])
        assert error.request_id == "req_1"
        assert error.retryable is False


FORMATS = {CHAT: "response_format", RESPONSES: "text", MESSAGES: "output_config"}


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if "json_schema" in json.dumps(row["request"].get(FORMATS[row["api"]]))],
    ids=lambda row: row["id"],
)
def test_writes_the_format_in_the_envelope_that_was_recorded(row: dict[str, Any]) -> None:
    """The schema travels in the envelope that the vendor took from others."""
    shape = Format(name="N", schema={"type": "object"}, constrained=True, shown=False)
    request = Request(provider="p", model="m", target=None, prompt="p", max_tokens=9, format=shape)
    field = FORMATS[row["api"]]
    sent = PROVIDERS[row["api"]].encode(request)[field]
    recorded = row["request"][field]

    assert envelope(sent) - {"strict"} == envelope(recorded) - {
        "strict",
        "description",
        "verbosity",
    }


def envelope(value: Any) -> set[str]:
    """The names in an object, and in the objects of it, schemas excepted."""
    names = set(value)
    for name, item in value.items():
        if isinstance(item, dict) and name != "schema":
            names |= {f"{name}.{inner}" for inner in envelope(item)}
    return {name.rpartition(".")[2] for name in names}


def echoed(row: dict[str, Any]) -> list[Any] | None:
    """The turns of a next request after the reply of *row*; None where it was plain text."""
    response = PROVIDERS[row["api"]].decode(row["response"])
    turn = Message(
        role="assistant",
        text=response.text,
        tool_calls=response.tool_calls,
        blocks=response.blocks,
    )
    request = Request(
        provider="p", model="m", target=None, prompt="p", max_tokens=9, messages=(turn,)
    )
    sent = PROVIDERS[row["api"]].encode(request)
    if not response.blocks:
        return None
    return list(sent["input" if row["api"] == RESPONSES else "messages"][1:])


@pytest.mark.parametrize("api", [RESPONSES, MESSAGES])
def test_echoes_turns_as_they_came(api: str) -> None:
    """A reply becomes the assistant turn of the next request unchanged."""
    for row in (row for row in BODIES if row["api"] == api):
        said = row["response"]
        if api == RESPONSES:
            turns = said["output"]
        else:
            turns = [{"role": "assistant", "content": said["content"]}]

        assert echoed(row) in (None, turns), row["id"]


# What no recording holds


WRONG: tuple[Any, ...] = (None, "x", 5, [], {}, True, [None], ["x"], {"x": 1})


def damaged(value: Any) -> Iterator[Any]:
    """Copies of *value*, one part of each replaced by something that is not expected there."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield {k: v for k, v in value.items() if k != name}
            for other in (*WRONG, *damaged(item)):
                yield {**value, name: other}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for other in (*WRONG, *damaged(item)):
                yield [*value[:index], other, *value[index + 1 :]]


def small(api: str) -> list[dict[str, Any]]:
    """The shortest body of each set of kinds of blocks."""
    kept: dict[Any, dict[str, Any]] = {}
    for row in BODIES:
        if row["api"] == api:
            body = {k: v for k, v in row["response"].items() if k != "moderation"}
            kinds = frozenset(PROVIDERS[api].decode(body).kinds), bool(row["response"].get("tools"))
            if kinds not in kept or len(json.dumps(body)) < len(json.dumps(kept[kinds])):
                kept[kinds] = body
    return list(kept.values())


@pytest.mark.parametrize("api", CLASSES)
def test_a_damaged_body_is_read_or_refused(api: str) -> None:
    """Whatever part is missing or of another kind, there is a Response or an error of ours."""
    crashes: dict[str, Any] = {}
    for body in small(api):
        for other in damaged(body):
            try:
                PROVIDERS[api].decode(other)
            except errors.IngotError:
                pass
            except Exception as error:
                crashes.setdefault(f"{type(error).__name__}: {error}", other)

    assert crashes == {}


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["id"])
def test_a_damaged_stream_is_read_or_refused(row: dict[str, Any]) -> None:
    """Whatever part of an event is missing or of another kind, nothing crashes."""
    told = events(row["sse"])
    crashes: dict[str, Any] = {}
    seen: set[Any] = set()
    for index, event in enumerate(told):
        kind = (event.get("type"), str(event.get("delta"))[:20])
        if kind in seen:
            continue
        seen.add(kind)
        trimmed = {k: v for k, v in event.items() if k != "response" or len(str(v)) < 3000}
        for other in damaged(trimmed):
            try:
                body = gathered(row["api"], [*told[:index], other, *told[index + 1 :]])
                PROVIDERS[row["api"]].decode(body)
            except errors.IngotError:
                pass
            except Exception as error:
                crashes.setdefault(f"{type(error).__name__}: {error}", other)

    assert crashes == {}
