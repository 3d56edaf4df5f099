"""
Models that can be asked without asking: what they cost, how often they are right, and one fails.

Three models answer four kinds of tasks. The kind is not told: what is told are features of the sort
that a router sees, which only hint at it. Half way, the model in the middle becomes worse.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingot.rill.objective import Objective

MODELS = ("small", "middle", "large")
COST = {"small": 0.0002, "middle": 0.003, "large": 0.03}
"""US dollars for an answer, in the mean."""

SECONDS = {"small": 0.5, "middle": 1.5, "large": 4.0}
"""Seconds for an answer, in the mean."""

FALLEN = 0.45
"""What is left of the validity of the middle model when it has become worse."""

KINDS = {"label": 0.35, "extract": 0.3, "reason": 0.2, "code": 0.15}
"""How often each kind of task comes."""

VALID = {
    "small": {"label": 0.96, "extract": 0.62, "reason": 0.35, "code": 0.25},
    "middle": {"label": 0.97, "extract": 0.94, "reason": 0.80, "code": 0.55},
    "large": {"label": 0.98, "extract": 0.96, "reason": 0.94, "code": 0.93},
}
"""How often an answer is valid."""

THRIFTY = Objective(validity=1.0, cost=0.6, latency=0.2)
"""What is wanted: valid answers, and not at any price."""


class Task(NamedTuple):
    kind: str
    features: dict[str, Any]


class Earned(NamedTuple):
    """What each model earns of a task in the mean, and which one was asked."""

    means: tuple[float, ...]
    arm: int

    @property
    def got(self) -> float:
        return self.means[self.arm]

    @property
    def best(self) -> float:
        return max(self.means)


@dataclass
class World:
    """
    A sequence of tasks, the same for all that are compared.

    Attributes:
        seed: Fixes tasks and answers.
        objective: What answers are worth.
        fallen: Whether the middle model has become worse.
    """

    seed: int
    objective: Objective = THRIFTY
    fallen: bool = False
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def task(self) -> Task:
        """Come up with a task."""
        draw = self.chance
        (kind,) = draw.choices(list(KINDS), KINDS.values())
        characters = {"label": 300, "extract": 600, "reason": 2_500, "code": 3_000}[kind]
        context = {"label": 1, "extract": 9_000, "reason": 40, "code": 400}[kind]
        usual = {"label": "literal", "extract": "model", "reason": "str", "code": "model"}[kind]
        features = {
            "type_kind": usual if draw.random() < 0.9 else "list",
            "type_depth": {"label": 0, "extract": 2, "reason": 0, "code": 1}[kind]
            + draw.randrange(2),
            "type_fields": {"label": 0, "extract": 8, "reason": 0, "code": 3}[kind]
            + draw.randrange(3),
            "type_choices": int(kind == "label" or draw.random() < 0.2),
            "prompt_size": math.log10(1 + characters * draw.lognormvariate(0, 0.6)),
            "context_size": math.log10(1 + context * draw.lognormvariate(0, 0.6)),
            "tools": 2 if kind == "code" else int(draw.random() < 0.05),
            "attachments": int(draw.random() < 0.1),
            "language": draw.choice(["en", "en", "de", "fr"]),
        }
        return Task(kind, features)

    def mean(self, arm: int, kind: str) -> float:
        """What *arm* earns of a task of *kind* in the mean, spread of cost and time aside."""
        model = MODELS[arm]
        worth = self.objective.reward(1.0, cost=COST[model], seconds=SECONDS[model])
        return self._validity(model, kind) * worth

    def reward(self, arm: int, kind: str) -> float:
        """Have *arm* answer a task of *kind* once."""
        model, draw = MODELS[arm], self.chance
        cost = COST[model] * draw.lognormvariate(0, 0.3)
        seconds = SECONDS[model] * draw.lognormvariate(0, 0.3)
        valid = draw.random() < self._validity(model, kind)
        return self.objective.reward(float(valid), cost=cost, seconds=seconds)

    def _validity(self, model: str, kind: str) -> float:
        return VALID[model][kind] * (FALLEN if self.fallen and model == "middle" else 1.0)


def routed(decider: Any, world: World, asks: int, *, waiting: int = 0) -> list[Earned]:
    """
    Have *decider* choose a model for each of *asks* tasks; the middle one falls half way.

    Args:
        decider: Chooses and learns.
        world: The tasks.
        asks: How many.
        waiting: How many decisions are made before the feedback of the first one comes.
    """
    told: list[Earned] = []
    due: list[tuple[str, int, float]] = []
    for number in range(asks):
        world.fallen = number >= asks // 2
        kind, features = world.task()
        context = {"arms": list(MODELS), "features": features}
        arm = decider.decide(str(number), context, None)["arm"]
        means = tuple(world.mean(other, kind) for other in range(len(MODELS)))
        told.append(Earned(means, arm))
        due.append((str(number), arm, world.reward(arm, kind)))
        if len(due) > waiting:
            decider.feedback(*due.pop(0))
    return told


def regret(told: list[Earned]) -> float:
    """How much less was earned than by who knows the best model for each task."""
    return sum(one.best - one.got for one in told)


def recovery(told: list[Earned], *, window: int = 100, within: float = 0.05) -> int | None:
    """
    After how many asks since the fall all is well again; None for never.

    It is when the mean of what was earned in the last *window* asks, all of them after the fall, is
    no more than *within* below that of the best model for each task. What a choice earns in the
    mean is counted, and not what chance made of it.
    """
    after = told[len(told) // 2 :]
    for end in range(window, len(after) + 1):
        last = after[end - window : end]
        if sum(one.got for one in last) >= (1 - within) * sum(one.best for one in last):
            return end
    return None
