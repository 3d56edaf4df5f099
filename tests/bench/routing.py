"""What learning is worth: 2,000 asks of simulated models, one of which falls half way."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from ingot.rill.learner_linear import linucb, thompson
from ingot.rill.strategies import Strategy
from tests.simulated import MODELS, THRIFTY, Earned, World, recovery, regret, routed

ASKS, SEEDS = 2_000, range(20)
WITHIN = 200
"""Asks after which all should be well again."""

MICROSECONDS = 150
"""What one decision, or one feedback, may take of a processor."""


class Always:
    """A decider that chooses one arm."""

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def decide(self, *_: Any) -> dict[str, int]:
        return {"arm": self.arm}

    def feedback(self, *_: Any) -> None:
        pass


def told(name: str, runs: list[list[Earned]], fixed: list[float] | None = None) -> list[float]:
    """Print what was lost against the best model for each task, and return it by seed."""
    lost = [regret(run) for run in runs]
    after = [recovery(run) for run in runs]
    known = sorted(ASKS if one is None else one for one in after)
    better = "" if fixed is None else f"{sum(a < b for a, b in zip(lost, fixed, strict=True))}"
    print(
        f"{name:22} {statistics.mean(lost):8.1f} {max(lost):8.1f}   {better:>6}   "
        f"{shown(statistics.median_low(known)):>7} {shown(known[-1]):>7}   "
        f"{sum(one <= WITHIN for one in known):>6}"
    )
    return lost


def shown(asks: int) -> str:
    return "never" if asks == ASKS else f"{asks}"


def simulated() -> None:
    """Print the regret of all ways to choose, and after how many asks they have recovered."""
    print(f"routing: {ASKS:,} asks, seeds {SEEDS[0]} to {SEEDS[-1]}; {THRIFTY}")
    print(
        f"{'':22} {'regret':>8} {'worst':>8}   {'better':>6}   {'well':>7} {'worst':>7}   "
        f"{f'≤{WITHIN}':>6}"
    )
    always = [[routed(Always(arm), World(seed), ASKS) for seed in SEEDS] for arm in range(3)]
    best = [min(map(regret, runs)) for runs in zip(*always, strict=True)]
    for model, runs in zip(MODELS, always, strict=True):
        told(f"always {model}", runs)
    told("round robin", [routed(Strategy("round_robin"), World(seed), ASKS) for seed in SEEDS])
    ways: dict[str, Callable[[int], Any]] = {
        "linucb": lambda seed: linucb(),
        "thompson": lambda seed: thompson(seed=seed),
    }
    lost = {
        name: told(name, [routed(make(seed), World(seed), ASKS) for seed in SEEDS], best)
        for name, make in ways.items()
    }
    print(
        "regret: what was lost against the best model for each task, in the mean and at worst;\n"
        f"better: seeds that lost less than the best fixed model, {statistics.mean(best):.1f};\n"
        "well: asks after the fall until a hundred earned 95 % of the most, median and worst;\n"
        f"≤{WITHIN}: seeds that took no longer than that"
    )
    for name, each in lost.items():
        print(f"{name} by seed: {' '.join(f'{one:.0f}' for one in each)}")


def timed() -> None:
    """Print what a decision and a feedback take, with 8 arms and 30 features."""
    arms = [f"arm {n}" for n in range(8)]
    for make in (linucb, thompson):
        learner = make()
        best = [float("inf")] * 2
        for turn in range(5):
            spent = [0.0, 0.0]
            for n in range(400):
                features = {f"f{f}": (n * (f + 7)) % 11 / 10 for f in range(30)}
                key = f"{turn}/{n}"
                began = time.process_time()
                arm = learner.decide(key, {"arms": arms, "features": features}, None)["arm"]
                between = time.process_time()
                learner.feedback(key, arm, 0.5)
                spent[0] += between - began
                spent[1] += time.process_time() - between
            best = [min(old, new / 400) for old, new in zip(best, spent, strict=True)]
        decide, feedback = (1e6 * one for one in best)
        print(
            f"{make.__name__}: decide {decide:5.1f} µs, feedback {feedback:5.1f} µs"
            f"   (at best, 8 arms, 30 features; bound {MICROSECONDS} each)"
        )


def main() -> None:
    """Print both."""
    simulated()
    timed()


if __name__ == "__main__":
    main()
