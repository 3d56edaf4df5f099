"""Events: frozen, without clocks, as JSON, with bounded reprs."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal

import pytest

from ingot import Usage, events
from ingot.events import Event

EVENTS: list[Event] = [
    events.TurnStarted(turn=1),
    events.TurnEnded(turn=1, usage=Usage(input_tokens=3), stop_reason="stop", calls=("f", "g")),
    events.RetryScheduled(turn=1, attempt=1, code="provider_timeout", delay=0.5),
    events.RepairStarted(turn=2, code="invalid_answer", problems=2),
    events.ToolCalled(turn=1, tool="f", call=1, arguments={"a": [1]}),
    events.ToolReturned(turn=1, tool="f", call=1, text="x", failed=True),
    events.ApprovalAsked(turn=1, tool="f", call=1, arguments={"a": 1}, effects=("network",)),
    events.ApprovalDecided(turn=1, tool="f", call=1, allowed=False),
    events.ConsultationAsked(turn=1, call=2, question="Which?", choices=("a", "b")),
    events.ConsultationAnswered(turn=1, call=2, answer="a"),
    events.BudgetSpent(turn=1, turns=1, tokens=10, cost=Decimal("0.000012")),
    events.Answered(turn=1, model="openai/m", usage=Usage(output_tokens=1)),
    events.Failed(turn=1, code="budget", message="it is spent"),
]


def test_each_event_is_shown_here() -> None:
    """The table has all there are."""
    assert {type(event).__name__ for event in EVENTS} | {"Event"} == set(events.__all__)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_is_a_frozen_value(event: Event) -> None:
    """It is compared, hashed and pickled."""
    assert event == pickle.loads(pickle.dumps(event))
    assert hash(event) == hash(pickle.loads(pickle.dumps(event)))
    with pytest.raises(FrozenInstanceError):
        event.turn = 2  # type: ignore[misc]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_is_json(event: Event) -> None:
    """Its kind, which is its class, and its attributes."""
    told = event.to_dict()

    assert told == json.loads(json.dumps(told))
    assert ["kind", *(each.name for each in fields(event))] == list(told)
    assert told["kind"].replace("_", "") == type(event).__name__.lower()


def test_numbers_keep_their_digits() -> None:
    """A cost is a text."""
    assert (
        "0.000012"
        == events.BudgetSpent(turn=1, turns=1, tokens=1, cost=Decimal("0.000012")).to_dict()["cost"]
    )


def test_chance_tells_no_events_apart() -> None:
    """A wait has some in it."""
    one, other = (
        events.RetryScheduled(turn=1, attempt=1, code="c", delay=delay) for delay in (0.1, 0.2)
    )

    assert one == other


def test_a_repr_is_short() -> None:
    """However long a result is; the event has it whole."""
    event = events.ToolReturned(turn=1, tool="f", call=1, text="x" * 10_000)

    assert len(repr(event)) < 300
    assert 10_000 == len(event.to_dict()["text"])


def test_the_module_offers_events_alone() -> None:
    """A completer shows no imports of its own."""
    assert [name for name in dir(events) if not name.startswith("__")] == sorted(events.__all__)
