"""
A rill runtime without its process: one line in, one line out, and a state in between.

Nothing is read here but the line, the state and the time that the caller gives. Each answer carries
the generation of the state, which moves by one with every request that changes anything, so a
caller that keeps the lines which moved it can repeat them on a snapshot and be where it was.

Requests are checked in the order of the source system (`stateful.rs` of rill-ml 1.5.0), and refused
with its texts:

    the line        too long · not JSON · against the rules of the wire · too late
    who asks        a capability that is not offered · other features · another model
    where it stands another generation of the state · what the ledger refuses
    the decider     a fault of its own
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ingot._json import Unreadable
from ingot.rill.decider import DeciderError
from ingot.rill.held import Held
from ingot.rill.ledger import Decision, Ledger
from ingot.rill.limits import Limits
from ingot.rill.snapshot import Snapshot, SnapshotError, check_fit, check_size, read_snapshot
from ingot.rill.wire import Envelope, Response, read_envelope, write
from ingot.rill.wire_bodies import (
    Body,
    Failed,
    Greeting,
    Inspection,
    ResetDone,
    Result,
    State,
    Vitals,
    are_capabilities,
)
from ingot.rill.wire_codes import (
    EXPIRED,
    FEEDBACK_DIFFERS,
    HASH_DIFFERS,
    MODEL_DIFFERS,
    NOT_JSON,
    OVERFLOW,
    RESET_DIFFERS,
    STATE_DIFFERS,
    TOO_LARGE,
    UNSUPPORTED,
    Refusal,
    Refused,
)
from ingot.rill.wire_parts import API_VERSION, Identity, is_digest
from ingot.rill.wire_requests import Decide, Feedback, Handshake, Health, Inspect, Observe, Reset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ingot.rill.decider import Decider
    from ingot.rill.ledger import Eviction
    from ingot.rill.wire_parts import Surface

__all__ = ["Engine"]

_DECIDER_VERSION = 2
"""The version of the contract with what decides, as the source system counts."""

_ANYONE = "invalid-request"
"""The id in the answer to a request whose own cannot be told."""

_PRESSED = 0.9
"""The part of a bound at which a runtime is said to be pressed."""

_U32, _U64 = 2**32 - 1, 2**64 - 1


class Engine:
    """
    Answers the messages of Rill Runtime IPC v3.

    Args:
        decider: What decides and learns. It belongs to the engine from here on; as it is now is
            what a reset goes back to.
        surface: Which answers are spoken.
        identity: Who answers.
        capabilities: What may be asked, 1 to 32 names. As in the source system each of them opens
            every method.
        feature_schema_hash: SHA-256 in lower-case hexadecimal of what contexts are made of.
        model_generation: The generation of the model, 64 bits.
        state_schema_version: The version of the decider's state, 32 bits, not 0.
        limits: What it holds at most.
        eviction: What happens when the ledger is full of decisions that had their feedback.
        pending_ms: For how long a decision waits for its feedback, in ms; then it counts as one
            that got none. None: for ever, as in the source system.

    Attributes:
        state_generation: Moves by one exactly when a request changed the state.
        restarts: How often a snapshot was taken over.

    Raises:
        ValueError: An argument is out of its range.
    """

    def __init__(
        self,
        decider: Decider,
        *,
        surface: Surface = "v3",
        identity: Identity,
        capabilities: Sequence[str],
        feature_schema_hash: str,
        model_generation: int = 0,
        state_schema_version: int = 1,
        limits: Limits | None = None,
        eviction: Eviction = "never",
        pending_ms: int | None = None,
    ) -> None:
        self._surface: Surface = surface
        self._identity = identity
        self._capabilities = tuple(capabilities)
        self._hash = feature_schema_hash
        self._model_generation = model_generation
        self._schema_version = state_schema_version
        self._limits = limits or Limits()
        self._check_arguments()
        self._held = Held(decider)
        self._ledger = Ledger(self._limits, eviction, pending_ms)
        if len(self._held.state()) > self._limits.state_bytes:
            raise ValueError("the state of the decider is larger than its limit")
        self.state_generation = 0
        self.restarts = 0

    def _check_arguments(self) -> None:
        problem = self._identity.problem() or self._limits.problem()
        if problem is not None:
            raise ValueError(problem)
        if not are_capabilities(self._capabilities):
            raise ValueError("capabilities are 1 to 32 names that differ, of 1 to 96 bytes each")
        if not is_digest(self._hash):
            raise ValueError("the hash of the features is 64 lower-case hexadecimal digits")
        if not 0 < self._schema_version <= _U32:
            raise ValueError("the version of the state is 1 to 4294967295")
        if not 0 <= self._model_generation <= _U64:
            raise ValueError("the generation of the model is an unsigned integer of 64 bits")

    def answer(self, line: bytes, now_ms: int) -> bytes:
        """Serve one request, and return the line of its answer; see `respond`."""
        return write(self.respond(line, now_ms))

    def respond(self, line: bytes, now_ms: int) -> Response:
        """
        Serve one request.

        Args:
            line: The request, without a line break.
            now_ms: The time, in ms of Unix time.

        Returns:
            The answer: an error for whatever is no request, or cannot be served. It may be longer
            than a request may be.
        """
        if len(line) > self._limits.frame_bytes:
            return self._response(_ANYONE, self._failed(TOO_LARGE))
        try:
            envelope = read_envelope(line)
        except Unreadable:
            return self._response(_ANYONE, self._failed(NOT_JSON))
        body = self._body(envelope, len(line), now_ms)
        return self._response(envelope.request_id or _ANYONE, body)

    def _response(self, request_id: str, body: Body) -> Response:
        return Response(
            request_id=request_id,
            runtime=self._identity,
            model_generation=self._model_generation,
            state_generation=self.state_generation,
            body=body,
        )

    def _failed(self, refusal: Refusal) -> Failed:
        return Failed(error=refusal.failure(self._surface))

    def _body(self, envelope: Envelope, received: int, now_ms: int) -> Body:
        problem = envelope.problem(received)
        if problem is not None:
            return self._failed(Refusal(code="invalidEnvelope", message=problem))
        try:
            return self._served(envelope, now_ms)
        except Refused as refused:
            return self._failed(refused.refusal)

    def _served(self, envelope: Envelope, now_ms: int) -> Body:
        if envelope.is_expired(now_ms):
            raise Refused(EXPIRED)
        request = envelope.request
        if isinstance(request, Handshake):
            return self._greeting()
        if isinstance(request, Health):
            return self._vitals()
        self._check(envelope)
        match request:
            case Decide():
                return self._decide(envelope.request_id, request, now_ms)
            case Feedback():
                return self._feedback(request, now_ms)
            case Observe():
                return self._observe(request)
            case Inspect():
                return self._inspect()
            case Reset():
                return self._reset(request)
            case _:
                return self._state()

    def _check(self, envelope: Envelope) -> None:
        request = envelope.request
        if envelope.capability not in self._capabilities:
            raise Refused(UNSUPPORTED)
        if envelope.schema_hash != self._hash:
            raise Refused(HASH_DIFFERS)
        if envelope.model_generation != self._model_generation:
            raise Refused(MODEL_DIFFERS)
        if isinstance(request, Feedback) and request.generation != self._model_generation:
            raise Refused(FEEDBACK_DIFFERS)
        if envelope.state_generation != self.state_generation:
            raise Refused(STATE_DIFFERS)

    # What is served

    def _greeting(self) -> Greeting:
        return Greeting(
            capabilities=self._capabilities,
            schema_hash=self._hash,
            decider_version=_DECIDER_VERSION,
            channel="preview" if self._surface == "preview" else None,
        )

    def _vitals(self) -> Vitals:
        fault = self._held.fault
        if self._surface == "v3":
            return Vitals(healthy=fault is None)
        if fault is None:
            return Vitals(healthy=True, status="healthy")
        return Vitals(healthy=False, status="failed_closed", reasons=(fault,))

    def _observe(self, request: Observe) -> Result:
        return Result(output=self._changed(partial(self._held.decider.observe, request.event)))

    def _decide(self, id_: str, request: Decide, now_ms: int) -> Result:
        overdue = self._ledger.overdue(now_ms)
        self._ledger.check_new(id_, len(overdue))
        decider = self._held.decider
        output = self._changed(partial(decider.decide, id_, request.context, request.seed), overdue)
        self._ledger.drop(overdue)
        self._ledger.add(
            Decision(
                id=id_,
                model_generation=self._model_generation,
                state_generation=self.state_generation,
                created_ms=now_ms,
            )
        )
        if self._surface == "v3":
            return Result(output=output)
        return Result(output=output, decision=id_, decision_generation=self.state_generation)

    def _feedback(self, request: Feedback, now_ms: int) -> Result:
        self._ledger.check_feedback(request, self._model_generation, now_ms)
        learn = self._held.decider.feedback
        output = self._changed(partial(learn, request.decision, request.arm, request.reward))
        self._ledger.complete(request)
        return Result(output=output)

    def _inspect(self) -> Inspection:
        output = self._changed(self._held.decider.inspect)
        return Inspection(summary={**self.summary(), "handler": output})

    def _state(self) -> State:
        state = self._held.state()
        return State(
            schema_version=self._schema_version,
            checksum=sha256(state).hexdigest(),
            state=state.hex(),
        )

    def _reset(self, request: Reset) -> ResetDone:
        if request.expected_generation != self.state_generation:
            raise Refused(RESET_DIFFERS)
        self._check_room()
        self._held.reset()
        self._ledger = self._ledger.renewed()
        self.state_generation += 1
        return ResetDone(reset=True)

    def _changed(self, call: Callable[[], Any], forgotten: Sequence[str] = ()) -> Any:
        """Let the decider do what changes its state, and move the generation; return its output."""
        self._check_room()
        output = self._held.sent(self._held.ask(call))
        if forgotten:
            self._held.ask(partial(self._held.decider.forget, forgotten))
        self.state_generation += 1
        return output

    def _check_room(self) -> None:
        if self.state_generation == _U64:
            raise Refused(OVERFLOW)

    # What it tells of itself

    def summary(self) -> dict[str, Any]:
        """
        Tell how it is, as JSON; nothing moves by it.

        The answer to `inspect` is this and, under `handler`, what the decider tells.

        Raises:
            Refused: The state is in doubt.
        """
        state = self._held.state()
        pending, completed = len(self._ledger.pending), len(self._ledger.completed)
        return {
            "candidateAvailable": False,
            "channel": "preview",
            "completedDecisions": completed,
            "health": self._health(pending, completed, len(state)),
            "lastError": self._held.fault,
            "modelGeneration": self._model_generation,
            "pendingDecisions": pending,
            "protocolVersion": API_VERSION,
            "resourceProfile": self._limits.to_json(),
            "resourceUtilization": {
                "completedDecisions": completed,
                "pendingDecisions": pending,
                "stateBytes": len(state),
            },
            "restartCount": self.restarts,
            "rollbackAvailable": False,
            "runtimeVersion": self._identity.version,
            "stateChecksum": sha256(state).hexdigest(),
            "stateGeneration": self.state_generation,
            "stateSchemaVersion": self._schema_version,
        }

    def _health(self, pending: int, completed: int, state_bytes: int) -> str:
        if self._held.fault is not None:
            return "failed_closed"
        limits = self._limits
        used = max(
            pending / limits.pending,
            completed / limits.completed,
            state_bytes / limits.state_bytes,
        )
        return "resource_pressure" if used >= _PRESSED else "healthy"

    # What outlives it

    def snapshot(self) -> bytes:
        """
        Return all that it knows, on one line without a line break.

        Raises:
            SnapshotError: It would be too large, or the state is in doubt.
        """
        try:
            state = self._held.state()
        except Refused as refused:
            raise SnapshotError(refused.refusal.message) from refused
        snapshot = Snapshot(
            schema_version=self._schema_version,
            generation=self.state_generation,
            state=state,
            pending=tuple(self._ledger.pending.values()),
            completed=tuple(self._ledger.completed.values()),
        )
        check_fit(snapshot, self._schema_version, self._limits)
        text = snapshot.write()
        check_size(text, self._limits)
        return text

    def restore(self, text: bytes) -> None:
        """
        Take over what a snapshot holds, in place of all that is known.

        Raises:
            SnapshotError: It cannot be taken over; nothing has changed.
        """
        check_size(text, self._limits)
        snapshot = read_snapshot(text)
        check_fit(snapshot, self._schema_version, self._limits)
        try:
            self._held.restore(snapshot.state)
        except DeciderError as error:
            raise SnapshotError("its state is none of this decider") from error
        self._ledger = self._ledger.renewed(snapshot.pending, snapshot.completed)
        self.state_generation = snapshot.generation
        self.restarts += 1
