"""Plain strategies: deciders that go by a rule and learn nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import is_object
from ingot.rill.decider import DeciderError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["STRATEGIES", "Strategy"]


STRATEGIES = ("fallback", "round_robin", "cheapest")
"""Rules: the first arm; the one after the last choice; the one that costs the least."""


class Strategy:
    """
    A decider that goes by a rule of `STRATEGIES`.

    Args:
        name: The rule.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = -1

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        """Choose among the arms that are allowed."""
        try:
            arms = len(context["arms"])
            allowed = context.get("allowed") or range(arms)
            costs = context.get("costs", [None] * arms)
            scores = [None if cost is None else -cost for cost in costs]
            self._last = min(allowed, key=lambda arm: self._place(arm, costs[arm]))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            raise DeciderError("invalidEvent") from None
        return {"arm": self._last, "scores": scores, "exploring": False, "learner": self._name}

    def _place(self, arm: int, cost: float | None) -> tuple[float, int]:
        """Where *arm* stands in the order of preference: the least is chosen."""
        if self._name == "round_robin":
            return (arm <= self._last, arm)
        if self._name == "cheapest":
            return (float("inf") if cost is None else cost, arm)
        return (0, arm)

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """Learn nothing."""
        return {}

    def observe(self, event: Any) -> Any:
        """Take no note."""
        return {}

    def inspect(self) -> Any:
        """Tell the last choice."""
        return self.dump()

    def forget(self, decisions: Sequence[str]) -> None:
        """Do nothing: no decision is remembered."""

    def dump(self) -> Any:
        """The state, which is the last choice, whatever the rule."""
        return {"last": self._last}

    def load(self, state: Any) -> None:
        """Go on after the last choice."""
        last = state.get("last") if is_object(state) else None
        if type(last) is not int:
            raise DeciderError("invalidState")
        self._last = last
