"""
The caller's side of the protocol: what to send next, as plans that others carry out.

A plan is a generator without I/O. It yields a `Send` and is sent the answer, read or not, or has a
`RillProcessError` thrown into it when there is none; it yields an `Again` where what is left of the
runtime is to be ended, for the next `Send` to start it anew; it returns what was asked for.

Each change moves the generation of the state, and each request names the one that it was made for.
So a plan is carried out to its end before the next one begins. After a lost answer, the generation
that the runtime comes back with tells what became of the request.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ingot._json import Unreadable
from ingot._record import record
from ingot._spelling import counted
from ingot.rill.errors import RillProcessError, RillRefusedError, RillRequestError
from ingot.rill.wire import Envelope, Response, read_response, write
from ingot.rill.wire_bodies import (
    Failed,
    Greeting,
    Inspection,
    ResetDone,
    Result,
    State,
    Vitals,
)
from ingot.rill.wire_codes import (
    DUPLICATE_DECISION,
    DUPLICATE_FEEDBACK,
    MODEL_DIFFERS,
    STATE_DIFFERS,
    UNKNOWN_DECISION,
)
from ingot.rill.wire_requests import (
    Decide,
    Feedback,
    Handshake,
    Health,
    Inspect,
    Observe,
    Reset,
    Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ingot.rill.wire_codes import Failure
    from ingot.rill.wire_parts import Identity, Surface
    from ingot.rill.wire_requests import Request

__all__ = ["Again", "Decision", "Plan", "Restart", "Send", "Session", "Step"]

B = TypeVar("B")
T = TypeVar("T")

_TRIES = 256
"""How often a request is sent while others change the state; each time, one of them got on."""

_ANYONE = "invalid-request"
"""The id in the answer to a request that cannot be read."""

_WAIT, _LONGEST = 0.1, 5.0
"""Seconds before a runtime is started anew: at first, and doubled each time, at most."""

_FINAL = frozenset(
    word
    for refusal in (DUPLICATE_DECISION, DUPLICATE_FEEDBACK, UNKNOWN_DECISION)
    for word in (refusal.message, refusal.preview or refusal.code)
)
"""Texts and codes of what no repetition changes, though runtimes say that it may."""


@record
class Send:
    """
    A line to send.

    Attributes:
        line: The request, without the end of its line.
    """

    line: bytes


@record
class Again:
    """
    The runtime is to be started anew.

    Attributes:
        wait: Seconds to wait before that.
    """

    wait: float


Step: TypeAlias = Send | Again
Plan: TypeAlias = "Generator[Step, bytes | Response, T]"


@record
class Decision:
    """
    What a runtime decided.

    Attributes:
        id: What its feedback names.
        output: The choice, any JSON.
    """

    id: str
    output: Any


@record
class Restart:
    """
    A runtime that had to be started again.

    Attributes:
        error: What became of it.
        lost: Changes of its state that it knew of before and does not know of any more.
    """

    error: RillProcessError
    lost: int

    def __str__(self) -> str:
        lost = counted(self.lost, "change") if self.lost else "nothing"
        return f"{self.error.message}; it was started again, and has lost {lost}"


class Session:
    """
    What a caller knows of a runtime, and the plans of what may be asked of it.

    Args:
        client: Who asks.
        runtime: What the runtime is called in messages.
        name: Begins the id of each request; no other session of the runtime has it.
        clock: Tells the time in Unix milliseconds.
        timeout: Seconds until an answer must be there, which requests tell; None: whenever.
        restarts: How often in a row the runtime is started anew before a request is given up.
        told: Is told of each time that it was.
    """

    def __init__(
        self,
        client: Identity,
        runtime: str,
        *,
        name: str,
        clock: Callable[[], int],
        timeout: float | None,
        restarts: int,
        told: Callable[[Restart], None],
    ) -> None:
        self._client = client
        self._runtime = runtime
        self._ids = (f"{name}-{number}" for number in count(1))
        self._clock = clock
        self._timeout = timeout
        self._restarts = restarts
        self._told = told
        self._greeting: Greeting | None = None
        self._surface: Surface = "preview"
        self._model = self._state = 0
        self._unanswered: int | None = None  # the generation that a request without answer was for
        self._failure: RillProcessError | None = None

    def handshake(self) -> Plan[Greeting]:
        """Ask who is there, though it may be known."""
        self._greeting = None
        return (yield from self._repeated(self._greeted))

    def health(self) -> Plan[Vitals]:
        """Ask whether all is well."""
        return (yield from self._repeated(lambda: self._asked(Health, Vitals)))

    def inspect(self) -> Plan[Any]:
        """Ask what was learned."""
        body = yield from self._repeated(lambda: self._asked(Inspect, Inspection))
        return body.summary

    def snapshot(self) -> Plan[bytes]:
        """Ask for the state of what decides."""
        body = yield from self._repeated(lambda: self._asked(Snapshot, State))
        try:
            state = bytes.fromhex(body.state)
        except ValueError:
            raise self._odd("its state is not hexadecimal") from None
        if sha256(state).hexdigest() != body.checksum:
            raise self._odd("the checksum of its state is another")
        return state

    def observe(self, event: Any) -> Plan[Any]:
        """Tell of an event; None where it was taken note of and the answer is lost."""
        observed = yield from self._once(lambda: self._asked(lambda: Observe(event=event), Result))
        return None if observed is None else observed.output

    def reset(self) -> Plan[None]:
        """Let it forget all that it learned, whatever that is by now."""
        yield from self._once(
            lambda: self._asked(lambda: Reset(expected_generation=self._state), ResetDone)
        )

    def decide(self, context: Any, seed: int | None) -> Plan[Decision]:
        """Let it choose."""
        if seed is not None and not 0 <= seed < 2**64:
            raise RillRequestError("a seed is an integer of 0 to 2**64 - 1")
        made = Decide(context=context, seed=seed)

        def attempt() -> Plan[Decision]:
            # A new id each time: where an answer was lost, the decision may be there, and what was
            # decided is not known. It gets no feedback, so that nothing is learned of it.
            decision = next(self._ids)
            result = yield from self._asked(lambda: made, Result, decision)
            return Decision(id=decision, output=result.output)

        return (yield from self._repeated(attempt))

    def feedback(self, decision: str, arm: int, reward: float) -> Plan[Any]:
        """Tell what came of a decision; None where it was learned and the answer is lost."""
        _check_feedback(decision, arm, reward)
        at = self._clock()

        def made() -> Feedback:
            return Feedback(
                decision=decision, arm=arm, reward=reward, outcome_ms=at, generation=self._model
            )

        def attempt() -> Plan[Any]:
            again = self._unanswered is not None
            try:
                return (yield from self._asked(made, Result)).output
            except RillRefusedError as error:
                if again and error.word == DUPLICATE_FEEDBACK.code:
                    return None
                raise

        return (yield from self._repeated(attempt))

    def _repeated(self, attempt: Callable[[], Plan[T]]) -> Plan[T]:
        """Carry out *attempt*, and again each time that the runtime falls."""
        self._unanswered = None
        crashes = 0
        while True:
            try:
                return (yield from attempt())
            except GeneratorExit:
                self._greeting = None  # interrupted: the runtime may have been ended
                raise
            except RillProcessError as error:
                self._greeting = None
                self._failure = error
                if crashes == self._restarts:
                    yield Again(wait=0.0)
                    raise
                yield Again(wait=min(_WAIT * 2**crashes, _LONGEST))
                crashes += 1

    def _once(self, attempt: Callable[[], Plan[T]]) -> Plan[T | None]:
        """Like `_repeated`; None where the state that a runtime comes back with has the change."""

        def unless_done() -> Plan[T | None]:
            yield from self._known()
            if self._unanswered is not None and self._state > self._unanswered:
                return None
            return (yield from attempt())

        return (yield from self._repeated(unless_done))

    def _known(self) -> Plan[Greeting]:
        return self._greeting if self._greeting is not None else (yield from self._greeted())

    def _greeted(self) -> Plan[Greeting]:
        before = self._state
        body = (yield from self._sent(Handshake(), next(self._ids))).body
        if isinstance(body, Failed):
            raise _refused(body.error)
        if not isinstance(body, Greeting):
            raise self._odd(f"it answers a handshake with `{body.kind}`")
        self._greeting = body
        failure, self._failure = self._failure, None
        if failure is not None:
            self._told(Restart(error=failure, lost=max(before - self._state, 0)))
        return body

    def _asked(self, make: Callable[[], Request], kind: type[B], id_: str | None = None) -> Plan[B]:
        """Send what is to be made for the state as it is now, until it is made for no other."""
        left, stale = _TRIES, True  # what the runtime said of itself may be, once
        while True:
            left -= 1
            yield from self._known()
            request, made_for = make(), self._state
            self._unanswered = made_for
            body = (yield from self._sent(request, id_ or next(self._ids))).body
            self._unanswered = None
            if isinstance(body, kind):
                return body
            if not isinstance(body, Failed):
                raise self._odd(f"it answers `{request.method}` with `{body.kind}`")
            code = body.error.code
            if code == STATE_DIFFERS.code and self._state != made_for and left > 0:
                continue
            if not stale or code not in (STATE_DIFFERS.code, MODEL_DIFFERS.code):
                raise _refused(body.error)
            stale, self._greeting = False, None

    def _sent(self, request: Request, id_: str) -> Plan[Response]:
        """Send *request*, and take over where the runtime says that it stands."""
        envelope = self._envelope(request, id_)
        problem = envelope.problem(0)
        if problem is not None:
            raise RillRequestError(f"`{request.method}` was not sent: {problem}")
        try:
            line = write(envelope)
        except (TypeError, ValueError) as error:
            raise RillRequestError(f"`{request.method}` was not sent: {error}") from error
        if len(line) > envelope.payload_limit:
            raise RillRequestError(
                f"`{request.method}` was not sent: it has {len(line):,} bytes, and a message has "
                f"at most {envelope.payload_limit:,}"
            )
        answer = yield Send(line=line)
        response = answer if isinstance(answer, Response) else self._read(request, answer)
        if response.request_id not in (id_, _ANYONE):
            raise self._odd("it answers another request")
        self._model, self._state = response.model_generation, response.state_generation
        return response

    def _envelope(self, request: Request, id_: str) -> Envelope:
        deadline = None
        if self._timeout is not None:
            deadline = self._clock() + round(self._timeout * 1000)
        greeting = None if isinstance(request, Handshake | Health) else self._greeting
        return Envelope(
            request_id=id_,
            client=self._client,
            capability=None if greeting is None else _capability(greeting, request.method),
            deadline_ms=deadline,
            schema_hash=None if greeting is None else greeting.schema_hash,
            model_generation=self._model,
            state_generation=self._state,
            request=request,
        )

    def _read(self, request: Request, answer: bytes) -> Response:
        """Read an answer; which surface it is on shows in that to a handshake."""
        surfaces: tuple[Surface, ...] = (self._surface,)
        if isinstance(request, Handshake):
            surfaces = ("preview", "v3")
        reason = ""
        for surface in surfaces:
            try:
                response = read_response(answer, surface)
            except Unreadable as error:
                reason = reason or error.reason
                continue
            self._surface = surface
            return response
        raise self._odd(f"its answer cannot be read ({reason})")

    def _odd(self, what: str) -> RillProcessError:
        return RillProcessError(self._runtime, f"does not speak the protocol: {what}")


def _check_feedback(decision: Any, arm: Any, reward: Any) -> None:
    if not isinstance(decision, str):
        raise RillRequestError(f"a feedback names the id of a decision, not {decision!r:.80}")
    if type(arm) is not int or not 0 <= arm < 2**32:
        raise RillRequestError(f"an arm is its number in `arms`, from 0 on, not {arm!r:.80}")
    if not hasattr(reward, "__float__"):
        raise RillRequestError(f"a reward is a number, not {reward!r:.80}")


def _capability(greeting: Greeting, method: str) -> str:
    """What the runtime calls its *method*."""
    for capability in greeting.capabilities:
        if capability.rpartition(".")[2] == method:
            return capability
    raise RillRequestError(
        f"the runtime does not offer `{method}`",
        advice=f"it offers {', '.join(greeting.capabilities)}",
    )


def _refused(failure: Failure) -> RillRefusedError:
    final = failure.message in _FINAL or failure.code in _FINAL
    return RillRefusedError(
        failure.code, failure.message, retryable=failure.retryable and not final
    )
