"""An answer: the value, and all that is known of how it came about."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from ingot._price import price
from ingot._record import record

if TYPE_CHECKING:
    from decimal import Decimal

    from ingot._response import Response, Usage
    from ingot._route import Route

__all__ = ["Answer"]

T = TypeVar("T")


@record
class Answer(Generic[T]):
    """
    A value, with what it took to get it.

    Attributes:
        value: The value of the type that was asked for.
        model: The model that answered, as `provider/model`.
        usage: Tokens of all attempts; None when the other end did not say.
        request_id: The vendor's id of the last exchange; None when it gave none.
        turns: Each reply of the model, the last one being the answer; more than one after a repair
            or a call of a tool.
        attempts: Requests that were sent, retries included.
        repairs: How often the model had to be told that its reply did not fit.
        constrained: Whether the server held the model to the type; False when the schema was shown
            in the prompt instead (or for prose, which has none).
        note: Why the server could not hold the model to the type; None when it did or nobody asked
            it to.
        seconds: Time spent in requests and waits.
    """

    value: T
    model: str
    usage: Usage | None = None
    request_id: str | None = None
    turns: tuple[Response, ...] = field(default=(), repr=False)
    attempts: int = 1
    repairs: int = 0
    constrained: bool = False
    note: str | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def cost(self) -> Decimal | None:
        """
        US dollars of all attempts; None when unknown.

        What the other end said of each turn is added up; else the installed price table decides.
        """
        told = [turn.cost for turn in self.turns if turn.cost is not None]
        if told and len(told) == len(self.turns):
            return sum(told[1:], told[0])
        return price(self.model, self.usage)

    @property
    def route(self) -> Route | None:
        """How a router came to the model that answered; None where none was asked."""
        return self.turns[-1].route if self.turns else None

    def rate(self, score: float) -> bool:
        """
        Teach the router that asked the model how good the answer is.

        It may be done at any time and again, such as when a reader has judged the answer.

        Args:
            score: From 0, useless, to 1, as good as can be; False is 0, and True is 1.

        Returns:
            Whether there was anyone to teach: False without a router, for an answer that was
            played from a recording, and in another process than the one that asked.

        Raises:
            TypeError: *score* is no number.
            ValueError: *score* is not from 0 to 1.
            RillError: What the router learns with cannot be used any more.
        """
        wrong = f"a score is a number from 0 to 1, not {score!r:.80}"
        if not hasattr(score, "__float__"):
            raise TypeError(wrong)
        score = float(score)
        if not 0 <= score <= 1:
            raise ValueError(wrong)
        teacher = None if self.route is None else self.route.teacher
        if teacher is None:
            return False
        teacher.rate(score)
        return True

    def __repr__(self) -> str:
        parts = [repr(self.value), f"model={self.model!r}"]
        if self.usage is not None:
            parts.append(f"usage={self.usage!r}")
        if self.repairs > 0:
            parts.append(f"repairs={self.repairs}")
        if self.note is not None:
            parts.append(f"note={self.note!r}")
        return f"Answer({', '.join(parts)})"
