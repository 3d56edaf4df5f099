"""Events of an ask, made of what the plan knows, for whoever listens."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ingot import events
from ingot._effects import Emit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ingot._answer import Answer
    from ingot._budget.meter import Meter
    from ingot._effects import Invocation, Returned
    from ingot._people import Approval, Consultation
    from ingot._response import Response
    from ingot.errors import IngotError, InvalidAnswerError

__all__ = ["Teller"]


class Teller:
    """
    Makes the effects that tell one listener, for a plan to `yield from`.

    Args:
        listener: Is called with each event; None where nobody listens, and nothing is told.
    """

    __slots__ = ("_listener",)

    def __init__(self, listener: Callable[[events.Event], object] | None = None) -> None:
        self._listener = listener

    def _emit(self, event: events.Event) -> Iterable[Emit]:
        return () if self._listener is None else (Emit(event, self._listener),)

    # Turns

    def started(self, turn: int) -> Iterable[Emit]:
        """A request is about to be sent."""
        return self._emit(events.TurnStarted(turn=turn))

    def ended(self, turn: int, response: Response, meter: Meter | None) -> Iterable[Emit]:
        """A reply came, and was charged."""
        yield from self._emit(
            events.TurnEnded(
                turn=turn,
                usage=response.usage,
                stop_reason=response.stop_reason,
                calls=tuple(call.name for call in response.tool_calls),
            )
        )
        if meter is not None:
            spent = meter.ledger.spent
            yield from self._emit(
                events.BudgetSpent(
                    turn=turn, turns=spent.turns, tokens=spent.tokens, cost=spent.cost
                )
            )

    def retry(self, turn: int, attempt: int, error: IngotError, delay: float) -> Iterable[Emit]:
        """A request failed in passing."""
        return self._emit(
            events.RetryScheduled(turn=turn, attempt=attempt, code=error.code, delay=delay)
        )

    def repair(self, turn: int, error: InvalidAnswerError) -> Iterable[Emit]:
        """A reply does not fit."""
        return self._emit(
            events.RepairStarted(turn=turn, code=error.code, problems=len(error.problems))
        )

    def answered(self, turn: int, answer: Answer[Any]) -> Iterable[Emit]:
        """There is an answer."""
        return self._emit(events.Answered(turn=turn, model=answer.model, usage=answer.usage))

    def failed(self, turn: int, error: IngotError) -> Iterable[Emit]:
        """There is none."""
        return self._emit(events.Failed(turn=turn, code=error.code, message=error.message))

    # Calls

    def called(self, one: Invocation) -> Iterable[Emit]:
        """A tool is about to run."""
        return self._emit(
            events.ToolCalled(
                turn=one.context.turn,
                tool=one.tool.name,
                call=one.number,
                arguments=deepcopy(one.tree),  # a listener may change it
            )
        )

    def returned(self, turn: int, tool: str, number: int, result: Returned) -> Iterable[Emit]:
        """A call came to its result."""
        return self._emit(
            events.ToolReturned(
                turn=turn, tool=tool, call=number, text=result.text, failed=result.failed
            )
        )

    def approval(self, one: Invocation, asked: Approval) -> Iterable[Emit]:
        """A person is asked whether a tool may be called."""
        return self._emit(
            events.ApprovalAsked(
                turn=one.context.turn,
                tool=asked.tool,
                call=one.number,
                arguments=deepcopy(asked.arguments),
                effects=asked.effects,
            )
        )

    def decided(self, one: Invocation, *, allowed: bool) -> Iterable[Emit]:
        """A person decided."""
        return self._emit(
            events.ApprovalDecided(
                turn=one.context.turn, tool=one.tool.name, call=one.number, allowed=allowed
            )
        )

    def consultation(self, one: Invocation, asked: Consultation) -> Iterable[Emit]:
        """The model puts a question to a person."""
        return self._emit(
            events.ConsultationAsked(
                turn=one.context.turn,
                call=one.number,
                question=asked.question,
                choices=asked.choices,
            )
        )

    def consulted(self, one: Invocation, answer: str) -> Iterable[Emit]:
        """A person answered."""
        return self._emit(
            events.ConsultationAnswered(turn=one.context.turn, call=one.number, answer=answer)
        )
