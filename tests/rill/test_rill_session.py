"""The caller's side of the protocol, as plans: what is sent, and what becomes of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

import pytest

from ingot.rill.decider import Counters
from ingot.rill.errors import RillProcessError, RillRefusedError, RillRequestError
from ingot.rill.runtime import IDENTITY, Runtime
from ingot.rill.session import Again, Decision, Plan, Restart, Send, Session

T = TypeVar("T")
Fault = Callable[[dict[str, Any], Callable[[], dict[str, Any]]], dict[str, Any]]
"""Makes an answer of a request; it may let the runtime answer."""

DEAD = RillProcessError("runtime", "ended with code 1")


class Line:
    """
    A session and a runtime, back to back, with faults in between.

    Attributes:
        session: The caller's side.
        asked: Requests that went out, as JSON.
        waits: Seconds that were waited before each start.
        told: Restarts that were told.
        faults: Stand in for the answers to come, one each; None for the runtime's own.
    """

    def __init__(self, **options: Any) -> None:
        self.runtime = Runtime(None, Counters(), clock=lambda: 1_000, **options)
        self.asked: list[dict[str, Any]] = []
        self.waits: list[float] = []
        self.told: list[Restart] = []
        self.faults: list[Fault | None] = []
        self.session = Session(
            IDENTITY,
            "runtime",
            name="me",
            clock=lambda: 1_000,
            timeout=2.0,
            restarts=3,
            told=self.told.append,
        )

    def run(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Again):
                    self.waits.append(step.wait)
                    step = next(plan)
                    continue
                try:
                    answer = self._answer(step)
                except RillProcessError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as done:
            value: T = done.value
            return value

    def methods(self) -> list[str]:
        return [request["request"]["method"] for request in self.asked]

    def _answer(self, step: Send) -> bytes:
        request = json.loads(step.line)
        self.asked.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None:
            return self.runtime.answer(step.line)
        answer = fault(request, lambda: json.loads(self.runtime.answer(step.line)))
        return json.dumps(answer).encode()


def dies_before(request: Any, served: Any) -> Any:
    raise DEAD


def dies_after(request: Any, served: Any) -> Any:
    served()
    raise DEAD


def says(**fields: Any) -> Fault:
    """An answer with other fields than the runtime's own."""

    def fault(request: Any, served: Any) -> Any:
        return {**served(), **fields}

    return fault


def refuses(code: str, message: str = "no", *, retryable: bool = True, **fields: Any) -> Fault:
    """An error in place of what the runtime would answer."""

    def fault(request: Any, served: Any) -> Any:
        error = {"code": code, "message": message, "retryable": retryable}
        return {
            "requestId": request["requestId"],
            "apiVersion": 3,
            "runtimeIdentity": {"name": "r", "version": "1"},
            "modelGeneration": request["modelGeneration"],
            "stateGeneration": request["stateGeneration"],
            "response": {"kind": "error", "error": error},
            **fields,
        }

    return fault


@pytest.fixture(params=["v3", "preview"])
def line(request: pytest.FixtureRequest) -> Line:
    return Line(surface=request.param)


def test_a_handshake_comes_first_and_once(line: Line) -> None:
    """What it tells goes into each request that follows."""
    line.run(line.session.decide({"a": 1}, 7))
    line.run(line.session.inspect())

    assert line.methods() == ["handshake", "decide", "inspect"]
    first, decide, inspect = line.asked
    assert "capability" not in first
    assert decide["capability"] == "org.rill.preview.decide"
    assert inspect["capability"] == "org.rill.preview.inspect"
    assert decide["featureSchemaHash"] == "ab" * 32
    assert decide["request"] == {"method": "decide", "context": {"a": 1}, "deterministicSeed": 7}
    assert decide["deadlineUnixMs"] == 3_000
    assert [request["stateGeneration"] for request in line.asked] == [0, 0, 1]


def test_each_request_has_an_id_of_its_own(line: Line) -> None:
    """That of a decision is its request's."""
    decision = line.run(line.session.decide({}, None))
    line.run(line.session.feedback(decision.id, 1, 0.5))
    ids = [request["requestId"] for request in line.asked]

    assert len(set(ids)) == len(ids)
    assert decision.id == ids[1]
    assert line.asked[2]["request"]["decisionId"] == decision.id


def test_all_can_be_asked(line: Line) -> None:
    """Each of the eight methods, with what it answers."""
    run, session = line.run, line.session

    assert "org.rill.preview.decide" in run(session.handshake()).capabilities
    assert run(session.health()).healthy
    assert run(session.observe({"x": 1}))["stateCounters"]["observations"] == 1
    decision = run(session.decide({}, None))
    assert decision.output["stateCounters"]["decisions"] == 1
    assert run(session.feedback(decision.id, 0, 1))["stateCounters"]["feedback"] == 1
    assert run(session.inspect())["completedDecisions"] == 1
    assert json.loads(run(session.snapshot()))["feedback"] == 1
    run(session.reset())
    assert json.loads(run(session.snapshot()))["feedback"] == 0


def test_a_change_by_another_is_followed(line: Line) -> None:
    """The same request is sent again, for the state as it is now."""
    line.run(line.session.handshake())
    other = Line()
    other.runtime = line.runtime
    for _ in range(3):
        other.run(other.session.observe({}))
    decision = line.run(line.session.decide({}, None))

    sent = line.asked[1:]
    assert [request["stateGeneration"] for request in sent] == [0, 3]
    assert [request["requestId"] for request in sent] == [decision.id] * 2


def test_a_state_that_never_stands_still_is_given_up(line: Line) -> None:
    """So does a runtime that counts, and serves nothing."""
    moved = [refuses("stateMismatch", stateGeneration=number) for number in range(1, 258)]
    line.faults = [None, *moved[:-1], None, moved[-1]]
    with pytest.raises(RillRefusedError, match="stateMismatch"):
        line.run(line.session.observe(1))

    assert line.methods() == ["handshake", *["observe"] * 256, "handshake", "observe"]


def test_each_answer_tells_where_the_runtime_stands(line: Line) -> None:
    """Also an error, and also one of another request."""
    with pytest.raises(RillRefusedError):
        line.run(line.session.feedback("nobody's", 0, 1.0))
    line.faults = [says(stateGeneration=41)]
    line.run(line.session.health())
    line.faults = [refuses("internal")]
    with pytest.raises(RillRefusedError):
        line.run(line.session.observe({}))

    assert line.asked[-1]["stateGeneration"] == 41


def test_another_hash_or_model_is_asked_for_once(line: Line) -> None:
    """A new handshake tells what is right now; if that does not help, nothing does."""
    for code in ("stateMismatch", "incompatibleGeneration"):
        line.faults = [None] if not line.asked else []
        retryable = code == "stateMismatch"
        line.faults += [refuses(code, retryable=retryable)]
        line.run(line.session.observe({}))
        assert line.methods()[-3:] == ["observe", "handshake", "observe"]

        line.faults = [refuses(code, retryable=retryable), None, refuses(code, retryable=retryable)]
        with pytest.raises(RillRefusedError, match=code) as refused:
            line.run(line.session.observe({}))
        assert refused.value.retryable == retryable


def test_duplicate_and_unknown_decisions_are_final(line: Line) -> None:
    """Runtimes say that they are worth a retry, and they are not."""
    decision = line.run(line.session.decide({}, None))
    line.run(line.session.feedback(decision.id, 0, 1.0))
    for id_ in (decision.id, "nobody's"):
        with pytest.raises(RillRefusedError) as refused:
            line.run(line.session.feedback(id_, 0, 1.0))
        assert not refused.value.retryable

    line.faults = [refuses("internal", "decision id was already used")]
    with pytest.raises(RillRefusedError) as refused:
        line.run(line.session.decide({}, None))
    assert not refused.value.retryable


@pytest.mark.parametrize("dies", [dies_before, dies_after])
def test_what_was_being_asked_is_done_once(line: Line, dies: Fault) -> None:
    """Whether the runtime fell before or after it took the request."""
    run, session = line.run, line.session
    waiting = run(session.decide({}, None))
    for plan in (
        session.feedback(waiting.id, 0, 1.0),
        session.observe({}),
        session.inspect(),
        session.reset(),
        session.health(),
    ):
        line.faults = [dies]
        run(plan)
        assert line.methods()[-2:] != [line.methods()[-1]] * 2  # a handshake is in between

    counters = json.loads(run(session.snapshot()))
    assert counters["feedback"] == 0  # by the reset, before which it was 1
    assert [restart.lost for restart in line.told] == [0] * 5


@pytest.mark.parametrize(("dies", "observed"), [(dies_before, True), (dies_after, False)])
def test_an_event_is_taken_note_of_once(line: Line, dies: Fault, observed: bool) -> None:
    """Where the answer is lost, there is none; by the generation the change is there."""
    line.faults = [None, dies]
    output = line.run(line.session.observe({}))

    assert (output is not None) == observed
    assert json.loads(line.run(line.session.snapshot()))["observations"] == 1


@pytest.mark.parametrize(("dies", "learned"), [(dies_before, True), (dies_after, False)])
def test_a_feedback_is_learned_once(line: Line, dies: Fault, learned: bool) -> None:
    """That it is a duplicate tells that the first was taken."""
    decision = line.run(line.session.decide({}, None))
    line.faults = [dies]
    output = line.run(line.session.feedback(decision.id, 0, 1.0))

    assert (output is not None) == learned
    assert json.loads(line.run(line.session.snapshot()))["feedback"] == 1


def test_a_decision_whose_answer_is_lost_is_made_anew(line: Line) -> None:
    """Under another id: what was decided under the first nobody knows."""
    line.faults = [None, dies_after]
    decision = line.run(line.session.decide({}, None))
    ids = [r["requestId"] for r in line.asked if r["request"]["method"] == "decide"]

    assert decision.id == ids[1] != ids[0]
    assert line.run(line.session.inspect())["pendingDecisions"] == 2


def test_a_runtime_is_started_again_some_times_with_longer_waits(line: Line) -> None:
    """Then the request is given up, and the next one tries again."""
    line.faults = [dies_before] * 4
    with pytest.raises(RillProcessError, match="ended with code 1"):
        line.run(line.session.health())
    assert line.waits == [0.1, 0.2, 0.4, 0.0]
    assert line.told == []

    line.run(line.session.health())
    assert [restart.lost for restart in line.told] == [0]


def test_what_a_runtime_forgot_is_told(line: Line) -> None:
    """By the generation that it comes back with."""
    line.run(line.session.observe({}))
    line.run(line.session.observe({}))
    line.runtime = Line().runtime
    line.faults = [dies_before]
    line.run(line.session.observe({}))

    assert [str(restart) for restart in line.told] == [
        "runtime ended with code 1; it was started again, and has lost 2 changes"
    ]
    assert json.loads(line.run(line.session.snapshot()))["observations"] == 1


ODD: dict[str, tuple[Fault, str]] = {
    "no message": (lambda _, __: {}, "its answer cannot be read"),
    "to another request": (says(requestId="x"), "it answers another request"),
    "of another kind": (says(response={"kind": "reset", "reset": True}), "with `reset`"),
}


@pytest.mark.parametrize("what", ODD)
def test_an_answer_that_is_none_is_a_fall(line: Line, what: str) -> None:
    """What comes next would answer something else, so the runtime is started anew."""
    fault, reason = ODD[what]
    line.run(line.session.handshake())
    line.faults = [fault]
    line.run(line.session.health())

    assert line.waits == [0.1]
    assert reason in line.told[0].error.message


def test_a_state_that_came_over_damaged_is_refused(line: Line) -> None:
    """Its checksum is looked at."""
    body = {"kind": "snapshot", "stateSchemaVersion": 1, "stateChecksum": sha256(b"x").hexdigest()}
    for state, reason in (("00", "checksum"), ("x", "hexadecimal")):
        line.run(line.session.handshake())
        line.faults = [says(response={**body, "state": state})]
        with pytest.raises(RillProcessError, match=reason):
            line.run(line.session.snapshot())


def test_what_a_runtime_would_not_take_is_not_sent(line: Line) -> None:
    """It is too large, not finite, or out of its range."""
    run, session = line.run, line.session
    run(session.handshake())
    plans: list[tuple[Plan[Any], str]] = [
        (session.decide("x" * 2**20, None), "and a message has at most 1,048,576"),
        (session.decide({"a": float("nan")}, None), "JSON has no number for nan"),
        (session.observe({1, 2}), "JSON has no form for a set"),
        (session.feedback("d", 0, float("nan")), "reward must be finite"),
        (session.feedback("", 0, 1.0), "invalid decision id"),
        (session.feedback("d", -1, 1.0), "an arm is"),
        (session.feedback("d", "short", 1.0), "its number in `arms`, from 0 on, not 'short'"),
        (session.feedback("d", True, 1.0), "an arm is"),
        (session.feedback(Decision(id="d", output={}), 0, 1.0), "the id of a decision, not Dec"),
        (session.feedback("d", 0, "good"), "a reward is a number, not 'good'"),
        (session.decide({}, 2**64), "a seed is"),
    ]
    for plan, reason in plans:
        with pytest.raises(RillRequestError, match=reason):
            run(plan)

    assert line.methods() == ["handshake"]


def test_what_a_runtime_does_not_offer_is_not_sent() -> None:
    """And the error tells what it does offer."""
    line = Line(capabilities=["my.decide"])
    line.run(line.session.decide({}, None))
    with pytest.raises(RillRequestError, match=r"does not offer `reset`; it offers my\.decide"):
        line.run(line.session.reset())
