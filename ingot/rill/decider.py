"""What decides in a runtime: the contract that learners keep, and one that only counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from ingot._json import is_object

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Counters", "Decider", "DeciderError", "Fault"]

Fault = Literal[
    "invalidEvent",
    "invalidState",
    "duplicateFeedback",
    "timeout",
    "trap",
    "outputTooLarge",
    "invalidOutput",
    "internal",
]
"""What may be wrong with a call of a decider."""


class DeciderError(Exception):
    """
    A decider cannot do what it is asked, and is as it was before.

    Attributes:
        fault: What is wrong. `"invalidEvent"`: with the request. `"invalidState"`: with the state,
            which may be of another decider. `"duplicateFeedback"`: the reward was given before. The
            others are faults of the decider itself.
        reason: What is wrong, for people, without anything secret; None for no more than the
            protocol's text for the fault.
    """

    def __init__(self, fault: Fault, reason: str | None = None) -> None:
        self.fault: Fault = fault
        self.reason = reason
        super().__init__(fault if reason is None else f"{fault}: {reason}")


@runtime_checkable
class Decider(Protocol):
    """
    Chooses, and learns from what became of its choices.

    A runtime holds one and calls it with one request at a time. Contexts, events, outputs and the
    state are JSON values. The same state and the same calls in the same order give the same outputs
    and the same state: a runtime that starts again repeats the calls since its last snapshot.
    Hence there is no clock and no chance in a decider but what its state and its seeds hold. A call
    that raises changes nothing.
    """

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        """
        Choose.

        Args:
            decision: The id of this decision, which comes again in `feedback` or `forget`.
            context: What the choice depends on.
            seed: Fixes what is left to chance, 64 bits; None leaves it to the state.

        Returns:
            The choice.

        Raises:
            DeciderError: It cannot be decided. Whatever else is raised counts as the fault `trap`.
        """
        ...

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """
        Learn what came of a decision, which is then done with.

        Args:
            decision: One that was asked for and is not done with.
            arm: What was done, 32 bits; it need not be what was decided.
            reward: How good it was, any finite number.

        Returns:
            What there is to say.

        Raises:
            DeciderError: It cannot be learned from.
        """
        ...

    def observe(self, event: Any) -> Any:
        """
        Take note of *event*, which belongs to no decision; return what there is to say.

        Raises:
            DeciderError: It cannot be taken note of.
        """
        ...

    def inspect(self) -> Any:
        """
        Tell what it has learned.

        Raises:
            DeciderError: It cannot be told.
        """
        ...

    def forget(self, decisions: Sequence[str]) -> None:
        """Let go of *decisions*, for which no feedback will come; it never raises."""
        ...

    def dump(self) -> Any:
        """Return the whole state, with keys in the order in which they are to be written."""
        ...

    def load(self, state: Any) -> None:
        """
        Be as when *state* was dumped.

        Raises:
            DeciderError: `invalidState`, when it is no state of such a decider.
        """
        ...


class Counters:
    """Counts what it is asked and chooses nothing, as the source system's built-in one does."""

    def __init__(self) -> None:
        self._counts: dict[str, Any] = {
            "decisions": 0,
            "feedback": 0,
            "observations": 0,
            "inspections": 0,
        }

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        """Count a decision."""
        return self._count("decisions", "decide")

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """Count a feedback."""
        return self._count("feedback", "feedback")

    def observe(self, event: Any) -> Any:
        """Count an observation."""
        return self._count("observations", "observe")

    def inspect(self) -> Any:
        """Count an inspection."""
        return self._count("inspections", "inspect")

    def forget(self, decisions: Sequence[str]) -> None:
        """Do nothing: no decision is remembered."""

    def dump(self) -> Any:
        """The counts; sorted by name as soon as anything was counted."""
        return dict(self._counts)

    def load(self, state: Any) -> None:
        """Take over the counts of *state*, which is any object."""
        if not is_object(state):
            raise DeciderError("invalidState")
        self._counts = dict(state)

    def _count(self, what: str, method: str) -> Any:
        count = self._counts.get(what, 0)
        if isinstance(count, bool) or not isinstance(count, int):
            raise DeciderError("invalidState")
        self._counts = dict(sorted({**self._counts, what: count + 1}.items()))
        return {"accepted": True, "method": method, "stateCounters": self._counts}
