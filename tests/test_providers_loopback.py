"""The providers through the vendors' real SDKs, against a real server on this machine."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from email.utils import formatdate
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import pytest
from loopback import Heard, Loopback, Reply
from test_cases import CASES, CLASSES

from ingot import Retry, ask, errors
from ingot._registry import find_provider
from ingot.provider import Usage
from ingot_anthropic import Anthropic
from ingot_local import _Loopback as Local  # pyright: ignore[reportPrivateUsage]
from ingot_openai import OpenAI, OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingot.provider import SDKProvider

KEY = "sk-secret-0123456789abcdef"


class Direct(OpenAI):
    """OpenAI's Responses API, the vendor's address led to a server of the test."""

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        super().__init__(base_url=None, api_key=api_key)
        self.led_to = base_url

    def connect(self, *, awaiting: bool) -> Any:
        return super().connect(awaiting=awaiting).with_options(base_url=f"{self.led_to}/v1")


class Chat(OpenAIChat):
    """Chat Completions at the server of a test."""

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        super().__init__(base_url=f"{base_url}/v1", api_key=api_key)


APIS: dict[str, type[SDKProvider]] = {
    "openai.chat": Chat,
    "openai.responses": Direct,
    "anthropic.messages": Anthropic,
}
PATHS = {
    "openai.chat": "/v1/chat/completions",
    "openai.responses": "/v1/responses",
    "anthropic.messages": "/v1/messages",
}

every_api = pytest.mark.parametrize("api", APIS)


SERVER = Loopback()
LOOP = asyncio.Runner()
"""One server and one loop for all tests here, so that clients are made once: that is slow."""


@pytest.fixture(scope="module", autouse=True)
def _open() -> Iterator[None]:
    with SERVER, LOOP:
        yield
        provider.cache_clear()


@cache
def provider(api: str, url: str) -> SDKProvider:
    """A provider of *api* that speaks to *url*."""
    return APIS[api](base_url=url, api_key=KEY)


def body(api: str, text: str | None, **facts: Any) -> dict[str, Any]:
    """A whole reply of *api* in which the model says *text*."""
    if api == "openai.chat":
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        made: dict[str, Any] = {"id": "c", "object": "chat.completion", "choices": [choice]}
    elif api == "openai.responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
        usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
        made = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    else:
        usage = {"input_tokens": 7, "output_tokens": 5}
        content = [{"type": "text", "text": text}]
        made = {"id": "m", "type": "message", "role": "assistant", "content": content}
        made["stop_reason"] = "end_turn"
    return {**made, "model": "m", "usage": usage, **facts}


def said(api: str, value: Any, **facts: Any) -> Reply:
    """A reply that holds *value* in its wrapping."""
    return Reply(body(api, json.dumps({"value": value}, ensure_ascii=False), **facts))


def refused(api: str, status: int, message: str, *, type: str = "", **headers: str) -> Reply:
    """An error as *api* writes it."""
    inner: dict[str, Any] = {"type": type or "invalid_request_error", "message": message}
    whole = {"type": "error", "error": inner} if api == "anthropic.messages" else {"error": inner}
    return Reply(whole, status, {name.replace("_", "-"): value for name, value in headers.items()})


def both(model: SDKProvider, t: Any = int, prompt: str = "p", **given: Any) -> Iterator[Any]:
    """Ask blocking, then awaiting: the answer or the error of each."""
    for ask_it in (
        lambda: ask.answer(t, prompt, model=model, **given),
        lambda: LOOP.run(awaited(model, t, prompt, **given)),
    ):
        try:
            yield ask_it()
        except errors.IngotError as error:
            yield error


async def awaited(model: SDKProvider, t: Any, prompt: str, **given: Any) -> Any:
    """Ask awaiting."""
    return await ask.aio.answer(t, prompt, model=model, **given)


# The recorded troubles


def load() -> list[dict[str, Any]]:
    """The cases that are played over HTTP and say what comes of it."""
    if not CASES.is_file():
        return []
    rows = [json.loads(line) for line in CASES.read_text().split("\n") if line]
    return [
        row
        for row in rows
        if row.get("http")
        and row["group"] in "ABD"
        and row.get("api")
        and row["id"] != "A60"
        and "prose" not in row["expect"]
    ]


def played(reply: dict[str, Any]) -> Reply:
    """A reply of a case."""
    headers = {
        name: re.sub(
            r"\{http_date:([+-]\d+)s\}",
            # A date counts whole seconds, so half of one is added.
            lambda found: formatdate(time.time() + int(found[1]) + 0.5, usegmt=True),
            value,
        )
        for name, value in reply.get("headers", {}).items()
    }
    return Reply(reply["body"], reply["status"], headers)


@pytest.mark.skipif(not CASES.is_file(), reason="the cases of shared/ are not beside this checkout")
@pytest.mark.parametrize(
    ("row", "way"),
    [
        pytest.param(row, way, id=f"{row['id']}-{way}")
        for row in load()
        for way in ("blocking", "awaiting")
        if (row["id"], way) != ("D01", "awaiting")  # two seconds once are enough
    ],
)
def test_comes_through_the_recorded_trouble(row: dict[str, Any], way: str) -> None:
    """The value or the error of the case, in as many requests and after such waits as it says."""
    expect, given = row["expect"], {"max_tokens": 64_000} if row["id"] == "D19" else {}
    fast = {} if "retry-after" in str(row["http"]) else {"retry": Retry(wait=short())}
    with SERVER.play([played(reply) for reply in row["http"]]) as server:
        model = provider(row["api"], server.url)
        began = time.monotonic()
        repair = {"repair": 1} if row["id"] in ("D10", "B45") else {}
        try:
            if way == "blocking":
                value: Any = ask(int, "p", model=model, **fast, **given, **repair)
            else:
                value = LOOP.run(awaited(model, int, "p", **fast, **given, **repair)).value
        except errors.IngotError as error:
            wanted = {expect.get("error"), expect.get("or_error")} - {None}
            assert isinstance(error, tuple(c for name in wanted for c in CLASSES[name]))
            assert [word for word in expect.get("mentions", ()) if word not in str(error)] == []
        else:
            assert value == expect["value"]
        if "calls" in expect:
            assert len(server.heard) == expect["calls"]
        least, most = expect.get("sleep_between", (0.0, expect.get("max_seconds", 5.0)))
        assert [wait for wait in server.waits if not least <= wait <= most] == []
        assert time.monotonic() - began < 5
        last = server.heard[-1].body.decode()
        assert [w for w in expect.get("last_request_must_not_contain", ()) if w in last] == []


def short() -> Any:
    """A wait strategy for tests: a hundredth of a second."""
    import tenacity

    return tenacity.wait_fixed(0.01)


@every_api
def test_a_grammar_that_is_too_large_gets_a_hint(api: str) -> None:
    """The vendor's 400 comes with a way out, after one request."""
    with SERVER.play([refused(api, 400, "The compiled grammar is too large")]) as server:
        found = list(both(provider(api, server.url)))

    assert [type(error) for error in found] == [errors.ProviderProtocolError] * 2
    assert ["constrain=" in str(error) for error in found] == [True, True]
    assert len(server.heard) == 2


@every_api
def test_sends_characters_as_they_are(api: str) -> None:
    """The request is UTF-8, so that every server sees the characters themselves."""
    t = Literal["Sjöfart", "Övrigt", "日本"]
    with SERVER.play([said(api, "Sjöfart")]) as server:
        values = [answer.value for answer in both(provider(api, server.url), t, "Välj 日本")]

    assert values == ["Sjöfart", "Sjöfart"]
    for heard in server.heard:
        assert "Sjöfart".encode() in heard.body
        assert "Välj 日本".encode() in heard.body
        assert b"\\u00f6" not in heard.body


@every_api
def test_many_loops_and_none(api: str) -> None:
    """D14: one provider serves loop after loop, then blocking calls."""
    with SERVER.play([said(api, 1)]) as server:
        model = APIS[api](base_url=server.url, api_key=KEY)
        configured = ask.using(model=model)

        async def one() -> int:
            return await configured.aio(int, "p")

        values = [asyncio.run(one()) for _ in range(3)] + [configured(int, "p") for _ in range(2)]
        gc.collect()

    assert values == [1] * 5
    assert len(model._clients._awaiting) == 0


def test_a_closed_loop_left_behind_does_not_matter() -> None:
    """D15: blocking calls do not look at the thread's loop."""
    with SERVER.play([said("openai.chat", 1)]) as server:

        def work() -> int:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            loop.close()
            return ask(int, "p", model=provider("openai.chat", server.url))

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(work).result() == 1


@every_api
async def test_blocking_inside_a_running_loop(api: str) -> None:
    """D16: a notebook cell may ask without await."""
    with SERVER.play([said(api, 1)]) as server:
        assert ask(int, "p", model=provider(api, server.url)) == 1


def echo(heard: Heard) -> Reply:
    """Reply with the number in the prompt."""
    return said("openai.chat", int(heard.json["messages"][-1]["content"]))


def test_threads_share_one_provider() -> None:
    """D18: 32 threads get their own answers, through one client."""
    from ingot._shape.shape import shape_of

    made = []

    class Counted(Chat):
        def connect(self, *, awaiting: bool) -> Any:
            made.append(awaiting)
            return super().connect(awaiting=awaiting)

    with SERVER.play(echo) as server:
        model = Counted(base_url=server.url, api_key=KEY)
        barrier = threading.Barrier(32, timeout=10)

        def work(thread: int) -> list[int]:
            barrier.wait()
            return [ask(int, str(100 * thread + n), model=model) for n in range(5)]

        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(work, range(32)))

    assert answers == [[100 * thread + n for n in range(5)] for thread in range(32)]
    assert made == [False]
    assert shape_of(int, "open") is shape_of(int, "open")


async def test_tasks_share_one_provider() -> None:
    """A hundred tasks of one loop get their own answers, through one client."""
    with SERVER.play(echo) as server:
        model = provider("openai.chat", server.url)
        answers = await asyncio.gather(*(ask.aio(int, str(n), model=model) for n in range(100)))

    assert answers == list(range(100))


@every_api
def test_a_large_bound_is_sent(api: str) -> None:
    """D19: the SDK's guard against long answers does not come between."""
    with SERVER.play([said(api, 1)]) as server:
        values = [answer.value for answer in both(provider(api, server.url), max_tokens=64_000)]

    assert values == [1, 1]
    assert "64000" in server.heard[0].body.decode()


BUSY = refused(
    "openai.chat", 429, "Rate limit reached", type="rate_limit_exceeded", retry_after="30"
)

CHILD = """
import sys, time
from ingot import ask
from ingot_openai import OpenAIChat
model = OpenAIChat(base_url=sys.argv[1] + "/v1", api_key="x")
print("ready", flush=True)
try:
    ask(int, "p", model=model)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_passes_while_waiting() -> None:
    """D22: an interrupt ends the wait within half a second, and nothing more is sent."""
    with SERVER.play([BUSY]) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.url],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with child:
            while not server.heard and child.poll() is None:
                time.sleep(0.01)
            time.sleep(0.2)
            began = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=10)
            took = time.monotonic() - began

    assert out.split() == [b"ready", b"interrupted"]
    assert took < 0.5 + 1.0  # the end of the process is counted in
    assert len(server.heard) == 1


async def test_cancelling_passes_while_waiting() -> None:
    """D22: a task that waits to try again is cancelled at once."""
    with SERVER.play([BUSY]) as server:
        task = asyncio.ensure_future(awaited(provider("openai.chat", server.url), int, "p"))
        while not server.heard and not task.done():  # noqa: ASYNC110 (another thread hears)
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert time.monotonic() - began < 0.5
    assert len(server.heard) == 1


@every_api
async def test_cancelling_passes_while_the_server_thinks(api: str) -> None:
    """A task whose request is under way is cancelled at once, and its provider stays of use."""
    with SERVER.play([Reply(delay=30), said(api, 1)]) as server:
        model = provider(api, server.url)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ask.aio(int, "p", model=model)

        assert await ask.aio(int, "p", model=model) == 1


# What is sent


@every_api
def test_says_who_asks_and_what(api: str) -> None:
    """Each API gets its own path, its own name for the bound, and the key in a header."""
    with SERVER.play([said(api, 1, model="served")]) as server:
        answer = ask.answer(int, "p", model=provider(api, server.url), system="s", max_tokens=9)
    [heard] = server.heard
    sent = heard.json

    assert heard.path == PATHS[api]
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert answer.model.endswith("/served")
    if api == "openai.chat":
        assert sent["messages"] == [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "p"},
        ]
        assert sent["max_tokens"] == 9
        assert sent["response_format"]["json_schema"]["strict"] is True
        assert set(sent) == {"model", "messages", "max_tokens", "response_format"}
    elif api == "openai.responses":
        assert (sent["instructions"], sent["input"]) == ("s", [{"role": "user", "content": "p"}])
        assert sent["store"] is False
        assert sent["text"]["format"]["strict"] is True
        assert set(sent) == {"model", "input", "instructions", "max_output_tokens", "store", "text"}
    else:
        assert sent["system"] == "s"
        assert set(sent["output_config"]["format"]) == {"type", "schema"}
        assert set(sent) == {"model", "messages", "system", "max_tokens", "output_config"}
    assert "stream" not in sent


def vendor(cls: type[SDKProvider], reply: Callable[[httpx2.Request], httpx2.Response]) -> Any:
    """A provider at the vendor's own address, which *reply* plays."""

    class Played(cls):  # type: ignore[misc, valid-type]
        def connect(self, *, awaiting: bool) -> Any:
            http = httpx2.Client(transport=httpx2.MockTransport(reply))
            return super().connect(awaiting=awaiting).with_options(http_client=http)

    return Played(api_key=KEY)


@pytest.mark.parametrize(
    ("cls", "api", "url"),
    [
        (OpenAI, "openai.responses", "https://api.openai.com/v1/responses"),
        (OpenAIChat, "openai.chat", "https://api.openai.com/v1/chat/completions"),
        (Anthropic, "anthropic.messages", "https://api.anthropic.com/v1/messages"),
    ],
)
def test_the_vendors_own_address(cls: type[SDKProvider], api: str, url: str) -> None:
    """Without a base_url the vendor is asked, with the newer name of the bound at OpenAI."""
    heard = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        heard.append(request)
        return httpx2.Response(200, json=body(api, '{"value": 1}'))

    assert ask(int, "p", model=vendor(cls, reply)) == 1
    assert str(heard[0].url) == url
    sent = json.loads(heard[0].content)
    bound = {
        "openai.chat": "max_completion_tokens",
        "openai.responses": "max_output_tokens",
        "anthropic.messages": "max_tokens",
    }
    assert sent[bound[api]] == 16_000
    assert sent.get("store") is (False if api == "openai.responses" else None)


def test_another_server_means_chat_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a base_url, `openai/…` asks /v1/chat/completions with max_tokens, and needs no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with SERVER.play([said("openai.chat", 1)]) as server:
        model = OpenAI(base_url=f"{server.url}/v1")

        assert ask(int, "p", model=model) == 1
    assert server.heard[0].path == "/v1/chat/completions"
    assert server.heard[0].json["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("api", "setting"),
    [
        ("openai.responses", {"seed": 1}),
        ("anthropic.messages", {"seed": 1}),
        ("anthropic.messages", {"temperature": 0.0}),
        (
            "anthropic.messages",
            {"temperature": 0.0, "params": {"anthropic_version": "2026-10-21"}},
        ),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_refused(api: str, setting: dict[str, Any]) -> None:
    """One clear error, before any request."""
    with SERVER.play([said(api, 1)]) as server:
        found = list(both(provider(api, server.url), **setting))

    assert [type(error) for error in found] == [errors.NotConfiguredError] * 2
    assert all(next(iter(setting)) in str(error) for error in found)
    assert server.heard == []


@pytest.mark.parametrize("api", ["openai.chat", "openai.responses"])
def test_a_temperature_is_sent(api: str) -> None:
    """OpenAI takes one."""
    with SERVER.play([said(api, 1)]) as server:
        ask(int, "p", model=provider(api, server.url), temperature=0.5)

    assert server.heard[0].json["temperature"] == 0.5


def test_an_older_api_of_anthropic_takes_a_temperature() -> None:
    """The version travels as a header, and the temperature in the body."""
    params = {"anthropic_version": "2023-06-01"}
    with SERVER.play([said("anthropic.messages", 1)]) as server:
        model = provider("anthropic.messages", server.url)
        ask(int, "p", model=model, temperature=0.5, params=params)

    assert server.heard[0].headers["anthropic-version"] == "2023-06-01"
    assert server.heard[0].json["temperature"] == 0.5
    assert "anthropic_version" not in server.heard[0].json


def test_params_are_merged() -> None:
    """Objects that ingot fills are merged by name; headers and unknown fields go along."""
    params = {
        "output_config": {"effort": "low"},
        "extra_headers": {"x-team": "a"},
        "extra_query": {"beta": "true"},
        "metadata": {"user_id": "u"},
        "brand_new": [1],
    }
    with SERVER.play([said("anthropic.messages", 1)]) as server:
        ask(int, "p", model=provider("anthropic.messages", server.url), params=params)
    [heard] = server.heard

    assert set(heard.json["output_config"]) == {"effort", "format"}
    assert heard.headers["x-team"] == "a"
    assert heard.path == "/v1/messages?beta=true"
    assert (heard.json["metadata"], heard.json["brand_new"]) == ({"user_id": "u"}, [1])


def test_params_can_ask_for_a_verbosity() -> None:
    """Responses' `text` keeps its format."""
    with SERVER.play([said("openai.responses", 1)]) as server:
        model = provider("openai.responses", server.url)
        ask(
            int,
            "p",
            model=model,
            params={"text": {"verbosity": "low"}, "reasoning": {"effort": "low"}},
        )

    assert set(server.heard[0].json["text"]) == {"format", "verbosity"}
    assert server.heard[0].json["reasoning"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("api", "params"),
    [
        ("openai.chat", {"max_tokens": 3}),
        ("openai.chat", {"messages": []}),
        ("openai.responses", {"store": True}),
        ("openai.responses", {"text": {"format": {"type": "text"}}}),
        ("anthropic.messages", {"output_config": {"format": None}}),
        ("anthropic.messages", {"model": "x"}),
        ("openai.chat", {"extra_body": {"max_tokens": 3}}),
        *((api, {"extra_body": 5}) for api in APIS),
        *((api, {"extra_query": None}) for api in APIS),
        *((api, {"extra_headers": {"x": 5}}) for api in APIS),
        *((api, {"extra_headers": {"x": "é"}}) for api in APIS),
        *((api, {"extra_headers": {"x": "a\nb"}}) for api in APIS),
        ("anthropic.messages", {"anthropic_version": "2023-06-01\r\nx: y"}),
    ],
)
def test_params_that_clash_are_refused(api: str, params: dict[str, Any]) -> None:
    """What ingot fills has a setting of its own."""
    with SERVER.play([said(api, 1)]) as server:
        [one, other] = both(provider(api, server.url), params=params)

    assert (type(one), type(other)) == (errors.NotConfiguredError, errors.NotConfiguredError)
    assert server.heard == []


# What goes wrong on the way


@every_api
@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_key_that_is_turned_down(api: str, status: int) -> None:
    """One request, and nothing of the key in the message."""
    message = f"Incorrect API key provided: {KEY}; see sk-abc***xyz"
    with SERVER.play([refused(api, status, message, x_request_id="req_9")]) as server:
        found = list(both(provider(api, server.url)))

    assert [type(error) for error in found] == [errors.ProviderAuthError] * 2
    assert [error.request_id for error in found] == ["req_9"] * 2
    assert len(server.heard) == 2
    for error in found:
        for shown in (str(error), repr(error), repr(error.__dict__), repr(pickle.dumps(error))):
            assert KEY not in shown
            assert "sk-abc" not in shown


@every_api
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, errors.ProviderProtocolError),
        (404, errors.ProviderProtocolError),
        (413, errors.ProviderProtocolError),
        (422, errors.ProviderProtocolError),
        (408, errors.ProviderTimeoutError),
        (409, errors.ProviderUnavailableError),
        (429, errors.ProviderRateLimitError),
        (500, errors.ProviderUnavailableError),
        (503, errors.ProviderUnavailableError),
        (504, errors.ProviderTimeoutError),
        (529, errors.ProviderUnavailableError),
    ],
)
def test_each_status_has_its_error(api: str, status: int, expected: type[Exception]) -> None:
    """Those that may pass are sent again, and only those."""
    with SERVER.play([refused(api, status, "Sorry", type="unheard_of")]) as server:
        retry = Retry(attempts=2, wait=short())
        found = list(both(provider(api, server.url), retry=retry))

    assert [type(error) for error in found] == [expected] * 2
    tries = 2 if found[0].retryable else 1
    assert [error.attempts for error in found] == [tries] * 2
    assert len(server.heard) == 2 * tries
    assert [error.status for error in found] == [status] * 2
    assert [error.type for error in found] == ["unheard_of"] * 2


NOT_REPLIES = {
    "a page": Reply(
        "<!DOCTYPE html><html><body>Welcome</body></html>", 200, {"content-type": "text/html"}
    ),
    "an array": Reply(b"[]"),
    "null": Reply(b"null"),
    "a text": Reply(b'"hello"'),
    "plain text": Reply(b"upstream connect error"),
    "an empty object": Reply(b"{}"),
    "bytes": Reply(b"\xff\xfe\x00"),
    "not UTF-8": Reply(b'{"id": "caf\xe9", "choices": [], "output": [], "content": []}'),
    "too deep": Reply(b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "too long a number": Reply(b'{"id": ' + b"9" * 6_000 + b', "object": "x", "type": "y"}'),
    "malformed": Reply(b'{"id": "x", choices: [], "object": "x", "type": "message"}'),
}


@every_api
@pytest.mark.parametrize("name", NOT_REPLIES)
def test_what_is_no_reply(api: str, name: str) -> None:
    """Something else with status 200 is a protocol error that says where to look, never a value."""
    with SERVER.play([NOT_REPLIES[name]]) as server:
        found = list(both(provider(api, server.url)))

    assert [type(error) for error in found] == [errors.ProviderProtocolError] * 2
    assert all(
        "base_url" in str(error) or "127.0.0.1" in str(error) or "address" in str(error)
        for error in found
    )
    assert len(server.heard) == 2


@every_api
@pytest.mark.parametrize(
    "reply",
    [
        Reply(b""),
        Reply(b"", 204),
        Reply(b'{"id": "x", "choi'),
        Reply(b'{"id": tru'),
        Reply(b'{"id": "caf\xc3'),
    ],
    ids=["empty", "204", "half", "half a word", "half a letter"],
)
def test_a_reply_that_breaks_off_is_asked_again(api: str, reply: Reply) -> None:
    """Half a body is like a broken line."""
    with SERVER.play([reply, said(api, 1)]) as server:
        answers = [ask.answer(int, "p", model=provider(api, server.url), retry=Retry(wait=short()))]

    assert [(answer.value, answer.attempts) for answer in answers] == [(1, 2)]


@every_api
@pytest.mark.parametrize(
    "reply",
    [Reply(status=0), Reply(b'{"id": "x", "choices": [1, 2, 3]}', cut=9)],
    ids=["before a word", "in the middle"],
)
def test_a_line_that_breaks_is_taken_up_again(api: str, reply: Reply) -> None:
    """A connection that is reset costs one attempt, and then the error says how many there were."""
    with SERVER.play([reply, said(api, 1), reply]) as server:
        model, retry = provider(api, server.url), Retry(attempts=2, wait=short())
        answer = ask.answer(int, "p", model=model, retry=retry)
        [one, other] = both(model, retry=retry)

    assert (answer.value, answer.attempts) == (1, 2)
    assert (type(one), type(other)) == (
        errors.ProviderUnavailableError,
        errors.ProviderUnavailableError,
    )
    assert one.attempts == other.attempts == 2
    assert "2 attempts" in str(one)


@every_api
def test_an_error_inside_a_reply(api: str) -> None:
    """An error object with status 200 is judged by its words."""
    said_no = {
        "error": {"type": "overloaded_error", "code": "server_error", "message": "Overloaded"}
    }
    with SERVER.play([Reply(said_no), said(api, 1)]) as server:
        answer = ask.answer(int, "p", model=provider(api, server.url), retry=Retry(wait=short()))

    assert (answer.value, answer.attempts) == (1, 2)
    assert len(server.heard) == 2


def test_an_assertion_of_a_double_is_not_hidden() -> None:
    """What a transport of a test raises comes through as it is, also where the SDK wraps it."""

    def reply(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError("not in this test")

    for cls in (OpenAI, OpenAIChat, Anthropic):
        with pytest.raises(AssertionError, match="not in this test"):
            ask(int, "p", model=vendor(cls, reply))


def test_nobody_listens() -> None:
    """A refused connection is told with its address and the way out."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        for api in APIS:
            for error in both(provider(api, url), retry=0):
                assert type(error) is errors.ProviderUnavailableError
                assert error.attempts == 1
                assert "server is up" in str(error)
                if api != "openai.responses":
                    assert url in str(error)


@every_api
def test_a_port_where_something_else_speaks(api: str) -> None:
    """A server that is none of HTTP is told as unavailable, not as a crash."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)

        def greet() -> None:
            for _ in range(2):
                line, _ = other.accept()
                with line:
                    line.recv(10)
                    line.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        found = list(both(provider(api, f"http://127.0.0.1:{other.getsockname()[1]}"), retry=0))
        thread.join()

    assert [type(error) for error in found] == [errors.ProviderUnavailableError] * 2


@every_api
def test_a_server_that_is_silent(api: str) -> None:
    """The timeout of the ask holds, and the error says which setting to raise."""
    with SERVER.play([Reply(delay=20)]) as server:
        began = time.monotonic()
        found = list(both(provider(api, server.url), timeout=0.2, retry=0))

    assert time.monotonic() - began < 2
    assert [type(error) for error in found] == [errors.ProviderTimeoutError] * 2
    assert all("raise timeout" in str(error) for error in found)
    assert all(isinstance(error, TimeoutError) for error in found)


@every_api
def test_an_address_that_is_wrong(api: str) -> None:
    """A 404 points to the model and the address."""
    page = Reply("<html><title>Not found</title></html>", 404, {"content-type": "text/html"})
    with SERVER.play([page]) as server:
        [one, other] = both(provider(api, server.url + "/nowhere"))

    assert (type(one), type(other)) == (errors.ProviderProtocolError, errors.ProviderProtocolError)
    assert "base_url" in str(one)
    assert "<title>" not in str(one)
    assert server.heard[0].path.startswith("/nowhere")


@every_api
def test_a_circle_of_redirects_is_walked_once(api: str) -> None:
    """It leads nowhere the next time, too."""
    with SERVER.play(lambda heard: Reply(b"", 307, {"location": heard.path})) as server:
        found = list(both(provider(api, server.url)))

    assert [(type(e), e.attempts) for e in found] == [(errors.ProviderProtocolError, 1)] * 2


def test_no_proxy_stands_before_the_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a company could not reach this process."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with SERVER.play([said("openai.chat", 1)]) as server:
        found = list(both(Local(base_url=f"{server.url}/v1"), retry=0))

    assert [answer.value for answer in found] == [1, 1]


ADDRESSES = [
    "localhost:8000/v1",
    "example.org",
    "ftp://example.org",
    "http://",
    "http://[::1",
    "http://localhost:99999",
    "http://localhost:port",
    "http://a..b/v1",
    f"http://{'a' * 64}.org",
    "http://local host/v1",
    "http://localhost/v1\n",
]


@pytest.mark.parametrize("model", ["openai/m", "openai-chat/m", "anthropic/m"])
@pytest.mark.parametrize("url", ADDRESSES)
def test_what_is_no_address_is_told_before_any_request(
    model: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the call and from the vendor's variable, and without its password."""
    with pytest.raises(errors.NotConfiguredError, match=r"base_url is no address of a server: '"):
        find_provider(model, base_url=url, api_key=KEY)
    variable = "ANTHROPIC_BASE_URL" if model.startswith("anthropic") else "OPENAI_BASE_URL"
    monkeypatch.setenv(variable, f"http://me:secret@[::1?{url}")
    with pytest.raises(errors.NotConfiguredError, match=variable) as caught:
        find_provider(model, api_key=f"{KEY}-{url}")

    assert "secret" not in "".join(traceback.format_exception(caught.value))


@every_api
@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}é", f"{KEY}\r\nx: y"])
def test_a_key_that_no_header_can_carry(api: str, key: str) -> None:
    """It is told before any request, and not shown."""
    with SERVER.play([said(api, 1)]) as server:
        found = list(both(APIS[api](base_url=server.url, api_key=key), retry=0))

    assert [type(error) for error in found] == [errors.NotConfiguredError] * 2
    assert all("copy it again" in str(error) and KEY not in str(error) for error in found)
    assert server.heard == []


def test_a_key_that_a_server_repeats_is_in_no_traceback() -> None:
    """Not in that of the SDK's error either."""
    key = "no-prefix-that-gives-it-away"
    with SERVER.play([refused(API, 401, f"bad key {key}") for API in APIS]) as server:
        found = [
            error
            for api in APIS
            for error in both(APIS[api](base_url=server.url, api_key=key), retry=0)
        ]

    assert [type(error) for error in found] == [errors.ProviderAuthError] * 6
    assert [e for e in found if key in "".join(traceback.format_exception(e))] == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "socks4://me:secret@host"), ("SSL_CERT_FILE", "/nowhere.pem")],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_environment_that_no_client_can_be_made_in(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as a matter of configuration."""
    monkeypatch.setenv(variable, value)
    found = [
        error for cls in APIS.values() for error in both(cls(base_url=SERVER.url, api_key=KEY))
    ]
    kinds, texts = {type(error) for error in found}, [str(error) for error in found]
    # The SDKs complain of their own half-made clients as these go.
    del found
    gc.collect()

    assert kinds == {errors.NotConfiguredError}
    assert [text for text in texts if "proxies and certificates" not in text] == []
    assert [text for text in texts if "secret" in text] == []


NONSENSE = ["inf", "-5", "nan", "soon", "", "1e400", "Wed, 99 Foo 2026"]


@every_api
@pytest.mark.parametrize("asked", [*NONSENSE, "0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_nonsense_for_a_wait_is_no_wait(api: str, asked: str) -> None:
    """Whatever `retry-after` says that is no time to come, the ask goes on by its own clock."""
    with SERVER.play(
        [refused(api, 429, "Slow", type="x", retry_after=asked), said(api, 1)]
    ) as server:
        answer = ask.answer(int, "p", model=provider(api, server.url), retry=Retry(wait=short()))

    assert (answer.value, answer.attempts) == (1, 2)
    assert server.waits[0] < 1


@every_api
@pytest.mark.parametrize("asked", ["3600", "Fri, 31 Dec 2099 23:59:59 GMT"])
def test_too_long_a_wait_ends_the_ask(api: str, asked: str) -> None:
    """At once, and it says so and how to wait longer."""
    with SERVER.play([refused(api, 429, "Slow", type="x", retry_after=asked)]) as server:
        began = time.monotonic()
        found = list(both(provider(api, server.url)))

    assert time.monotonic() - began < 1.5
    assert [type(error) for error in found] == [errors.ProviderRateLimitError] * 2
    assert all("asked to wait" in str(error) and "ceiling" in str(error) for error in found)
    assert len(server.heard) == 2


@every_api
def test_milliseconds_go_first(api: str) -> None:
    """`retry-after-ms` outweighs `retry-after`."""
    busy = refused(api, 429, "Slow", type="x", retry_after="50", retry_after_ms="150")
    with SERVER.play([busy, said(api, 1)]) as server:
        value = ask(int, "p", model=provider(api, server.url))

    assert value == 1
    assert 0.14 <= server.waits[0] < 0.6


@pytest.mark.parametrize("header", ["x-request-id", "request-id"])
@every_api
def test_the_id_of_the_exchange_is_kept(api: str, header: str) -> None:
    """In answers and in errors about answers."""
    good, bad = said(api, 1), said(api, "x")
    with SERVER.play(
        [Reply(r.body, 200, {header: f"req_{n}"}) for n, r in enumerate((good, bad))]
    ) as server:
        model = provider(api, server.url)
        answer = ask.answer(int, "p", model=model)
        with pytest.raises(errors.MismatchedAnswerError) as caught:
            ask(int, "p", model=model)

    assert answer.request_id == "req_0"
    assert caught.value.request_id == "req_1"


@every_api
def test_the_key_is_shown_nowhere(api: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not in a repr, a pickle, a log line of any logger or an error."""
    caplog.set_level(logging.DEBUG)
    with SERVER.play([refused(api, 500, f"broken for {KEY}"), said(api, 1)]) as server:
        model = provider(api, server.url)
        configured = ask.using(model=model, api_key=KEY)
        [error, answer] = [
            *list(both(model, retry=0))[:1],
            ask.answer(int, "p", model=model),
        ]

    shown = [repr(model), repr(configured), repr(answer), repr(error), str(error), caplog.text]
    assert [text for text in shown if KEY in text] == []
    assert KEY.encode() not in pickle.dumps(model)
    assert KEY.encode() not in pickle.dumps(configured)


def test_no_key_is_told_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three ways out are named."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for model in (OpenAI(), OpenAIChat(), Anthropic()):
        for error in both(model):
            assert type(error) is errors.NotConfiguredError
            assert ["_API_KEY" in str(error), "api_key=" in str(error), "local" in str(error)] == [
                True
            ] * 3


# Repair, and what it costs


@every_api
def test_a_repair_turn(api: str) -> None:
    """The model sees its own reply and what is wrong with it; the usage of all turns is summed."""
    broken = refused(api, 503, "Backend is down", type="overloaded_error", retry_after_ms="1")
    for way in ("blocking", "awaiting"):
        with SERVER.play([said(api, "x"), broken, said(api, 1)]) as server:
            model = provider(api, server.url)
            if way == "blocking":
                answer = ask.answer(int, "p", model=model, repair=1)
            else:
                answer = LOOP.run(awaited(model, int, "p", repair=1))
        first, _, last = [heard.json for heard in server.heard]

        assert (answer.value, answer.attempts, answer.repairs) == (1, 3, 1)
        assert answer.usage == Usage(input_tokens=14, output_tokens=10)
        turns = last.pop("input" if api == "openai.responses" else "messages")
        before = first.pop("input" if api == "openai.responses" else "messages")
        assert turns[:1] == before
        assert last == first
        _, theirs, ours = turns
        assert "expected `int`, found a string" in json.dumps(ours)
        assert "Backend is down" not in json.dumps(turns)
        if api == "openai.chat":
            assert theirs == {"role": "assistant", "content": '{"value": "x"}'}
        elif api == "openai.responses":
            assert theirs == body(api, '{"value": "x"}')["output"][0]
        else:
            assert theirs == {
                "role": "assistant",
                "content": body(api, '{"value": "x"}')["content"],
            }
        assert ours["role"] == "user"


@every_api
def test_repairs_are_bounded_and_do_not_grow(api: str) -> None:
    """The third try holds one broken reply, not two; the error counts all that was spent."""
    with (
        SERVER.play([said(api, "x")]) as server,
        pytest.raises(errors.MismatchedAnswerError) as caught,
    ):
        ask(int, "p", model=provider(api, server.url), repair=2)
    lengths = [len(heard.json.get("input") or heard.json["messages"]) for heard in server.heard]

    assert lengths == [1, 3, 3]
    assert caught.value.attempts == 3
    assert caught.value.usage == Usage(input_tokens=21, output_tokens=15)


PRICED = {
    "openai.chat": ("gpt-4o-mini", OpenAIChat),
    "openai.responses": ("gpt-4o-mini", OpenAI),
    "anthropic.messages": ("claude-3-5-haiku-latest", Anthropic),
}


@pytest.mark.parametrize("api", PRICED)
def test_what_failed_has_its_price(api: str) -> None:
    """A failure counts the turns that were paid for, and the attempts that were not."""
    pytest.importorskip("genai_prices")
    name, _ = PRICED[api]
    broken = refused(api, 500, "down")
    with SERVER.play([said(api, "x", model=name), broken]) as server:
        model = provider(api, server.url)
        retry = Retry(attempts=2, wait=short())
        with pytest.raises(errors.ProviderUnavailableError) as caught:
            ask(int, "p", model=model, retry=retry, repair=1)
    error = caught.value

    assert error.usage == Usage(input_tokens=7, output_tokens=5)
    assert error.attempts == 3
    assert error.model is not None
    assert error.model.endswith("/" + name)
    assert isinstance(error.cost, Decimal)
    assert 0 < error.cost < Decimal("0.001")


def test_a_model_without_a_price() -> None:
    """Unknown is None, not zero."""
    with SERVER.play([said("openai.chat", 1, model="house-blend")]) as server:
        answer = ask.answer(int, "p", model=provider("openai.chat", server.url))

    assert answer.cost is None


@pytest.mark.parametrize("api", APIS)
def test_refusal_and_truncation_are_asked_once(api: str) -> None:
    """No retry and no repair mends them; what was spent is on the error."""
    cut = {
        "openai.chat": lambda b: b["choices"][0].update(finish_reason="length"),
        "openai.responses": lambda b: b.update(
            status="incomplete", incomplete_details={"reason": "max_output_tokens"}
        ),
        "anthropic.messages": lambda b: b.update(stop_reason="max_tokens"),
    }
    whole = body(api, '{"value": 1}')
    cut[api](whole)
    with SERVER.play([Reply(whole)]) as server:
        found = list(both(provider(api, server.url), repair=3, max_tokens=77))

    assert [type(error) for error in found] == [errors.TruncatedError] * 2
    assert all("max_tokens=77" in str(error) for error in found)
    assert [error.usage for error in found] == [Usage(input_tokens=7, output_tokens=5)] * 2
    assert len(server.heard) == 2


# By name, as users write it


def announced() -> bool:
    """Whether the plugins are installed with their entry points."""
    from ingot._registry import installed

    return {"openai", "openai-chat", "anthropic"} <= set(installed())


@pytest.mark.skipif(
    not announced(), reason="the package is not installed, so nothing announces the plugins"
)
@pytest.mark.parametrize(
    ("model", "suffix", "api"),
    [
        ("openai/some-model", "/v1", "openai.chat"),
        ("openai-chat/some-model", "/v1", "openai.chat"),
        ("anthropic/some-model", "", "anthropic.messages"),
        ("openai-chat/org/some:model", "/v1", "openai.chat"),
    ],
)
def test_a_model_by_its_name(model: str, suffix: str, api: str) -> None:
    """The text after the first slash is the vendor's word for the model."""
    with SERVER.play([said(api, 1)]) as server:
        configured = ask.using(model=model, base_url=server.url + suffix, api_key=KEY)

        assert configured(int, "p") == 1
    assert server.heard[0].json["model"] == model.partition("/")[2]
    assert server.heard[0].path == PATHS[api]
