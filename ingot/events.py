"""What happens in an ask, as it is told to `on_event`: turns, tools, people, budget, answer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ingot._response import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Answered",
    "ApprovalAsked",
    "ApprovalDecided",
    "BudgetSpent",
    "ConsultationAnswered",
    "ConsultationAsked",
    "Event",
    "Failed",
    "RepairStarted",
    "RetryScheduled",
    "ToolCalled",
    "ToolReturned",
    "TurnEnded",
    "TurnStarted",
]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


_LONGEST = 200
"""Characters of one value that a repr shows."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Event:
    """
    Something that happened in an ask.

    Events have no clock: the same ask tells the same sequence blocking, awaited, streamed and
    replayed. A file is in them as its handle, never as its content.

    Attributes:
        kind: The name of the class, in the style of Python's names.
        turn: The turn of the model in which it happened, from 1.
    """

    kind: ClassVar[str] = "event"
    turn: int

    def __repr__(self) -> str:
        values = ((each.name, repr(getattr(self, each.name))) for each in fields(self))
        shown = (
            f"{name}={text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"
            for name, text in values
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON: its `kind` and its attributes; a cost is a text, a tuple a list."""
        return {
            "kind": self.kind,
            **{each.name: _plain(getattr(self, each.name)) for each in fields(self)},
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Usage):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Decimal):
        return f"{value:f}"
    return list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TurnStarted(Event):
    """A request is about to be sent."""

    kind = "turn_started"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TurnEnded(Event):
    """
    A reply came.

    Attributes:
        usage: Tokens of this turn; None when the other end did not say.
        stop_reason: Why the model stopped, in the vendor's word; None when it did not say.
        calls: Names of the tools that the model calls, in order.
    """

    kind = "turn_ended"
    usage: Usage | None = None
    stop_reason: str | None = None
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetryScheduled(Event):
    """
    A request failed in passing and will be sent again.

    Attributes:
        attempt: Requests of this turn that failed so far.
        code: Code of the error.
        delay: Seconds until then; chance is in it, so events are compared without it.
    """

    kind = "retry_scheduled"
    attempt: int
    code: str
    delay: float = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RepairStarted(Event):
    """
    A reply does not fit, and the model will be told so.

    Attributes:
        code: Code of the error.
        problems: How many places do not fit; 0 when the reply is no JSON.
    """

    kind = "repair_started"
    code: str
    problems: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCalled(Event):
    """
    A tool is about to run.

    Attributes:
        tool: Its name.
        call: Number of the call in the ask, from 1.
        arguments: What the model wrote, as JSON by name.
    """

    kind = "tool_called"
    tool: str
    call: int
    arguments: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolReturned(Event):
    """
    A call came to its result, be it that it was refused.

    Attributes:
        tool: The name that was called, which may be that of no tool.
        call: Number of the call in the ask, from 1.
        text: What the model is told.
        failed: Whether *text* is an error.
    """

    kind = "tool_returned"
    tool: str
    call: int
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApprovalAsked(Event):
    """
    A person is asked whether a tool may be called.

    Attributes:
        tool: Its name.
        call: Number of the call in the ask, from 1.
        arguments: What the model wrote, as JSON by name.
        effects: What the tool does to the world, by the alphabet.
    """

    kind = "approval_asked"
    tool: str
    call: int
    arguments: Mapping[str, Any] = field(hash=False)
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApprovalDecided(Event):
    """
    A person decided whether a tool may be called.

    Attributes:
        tool: Its name.
        call: Number of the call in the ask, from 1.
        allowed: Whether it may.
    """

    kind = "approval_decided"
    tool: str
    call: int
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsultationAsked(Event):
    """
    The model puts a question to a person.

    Attributes:
        call: Number of the call in the ask, from 1.
        question: The question.
        choices: What there is to choose from; empty when anything may be answered.
    """

    kind = "consultation_asked"
    call: int
    question: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsultationAnswered(Event):
    """
    A person answered.

    Attributes:
        call: Number of the call in the ask, from 1.
        answer: The answer.
    """

    kind = "consultation_answered"
    call: int
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BudgetSpent(Event):
    """
    What the ask has spent so far, told after each turn.

    Attributes:
        turns: Replies of a model.
        tokens: Tokens read and written.
        cost: US dollars; None when no cost is limited.
    """

    kind = "budget_spent"
    turns: int
    tokens: int
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answered(Event):
    """
    There is an answer; nothing follows.

    Attributes:
        model: The model that answered, as `provider/model`.
        usage: Tokens of all turns; None when the other end did not say.
    """

    kind = "answered"
    model: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Failed(Event):
    """
    There is no answer; nothing follows.

    Attributes:
        code: Code of the error.
        message: What happened, in one sentence.
    """

    kind = "failed"
    code: str
    message: str
