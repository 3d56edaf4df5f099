"""Snapshots: what is written is read, and what was changed is refused."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.rill.ledger import Decision, Outcome
from ingot.rill.limits import ROOMY
from ingot.rill.snapshot import Snapshot, SnapshotError, plain, read_snapshot

WAITING = Decision(id='é"x', model_generation=0, state_generation=2, created_ms=124)
DONE = Decision(
    id="d",
    model_generation=0,
    state_generation=1,
    created_ms=123,
    outcome=Outcome(arm=3, reward=0.1, at_ms=9),
)
FULL = Snapshot(schema_version=1, generation=3, state=b"{}", pending=(WAITING,), completed=(DONE,))


def test_a_snapshot_is_written_as_the_source_does() -> None:
    """One line; what is not known of a decision that waits is left out."""
    head, _, tail = FULL.write().decode().partition(',"checksumSha256":"44136fa3')

    assert head == (
        '{"formatVersion":1,"handlerSnapshot":'
        '{"stateSchemaVersion":1,"stateGeneration":3,"state":[123,125]'
    )
    assert tail.partition("}")[2].rpartition(',"checksumSha256"')[0] == (
        ',"pendingDecisions":{"é\\"x":{"decisionId":"é\\"x","modelGeneration":0,'
        '"stateGeneration":2,"createdAtUnixMs":124}},'
        '"completedDecisions":{"d":{"decisionId":"d","modelGeneration":0,"stateGeneration":1,'
        '"createdAtUnixMs":123,"selectedArm":3,"reward":"0.1","outcomeTimeUnixMs":9}}'
    )


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
counts = st.integers(0, 2**64 - 1)
outcomes = st.builds(
    Outcome,
    arm=st.integers(0, 2**32 - 1),
    reward=st.floats(allow_nan=False, allow_infinity=False),
    at_ms=counts,
)
decisions = st.lists(
    st.builds(
        Decision,
        id=texts,
        model_generation=counts,
        state_generation=counts,
        created_ms=counts,
        outcome=st.none() | outcomes,
    ),
    max_size=4,
    unique_by=lambda one: one.id,
).map(lambda found: tuple(sorted(found, key=lambda one: one.id)))


@given(
    st.builds(
        Snapshot,
        schema_version=st.integers(0, 2**32 - 1),
        generation=counts,
        state=st.binary(max_size=40),
        pending=decisions,
        completed=decisions,
    )
)
def test_what_is_written_is_read(snapshot: Snapshot) -> None:
    """Decisions are written by the order of their ids."""
    assert read_snapshot(snapshot.write()) == snapshot


def test_white_space_and_order_do_not_count() -> None:
    """The checksum is over the text that is written, not the one that is read."""
    loose = json.dumps(json.loads(FULL.write()), indent=1, sort_keys=True)

    assert read_snapshot(loose.encode()) == FULL


def changed(place: str, value: Any) -> bytes:
    """The text of a snapshot in which one thing is another; *place* is `a/b/c`."""
    whole = json.loads(FULL.write())
    inner = whole
    *steps, last = place.split("/")
    for step in steps:
        inner = inner[step]
    inner[last] = value
    return json.dumps(whole).encode()


DAMAGE = [
    ("formatVersion", 2, "of format 2, and format 1 is read here"),
    ("more", 1, "unknown field `more`"),
    ("checksumSha256", "0" * 64, "not as it was written"),
    ("checksumSha256", None, "expected a string"),
    ("handlerSnapshot/checksumSha256", "0" * 64, "its state is not as it was written"),
    ("handlerSnapshot/state", [1, 256], "expected an array of bytes"),
    ("handlerSnapshot/state", [1, 2.0], "expected an array of bytes"),
    ("handlerSnapshot/state", "{}", "expected an array"),
    ("handlerSnapshot/state", [123, 126], "its state is not as it was written"),
    ("handlerSnapshot/stateGeneration", 4, "not as it was written"),
    ("handlerSnapshot/stateGeneration", -1, "an unsigned integer"),
    ("completedDecisions/d/reward", "0.2", "not as it was written"),
    ("completedDecisions/d/reward", "much", "expected a number in a string"),
    ("completedDecisions/d/selectedArm", 2**32, "32 bits"),
    ("completedDecisions/d/outcomeTimeUnixMs", None, "expected an unsigned integer"),
    ("completedDecisions/d/decisionId", "e", "under the id of another one"),
    ("completedDecisions/d/note", "", "unknown field `note`"),
    ("pendingDecisions", [], "expected an object"),
]


@pytest.mark.parametrize(("place", "value", "reason"), DAMAGE)
def test_a_snapshot_that_was_changed_is_refused(place: str, value: Any, reason: str) -> None:
    """Wherever it was."""
    with pytest.raises(SnapshotError, match=reason):
        read_snapshot(changed(place, value))


@given(st.integers(0, len(FULL.write()) - 1))
def test_a_snapshot_that_was_cut_is_refused(length: int) -> None:
    """Wherever it ends."""
    with pytest.raises(SnapshotError, match="no snapshot of a rill runtime"):
        read_snapshot(FULL.write()[:length])


def test_the_fullest_ledger_fits() -> None:
    """Under the limits of ingot's own runtimes no runtime dies of the size of its snapshot."""
    longest = Outcome(arm=2**32 - 1, reward=-5e-324, at_ms=2**64 - 1)
    full = [
        Decision(
            id=f"{number}".rjust(128, "\0"),
            model_generation=2**64 - 1,
            state_generation=2**64 - 1,
            created_ms=2**64 - 1,
            outcome=longest if number < ROOMY.completed else None,
        )
        for number in range(ROOMY.completed + ROOMY.pending)
    ]
    snapshot = Snapshot(
        schema_version=1,
        generation=2**64 - 1,
        state=b"",
        pending=tuple(full[ROOMY.completed :]),
        completed=tuple(full[: ROOMY.completed]),
    )

    # A byte of the state takes three digits and a comma at most.
    assert len(snapshot.write()) + 4 * ROOMY.state_bytes <= ROOMY.snapshot_bytes


REWARDS = [
    (0.0, "0"),
    (-0.0, "-0"),
    (1.0, "1"),
    (0.25, "0.25"),
    (1e-7, "0.0000001"),
    (1e16, "10000000000000000"),
    (-1.5e-5, "-0.000015"),
    (1e300, "1" + "0" * 300),
]


@pytest.mark.parametrize(("reward", "text"), REWARDS)
def test_a_reward_has_no_exponent(reward: float, text: str) -> None:
    """As Rust writes a float."""
    assert plain(reward) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_reward_keeps_its_value(reward: float) -> None:
    """All of its digits are there, in whatever size."""
    assert math.copysign(1, float(plain(reward))) == math.copysign(1, reward)
    assert Decimal(plain(reward)) == Decimal(repr(reward))
