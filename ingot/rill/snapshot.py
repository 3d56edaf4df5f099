"""
The snapshot of a rill runtime: the text in which its state outlives its process.

It is that of the source system (`stateful.rs` of rill-ml 1.5.0), format 1: the bytes of the
decider's state as an array of numbers, the ledger, and two checksums. The inner one is over the
state, the outer one over the text of the array of all three.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ingot._json import Unreadable, encoder
from ingot._record import record
from ingot.rill.ledger import Decision, Outcome
from ingot.rill.wire_parts import count32, known, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot._row import Row
    from ingot.rill.limits import Limits

__all__ = [
    "FORMAT",
    "Snapshot",
    "SnapshotError",
    "check_fit",
    "check_size",
    "plain",
    "read_snapshot",
]

FORMAT = 1
"""The format that is written and read here."""

_encode = encoder(separators=(",", ":"))
_NUMBERS = tuple(str(byte) for byte in range(256))


class SnapshotError(ValueError):
    """
    A snapshot cannot be made or cannot be taken over.

    Attributes:
        reason: Why, without what is in it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@record
class Snapshot:
    """
    All that a runtime knows.

    Attributes:
        schema_version: Of the state.
        generation: Of the state.
        state: The decider's, as JSON.
        pending: Decisions that wait for their feedback.
        completed: Decisions that had it.
    """

    schema_version: int
    generation: int
    state: bytes
    pending: tuple[Decision, ...] = ()
    completed: tuple[Decision, ...] = ()

    def write(self) -> bytes:
        """Return its text, on one line without a line break."""
        parts = _parts_of(self)
        state, pending, completed = parts
        return (
            f'{{"formatVersion":{FORMAT},"handlerSnapshot":{state},"pendingDecisions":{pending},'
            f'"completedDecisions":{completed},"checksumSha256":"{_checksum(parts)}"}}'
        ).encode()


def _parts_of(snapshot: Snapshot) -> tuple[str, str, str]:
    """The texts that the outer checksum is over: state, decisions that wait, those done."""
    numbers = ",".join(map(_NUMBERS.__getitem__, snapshot.state))
    state = (
        f'{{"stateSchemaVersion":{snapshot.schema_version},'
        f'"stateGeneration":{snapshot.generation},"state":[{numbers}],'
        f'"checksumSha256":"{sha256(snapshot.state).hexdigest()}"}}'
    )
    return state, _text_of(snapshot.pending), _text_of(snapshot.completed)


def _checksum(parts: tuple[str, str, str]) -> str:
    return sha256(f"[{','.join(parts)}]".encode()).hexdigest()


def read_snapshot(text: bytes) -> Snapshot:
    """
    Read a snapshot.

    Raises:
        SnapshotError: It is none, of another format, or not as it was written.
    """
    try:
        return _read(parse(text))
    except Unreadable as error:
        raise SnapshotError(f"it is no snapshot of a rill runtime: {error}") from error


def check_size(text: bytes, limits: Limits) -> None:
    """
    See to it that the text of a snapshot is within *limits*.

    Raises:
        SnapshotError: It is not.
    """
    if len(text) > limits.snapshot_bytes:
        raise SnapshotError(f"it is larger than {limits.snapshot_bytes} bytes")


def check_fit(snapshot: Snapshot, schema_version: int, limits: Limits) -> None:
    """
    See to it that a runtime can hold what is in *snapshot*.

    Args:
        snapshot: The snapshot.
        schema_version: The version of the state that the runtime knows.
        limits: What it holds at most.

    Raises:
        SnapshotError: It cannot.
    """
    if snapshot.schema_version != schema_version:
        raise SnapshotError(
            f"its state is of version {snapshot.schema_version}, and version {schema_version} is "
            "read here"
        )
    if len(snapshot.state) > limits.state_bytes:
        raise SnapshotError(f"its state is larger than {limits.state_bytes} bytes")
    if len(snapshot.pending) > limits.pending or len(snapshot.completed) > limits.completed:
        raise SnapshotError("it holds more decisions than there is room for")
    pending = {decision.id for decision in snapshot.pending}
    if any(decision.id in pending for decision in snapshot.completed):
        raise SnapshotError("it holds a decision that waits and is done with")


def _read(row: Row) -> Snapshot:
    known(row, _SNAPSHOT)
    format_ = count32(row, "formatVersion")
    if format_ != FORMAT:
        raise SnapshotError(f"it is of format {format_}, and format {FORMAT} is read here")
    inner = row.row("handlerSnapshot")
    known(inner, _STATE)
    snapshot = Snapshot(
        schema_version=count32(inner, "stateSchemaVersion"),
        generation=inner.count("stateGeneration"),
        state=_bytes_of(inner),
        pending=_decisions_of(row.row("pendingDecisions")),
        completed=_decisions_of(row.row("completedDecisions")),
    )
    if sha256(snapshot.state).hexdigest() != inner.text("checksumSha256"):
        raise SnapshotError("its state is not as it was written: the checksum differs")
    if _checksum(_parts_of(snapshot)) != row.text("checksumSha256"):
        raise SnapshotError("it is not as it was written: the checksum differs")
    return snapshot


_SNAPSHOT = (
    "formatVersion",
    "handlerSnapshot",
    "pendingDecisions",
    "completedDecisions",
    "checksumSha256",
)
_STATE = ("stateSchemaVersion", "stateGeneration", "state", "checksumSha256")
_DECISION = (
    "decisionId",
    "modelGeneration",
    "stateGeneration",
    "createdAtUnixMs",
    "selectedArm",
    "reward",
    "outcomeTimeUnixMs",
)


def _bytes_of(row: Row) -> bytes:
    values = row.array("state")
    try:
        return bytes(values)
    except (TypeError, ValueError):
        raise row.unexpected("an array of bytes", values, "state") from None


def _text_of(decisions: Iterable[Decision]) -> str:
    return _encode({one.id: _json_of(one) for one in sorted(decisions, key=lambda one: one.id)})


def _json_of(decision: Decision) -> dict[str, Any]:
    message: dict[str, Any] = {
        "decisionId": decision.id,
        "modelGeneration": decision.model_generation,
        "stateGeneration": decision.state_generation,
        "createdAtUnixMs": decision.created_ms,
    }
    if decision.outcome is not None:
        message["selectedArm"] = decision.outcome.arm
        message["reward"] = plain(decision.outcome.reward)
        message["outcomeTimeUnixMs"] = decision.outcome.at_ms
    return message


def _decisions_of(row: Row) -> tuple[Decision, ...]:
    return tuple(_decision_of(row.row(name), name) for name in row.fields)


def _decision_of(row: Row, name: str) -> Decision:
    known(row, _DECISION)
    if row.text("decisionId") != name:
        raise SnapshotError("a decision stands under the id of another one")
    return Decision(
        id=name,
        model_generation=row.count("modelGeneration"),
        state_generation=row.count("stateGeneration"),
        created_ms=row.count("createdAtUnixMs"),
        outcome=_outcome_of(row),
    )


def _outcome_of(row: Row) -> Outcome | None:
    if row.optional("reward") is None:
        return None
    try:
        reward = float(row.text("reward"))
    except ValueError:
        raise row.unexpected("a number in a string", row.text("reward"), "reward") from None
    return Outcome(
        arm=count32(row, "selectedArm"), reward=reward, at_ms=row.count("outcomeTimeUnixMs")
    )


def plain(number: float) -> str:
    """Return *number* in decimal digits without an exponent: `1`, `0.5`, `0.0000001`."""
    text = repr(number)
    if "e" in text:
        from decimal import Decimal

        text = f"{Decimal(text):f}"
    return text.removesuffix(".0")
