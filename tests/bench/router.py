"""What a router adds to an ask, in this process: `python -m tests.bench.router`."""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from ingot import Router, ask
from ingot.testing import Script

ROUNDS, ASKS = 30, 40
BOUND = 0.5
"""Milliseconds that a router may add to an ask."""


def script(name: str) -> Script:
    return Script([["red"]] * 10_000, model=name)


def milliseconds(asked: Any) -> float:
    """How long one ask takes."""
    began = time.perf_counter()
    for _ in range(ASKS):
        asked(list[str], "Name three colours of the flag of France.")
    return (time.perf_counter() - began) / ASKS * 1e3


def main() -> None:
    """Print what routers add to an ask that takes no time itself, by what decides."""
    with tempfile.TemporaryDirectory() as folder:
        ways: dict[str, Any] = {
            "fallback, nothing kept": {"strategy": "fallback"},
            "linucb, nothing kept": {"state": None},
            "linucb, in a file": {"state": Path(folder, "linucb.json")},
            "thompson, in a file": {"state": Path(folder, "thompson.json"), "learner": "thompson"},
        }
        plain = ask.using(model=script("alone"))
        routed = {
            way: ask.using(model=Router([script("a"), script("b"), script("c")], **given))
            for way, given in ways.items()
        }
        for asked in (plain, *routed.values()):
            milliseconds(asked)
        gc.collect()
        # By turns, as machines are noisy: each round is compared with the plain asks beside it.
        added: dict[str, list[float]] = {way: [] for way in routed}
        for _ in range(ROUNDS):
            bare = milliseconds(plain)
            for way, asked in routed.items():
                added[way].append(milliseconds(asked) - bare)
    for way, rounds in added.items():
        median, least = statistics.median(rounds), min(rounds)
        print(
            f"router: {way:24} adds {median:6.3f} ms to an ask"
            f"   (at best {least:6.3f}; bound {BOUND})"
        )


if __name__ == "__main__":
    main()
