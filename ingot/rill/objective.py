"""What a router is after: what became of an ask, as one number from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

__all__ = ["Objective"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """
    What counts for how much when a router chooses a model.

    The reward of an answer is the mean of three parts, each from 0 to 1, by their weights. What is
    no answer earns 0, however cheap and quick it was.

    Attributes:
        validity: Weight of being right: 1 for an answer that was valid at once, 1/2 after one
            repair, 1/3 after two; or what `Answer.rate` says.
        cost: Weight of being cheap: 1 for nothing, 1/2 for *dear*, 1/4 for three times that. It is
            left out where the cost is not known.
        latency: Weight of being quick: 1 for at once, 1/2 for *slow*, 1/4 for three times that.
        dear: US dollars for one answer.
        slow: Seconds for one answer.

    Raises:
        ValueError: A weight is negative, all are 0, or *dear* or *slow* is not above 0.
    """

    validity: float = 1.0
    cost: float = 0.2
    latency: float = 0.1
    dear: float = 0.01
    slow: float = 5.0

    def __post_init__(self) -> None:
        weights = (self.validity, self.cost, self.latency)
        if not (all(weight >= 0 and isfinite(weight) for weight in weights) and sum(weights) > 0):
            raise ValueError("the weights of an Objective are 0 or more, and one of them is not 0")
        if not all(bound > 0 and isfinite(bound) for bound in (self.dear, self.slow)):
            raise ValueError("dear and slow of an Objective are above 0: dollars and seconds")

    def __str__(self) -> str:
        parts = [
            f"validity {self.validity:g}",
            f"cost {self.cost:g} (dear {self.dear:g})",
            f"latency {self.latency:g} (slow {self.slow:g})",
        ]
        return ", ".join(parts)

    def reward(self, validity: float, *, cost: float | None, seconds: float) -> float:
        """
        Return what an answer earns, from 0 to 1.

        Args:
            validity: How right it is, from 0 to 1.
            cost: US dollars; None when unknown.
            seconds: How long the model took.
        """
        if validity == 0:
            return 0.0
        parts = [(self.validity, validity), (self.latency, self.slow / (self.slow + seconds))]
        if cost is not None:
            parts.append((self.cost, self.dear / (self.dear + cost)))
        total = sum(weight for weight, _ in parts)
        if total == 0:  # only the cost counts, and it is not known
            return validity
        return sum(weight * part for weight, part in parts) / total
