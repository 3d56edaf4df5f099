"""A runtime without its process: what it serves, what it refuses, and what it never does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rill_kit import Caller, engine_of, feedback

from ingot.rill.decider import Counters, DeciderError
from ingot.rill.limits import Limits
from ingot.rill.snapshot import SnapshotError
from ingot.rill.wire_parts import Identity
from ingot.rill.wire_requests import (
    Decide,
    Feedback,
    Handshake,
    Health,
    Inspect,
    Observe,
    Request,
    Reset,
    Snapshot,
)

SMALL = Limits(pending=2, completed=2)
HOUR = 3_600_000


# The generation of the state


MOVES: list[tuple[Request, str, int]] = [
    (Handshake(), "handshake", 0),
    (Health(), "health", 0),
    (Snapshot(), "snapshot", 0),
    (Observe(event=1), "result", 1),
    (Decide(context=1), "result", 2),
    (feedback("4"), "result", 3),
    (Inspect(), "inspection", 4),
    (Reset(expected_generation=4), "reset", 5),
]


def test_the_generation_moves_with_what_changes_the_state() -> None:
    """Looking at it is free, but for an inspection, which the decider counts."""
    caller = Caller(engine_of())
    moves = [
        (request, caller.word(request, str(number)), caller.engine.state_generation)
        for number, (request, _, _) in enumerate(MOVES)
    ]

    assert moves == MOVES


def test_who_is_behind_is_told_where_the_runtime_stands() -> None:
    """The generation is compared and swapped: a caller that lost the race asks again with it."""
    caller = Caller(engine_of())
    caller.observe()

    assert caller.word(Observe(event=1), state_generation=0) == "stateMismatch"
    assert caller.observe() == "result"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"capability": "nope", "schema_hash": "cd" * 32}, "unsupportedCapability"),
    ({"schema_hash": "cd" * 32, "model_generation": 9}, "stateMismatch"),
    ({"model_generation": 9, "state_generation": 9}, "incompatibleGeneration"),
    ({"state_generation": 9}, "stateMismatch"),
    ({"deadline_ms": 999, "capability": "nope"}, "expiredRequest"),
    ({"deadline_ms": 1000}, "result"),
]


@pytest.mark.parametrize(("changed", "word"), REFUSED)
def test_checks_come_in_the_order_of_the_source(changed: dict[str, Any], word: str) -> None:
    """The first that fails is told; the time is the caller's."""
    caller = Caller(engine_of(), now=1000)

    assert caller.word(Observe(event=1), **changed) == word


def test_a_feedback_is_for_the_model_that_decided() -> None:
    """By its own word, and by what is remembered of the decision, which a restart may outdate."""
    old, new = Caller(engine_of()), Caller(engine_of(model_generation=1))
    old.decide("d")
    new.engine.restore(old.engine.snapshot())

    assert old.word(feedback("d", generation=1)) == "incompatibleGeneration"
    assert new.word(feedback("d", generation=1), model_generation=1) == "staleFeedback"


# Room


def test_a_full_ledger_refuses() -> None:
    """As the source system: until there is feedback, and then until a reset."""
    caller = Caller(engine_of(limits=SMALL))
    decided = [caller.decide(id_) for id_ in "abc"]
    rewarded = [caller.word(feedback(id_)) for id_ in "ab"]

    assert decided == ["result", "result", "capacityExceeded"]
    assert rewarded == ["result", "result"]
    assert [caller.decide("c"), caller.word(feedback("c"))] == ["result", "internal"]
    assert caller.word(Reset(expected_generation=caller.engine.state_generation)) == "reset"
    assert caller.decide("a") == "result"


def test_the_oldest_decision_makes_room() -> None:
    """Where that is asked for: a second feedback for it is one for an unknown decision."""
    caller = Caller(engine_of(limits=SMALL, eviction="oldest-completed"))
    for id_ in "abc":
        caller.decide(id_)
        caller.word(feedback(id_))

    assert caller.word(feedback("a")) == "unknownDecision"
    assert caller.word(feedback("b")) == "duplicateFeedback"
    assert caller.decide("a") == "result"


class Remembering(Counters):
    """Keeps the ids of its decisions."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[str] = []

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        self.known.append(decision)
        return super().decide(decision, context, seed)

    def forget(self, decisions: Any) -> None:
        self.known = [known for known in self.known if known not in decisions]


def test_a_decision_that_waits_too_long_makes_room() -> None:
    """It counts as one without feedback, and the decider is told to let go of it."""
    decider = Remembering()
    caller = Caller(engine_of(decider, limits=SMALL, pending_ms=HOUR), now=0)
    caller.decide("a")
    caller.decide("b")
    caller.now = HOUR

    assert caller.decide("c") == "capacityExceeded"
    caller.now = HOUR + 1
    assert caller.word(feedback("a")) == "unknownDecision"
    assert caller.decide("c") == "result"
    assert decider.known == ["c"]


def test_waiting_has_no_end_unless_it_is_given() -> None:
    """As the source system."""
    caller = Caller(engine_of(), now=0)
    caller.decide("a")
    caller.now = 2**50

    assert caller.word(feedback("a")) == "result"


def test_what_it_holds_is_bounded() -> None:
    """However many decisions there are, with feedback or without."""
    decider = Remembering()
    limits = Limits(pending=20, completed=30, snapshot_bytes=20_000)
    options: dict[str, Any] = {"eviction": "oldest-completed", "pending_ms": 50}
    caller = Caller(engine_of(decider, limits=limits, **options))
    for number in range(500):
        caller.now += 10
        assert caller.decide(str(number)) == "result"
        if number % 2:
            assert caller.word(feedback(str(number))) == "result"
    summary = caller.engine.summary()

    assert summary["completedDecisions"] == 30
    assert summary["pendingDecisions"] <= 6
    assert len(caller.engine.snapshot()) < 20_000


def test_generations_end() -> None:
    """At 64 bits, with an error and not with an overflow."""
    caller = Caller(engine_of())
    caller.engine.state_generation = 2**64 - 1

    assert caller.observe() == "invalidState"
    assert caller.word(Reset(expected_generation=2**64 - 1)) == "invalidState"
    assert caller.word(Snapshot()) == "snapshot"


# Deciders that fail


class Failing(Counters):
    """Raises, or returns, what an event says."""

    def __init__(self, **told: Any) -> None:
        super().__init__()
        self._told = told

    def observe(self, event: Any) -> Any:
        super().observe(event)
        told = self._told.get(event)
        if isinstance(told, Exception):
            raise told
        return told


def test_a_decider_may_refuse() -> None:
    """Then it is as it was and is asked again, while the runtime says that it is not well."""
    caller = Caller(engine_of(Failing(bad=DeciderError("invalidEvent"))))

    assert caller.observe("bad") == "invalidEnvelope"
    assert caller.observe("good") == "result"
    assert caller.ask(Health()) == {
        "kind": "health",
        "healthy": False,
        "status": "failed_closed",
        "reasonCodes": ["handler rejected the event"],
    }


@pytest.mark.parametrize(
    ("told", "word"),
    [
        (KeyError("x"), "handlerTrap"),
        ({1: 2}, "handlerInvalidOutput"),
        (float("nan"), "handlerInvalidOutput"),
        ("\ud800", "handlerInvalidOutput"),
        ("x" * 2**20, "handlerOutputTooLarge"),
    ],
)
def test_a_decider_that_broke_off_is_asked_nothing_more(told: Any, word: str) -> None:
    """Its state may be half changed: nothing is built on it, and it outlives nothing."""
    caller = Caller(engine_of(Failing(bad=told)))

    assert caller.observe("bad") == word
    assert caller.observe("good") == "invalidState"
    assert caller.word(Snapshot()) == "invalidState"
    with pytest.raises(SnapshotError, match="broke off half way"):
        caller.engine.snapshot()
    assert caller.engine.state_generation == 0
    assert caller.word(Reset(expected_generation=0)) == "reset"
    assert caller.observe("good") == "result"


def test_an_output_is_no_deeper_than_its_reader_goes() -> None:
    """A message may have 127 levels, a few of which are around the output."""
    deep: Any = 1
    for _ in range(121):
        deep = [deep]
    caller = Caller(engine_of(Failing(deep=deep, less=deep[0])))

    assert caller.observe("less") == "result"
    assert caller.observe("deep") == "handlerInvalidOutput"


# What outlives it


def test_a_restored_runtime_goes_on() -> None:
    """The state, the ledger and the generation; a reset goes back to the beginning."""
    caller = Caller(engine_of())
    caller.decide("a")
    caller.decide("b")
    caller.word(feedback("a"))
    other = Caller(engine_of())
    other.engine.restore(caller.engine.snapshot())

    assert other.engine.snapshot() == caller.engine.snapshot()
    assert other.word(feedback("a")) == "duplicateFeedback"
    assert other.word(feedback("b")) == "result"
    assert other.engine.summary()["restartCount"] == 1
    assert other.word(Reset(expected_generation=4)) == "reset"
    assert other.engine.summary()["stateChecksum"] == engine_of().summary()["stateChecksum"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"limits": Limits(pending=1)}, "more decisions than there is room for"),
        ({"limits": Limits(snapshot_bytes=600)}, "larger than 600 bytes"),
        ({"state_schema_version": 2}, "of version 1, and version 2 is read here"),
    ],
)
def test_what_does_not_fit_is_not_restored(options: dict[str, Any], reason: str) -> None:
    """And nothing changes by it."""
    caller = Caller(engine_of())
    caller.decide("a")
    caller.decide("b")
    other = engine_of(**options)
    before = other.summary()

    with pytest.raises(SnapshotError, match=reason):
        other.restore(caller.engine.snapshot())
    assert other.summary() == before


class Foreign(Counters):
    """Takes no state but its own, or breaks off."""

    def __init__(self, raised: Exception) -> None:
        super().__init__()
        self._raised = raised

    def load(self, state: Any) -> None:
        raise self._raised


@pytest.mark.parametrize("raised", [DeciderError("invalidState"), KeyError("weights")])
def test_the_state_of_another_decider_is_not_restored(raised: Exception) -> None:
    """The decider says so, or it breaks off at it."""
    with pytest.raises(SnapshotError, match="none of this decider"):
        engine_of(Foreign(raised)).restore(engine_of().snapshot())


ids = st.sampled_from("abcdefgh")
requests = st.one_of(
    st.builds(Decide, context=st.integers(0, 3)),
    st.builds(
        Feedback,
        decision=ids,
        arm=st.integers(0, 3),
        reward=st.floats(0, 1),
        outcome_ms=st.just(5),
        generation=st.just(0),
    ),
    st.builds(Observe, event=st.integers(0, 3)),
    st.just(Inspect()),
    st.just(Health()),
)


@given(st.lists(st.tuples(ids, requests, st.integers(0, 9)), max_size=60), st.integers(0, 60))
def test_lines_that_moved_the_generation_repeat_what_happened(
    told: list[tuple[str, Any, int]], cut: int
) -> None:
    """From any snapshot on: what was refused, evicted or overdue is so again."""
    options: dict[str, Any] = {
        "limits": Limits(pending=3, completed=3),
        "eviction": "oldest-completed",
        "pending_ms": 20,
    }
    caller = Caller(engine_of(**options))
    snapshot = caller.engine.snapshot()
    for number, (id_, request, later) in enumerate(told):
        if number == cut:
            snapshot = caller.engine.snapshot()
            caller.sent.clear()
        caller.now += later
        caller.ask(request, id_)
    other = engine_of(**options)
    other.restore(snapshot)
    for now, line in caller.sent:
        other.answer(line, now)

    assert other.snapshot() == caller.engine.snapshot()


# Any line

VALID = json.dumps(
    {
        "requestId": "r",
        "apiVersion": 3,
        "clientIdentity": {"name": "n", "version": "1"},
        "modelGeneration": 0,
        "stateGeneration": 0,
        "payloadLimit": 4096,
        "request": {"method": "observe", "event": [1, "a", {}]},
    }
).encode()
"""A request without a capability, which is refused."""

cut_lines = st.builds(
    lambda at, length, put: VALID[:at] + put + VALID[at + length :],
    st.integers(0, len(VALID)),
    st.integers(0, 20),
    st.binary(max_size=6) | st.sampled_from([b"1e999", b"-0", b"null", b"\\ud800", b"[" * 200]),
)


@given(st.binary(max_size=200) | cut_lines)
def test_any_line_is_answered_with_an_error(line: bytes) -> None:
    """And changes nothing, whatever is in it."""
    caller = Caller(engine_of())
    before = caller.engine.snapshot()
    answer = json.loads(caller.engine.answer(line, 0))

    assert answer["response"]["kind"] in ("error", "health", "handshake")
    assert caller.engine.snapshot() == before


@pytest.mark.parametrize("size", [2**20, 2**20 + 1])
def test_a_line_that_is_too_long_is_not_read(size: int) -> None:
    """It is answered, and the runtime lives."""
    engine = engine_of()
    code = json.loads(engine.answer(b" " * size, 0))["response"]["error"]["code"]

    assert code == ("payloadTooLarge" if size > 2**20 else "invalidJson")


@pytest.mark.parametrize(
    "option",
    [
        {"capabilities": ()},
        {"capabilities": ("a", "a")},
        {"feature_schema_hash": "AB" * 32},
        {"state_schema_version": 0},
        {"model_generation": -1},
        {"limits": Limits(pending=0)},
        {"limits": Limits(state_bytes=5)},
    ],
)
def test_a_runtime_is_not_made_of_what_the_protocol_has_no_room_for(option: Any) -> None:
    """The one who makes it is told."""
    with pytest.raises(ValueError, match="capabilities|hash|version|generation|limit"):
        engine_of(**option)


def test_a_runtime_has_a_name() -> None:
    """It is in each answer."""
    engine = engine_of()
    answer = json.loads(engine.answer(b"", 0))

    assert answer["runtimeIdentity"] == Identity(name="rt", version="9").to_json()
    assert answer["requestId"] == "invalid-request"
