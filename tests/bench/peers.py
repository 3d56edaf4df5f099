"""Measure one streamed answer by ingot, by others and by the bare SDK: each in its own process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pydantic import BaseModel

__all__ = ["main"]

SIZES = (20_000, 60_000)
"""Characters of an answer; what others need for a longer one grows with its square."""

CUT = 4
"""Characters of the answer in one event, about a token."""


class Report(BaseModel):
    paragraphs: list[str]


# Who streams, in a process of their own, which need not have what the others need


async def with_the_sdk(url: str) -> int:
    """The bare stream, whose chunks nobody reads."""
    import openai

    said: Any = [{"role": "user", "content": "Report."}]
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
        stream = await client.chat.completions.create(model="m", messages=said, stream=True)
        text = ""
        async for chunk in stream:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
    return len(text)


async def with_ingot(url: str) -> int:
    """A snapshot for each chunk."""
    from ingot import ask

    settings: dict[str, Any] = {"model": "openai-chat/m", "base_url": url, "api_key": "none"}
    async with ask.aio.stream(Report, "Report.", **settings) as stream:
        async for _ in stream:
            pass
        return sum(map(len, stream.value.paragraphs))


async def with_pydantic_ai(url: str) -> int:
    """A partial object for each chunk."""
    from pydantic_ai import Agent, NativeOutput  # type: ignore[import-not-found, unused-ignore]
    from pydantic_ai.models.openai import (  # type: ignore[import-not-found, unused-ignore]
        OpenAIChatModel,
    )
    from pydantic_ai.providers.openai import (  # type: ignore[import-not-found, unused-ignore]
        OpenAIProvider,
    )

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, output_type=NativeOutput(Report))
    length = 0
    async with agent.run_stream("Report.") as run:
        async for report in run.stream_output(debounce_by=None):
            length = sum(map(len, report.paragraphs))
    return length


async def with_instructor(url: str) -> int:
    """A partial object for each chunk."""
    import instructor  # type: ignore[import-not-found, unused-ignore]
    import openai

    client = instructor.from_openai(
        openai.AsyncOpenAI(base_url=url, api_key="none"), mode=instructor.Mode.JSON_SCHEMA
    )
    said = [{"role": "user", "content": "Report."}]
    length = 0
    async for report in client.chat.completions.create_partial(
        model="m", response_model=Report, messages=said
    ):
        length = sum(map(len, report.paragraphs or ()))
    return length


WHO: dict[str, Callable[[str], Awaitable[int]]] = {
    "bare SDK": with_the_sdk,
    "ingot": with_ingot,
    "pydantic-ai": with_pydantic_ai,
    "instructor": with_instructor,
}


def measure(who: str, url: str) -> None:
    """Print the CPU seconds of one answer, after a short one that warms up, and its length."""
    stream = WHO[who]
    asyncio.run(stream(f"{url}/500/v1"))
    for size in SIZES:
        began = time.process_time()
        length = asyncio.run(stream(f"{url}/{size}/v1"))
        print(json.dumps([size, time.process_time() - began, length]), flush=True)


# The server that they ask, and the table


class Server(BaseHTTPRequestHandler):
    """Streams a report of as many characters as the path says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = body_of(int(self.path.split("/")[1]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def body_of(size: int) -> bytes:
    """The events of a report of about *size* characters."""
    paragraph = "The quick brown fox jumps over the lazy dog. " * 11
    text = json.dumps({"paragraphs": [paragraph] * (size // len(paragraph) + 1)})
    deltas = [{"content": text[at : at + CUT]} for at in range(0, len(text), CUT)]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    tokens = {"prompt_tokens": 2, "completion_tokens": len(deltas), "total_tokens": len(deltas) + 2}
    chunks.append({"choices": [], "usage": tokens})
    facts = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [f"data: {json.dumps({**facts, **chunk})}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


def interpreter(who: str) -> Path:
    """The Python that has *who*; what instructor pins does not go with the newest SDKs."""
    own = Path(f"{sys.prefix}-{who}") / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def main() -> None:
    """Print a row for each: CPU seconds for each size, and how many times the bare stream's."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    bare: list[float] = []
    for who in WHO:
        command = [str(interpreter(who)), str(Path(__file__)), who, url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        if done.returncode:
            print(f"streamed by {who:12} not measured: {done.stderr.strip().splitlines()[-1]}")
            continue
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        bare = bare or [seconds for _, seconds, _ in rows]
        told = (
            f"{size // 1000:4} kB {seconds:7.2f} s {seconds / base:6.2f}x"
            for (size, seconds, _), base in zip(rows, bare, strict=True)
        )
        print(f"streamed by {who:12}", *told)
    server.shutdown()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        main()
