"""Measure streams: a snapshot for each piece, against the bare SDK's own stream of the bytes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NamedTuple

import httpx2

from ingot import ask
from ingot.provider import SDKProvider
from ingot_anthropic import Anthropic
from ingot_openai import OpenAI, OpenAIChat
from tests.streams import STREAMS

__all__ = ["APIS", "Api", "Bytes", "main", "wired"]

CUT = 4
"""Characters of the answer in one event, about a token."""


class Bytes(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The body of a reply, one event at a time."""

    def __init__(self, events: Iterable[bytes]) -> None:
        self.events = events

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.events)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self.events:
            yield event


def text_of(size: int) -> str:
    """An answer of about *size* characters: a list of sentences."""
    return json.dumps(
        {"value": ["The quick brown fox jumps over the lazy dog. " * 4] * (size // 184)}
    )


def events_of(api: str, text: str) -> list[bytes]:
    """What *api* sends for *text*, one event for each *CUT* characters."""
    return list(STREAMS[api]([text[at : at + CUT] for at in range(0, len(text), CUT)]))


class Api(NamedTuple):
    """
    One API: who reads it for us, and the bare call.

    Attributes:
        provider: Our plugin.
        create: Makes the SDK's call with a client.
        bound: CPU of ours over the bare stream's, at most.
    """

    provider: type[SDKProvider]
    create: Callable[[Any], Any]
    bound: float


SAID: Any = [{"role": "user", "content": "p"}]
APIS: dict[str, Api] = {
    "openai.chat": Api(
        OpenAIChat,
        lambda c: c.chat.completions.create(model="m", messages=SAID, stream=True),
        1.3,
    ),
    "openai.responses": Api(
        OpenAI,
        lambda c: c.responses.create(model="m", input=SAID, stream=True),
        1.3,
    ),
    "anthropic.messages": Api(
        Anthropic,
        lambda c: c.messages.create(model="m", max_tokens=9, messages=SAID, stream=True),
        1.8,
    ),
}


def wired(cls: type[SDKProvider], events: list[bytes]) -> SDKProvider:
    """A provider of *cls* whose SDK is sent *events*, whatever it asks."""

    def reply(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Bytes(events))

    class Wired(cls):  # type: ignore[misc, valid-type]  # a class is made of a class
        def connect(self, *, awaiting: bool) -> Any:
            made = httpx2.AsyncClient if awaiting else httpx2.Client
            http = made(transport=httpx2.MockTransport(reply))
            return super().connect(awaiting=awaiting).with_options(http_client=http)

    return Wired(api_key="x")


def blocking(api: Api, provider: SDKProvider) -> tuple[float, float]:
    """CPU seconds of the bare stream, and of ours with its snapshots."""
    client = provider.connect(awaiting=False)
    began = time.process_time()
    with api.create(client) as bare:
        for _ in bare:
            pass
    between = time.process_time()
    with ask.stream(list[str], "p", model=provider) as ours:
        for _ in ours:
            pass
    return between - began, time.process_time() - between


async def awaiting(api: Api, provider: SDKProvider) -> tuple[float, float]:
    """The same, async."""
    client = provider.connect(awaiting=True)
    began = time.process_time()
    async with await api.create(client) as bare:
        async for _ in bare:
            pass
    between = time.process_time()
    async with ask.aio.stream(list[str], "p", model=provider) as ours:
        async for _ in ours:
            pass
    return between - began, time.process_time() - between


def main(report: Callable[[str, list[tuple[float, float]], float], None], rounds: int = 3) -> None:
    """Report a row for each API, blocking and async, and how the cost grows with the text."""
    for name, api in APIS.items():
        provider = wired(api.provider, events_of(name, text_of(200_000)))
        pairs = [blocking(api, provider) for _ in range(rounds)]
        report(f"stream of 200 kB, {name}, blocking", pairs, api.bound)
        pairs = [asyncio.run(awaiting(api, provider)) for _ in range(rounds)]
        report(f"stream of 200 kB, {name}, async", pairs, api.bound)
    for name, api in APIS.items():
        few, many = [
            wired(api.provider, events_of(name, text_of(size))) for size in (20_000, 2_000_000)
        ]
        shown(few)  # the first of a process makes what all use
        pairs = [(shown(few) * 100, shown(many)) for _ in range(rounds)]
        report(f"2 MB over 100 times 20 kB, {name}", pairs, 1.1)


def shown(provider: SDKProvider) -> float:
    """CPU seconds of our stream."""
    began = time.process_time()
    with ask.stream(list[str], "p", model=provider) as ours:
        for _ in ours:
            pass
    return time.process_time() - began
