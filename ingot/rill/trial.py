"""One arm that was chosen: what it took so far, and what the router learns of it in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingot._response import Response
    from ingot.rill.arms import Arm
    from ingot.rill.lessons import Choice, Lessons

__all__ = ["Trial"]


@dataclass(slots=True)
class Trial:
    """
    One arm that was chosen.

    Attributes:
        lessons: What is told of it goes there.
        choice: The choice.
        arm: The arm.
        context: What the choice depended on.
        seconds: Time that the model took.
        cost: US dollars; None where that of one reply is not known.
        repairs: How often the model was told that its reply did not fit.
        served: Whether it replied.
        over: Whether what it earned was told.
    """

    lessons: Lessons
    choice: Choice
    arm: Arm
    context: dict[str, Any]
    seconds: float = 0.0
    cost: float | None = 0.0
    repairs: int = 0
    served: bool = False
    over: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # An answer is copied and pickled without the router, as None.
        return (type(None), ())

    def replied(self, response: Response) -> None:
        """Take note of a reply."""
        self.served = True
        cost = self.arm.cost(response)
        self.cost = None if cost is None or self.cost is None else self.cost + float(cost)

    def end(self, *, valid: bool) -> None:
        """Teach what it earned, now that it is known whether it answered."""
        self.over = True
        self.lessons.ended(self, 1 / (1 + self.repairs) if valid else 0.0)

    def rate(self, score: float) -> None:
        """Teach what somebody says of the answer."""
        self.lessons.rated(self, score)
