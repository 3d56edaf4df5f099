"""The decisions of a rill runtime: which wait for their feedback, and which have had it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from ingot._record import record
from ingot.rill.wire_codes import (
    COMPLETED_FULL,
    DUPLICATE_DECISION,
    DUPLICATE_FEEDBACK,
    PENDING_FULL,
    STALE_FEEDBACK,
    UNKNOWN_DECISION,
    Refused,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingot.rill.limits import Limits
    from ingot.rill.wire_requests import Feedback

__all__ = ["Decision", "Eviction", "Ledger", "Outcome"]

Eviction = Literal["never", "oldest-completed"]
"""
What happens to decisions that had their feedback when there are as many as may be.

`never`: no further feedback is taken until a reset, as in the source system. `oldest-completed`:
the one that was decided first is forgotten, so that a second feedback for it is one for a decision
that is not known.
"""


@record
class Outcome:
    """
    What came of a decision.

    Attributes:
        arm: What was done.
        reward: How good that was.
        at_ms: When that was known, in ms of Unix time.
    """

    arm: int
    reward: float
    at_ms: int


@record
class Decision:
    """
    What is remembered of one decision.

    Attributes:
        id: The id of the request that asked for it.
        model_generation: The generation of the model that decided.
        state_generation: The generation of the state after it.
        created_ms: When it was decided, in ms of Unix time.
        outcome: None while it waits for its feedback.
    """

    id: str
    model_generation: int
    state_generation: int
    created_ms: int
    outcome: Outcome | None = None


class Ledger:
    """
    Refuses what does not fit, and never holds more than it may.

    What it does depends on its decisions alone and on the times that it is told, so a ledger that
    is restored and told the same again does the same again.

    Args:
        limits: How many decisions it holds.
        eviction: What happens when it is full of those that had their feedback.
        pending_ms: For how long a decision waits for its feedback; None: for ever.
        pending: Decisions to begin with that wait.
        completed: Decisions to begin with that had their feedback.
    """

    def __init__(
        self,
        limits: Limits,
        eviction: Eviction,
        pending_ms: int | None,
        *,
        pending: Sequence[Decision] = (),
        completed: Sequence[Decision] = (),
    ) -> None:
        self._limits = limits
        self._eviction: Eviction = eviction
        self._pending_ms = pending_ms
        in_order = sorted(pending, key=lambda decision: decision.state_generation)
        self.pending = {decision.id: decision for decision in in_order}
        self.completed = {decision.id: decision for decision in completed}
        self._age = [(decision.state_generation, decision.id) for decision in completed]
        heapify(self._age)

    def renewed(
        self, pending: Sequence[Decision] = (), completed: Sequence[Decision] = ()
    ) -> Ledger:
        """Return a ledger of other decisions under the same rules."""
        return Ledger(
            self._limits,
            self._eviction,
            self._pending_ms,
            pending=pending,
            completed=completed,
        )

    def overdue(self, now_ms: int) -> list[str]:
        """Return the ids of those that have waited too long, oldest first."""
        # They stand in the order in which they were decided.
        late = takewhile(lambda one: self._is_overdue(one, now_ms), self.pending.values())
        return [decision.id for decision in late]

    def check_new(self, id_: str, overdue: int) -> None:
        """
        See whether a decision can be taken up once *overdue* ones are dropped.

        Raises:
            Refused: Its id was used, or there is no room.
        """
        if id_ in self.pending or id_ in self.completed:
            raise Refused(DUPLICATE_DECISION)
        if len(self.pending) - overdue >= self._limits.pending:
            raise Refused(PENDING_FULL)

    def add(self, decision: Decision) -> None:
        """Take up a decision that waits for its feedback."""
        self.pending[decision.id] = decision

    def drop(self, ids: Iterable[str]) -> None:
        """Wait no longer for the feedback of *ids*."""
        for id_ in ids:
            del self.pending[id_]

    def check_feedback(self, feedback: Feedback, model_generation: int, now_ms: int) -> None:
        """
        See whether *feedback* can be taken.

        Raises:
            Refused: There was one, the decision is not known or of another generation of the
                model, or there is no room.
        """
        if feedback.decision in self.completed:
            raise Refused(DUPLICATE_FEEDBACK)
        decision = self.pending.get(feedback.decision)
        if decision is None or self._is_overdue(decision, now_ms):
            raise Refused(UNKNOWN_DECISION)
        if decision.model_generation != model_generation:
            raise Refused(STALE_FEEDBACK)
        if self._eviction == "never" and len(self.completed) >= self._limits.completed:
            raise Refused(COMPLETED_FULL)

    def complete(self, feedback: Feedback) -> None:
        """Take *feedback*, and forget the oldest decision if there are too many."""
        waiting = self.pending.pop(feedback.decision)
        outcome = Outcome(arm=feedback.arm, reward=feedback.reward, at_ms=feedback.outcome_ms)
        self.completed[waiting.id] = Decision(
            id=waiting.id,
            model_generation=waiting.model_generation,
            state_generation=waiting.state_generation,
            created_ms=waiting.created_ms,
            outcome=outcome,
        )
        heappush(self._age, (waiting.state_generation, waiting.id))
        if len(self.completed) > self._limits.completed:
            del self.completed[heappop(self._age)[1]]

    def _is_overdue(self, decision: Decision, now_ms: int) -> bool:
        # One of a clock that was ahead would otherwise keep all after it from being dropped.
        return self._pending_ms is not None and abs(now_ms - decision.created_ms) > self._pending_ms
