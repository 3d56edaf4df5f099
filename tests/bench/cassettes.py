"""Replays of ingot against those of vcrpy under the openai SDK, in one run: `make bench`."""

from __future__ import annotations

import gc
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import vcr
from pydantic import BaseModel

from ingot import Cassette, ask
from ingot.testing import Script

ROUNDS = 5
SYSTEM = "You label support tickets."


class Ticket(BaseModel):
    kind: str
    urgency: int
    tags: list[str]


VALUE = {"kind": "billing", "urgency": 2, "tags": ["a", "b"]}
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
                "logprobs": None,
                "message": {"role": "assistant", "content": json.dumps(VALUE), "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }
).encode()


class Instant(BaseHTTPRequestHandler):
    """Answers at once."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def prompt(number: int) -> str:
    return f"Ticket no. {number}: my invoice is wrong."


def asks(count: int) -> None:
    for number in range(count):
        ask(Ticket, prompt(number), system=SYSTEM)


def ours(path: Path, rows: int, mode: Any = "replay") -> None:
    with Cassette(path, mode, max_bytes=2**30):
        asks(rows)


def theirs(path: Path, rows: int, url: str, mode: str = "none") -> None:
    with vcr.use_cassette(str(path), record_mode=mode):
        client = openai.OpenAI(base_url=url, api_key="x", max_retries=0)
        for number in range(rows):
            client.chat.completions.create(
                model="m",
                messages=[
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": prompt(number)},
                ],
            )


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of this process for one call."""
    gc.collect()
    began = time.process_time()
    call()
    return time.process_time() - began


def at_a_stretch(call: Callable[[], object], times: int) -> float:
    """CPU seconds of this process for one of *times* calls, what is collected meanwhile too."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times


def said(what: str, value: float, unit: str, bound: str) -> None:
    print(f"{what:44} {value:10.2f} {unit}  (bound {bound})", flush=True)


def against_vcr(folder: Path) -> None:
    """
    How many times faster an ask is replayed than a call of the SDK.

    First with the collector run before each file, which leaves the caches of the processor empty,
    and the best of ours against the middle of theirs; then files one after the other, on average.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    for rows, bound in ((100, 60), (1000, 200)):
        mine, other = folder / f"{rows}.json", folder / f"{rows}.yaml"
        theirs(other, rows, url, "new_episodes")
        times = 20 if rows == 100 else 3
        for _ in range(2):
            ours(mine, rows)
        theirs(other, rows, url)
        pairs: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            vcrpy = cpu(partial(theirs, other, rows, url)) / rows
            ingot = min(cpu(partial(ours, mine, rows)) for _ in range(times)) / rows
            pairs.append((vcrpy, ingot))
        ratio = statistics.median(v / i for v, i in pairs)
        vcrpy, ingot = (statistics.median(column) * 1e6 for column in zip(*pairs, strict=True))
        print(
            f"{f'replay, {rows} rows':44} vcrpy {vcrpy:8.1f} µs   ingot {ingot:6.1f} µs"
            f"   ratio {ratio:6.1f}  (bound ≥ {bound})",
            flush=True,
        )
        if rows == 100:
            ratios = [
                at_a_stretch(partial(theirs, other, rows, url), 3)
                / at_a_stretch(partial(ours, mine, rows), 60)
                for _ in range(ROUNDS)
            ]
            said("the same, one file after the other", statistics.median(ratios), "times", "60")
        share = mine.stat().st_size / other.stat().st_size
        said(f"size, {rows} rows, of vcrpy's", share * 100, "%", "50")
    server.shutdown()


def alone(folder: Path) -> None:
    """What opening takes, and an ask in a small and in a large file."""

    def opened(rows: int) -> float:
        return min(cpu(lambda: Cassette(folder / f"{rows}.json").tape) for _ in range(9))

    def each(rows: int) -> float:
        with Cassette(folder / f"{rows}.json") as cassette:
            assert len(cassette.rows) == rows  # now it is open
            return cpu(lambda: asks(100)) / 100

    said("opening 1,000 rows", opened(1000) * 1e3, "ms", "10")
    pairs = [(each(100), each(10_000)) for _ in range(3 * ROUNDS)]
    ratio = statistics.median(large / small for small, large in pairs)
    said("an ask at 10,000 rows, of one at 100", ratio, "times", "1.50")
    whole = min(cpu(lambda: ours(folder / "1.json", 1)) for _ in range(200))
    said("open, one ask, close", whole * 1e3, "ms", "1.50")
    print(f"{'replays per CPU second, 1,000 rows':44} {1000 / cpu_of(folder, 1000):10.0f}")


def cpu_of(folder: Path, rows: int) -> float:
    return min(cpu(lambda: ours(folder / f"{rows}.json", rows)) for _ in range(5))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in (1, 100, 1000, 10_000):
            with Script([VALUE] * rows):
                ours(folder / f"{rows}.json", rows, "record")
        against_vcr(folder)
        alone(folder)


if __name__ == "__main__":
    main()
