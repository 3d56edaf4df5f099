"""What a run has come to so far: how many asks are done, and what they took."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ingot._answer import Answer
from ingot._error import IngotError
from ingot._response import Usage

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """
    The counts of one run.

    Attributes:
        done: Asks that are done, failed ones included.
        failed: Asks that failed.
        stored: Asks whose answer was in the store.
        usage: Tokens of all others, as far as the other end told of them.
        cost: US dollars of all others; None where that of one is not known.
    """

    done: int = 0
    failed: int = 0
    stored: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)

    def add(self, answer: Answer[Any] | None, error: BaseException | None) -> None:
        """Count an ask that is done: its answer, or why it has none."""
        self.done += 1
        if answer is not None and answer.attempts == 0:
            self.stored += 1
            return
        self.failed += answer is None
        taken = error if answer is None else answer
        if not isinstance(taken, Answer | IngotError):
            return
        if taken.usage is not None:
            self.usage += taken.usage
        elif answer is None:
            return  # nothing came back that is paid for
        cost = taken.cost
        self.cost = None if cost is None or self.cost is None else self.cost + cost
