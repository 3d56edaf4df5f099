"""Programs run by ingot against the same programs run bare, in one run: `make bench`."""

from __future__ import annotations

import asyncio
import gc
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ingot import Text, ask
from ingot.exec import Exec
from ingot.exec.environment import environment_of
from ingot.exec.exchange import as_request
from ingot.exec.wire import write
from ingot.provider import Request

CHILD = """\
import json, sys
request = json.loads(sys.stdin.read() or "{}")
print(json.dumps({"output": request.get("prompt", {}).get("text", "")}))
"""
ROUNDS, CHILDREN, AT_ONCE, MANY = 60, 200, 16, 10_000


def wall(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def said(what: str, bare: float, ours: float, ratio: float, bound: float) -> None:
    print(
        f"{what:44} bare {bare * 1e3:8.2f} ms   ingot {ours * 1e3:8.2f} ms"
        f"   ratio {ratio:5.2f}  (bound {bound:.2f})"
    )


def one(command: list[str]) -> None:
    """One call after another, against `subprocess.run` with the same document."""
    document = write(
        as_request(Request(provider="exec", model="m", target="text", prompt="hi"))
    ).encode()
    env = environment_of(None)
    ours = ask.using(model=Exec(command))
    pairs = [
        (
            wall(
                lambda: subprocess.run(
                    command, input=document, capture_output=True, env=env, check=True
                )
            ),
            wall(lambda: ours(Text, "hi")),
        )
        for _ in range(ROUNDS)
    ]
    bare, own = zip(*pairs, strict=True)
    ratio = statistics.median(own) / statistics.median(bare)
    said("a call of a Python program", statistics.median(bare), statistics.median(own), ratio, 1.15)


def many(command: list[str]) -> None:
    """Many at once, against `xargs -P`; threads and tasks by turns, as machines are noisy."""
    words = "\n".join(str(n) for n in range(CHILDREN)).encode()
    # In sessions of their own, as ours are: Linux shares a busy processor out among sessions.
    xargs = ["xargs", "-P", str(AT_ONCE), "-n", "1", "setsid", "--wait", *command]
    ours, env = ask.using(model=Exec(command)), environment_of(None)

    def threads() -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda n: ours(Text, str(n)), range(CHILDREN)))

    async def tasks() -> None:
        gate = asyncio.Semaphore(AT_ONCE)

        async def asked(n: int) -> None:
            async with gate:
                await ours.aio(Text, str(n))

        await asyncio.gather(*(asked(n) for n in range(CHILDREN)))

    def bare() -> None:
        subprocess.run(xargs, input=words, stdout=subprocess.DEVNULL, env=env, check=True)

    rows = [(wall(bare), wall(threads), wall(lambda: asyncio.run(tasks()))) for _ in range(5)]
    base = statistics.median(row[0] for row in rows)
    for index, how in ((1, "threads"), (2, "tasks")):
        own = statistics.median(row[index] for row in rows)
        said(f"{CHILDREN} programs, {AT_ONCE} at once, in {how}", base, own, own / base, 1.20)


def flat() -> None:
    """Memory and descriptors after many calls, against those after a tenth of them."""
    ours = ask.using(model=Exec(["/bin/sh", "-c", """printf '{"output":"ok"}'"""]))

    def used(calls: int) -> tuple[int, int]:
        for _ in range(calls):
            ours(Text, "hi")
        gc.collect()
        resident = int(Path("/proc/self/statm").read_text().split()[1])
        return resident * resource.getpagesize() // 1024, sum(
            1 for _ in Path("/proc/self/fd").iterdir()
        )

    began, fds = used(MANY // 10)
    ended, left = used(MANY - MANY // 10)
    print(
        f"{MANY:,} calls of a shell: {ended - began:+,} KiB of memory"
        f" after the first {MANY // 10:,}, {left - fds:+} descriptors  (bound 1,024 and 0)"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        child = Path(folder) / "child.py"
        child.write_text(CHILD)
        command = [sys.executable, str(child)]
        one(command)
        many(command)
    flat()


if __name__ == "__main__":
    main()
