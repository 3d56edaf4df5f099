"""
Measure maps: the scheduler alone, over a real SDK, the memory they take, and the store.

    python -m tests.bench.mapping [prompts]      # 1,000 by default; 10,000 is what is promised for
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai

from ingot import ask
from ingot._shape.shape import shape_of
from ingot.provider import Provider, Response
from ingot_openai import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingot.provider import Request

__all__ = ["main"]

SECONDS = 0.1
"""How long the double takes, and the server."""

BODY = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"value": 7}'},
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }
)
REPLY = (
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    f"content-length: {len(BODY)}\r\n\r\n{BODY}"
).encode()


class Sleeper(Provider):
    """Does nothing but sleep."""

    name = "sleeper"
    dialect = "openai"

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds

    def send(self, request: Request) -> Response:
        raise AssertionError("a map awaits")

    async def asend(self, request: Request) -> Response:
        await asyncio.sleep(self.seconds)
        return Response(text='{"value": 7}', stop_reason="stop")


async def serve() -> None:
    """Answer each request after a while, in a process of its own."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(SECONDS)
                writer.write(REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def prompts(count: int) -> Iterator[str]:
    return (f"number {n}" for n in range(count))


def measured(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def drained(count: int, **given: Any) -> None:
    for _ in ask.map(int, prompts(count), **given):
        pass


async def adrained(count: int, **given: Any) -> None:
    async for _ in ask.aio.map(int, prompts(count), **given):
        pass


def scheduler(count: int) -> None:
    """Wall over the ideal, which is the double's sleep alone."""
    drained(100, model=Sleeper(0))
    for concurrency in (50, 500):
        ideal = SECONDS * count / concurrency
        given = {"model": Sleeper(), "concurrency": concurrency}
        blocking, cpu = measured(lambda given=given: drained(count, **given))  # type: ignore[misc]
        awaited, _ = measured(lambda given=given: asyncio.run(adrained(count, **given)))  # type: ignore[misc]
        print(
            f"{f'{count:,} sleepers, {concurrency} at a time':44} ideal {ideal:6.2f} s"
            f"   blocking {blocking / ideal:5.3f}   awaited {awaited / ideal:5.3f}  (bound 1.15)"
            f"   {cpu / count * 1e6:.0f} µs CPU each"
        )


async def bare(count: int, concurrency: int, url: str) -> None:
    """What one would write by hand over the SDK."""
    schema = shape_of(int, "openai").wire.schema  # type: ignore[union-attr]
    form = {"type": "json_schema", "json_schema": {"name": "int", "schema": schema, "strict": True}}
    semaphore = asyncio.Semaphore(concurrency)
    # Five seconds to connect, as is usual, are too few for hundreds at once on a busy machine.
    async with openai.AsyncOpenAI(api_key="x", base_url=url, timeout=60) as client:

        async def one(prompt: str) -> int:
            async with semaphore:
                reply = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": prompt}],
                    response_format=form,  # type: ignore[arg-type]
                )
            return int(json.loads(reply.choices[0].message.content or "")["value"])

        await asyncio.gather(*map(one, prompts(count)))


def over_sdk(count: int) -> None:
    """Wall and CPU over a semaphore by hand, against a server in a process of its own."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.mapping", "serve"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        model = OpenAIChat(base_url=url, api_key="x")
        for concurrency in (50, 500):
            by_hand = measured(lambda c=concurrency: asyncio.run(bare(count, c, url)))  # type: ignore[misc]
            ours = measured(lambda c=concurrency: drained(count, model=model, concurrency=c))  # type: ignore[misc]
            wall, cpu = (o / b for o, b in zip(ours, by_hand, strict=True))
            print(
                f"{f'{count:,} over the SDK, {concurrency} at a time':44}"
                f" by hand {by_hand[0]:6.2f} s, {by_hand[1] / count * 1e3:4.2f} ms CPU each"
                f"   wall {wall:5.3f}   CPU {cpu:5.3f}  (bound 1.15)"
            )
    finally:
        server.kill()
        server.wait()


def memory(count: int) -> None:
    """Growth of the peak, each run in a process of its own."""
    for prompts_, concurrency in ((count, 500), (20 * count, 500)):
        code = (
            "from tests.bench import mapping as m\n"
            "m.drained(100, model=m.Sleeper(0))\n"
            "before = m.peak()\n"
            f"m.drained({prompts_}, model=m.Sleeper(), concurrency={concurrency})\n"
            "print(m.peak() - before)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        grown = int(done.stdout) / 1024
        print(f"{f'{prompts_:,} prompts of a generator':44} {grown:8.1f} MB more  (bound 60)")


def peak() -> int:
    """The most that this process has taken, in kB; `getrusage` would tell its parent's too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def store(count: int) -> None:
    """What a store costs each answer, paid for and found."""
    given: dict[str, Any] = {"model": Sleeper(0.01), "concurrency": 50}
    plain, cpu = measured(lambda: drained(count, **given))
    with tempfile.TemporaryDirectory() as folder:
        given["store"] = Path(folder) / "run.sqlite"
        kept, kept_cpu = measured(lambda: drained(count, **given))
        found, _ = measured(lambda: drained(count, **given))
    print(
        f"{'a store, each answer':44} {(kept - plain) / count * 1e3:6.3f} ms more  (bound 0.3)"
        f"   {(kept_cpu - cpu) / count * 1e3:.3f} ms CPU"
        f"   found again in {found / count * 1e3:.3f} ms"
    )


def main(count: int = 1000) -> None:
    """Report all, for so many prompts."""
    scheduler(count)
    over_sdk(count)
    memory(count)
    store(count)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main(*map(int, sys.argv[1:]))
