"""The ledger of decisions: who waits, who is done, and who is forgotten."""

from __future__ import annotations

import pytest
from rill_kit import feedback

from ingot.rill.ledger import Decision, Ledger
from ingot.rill.limits import Limits
from ingot.rill.wire_codes import Refused

SMALL = Limits(pending=2, completed=2)


def decision(id_: str, generation: int, created_ms: int = 0) -> Decision:
    return Decision(id=id_, model_generation=0, state_generation=generation, created_ms=created_ms)


def taken(ledger: Ledger, id_: str) -> str:
    """What comes of a feedback for *id_*."""
    try:
        ledger.check_feedback(feedback(id_), 0, 0)
    except Refused as refused:
        return refused.refusal.message
    ledger.complete(feedback(id_))
    return "taken"


def test_a_decision_waits_and_is_done() -> None:
    """Its feedback is kept with it."""
    ledger = Ledger(SMALL, "never", None)
    ledger.add(decision("a", 1))

    assert taken(ledger, "b") == "decision id is not pending"
    assert taken(ledger, "a") == "taken"
    assert taken(ledger, "a") == "feedback was already applied"
    assert ledger.pending == {}
    assert ledger.completed["a"].outcome is not None
    assert ledger.completed["a"].outcome.reward == 0.5


def test_an_id_is_used_once() -> None:
    """By a decision that waits, or one that is done."""
    ledger = Ledger(SMALL, "never", None)
    ledger.add(decision("a", 1))
    ledger.add(decision("b", 2))
    ledger.complete(feedback("a"))

    for used in "ab":
        with pytest.raises(Refused, match="already used"):
            ledger.check_new(used, 0)
    ledger.check_new("c", 0)


def test_the_one_that_was_decided_first_is_forgotten() -> None:
    """In whatever order the feedback came, so that a restored ledger forgets the same."""
    ledger = Ledger(SMALL, "oldest-completed", None)
    for generation, id_ in enumerate("abc", 1):
        ledger.add(decision(id_, generation))
    for id_ in "cab":
        ledger.complete(feedback(id_))

    assert sorted(ledger.completed) == ["b", "c"]
    in_other_order = tuple(sorted(ledger.completed.values(), key=lambda one: -one.created_ms))
    again = ledger.renewed((decision("d", 4),), in_other_order)
    again.complete(feedback("d"))
    assert sorted(again.completed) == ["c", "d"]


def test_overdue_decisions_stand_first() -> None:
    """After their time, not at it; where the clock was set back, behind those that are not."""
    ledger = Ledger(Limits(), "never", 10)
    for generation, (id_, at) in enumerate([("a", 0), ("b", 5), ("c", 20), ("d", 1)]):
        ledger.add(decision(id_, generation, at))

    assert ledger.overdue(10) == []
    assert ledger.overdue(11) == ["a"]
    assert ledger.overdue(16) == ["a", "b"]
    assert ledger.overdue(31) == ["a", "b", "c", "d"]
    ledger.drop(["a", "b"])
    assert list(ledger.pending) == ["c", "d"]


def test_a_decision_of_a_clock_that_was_ahead_is_overdue() -> None:
    """Those after it would wait as long as the clock was wrong, and fill the ledger."""
    ledger = Ledger(Limits(), "never", 10)
    ledger.add(decision("a", 0, 1_000_000))
    ledger.add(decision("b", 1, 0))

    assert ledger.overdue(11) == ["a", "b"]


def test_room_is_counted_without_those_that_are_dropped() -> None:
    """A decision is refused only if there is none once the overdue ones are gone."""
    ledger = Ledger(SMALL, "never", 10)
    ledger.add(decision("a", 1))
    ledger.add(decision("b", 2))

    with pytest.raises(Refused, match="pending decision capacity"):
        ledger.check_new("c", 0)
    ledger.check_new("c", 1)


@pytest.mark.slow
def test_a_million_decisions_leave_a_full_ledger() -> None:
    """And no more."""
    ledger = Ledger(Limits(), "oldest-completed", 1000)
    for number in range(1_000_000):
        overdue = ledger.overdue(number)
        ledger.check_new(str(number), len(overdue))
        ledger.drop(overdue)
        ledger.add(decision(str(number), number, number))
        if number % 3:
            ledger.complete(feedback(str(number)))

    assert len(ledger.completed) == 4096
    assert len(ledger.pending) <= 1001
