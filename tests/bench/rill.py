"""A runtime as a program, decide and feedback in turn: `make bench`, or this module alone."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ingot.rill.host import Host
from ingot.rill.runtime import IDENTITY
from ingot.rill.wire import PREVIEW_HASH, Envelope, write
from ingot.rill.wire_requests import Decide, Feedback

PAIRS = 4_000
CONTEXT = {
    "arms": ["local/smollm2", "openai/gpt-5-mini", "anthropic/claude-sonnet-5"],
    "features": {
        "type_kind": "model",
        "type_depth": 2,
        "type_fields": 7,
        "type_choices": 1,
        "prompt_size": 2.713,
        "context_size": 3.105,
        "tools": 0,
        "attachments": 0,
        "language": "en",
    },
}


def lines() -> Iterator[bytes]:
    """Requests of one caller, who knows what the generation will be."""

    def line(number: int, request: Decide | Feedback) -> bytes:
        return write(
            Envelope(
                request_id=f"bench-{number}",
                client=IDENTITY,
                capability=f"org.rill.preview.{request.method}",
                schema_hash=PREVIEW_HASH,
                model_generation=0,
                state_generation=number,
                request=request,
            )
        )

    for number in range(0, 2 * PAIRS, 2):
        yield line(number, Decide(context=CONTEXT))
        arm, reward = number // 2 % 3, number % 7 / 7
        told = Feedback(
            decision=f"bench-{number}", arm=arm, reward=reward, outcome_ms=1, generation=0
        )
        yield line(number + 1, told)


def cpu_of(pid: int | None) -> float:
    """CPU seconds that a process took so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(what: str, *options: str, bound: int) -> None:
    """One run; of the time of the runtime alone, and of each answer as its caller sees it."""
    asked = list(lines())
    with tempfile.TemporaryDirectory() as folder:
        state = str(Path(folder) / "state")
        command = [sys.executable, "-m", "ingot", "rill", "serve", "--state", state, *options]
        with Host(command) as host:
            host.answer(b"{}")  # it has started
            started = cpu_of(host.pid)
            times: list[float] = []
            for line in asked:
                began = time.perf_counter()
                answer = host.answer(line)
                times.append(time.perf_counter() - began)
                assert b'"kind":"result"' in answer, answer
            cpu = cpu_of(host.pid) - started
    times.sort()
    print(
        f"{what:44} {len(times) / sum(times):8,.0f} requests/s  (bound {bound:,})"
        f"   median {statistics.median(times) * 1e3:5.2f} ms"
        f"   p99 {times[len(times) * 99 // 100] * 1e3:5.2f} ms  (bound 5)"
        f"   longest {times[-1] * 1e3:5.1f} ms   {cpu / len(times) * 1e6:4.0f} µs of CPU each"
    )


def main() -> None:
    for learner in ("counters", "linucb", "thompson"):
        measure(f"rill serve, {learner}", "--learner", learner, bound=3_000)
    measure("rill serve, linucb, durable", "--durable", bound=1_000)


if __name__ == "__main__":
    main()
