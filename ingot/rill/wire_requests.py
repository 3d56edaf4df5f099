"""The eight things that a rill runtime can be asked."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ingot._record import record
from ingot._serde import Ordered
from ingot.rill.wire_parts import MAX_ID, count32, known, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._row import Row

__all__ = [
    "Decide",
    "Feedback",
    "Handshake",
    "Health",
    "Inspect",
    "Observe",
    "Request",
    "Reset",
    "Snapshot",
    "read_request",
]


class _Bare:
    """A request without a field of its own."""

    __slots__ = ()
    method: ClassVar[str]

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        known(row, ("method",))
        return cls()

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(method=self.method)


@record
class Handshake(_Bare):
    """Who is there, and what can it do?"""

    method: ClassVar[str] = "handshake"


@record
class Health(_Bare):
    """Is all well?"""

    method: ClassVar[str] = "health"


@record
class Inspect(_Bare):
    """What has been learned? Asking moves the generation of the state."""

    method: ClassVar[str] = "inspect"


@record
class Snapshot(_Bare):
    """What is the state?"""

    method: ClassVar[str] = "snapshot"


@record
class Observe:
    """
    Something happened.

    Attributes:
        event: What, any JSON.
    """

    method: ClassVar[str] = "observe"
    event: Any

    @classmethod
    def read(cls, row: Row) -> Observe:
        """Read it."""
        known(row, ("method", "event"))
        return cls(event=row.required("event"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(method=self.method, event=self.event)


@record
class Decide:
    """
    Choose; the id of the request becomes that of the decision.

    Attributes:
        context: What the choice depends on, any JSON.
        seed: Fixes what is left to chance, 64 bits; None leaves it to the runtime.
    """

    method: ClassVar[str] = "decide"
    context: Any
    seed: int | None = None

    @classmethod
    def read(cls, row: Row) -> Decide:
        """Read it."""
        known(row, ("method", "context", "deterministicSeed"))
        return cls(context=row.required("context"), seed=row.optional_count("deterministicSeed"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        message = Ordered(method=self.method, context=self.context)
        if self.seed is not None:
            message["deterministicSeed"] = self.seed
        return message


@record
class Feedback:
    """
    Learn what came of a decision.

    Attributes:
        decision: Its id, of 1 to 128 bytes.
        arm: What was done, 32 bits.
        reward: How good that was, finite.
        outcome_ms: When that was known, in ms of Unix time.
        generation: The generation of the model.
    """

    method: ClassVar[str] = "feedback"
    decision: str
    arm: int
    reward: float
    outcome_ms: int
    generation: int

    @classmethod
    def read(cls, row: Row) -> Feedback:
        """Read it."""
        known(row, _FEEDBACK)
        return cls(
            decision=row.text("decisionId"),
            arm=count32(row, "selectedArm"),
            reward=row.number("reward"),
            outcome_ms=row.count("outcomeTimeMs"),
            generation=row.count("generation"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(
            method=self.method,
            decisionId=self.decision,
            selectedArm=self.arm,
            reward=float(self.reward),
            outcomeTimeMs=self.outcome_ms,
            generation=self.generation,
        )

    def problem(self) -> str | None:
        """What is wrong with it, in the words of the protocol; None when nothing is."""
        if not within(self.decision, MAX_ID):
            return "invalid decision id"
        return None if isfinite(self.reward) else "reward must be finite"


_FEEDBACK = ("method", "decisionId", "selectedArm", "reward", "outcomeTimeMs", "generation")


@record
class Reset:
    """
    Forget all that was learned.

    Attributes:
        expected_generation: The generation of the state that is to be forgotten.
    """

    method: ClassVar[str] = "reset"
    expected_generation: int

    @classmethod
    def read(cls, row: Row) -> Reset:
        """Read it."""
        known(row, ("method", "expectedStateGeneration"))
        return cls(expected_generation=row.count("expectedStateGeneration"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(method=self.method, expectedStateGeneration=self.expected_generation)


Request = Handshake | Health | Observe | Decide | Feedback | Inspect | Snapshot | Reset

_KINDS: tuple[type[Request], ...] = (
    Handshake,
    Health,
    Observe,
    Decide,
    Feedback,
    Inspect,
    Snapshot,
    Reset,
)
_METHODS: Mapping[str, type[Request]] = {kind.method: kind for kind in _KINDS}


def read_request(row: Row) -> Request:
    """
    Read whatever a runtime is asked.

    Raises:
        Unreadable: It is no request.
    """
    method = row.text("method")
    kind = _METHODS.get(method)
    if kind is None:
        raise row.unexpected("a method of the protocol", method, "method")
    return kind.read(row)
