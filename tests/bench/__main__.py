"""Measure ingot against what it stands on, as ratios in one run: `make bench`."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import anthropic
import openai
from pydantic import BaseModel, TypeAdapter

from ingot import ask
from ingot._shape.shape import Shape, shape_of
from ingot._shape.target import Target
from ingot_anthropic import Anthropic
from ingot_openai import OpenAI, OpenAIChat
from tests.bench import cassettes, mapping, peers, router, routing, streaming
from tests.bench import exec as programs
from tests.bench import rill as runtimes

ROUNDS, CALLS = 15, 60


class User(BaseModel):
    name: str
    age: int
    tags: list[str]


TEXT = json.dumps({"name": "Ada", "age": 36, "tags": ["a", "b"]})
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "logprobs": None,
                "message": {"role": "assistant", "content": TEXT, "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    },
    "/v1/responses": {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 18,
        },
    },
    "/v1/messages": {
        "id": "a",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    },
}


class Instant(BaseHTTPRequestHandler):
    """Answers at once, in a process of its own."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(BODIES[self.path]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of this process for one call, over CALLS calls."""
    began = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - began) / CALLS


async def acpu(call: Callable[[], Awaitable[object]]) -> float:
    began = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - began) / CALLS


def report(what: str, pairs: list[tuple[float, float]], bound: float) -> None:
    """Compare neighbours in time, so that a noisy machine disturbs both alike."""
    ratio = statistics.median(o / b for b, o in pairs)
    bare, ours = zip(*pairs, strict=True)
    print(
        f"{what:44} bare {statistics.median(bare) * 1e6:8.1f} µs"
        f"   ingot {statistics.median(ours) * 1e6:8.1f} µs"
        f"   ratio {ratio:5.2f}  (bound {bound:.2f})"
    )


class Vendor(OpenAI):
    """The Responses API at the instant server."""

    def __init__(self, url: str) -> None:
        super().__init__(api_key="x")
        self.url = url

    def connect(self, *, awaiting: bool) -> Any:
        return super().connect(awaiting=awaiting).with_options(base_url=self.url)


def calls(port: int) -> None:
    host = f"http://127.0.0.1:{port}"
    schema = shape_of(User, "openai").wire.schema  # type: ignore[union-attr]
    strict = {"name": "User", "schema": schema, "strict": True}
    chat = {
        "model": "m",
        "messages": [{"role": "user", "content": "Who is it?"}],
        "max_completion_tokens": 16_000,
        "response_format": {"type": "json_schema", "json_schema": strict},
    }
    responses = {
        "model": "m",
        "input": [{"role": "user", "content": "Who is it?"}],
        "store": False,
        "max_output_tokens": 16_000,
        "text": {"format": {"type": "json_schema", **strict}},
    }
    messages = {
        "model": "m",
        "messages": [{"role": "user", "content": "Who is it?"}],
        "max_tokens": 16_000,
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    named: dict[str, Any] = {"api_key": "x", "max_retries": 0}
    rows: tuple[tuple[str, Any, Any, str, Any], ...] = (
        (
            "openai chat",
            lambda c: c.chat.completions.create(**chat),
            (openai.OpenAI, openai.AsyncOpenAI),
            f"{host}/v1",
            OpenAIChat(base_url=f"{host}/v1", api_key="x"),
        ),
        (
            "openai responses",
            lambda c: c.responses.create(**responses),
            (openai.OpenAI, openai.AsyncOpenAI),
            f"{host}/v1",
            Vendor(f"{host}/v1"),
        ),
        (
            "anthropic messages",
            lambda c: c.messages.create(**messages),
            (anthropic.Anthropic, anthropic.AsyncAnthropic),
            host,
            Anthropic(base_url=host, api_key="x"),
        ),
    )
    for name, create, (blocking, awaiting), url, provider in rows:
        ours = ask.using(model=provider)
        with blocking(base_url=url, **named) as client:
            create(client)
            assert ours(User, "Who is it?").age == 36
            report(f"call, {name}, blocking", blocked(create, client, ours), 1.10)
        report(
            f"call, {name}, async",
            asyncio.run(awaited(create, awaiting(base_url=url, **named), ours)),
            1.10,
        )


def blocked(create: Any, client: Any, ours: Any) -> list[tuple[float, float]]:
    """CPU seconds of the SDK's call and of ours, by turns."""
    return [
        (cpu(lambda: create(client)), cpu(lambda: ours(User, "Who is it?"))) for _ in range(ROUNDS)
    ]


async def awaited(create: Any, client: Any, ours: Any) -> list[tuple[float, float]]:
    """CPU seconds of the SDK's call and of ours, by turns."""
    async with client:
        await create(client)
        await ours.aio(User, "Who is it?")
        return [
            (
                await acpu(lambda: create(client)),
                await acpu(lambda: ours.aio(User, "Who is it?")),
            )
            for _ in range(ROUNDS)
        ]


def fresh(number: int) -> tuple[Any, Any]:
    """Types that nobody has seen."""

    class Line(BaseModel):
        sku: str
        count: int = 1
        price: float

    class Invoice(BaseModel):
        """An invoice."""

        number: str
        lines: list[Line]
        kind: Literal["a", "b"]
        notes: str | None = None
        stock: dict[str, int]

    return Invoice, list[Invoice]


def shapes() -> None:
    for index, what in enumerate(("a model class", "a list of models")):
        pairs: list[tuple[float, float]] = []
        for number in range(200):
            t = fresh(number)[index]
            began = time.process_time()
            TypeAdapter(t).json_schema()
            bare = time.process_time() - began
            t = fresh(number)[index]
            began = time.process_time()
            target = Target(t)
            Shape(target, "openai")
            target.descriptor  # noqa: B018 (built on first use)
            pairs.append((bare, time.process_time() - began))
        report(f"shape and descriptor of {what}", pairs, 2.0)
    for t in (User, list[User], int | None, "string[]"):
        shape_of(t, "openai")
        began = time.perf_counter()
        for _ in range(20_000):
            shape_of(t, "openai")
        each = (time.perf_counter() - began) / 20_000
        print(f"{'shape again, ' + str(t)[:30]:44} {each * 1e6:8.2f} µs  (bound 5)")
    began = time.perf_counter()
    for _ in range(20_000):
        shape_of(list[User], "openai")
    each = (time.perf_counter() - began) / 20_000
    print(f"{'shape again, written anew':44} {each * 1e6:8.2f} µs  (bound 5)")


def imports() -> None:
    def wall(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - began

    rows = {
        "import ingot": "import ingot",
        "from ingot import ask": "from ingot import ask",
        "typing, dataclasses, json, hashlib": "import typing, dataclasses, json, hashlib",
        "from pydantic import BaseModel": "from pydantic import BaseModel",
    }
    times: dict[str, list[float]] = {name: [] for name in ("bare", *rows)}
    for _ in range(21):
        times["bare"].append(wall("pass"))
        for name, code in rows.items():
            times[name].append(wall(code))
    for name in rows:
        over = statistics.median(a - b for a, b in zip(times[name], times["bare"], strict=True))
        print(f"{name:44} {over * 1e3:8.1f} ms over bare Python")


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    for name in [n for n in os.environ if n.startswith(("INGOT_", "OPENAI_", "ANTHROPIC_"))]:
        del os.environ[name]
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench", "serve"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        calls(int(server.stdout.readline()))
    finally:
        server.kill()
        server.wait()
    shapes()
    imports()
    cassettes.main()
    programs.main()
    runtimes.main()
    streaming.main(report)
    peers.main()
    mapping.main()
    router.main()
    routing.main()


if __name__ == "__main__":
    main()
