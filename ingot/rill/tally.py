"""What became of the questions that a router sent on, counted by model and by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import is_array, is_object
from ingot.rill.decider import DeciderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingot.rill.decider import Decider

__all__ = ["COUNTS", "Tallied"]

COUNTS = ("asks", "valid", "repairs", "failed", "seconds", "cost", "priced", "rating", "ratings")
"""
What is added up for one model.

`asks`: how often it was asked; `valid`: how often it answered; `repairs`: how often it was told
that its reply did not fit; `failed`: how often no reply came; `seconds` and `cost` (US dollars): of
all; `priced`: how many of them have a cost; `rating`: the sum of the scores that were given later;
`ratings`: how many.
"""

_DAYS = 30
"""Days that are told apart; what is older is in the sums."""


class Tallied:
    """
    A decider that also counts, whatever decides.

    `observe` takes `{"arm": number of the model, "day": days since 1970, and what is to be added of
    COUNTS}`. The names of the arms are those of the first decision, and are part of
    the state: what was learned of one list of models is not taken for another's.

    Args:
        decider: Decides and learns.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._arms: list[str] | None = None
        self._sums: dict[int, list[float]] = {}
        self._days: dict[int, dict[int, list[float]]] = {}

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        """Let the decider choose."""
        arms = context.get("arms") if is_object(context) else None
        if not is_array(arms):
            raise DeciderError("invalidEvent", "a context tells its `arms`, a list of names")
        if arms != (self._arms or arms):
            known = ", ".join(map(str, self._arms or ()))
            raise DeciderError("invalidEvent", f"the state is of {known}")
        output = self._decider.decide(decision, context, seed)
        self._arms = arms
        return output

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """Let the decider learn."""
        return self._decider.feedback(decision, arm, reward)

    def observe(self, event: Any) -> Any:
        """Count what *event* tells of."""
        arm, day, counts = self._told(event)
        for arms in (self._sums, self._days.setdefault(day, {})):
            before = arms.get(arm, [0] * len(COUNTS))
            arms[arm] = [old + new for old, new in zip(before, counts, strict=True)]
        if len(self._days) > _DAYS:
            del self._days[min(self._days)]
        return {}

    def inspect(self) -> Any:
        """Tell what was counted, beside what the decider tells."""
        return {**self._counted(), "learned": self._decider.inspect()}

    def forget(self, decisions: Sequence[str]) -> None:
        """Let the decider forget."""
        self._decider.forget(decisions)

    def dump(self) -> Any:
        """The counts, and the state of the decider."""
        return {**self._counted(), "decider": self._decider.dump()}

    def load(self, state: Any) -> None:
        """Take over the counts of *state*, and let the decider take over its own."""
        try:
            arms, sums = state["arms"], _read(state["sums"])
            days = {int(day): _read(told) for day, told in state["days"].items()}
            inner = state["decider"]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise DeciderError("invalidState") from None
        if arms is not None and not is_array(arms):
            raise DeciderError("invalidState")
        self._decider.load(inner)
        self._arms, self._sums, self._days = arms, sums, days

    def _told(self, event: Any) -> tuple[int, int, list[float]]:
        """Read *event* whole before anything is counted."""
        arm, day = (event.get("arm"), event.get("day")) if is_object(event) else (None, None)
        if type(arm) is not int or type(day) is not int or not 0 <= arm < len(self._arms or ()):
            raise DeciderError("invalidEvent")
        counts = [event.get(name, 0) for name in COUNTS]
        if not all(type(count) in (int, float) for count in counts):
            raise DeciderError("invalidEvent")
        return arm, day, counts

    def _counted(self) -> dict[str, Any]:
        days = {str(day): _written(self._days[day]) for day in sorted(self._days)}
        return {"arms": self._arms, "sums": _written(self._sums), "days": days}


def _written(arms: Mapping[int, Sequence[float]]) -> dict[str, list[float]]:
    return {str(arm): list(arms[arm]) for arm in sorted(arms)}


def _read(told: Mapping[str, Any]) -> dict[int, list[float]]:
    for counts in told.values():
        if len(counts) != len(COUNTS) or not all(type(count) in (int, float) for count in counts):
            raise ValueError("these are no counts")
    return {int(arm): list(counts) for arm, counts in told.items()}
