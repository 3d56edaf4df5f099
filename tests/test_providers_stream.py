"""Streams through the vendors' real SDKs, from a real server on this machine."""

from __future__ import annotations

import asyncio
import copy
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from loopback import Loopback, Reply
from streams import STREAMS, data
from test_providers_loopback import APIS, KEY, body

from ingot import Retry, Text, ask, attachment, errors
from ingot.provider import Provider, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingot.provider import SDKProvider

every_api = pytest.mark.parametrize("api", APIS)

COLOURS = ['{"value": ["r', "ed", '", "gr', 'een"]}']
SILENCE = 3600.0
SERVER = Loopback()
LOOP = asyncio.Runner()


@pytest.fixture(scope="module", autouse=True)
def _open() -> Iterator[None]:
    with SERVER, LOOP:
        yield
        PROVIDERS.clear()


PROVIDERS: dict[str, SDKProvider] = {}
"""Made once: a client reads certificates, which is slow."""


def provider(api: str) -> SDKProvider:
    if api not in PROVIDERS:
        PROVIDERS[api] = APIS[api](base_url=SERVER.url, api_key=KEY)
    return PROVIDERS[api]


def streaming(api: str, pieces: list[str], **facts: Any) -> Reply:
    """A reply that streams *pieces*."""
    return Reply(chunks=list(STREAMS[api](pieces)), **facts)


def begun(api: str, *after: bytes | float, **facts: Any) -> Reply:
    """A reply that has begun to list colours, and goes on with *after*."""
    said = [event for event in STREAMS[api](COLOURS[:3]) if not is_end(event)]
    return Reply(chunks=[*said, *after], **facts)


def is_end(event: bytes) -> bool:
    ends = (b'"stop"', b"DONE", b'"usage": {"p', b"_stop", b"message_delta", b"completed")
    return any(end in event for end in ends)


def shown(model: Provider, t: Any = list[str], **given: Any) -> tuple[list[Any], Any]:
    """The snapshots of a stream, and the answer or error it came to."""
    snapshots: list[Any] = []
    with ask.stream(t, "p", model=model, **given) as s:
        try:
            snapshots += (copy.deepcopy(each) for each in s)
            return snapshots, s.answer
        except errors.IngotError as error:
            return [copy.deepcopy(s.snapshot)], error


async def _ashown(model: Provider, t: Any, given: dict[str, Any]) -> tuple[list[Any], Any]:
    async with ask.aio.stream(t, "p", model=model, **given) as s:
        try:
            snapshots = [copy.deepcopy(each) async for each in s]
            return snapshots, s.answer
        except errors.IngotError as error:
            return [copy.deepcopy(s.snapshot)], error


def ashown(model: Provider, t: Any = list[str], **given: Any) -> tuple[list[Any], Any]:
    """Like `shown`, async."""
    return LOOP.run(_ashown(model, t, given))


both_ways = pytest.mark.parametrize("way", [shown, ashown])


@both_ways
@every_api
def test_snapshots_grow_to_the_value(api: str, way: Any) -> None:
    """Text as it comes; at the end value, usage, model and request id, as of a whole reply."""
    reply = streaming(api, COLOURS, headers={"x-request-id": "req_1"})
    with SERVER.play([reply]) as server:
        snapshots, answer = way(provider(api))

    assert snapshots == [["r"], ["red"], ["red", "gr"], ["red", "green"]]
    assert answer.value == ["red", "green"]
    assert answer.usage == Usage(input_tokens=7, output_tokens=5)
    assert answer.request_id == "req_1"
    assert answer.model.endswith("/m")
    assert server.heard[0].json["stream"] is True


@every_api
def test_what_is_sent_is_what_a_whole_ask_sends(api: str) -> None:
    """But for the wish to have it streamed, and with usage."""
    whole = Reply(body(api, '{"value": []}'))
    with SERVER.play([streaming(api, COLOURS), whole]) as server:
        shown(provider(api))
        ask(list[str], "p", model=provider(api))
    streamed, plain = (heard.json for heard in server.heard)
    usage = {"stream_options": {"include_usage": True}} if api == "openai.chat" else {}

    assert streamed == {**plain, "stream": True, **usage}


@both_ways
@every_api
def test_prose_comes_in_pieces(api: str, way: Any) -> None:
    """As the model wrote them."""
    with SERVER.play([streaming(api, ["A ", "mos", "s 🪨"])]):
        pieces, answer = way(provider(api), Text)

    assert (pieces, answer.value) == (["A ", "mos", "s 🪨"], "A moss 🪨")


@both_ways
@every_api
def test_a_server_that_does_not_stream_is_read(api: str, way: Any) -> None:
    """It ignores what was wished, and sends the whole body."""
    with SERVER.play([Reply(body(api, '{"value": ["red"]}'))]):
        snapshots, answer = way(provider(api))

    assert (snapshots, answer.value) == ([["red"]], ["red"])


@every_api
def test_a_stream_that_is_not_called_one_is_read(api: str) -> None:
    """A server may forget to say that it streams."""
    reply = Reply(b"\n" + b"".join(STREAMS[api](COLOURS)), headers={"content-type": "text/plain"})
    with SERVER.play([reply]):
        snapshots, answer = shown(provider(api))

    assert (snapshots[-1], answer.value) == (["red", "green"], ["red", "green"])


# Streams that fail


def overloaded(api: str) -> bytes:
    """An error event."""
    error = {"type": "overloaded_error", "code": "server_error", "message": "Overloaded"}
    return (
        data({"error": error}) if api == "openai.chat" else data({"type": "error", "error": error})
    )


FAULTS: dict[str, tuple[Any, type[errors.ProviderError], str]] = {
    "an error event": (
        lambda api: begun(api, overloaded(api)),
        errors.ProviderUnavailableError,
        "Overloaded",
    ),
    "a clean end before the end": (
        begun,
        errors.ProviderUnavailableError,
        "breaks off before its end",
    ),
    "a reset": (
        lambda api: begun(api, cut=0),
        errors.ProviderUnavailableError,
        "was lost in the middle of the reply",
    ),
    "an event that is no JSON": (
        lambda api: begun(api, b"data: {x\n\n"),
        errors.ProviderProtocolError,
        "an event of the stream is no JSON object",
    ),
    "an event that is no object": (
        lambda api: begun(api, b"data: 5\n\n"),
        errors.ProviderProtocolError,
        "an event of the stream is no JSON object",
    ),
    "silence": (
        lambda api: begun(api, SILENCE),
        errors.ProviderTimeoutError,
        "no reply in time",
    ),
}


@both_ways
@every_api
@pytest.mark.parametrize("fault", FAULTS)
def test_a_stream_that_fails_is_no_answer(api: str, way: Any, fault: str) -> None:
    """The class says what it was; nothing is sent again, as something was shown, which stays."""
    make, cls, message = FAULTS[fault]
    with SERVER.play([make(api)]) as server:
        [snapshot], error = way(provider(api), timeout=0.3 if fault == "silence" else 20)

    assert type(error) is cls, error
    assert message in str(error)
    assert snapshot == ["red", "gr"]
    assert len(server.heard) == 1
    assert ("not sent again, as pieces of the reply were handed on" in str(error)) is (
        error.retryable
    )


def test_what_came_with_a_faulty_event_is_shown() -> None:
    """Though it came in one packet."""
    packet = b"".join(event for event in STREAMS["openai.chat"](COLOURS) if not is_end(event))
    with SERVER.play([Reply(chunks=[packet + b"data: {x\n\n"])]):
        with ask.stream(list[str], "p", model=provider("openai.chat")) as s:
            found: list[str] = []
            with pytest.raises(errors.ProviderProtocolError):
                found += s.items()

    assert found == s.snapshot == ["red", "green"]


@both_ways
@every_api
@pytest.mark.parametrize("fault", ["an error event", "a clean end", "a reset", "a status"])
def test_what_fails_before_the_first_piece_is_sent_again(api: str, way: Any, fault: str) -> None:
    """Nothing was handed on, so nobody can tell."""
    first = {
        "an error event": Reply(chunks=[overloaded(api)]),
        "a clean end": Reply(chunks=[b": hello\n\n"]),
        "a reset": Reply(chunks=[b": hello\n\n"], cut=0),
        "a status": Reply({"error": {"message": "slow"}}, status=429, headers={"retry-after": "0"}),
    }
    with SERVER.play([first[fault], streaming(api, COLOURS)]) as server:
        _, answer = way(provider(api), retry=Retry(ceiling=0))

    assert answer.value == ["red", "green"]
    assert (answer.attempts, len(server.heard)) == (2, 2)


@both_ways
def test_a_body_that_cannot_be_unpacked_is_no_stream(way: Any) -> None:
    """What the HTTP library finds wrong is an error of ours as well."""
    with SERVER.play([begun("openai.chat", headers={"content-encoding": "gzip"})]):
        _, error = way(provider("openai.chat"), retry=0)

    assert isinstance(error, errors.ProviderUnavailableError)


@pytest.mark.parametrize(
    "event",
    [
        b'event: error\ndata: {"message": "Overloaded", "code": "server_error"}\n\n',
        b"event: error\ndata: Overloaded\n\n",
    ],
)
def test_an_event_named_error_is_one(event: bytes) -> None:
    """Even where its data does not say so."""
    with SERVER.play([begun("openai.chat", event)]):
        _, error = shown(provider("openai.chat"))

    assert isinstance(error, errors.ProviderError)
    assert "Overloaded" in str(error)


@both_ways
def test_a_page_is_no_stream(way: Any) -> None:
    """The message says where it came from."""
    page = Reply("<!doctype html><p>hi", headers={"content-type": "text/html"})
    with SERVER.play([page]):
        _, error = way(provider("openai.chat"))

    assert isinstance(error, errors.ProviderProtocolError)
    assert "an HTML page" in str(error)
    assert SERVER.url in str(error)


ERROR = {"error": {"message": "no credit", "type": "insufficient_quota"}}


@both_ways
@every_api
@pytest.mark.parametrize("sent", ["an error", "a page", "a body"])
def test_what_is_no_stream_may_be_called_one(api: str, way: Any, sent: str) -> None:
    """It is read as what it is: the error, the page or the whole reply."""
    bodies: dict[str, Any] = {
        "an error": ERROR,
        "a page": " <html>hi",
        "a body": body(api, '{"value": ["red"]}'),
    }
    with SERVER.play([Reply(bodies[sent], headers={"content-type": "text/event-stream"})]):
        _, came = way(provider(api), retry=0)

    if sent == "a body":
        assert came.value == ["red"]
    elif sent == "an error":
        assert isinstance(came, errors.ProviderAuthError)
        assert "no credit" in str(came)
    else:
        assert "an HTML page" in str(came)


@every_api
def test_white_space_around_data_says_nothing(api: str) -> None:
    """Also around the word that ends a stream."""
    padded = [event.replace(b"\n\n", b" \n\ndata:  \n\n") for event in STREAMS[api](COLOURS)]
    with SERVER.play([Reply(chunks=padded)]):
        _, answer = shown(provider(api))

    assert answer.value == ["red", "green"]


def halved(event: bytes) -> bytes:
    """*event* with its marks as the halves of a character."""
    return event.replace("«".encode(), rb"\ud83d").replace("»".encode(), rb"\ude00")


@both_ways
@every_api
@pytest.mark.parametrize("t", [Text, list[str]])
def test_a_character_may_be_cut_between_events(api: str, way: Any, t: Any) -> None:
    """Some servers count in UTF-16; half of one is never shown."""
    pieces = ["a «", "» b«", "»"] if t is Text else ['{"value": ["a «', "» b«", '»"]}']
    whole = "".join(pieces).replace("«»", "😀")
    events = [
        event.replace("«»".encode(), "😀".encode()) if b"completed" in event else halved(event)
        for event in STREAMS[api](pieces)
    ]
    with SERVER.play([Reply(chunks=events)]):
        seen, answer = way(provider(api), t)

    assert seen == (["a ", "😀 b", "😀"] if t is Text else [["a "], ["a 😀 b"], ["a 😀 b😀"]])
    assert answer.value == (whole if t is Text else ["a 😀 b😀"])


def test_a_status_in_an_error_event_says_what_it_is() -> None:
    """Gateways that have begun to stream put it there; nothing was shown, so it is sent again."""
    busy = Reply(chunks=[data({"error": {"message": "busy", "code": 503}})])
    with SERVER.play([busy, streaming("openai.chat", COLOURS)]):
        _, answer = shown(provider("openai.chat"), retry=Retry(ceiling=0))

    assert (answer.value, answer.attempts) == (["red", "green"], 2)


def test_a_reply_too_deep_to_read_is_an_error_of_ours() -> None:
    """Though Python can still read the event that holds it."""
    item = {"type": "reasoning", "deep": "deep"}
    event = data({"type": "response.completed", "response": {"id": "r", "output": [item]}})
    deep = event.replace(b'"deep"}', b"[" * 600 + b"]" * 600 + b"}")
    with SERVER.play([Reply(chunks=[deep])]):
        _, error = shown(provider("openai.responses"))

    assert isinstance(error, errors.ProviderProtocolError)
    assert "nested too deeply" in str(error)


@pytest.mark.parametrize("index", [None, 0, "missing"])
def test_a_lone_choice_may_have_no_number(index: Any) -> None:
    """Where there is one, it is the first; others are not listened to."""
    number = {} if index == "missing" else {"index": index}
    said = [
        {"index": 1, "delta": {"content": "other"}},
        {**number, "delta": {"content": '{"value": []}'}, "finish_reason": "stop"},
    ]
    with SERVER.play([Reply(chunks=[data({"choices": said})])]):
        _, answer = shown(provider("openai.chat"))

    assert answer.value == []


@pytest.mark.parametrize(
    ("api", "good", "reason", "cls"),
    [
        ("openai.chat", "stop", "length", errors.TruncatedError),
        ("openai.chat", "stop", "content_filter", errors.ContentFilteredError),
        ("anthropic.messages", "end_turn", "max_tokens", errors.TruncatedError),
        ("anthropic.messages", "end_turn", "refusal", errors.RefusedError),
    ],
)
def test_no_later_reason_to_stop_makes_a_cut_good(
    api: str, good: str, reason: str, cls: type[Exception]
) -> None:
    """Some gateways end each stream with the same word."""
    events: list[bytes] = []
    for event in STREAMS[api](COLOURS):
        if good.encode() in event:
            events.append(event.replace(f'"{good}"'.encode(), f'"{reason}"'.encode()))
        events.append(event)
    with SERVER.play([Reply(chunks=events)]):
        _, error = shown(provider(api))

    assert type(error) is cls


@pytest.mark.parametrize("again", [1, 2])
def test_a_message_that_begins_twice_is_no_answer(again: int) -> None:
    """A gateway that asked again leaves two halves, which may look like one text."""
    events = list(STREAMS["anthropic.messages"](["Hello ", "world"]))
    with SERVER.play([Reply(chunks=[*events[: again + 2], *events[2 - again :]])]):
        _, error = shown(provider("anthropic.messages"), Text)

    assert isinstance(error, errors.ProviderProtocolError)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_reasons_to_stop_are_those_of_a_whole_reply(reason: str) -> None:
    """A text that was cut or filtered is no answer, though it may parse."""
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    whole = data({"choices": [{"index": 0, "delta": {"content": '{"value": ["red"]}'}}]})
    with SERVER.play([Reply(chunks=[whole, data(stop), b"data: [DONE]\n\n"])]):
        snapshots, error = shown(provider("openai.chat"))

    cls = errors.TruncatedError if reason == "length" else errors.ContentFilteredError
    assert (snapshots, type(error)) == ([["red"]], cls)


def test_a_stream_without_a_reason_to_stop_is_no_answer() -> None:
    """Also where the server says that it is done."""
    with SERVER.play([begun("openai.chat", b"data: [DONE]\n\n")]):
        _, error = shown(provider("openai.chat"))

    assert isinstance(error, errors.ProviderProtocolError)
    assert "does not say why the model stopped" in str(error)


@both_ways
def test_pings_are_signs_of_life(way: Any) -> None:
    """The bound is on silence, not on the whole."""
    rest = [event for event in STREAMS["openai.chat"](COLOURS) if is_end(event)]
    quiet = [part for _ in range(4) for part in (0.2, b": ping\n\n")]
    with SERVER.play(
        [
            begun(
                "openai.chat",
                *quiet,
                data({"choices": [{"index": 0, "delta": {"content": 'een"]}'}}]}),
                *rest,
            )
        ]
    ):
        _, answer = way(provider("openai.chat"), timeout=0.5)

    assert answer.value == ["red", "green"]


@both_ways
def test_nothing_is_waited_for_after_the_end(way: Any) -> None:
    """A server that leaves the line open after its last event keeps nobody waiting."""
    for api in APIS:
        with SERVER.play([Reply(chunks=[*STREAMS[api](COLOURS), SILENCE])]) as server:
            _, answer = way(provider(api), timeout=5)

            assert answer.value == ["red", "green"]
            assert server.hung_up.wait(2)


def test_content_does_not_come_back_in_an_error(tmp_path: Path) -> None:
    """A vendor may repeat the request in an error event."""
    secret = "the secret content of a file that must not show"
    file = tmp_path / "a.txt"
    file.write_text(secret)
    event = data({"error": {"message": f"cannot read {secret}", "type": "invalid_request_error"}})
    with SERVER.play([Reply(chunks=[event])]):
        _, error = shown(provider("openai.chat"), attach=[attachment(file)])

    assert isinstance(error, errors.ProviderProtocolError)
    assert "secret content" not in str(error)
    assert "[content]" in str(error)


# Leaving early


@every_api
def test_leaving_the_block_closes_the_connection(api: str) -> None:
    """At once, without the garbage collector; what is left has no value."""
    with SERVER.play([begun(api, SILENCE)]) as server:
        with ask.stream(list[str], "p", model=provider(api)) as s:
            assert next(s) == ["r"]
            assert not server.hung_up.is_set()

        assert server.hung_up.wait(2)
        with pytest.raises(RuntimeError, match="left before its end"):
            _ = s.value


@every_api
def test_leaving_the_block_closes_the_connection_async(api: str) -> None:
    """Likewise."""

    async def leave(server: Loopback) -> None:
        async with ask.aio.stream(list[str], "p", model=provider(api)) as s:
            assert await anext(s) == ["r"]
            assert not server.hung_up.is_set()
        assert await asyncio.to_thread(server.hung_up.wait, 2)

    with SERVER.play([begun(api, SILENCE)]) as server:
        LOOP.run(leave(server))


def test_cancelling_the_task_closes_the_connection() -> None:
    """While it waits for the next piece."""

    async def listen() -> None:
        async with ask.aio.stream(list[str], "p", model=provider("openai.chat")) as s:
            async for _ in s:
                pass

    async def cancel(server: Loopback) -> None:
        task = asyncio.ensure_future(listen())
        assert await asyncio.to_thread(server.streaming.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 2)

    with SERVER.play([begun("openai.chat", SILENCE)]) as server:
        LOOP.run(cancel(server))


CHILD = """\
import sys
from ingot import ask
from ingot_openai import OpenAIChat
model = OpenAIChat(base_url=sys.argv[1] + "/v1", api_key="x")
try:
    with ask.stream(list[str], "p", model=model) as s:
        for snapshot in s:
            print(snapshot, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    input()  # the process lives on
"""


def test_an_interrupt_closes_the_connection() -> None:
    """Ctrl-C passes at once."""
    with SERVER.play([begun("openai.chat", SILENCE)]) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with child:
            assert child.stdout is not None
            lines = [child.stdout.readline() for _ in range(3)]
            child.send_signal(signal.SIGINT)
            lines.append(child.stdout.readline())
            hung_up = server.hung_up.wait(2)
            child.communicate("\n", timeout=10)

    assert lines == ["['r']\n", "['red']\n", "['red', 'gr']\n", "interrupted\n"]
    assert hung_up


class Narrow(APIS["openai.chat"]):  # type: ignore[misc]  # a class from a table
    """Chat Completions through a pool of two connections."""

    def connect(self, *, awaiting: bool) -> Any:
        limits = httpx2.Limits(max_connections=2)
        timeout = httpx2.Timeout(5, pool=1)
        made = httpx2.AsyncClient if awaiting else httpx2.Client
        http = made(limits=limits, timeout=timeout)
        return super().connect(awaiting=awaiting).with_options(http_client=http, timeout=timeout)


def test_streams_that_are_left_do_not_use_up_the_pool() -> None:
    """Fifty of them on two connections."""
    model = Narrow(base_url=SERVER.url, api_key=KEY)
    with SERVER.play([begun("openai.chat", SILENCE)]) as server:
        for _ in range(50):
            with ask.stream(list[str], "p", model=model) as s:
                next(s)

    assert len(server.heard) == 50


def test_replies_with_an_error_status_do_not_use_up_the_pool() -> None:
    """Thirty of them on two connections: each is closed before it is raised."""
    model = Narrow(base_url=SERVER.url, api_key=KEY)
    slow = Reply({"error": {"message": "slow"}}, status=429, headers={"retry-after": "0"})

    async def ask_all() -> list[Any]:
        return [(await _ashown(model, int, {"retry": 0}))[1] for _ in range(30)]

    with SERVER.play([slow]):
        found = [shown(model, int, retry=0)[1] for _ in range(30)] + LOOP.run(ask_all())

    assert {type(error) for error in found} == {errors.ProviderRateLimitError}


def test_arguments_of_calls_are_gathered() -> None:
    """A turn that calls tools is put together from its pieces; the next shows the answer."""

    def price(item: str) -> int:
        """The price of an item."""
        return len(item)

    def part(**function: str) -> bytes:
        call = {"index": 0, "function": function}
        if "name" in function:
            call["id"] = "c1"
        return data({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})

    stop = data({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    turn = Reply(
        chunks=[
            part(name="price", arguments=""),
            part(arguments='{"item": '),
            part(arguments='"pen"}'),
            stop,
            b"data: [DONE]\n\n",
        ]
    )
    with SERVER.play([turn, streaming("openai.chat", ['{"val', 'ue": 3}'])]) as server:
        snapshots, answer = shown(provider("openai.chat"), int, tools=[price])

    assert (snapshots, answer.value) == ([3], 3)
    assert server.heard[1].json["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "3",
    }


def call_part(index: Any, id: Any, name: str | None, arguments: Any) -> dict[str, Any]:
    """A part of a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    part = {"index": index, "id": id, "function": {k: v for k, v in function.items() if v}}
    return {k: v for k, v in part.items() if v is not None}


X, Y = '{"item": "x"}', '{"item": "y"}'
CALLS: dict[str, list[dict[str, Any]]] = {
    "numbered": [call_part(0, "a", "price", X), call_part(1, "b", "price", Y)],
    "in turns": [
        call_part(0, "a", "price", X[:5]),
        call_part(1, "b", "price", Y[:3]),
        call_part(0, None, None, X[5:]),
        call_part(1, None, None, Y[3:]),
    ],
    "all the same number": [
        call_part(0, "a", "price", X),
        call_part(0, "b", "price", Y[:5]),
        call_part(0, None, None, Y[5:]),
    ],
    "no numbers": [call_part(None, "a", "price", X), call_part(None, "b", "price", Y)],
    "neither number nor id": [
        call_part(None, None, "price", X),
        call_part(None, None, "price", Y[:5]),
        call_part(None, None, None, Y[5:]),
    ],
    "objects": [
        call_part(0, "a", "price", {"item": "x"}),
        call_part(1, "b", "price", {"item": "y"}),
    ],
    "the id again and again": [
        call_part(0, "a", "price", X[:5]),
        call_part(0, "a", None, X[5:]),
        call_part(1, "b", "price", Y),
    ],
}


@pytest.mark.parametrize("parts", CALLS.values(), ids=list(CALLS))
def test_calls_are_told_apart_however_they_are_numbered(parts: list[dict[str, Any]]) -> None:
    """Each server does it its own way."""
    called: list[str] = []

    def price(item: str) -> int:
        """The price of an item."""
        called.append(item)
        return len(item)

    events = [data({"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}) for part in parts]
    stop = data({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    turn = Reply(chunks=[*events, stop])
    with SERVER.play([turn, streaming("openai.chat", ['{"value": 3}'])]):
        shown(provider("openai.chat"), int, tools=[price])

    assert sorted(called) == ["x", "y"]
