"""What a plan asks its driver to do: effects, and what comes back for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ingot._acting_errors import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import TypeAlias

    from ingot._answer import Answer
    from ingot._context import Context
    from ingot._messages import ToolCall
    from ingot._people import Approval, Consultation
    from ingot._request import Request
    from ingot._response import Outcome
    from ingot._tool import Tool
    from ingot.events import Event

    Effect: TypeAlias = "Send | Wait | Settle | Call | Consult | Emit"
    Flow: TypeAlias = Generator[Effect, Any, Answer[Any]]

__all__ = [
    "Call",
    "Consult",
    "Emit",
    "Invocation",
    "RecalledError",
    "Returned",
    "Send",
    "Settle",
    "Wait",
]


class RecalledError(Exception):
    """
    Stands for an exception of a tool in a recording, whose class may be out of reach.

    Attributes:
        names: The names of its class and of the bases of that, with their modules; those of
            Python's own without.
    """

    names: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def names_of(error: BaseException | None) -> tuple[str, ...]:
        """Return the name of the class of *error*, and of its bases that say something."""
        if isinstance(error, RecalledError):
            return error.names
        return tuple(_name(c) for c in type(error).__mro__ if c not in (BaseException, object))

    @classmethod
    def named(cls, names: tuple[str, ...], text: str) -> RecalledError:
        """Return the error whose class had *names*, of which the model was told *text*."""
        bare = names[0].rpartition(".")[2]
        made: type[RecalledError] = type(bare, (cls,), {"names": names})
        return made(text.removeprefix(f"{bare}: "))

    @classmethod
    def is_of(cls, error: BaseException, classes: tuple[type[BaseException], ...]) -> bool:
        """Whether *error*, or what it stands for, is of one of *classes*."""
        if isinstance(error, RecalledError):
            return not set(map(_name, classes)).isdisjoint(error.names)
        return isinstance(error, classes)


def _name(cls: type) -> str:
    """The name of a class with its module; of one of Python's own alone."""
    module, name = cls.__module__, cls.__qualname__
    return name if module == "builtins" else f"{module}.{name}"


@dataclass(slots=True)
class Send:
    """
    Send *request*; the plan is sent the `Response`, or is thrown the error.

    Attributes:
        request: What is sent.
        seconds: How long it took, either way, without the time that whoever was handed a piece
            took for it; the driver writes it.
        told: Characters of the reply that were handed on; if there are any, the request is not
            sent again. The driver writes it.
        kept: Whether the caller took something out of the reply that cannot be taken back; then
            the model is not asked for another. Who hands pieces on writes it.
        check: Raises what keeps the reply from being read on; called between pieces. None for
            nothing.
    """

    request: Request
    seconds: float = 0.0
    told: int = 0
    kept: bool = False
    check: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait *seconds*."""

    seconds: float


@dataclass(slots=True)
class Settle:
    """Tell the provider what became of *request*."""

    request: Request
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """
    One call of a tool, its arguments read and found to fit.

    Attributes:
        tool: The tool.
        call: The call as the model wrote it.
        tree: The arguments as JSON in the tool's own form, whatever form was sent.
        arguments: The arguments as Python values, by name.
        context: What the tool is told of the run.
        number: Number of the call in the ask, from 1.
        seconds: The longest it may run; None for as long as it likes.
    """

    tool: Tool
    call: ToolCall
    tree: Any
    arguments: Mapping[str, Any] = field(repr=False)
    context: Context[Any] = field(repr=False)
    number: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """
    What a call of a tool came to.

    Attributes:
        text: What the model is told: the result, or the type and message of the error.
        failed: Whether it is an error.
        error: The exception, where the tool raised one in this process.
        files: The handles in the result, as JSON.
    """

    text: str
    failed: bool = False
    error: BaseException | None = field(default=None, repr=False, compare=False)
    files: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def refusal(cls, why: str) -> Returned:
        """The result of a call that is not made; *why* is told to the model."""
        return cls(text=_bounded(why), failed=True)

    @classmethod
    def raised(cls, error: BaseException) -> Returned:
        """The result of a call that raised *error*, of which type and message are told."""
        name, said = type(error).__name__, words_of(error)
        return cls(text=_bounded(f"{name}: {said}" if said else name), failed=True, error=error)


_LONGEST = 2000
"""Characters of an error that the model is told."""


def _bounded(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]} … ({more:,} more characters)"


@dataclass(frozen=True, slots=True)
class Call:
    """
    Perform *batch*, all at once; the plan is sent a `Returned` for each, in order.

    Attributes:
        batch: The calls.
        limit: How many may run at the same time.
    """

    batch: tuple[Invocation, ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Consult:
    """
    Put *question* to a person; the plan is sent the answer, or is thrown the error.

    Attributes:
        question: An `Approval` or a `Consultation`.
        person: Answers it; may be a coroutine function.
    """

    question: Approval | Consultation
    person: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell *listener* of *event*."""

    event: Event
    listener: Callable[[Event], object]
