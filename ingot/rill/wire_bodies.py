"""The seven things that a rill runtime answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ingot._record import record
from ingot._serde import Ordered
from ingot.rill.wire_codes import Failure
from ingot.rill.wire_parts import (
    MAX_CAPABILITIES,
    MAX_CAPABILITY,
    count32,
    known,
    within,
    without_none,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._row import Row
    from ingot.rill.wire_parts import Surface

__all__ = [
    "Body",
    "Failed",
    "Greeting",
    "Inspection",
    "ResetDone",
    "Result",
    "State",
    "Vitals",
    "are_capabilities",
    "read_body",
]

_DIGITS = 64
"""Hexadecimal digits of a SHA-256."""


@record
class Greeting:
    """
    The answer to a handshake.

    Attributes:
        capabilities: What may be asked; each request names one of them.
        schema_hash: Of the features that contexts are made of, which each request repeats.
        decider_version: The version of the contract with what decides, 32 bits.
        channel: `"preview"` on that surface; None on `v3`.
    """

    kind: ClassVar[str] = "handshake"
    capabilities: tuple[str, ...]
    schema_hash: str
    decider_version: int
    channel: str | None = None

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Greeting:
        """Read it."""
        more = _more(surface, "channel")
        known(row, ("kind", "capabilities", "featureSchemaHash", "handlerApiVersion", *more))
        return cls(
            capabilities=row.texts("capabilities"),
            schema_hash=row.text("featureSchemaHash"),
            decider_version=count32(row, "handlerApiVersion"),
            channel=row.text("channel") if more else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return without_none(
            kind=self.kind,
            capabilities=self.capabilities,
            featureSchemaHash=self.schema_hash,
            handlerApiVersion=self.decider_version,
            channel=self.channel,
        )


@record
class Vitals:
    """
    The answer to a question for health.

    Attributes:
        healthy: Whether all is well.
        status: `"healthy"` or `"failed_closed"` on `preview`; None on `v3`.
        reasons: Why it is not, on `preview`.
    """

    kind: ClassVar[str] = "health"
    healthy: bool
    status: str | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Vitals:
        """Read it."""
        more = _more(surface, "status", "reasonCodes")
        known(row, ("kind", "healthy", *more))
        return cls(
            healthy=row.flag("healthy"),
            status=row.text("status") if more else None,
            reasons=row.texts("reasonCodes") if "reasonCodes" in row.fields else (),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return without_none(
            kind=self.kind,
            healthy=self.healthy,
            status=self.status,
            reasonCodes=self.reasons or None,
        )


@record
class Result:
    """
    What there is to say of an observation, a decision or a feedback.

    Attributes:
        output: Any JSON.
        decision: The id of the decision, on `preview`; else None.
        decision_generation: The generation of the state after the decision, on `preview`.
    """

    kind: ClassVar[str] = "result"
    output: Any
    decision: str | None = None
    decision_generation: int | None = None

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Result:
        """Read it."""
        known(row, ("kind", "output", *_more(surface, "decisionId", "decisionGeneration")))
        return cls(
            output=row.required("output"),
            decision=row.optional_text("decisionId"),
            decision_generation=row.optional_count("decisionGeneration"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        message = Ordered(kind=self.kind, output=self.output)
        if self.decision is not None:
            message["decisionId"] = self.decision
        if self.decision_generation is not None:
            message["decisionGeneration"] = self.decision_generation
        return message


@record
class Inspection:
    """
    What was learned, and how the runtime is.

    Attributes:
        summary: Any JSON.
    """

    kind: ClassVar[str] = "inspection"
    summary: Any

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Inspection:  # noqa: ARG003 (as all bodies)
        """Read it."""
        known(row, ("kind", "summary"))
        return cls(summary=row.required("summary"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(kind=self.kind, summary=self.summary)


@record
class State:
    """
    The answer to a question for the state.

    Attributes:
        schema_version: Of the state, 32 bits.
        checksum: SHA-256 of its bytes, in hexadecimal.
        state: Its bytes, in hexadecimal.
    """

    kind: ClassVar[str] = "snapshot"
    schema_version: int
    checksum: str
    state: str

    @classmethod
    def read(cls, row: Row, surface: Surface) -> State:  # noqa: ARG003 (as all bodies)
        """Read it."""
        known(row, ("kind", "stateSchemaVersion", "stateChecksum", "state"))
        return cls(
            schema_version=count32(row, "stateSchemaVersion"),
            checksum=row.text("stateChecksum"),
            state=row.text("state"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(
            kind=self.kind,
            stateSchemaVersion=self.schema_version,
            stateChecksum=self.checksum,
            state=self.state,
        )


@record
class ResetDone:
    """
    The answer to a reset.

    Attributes:
        reset: Whether all is forgotten.
    """

    kind: ClassVar[str] = "reset"
    reset: bool

    @classmethod
    def read(cls, row: Row, surface: Surface) -> ResetDone:  # noqa: ARG003 (as all bodies)
        """Read it."""
        known(row, ("kind", "reset"))
        return cls(reset=row.flag("reset"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(kind=self.kind, reset=self.reset)


@record
class Failed:
    """
    The request is refused.

    Attributes:
        error: Why.
    """

    kind: ClassVar[str] = "error"
    error: Failure

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Failed:
        """Read it."""
        known(row, ("kind", "error"))
        return cls(error=Failure.read(row.row("error"), surface))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(kind=self.kind, error=self.error.to_json())


Body = Greeting | Vitals | Result | Inspection | State | ResetDone | Failed

_BODIES: tuple[type[Body], ...] = (
    Greeting,
    Vitals,
    Result,
    Inspection,
    State,
    ResetDone,
    Failed,
)
_KINDS: Mapping[str, type[Body]] = {body.kind: body for body in _BODIES}


def read_body(row: Row, surface: Surface) -> Body:
    """
    Read whatever a runtime answers.

    Raises:
        Unreadable: It is no answer on *surface*.
    """
    kind = row.text("kind")
    body = _KINDS.get(kind)
    if body is None:
        raise row.unexpected("a kind of the protocol", kind, "kind")
    return body.read(row, surface)


def are_capabilities(names: tuple[str, ...]) -> bool:
    """Whether a runtime may have *names*: 1 to 32 that differ, each of 1 to 96 bytes."""
    return 0 < len(names) <= MAX_CAPABILITIES and (
        len(set(names)) == len(names) and all(within(name, MAX_CAPABILITY) for name in names)
    )


def _more(surface: Surface, *names: str) -> tuple[str, ...]:
    return names if surface == "preview" else ()
