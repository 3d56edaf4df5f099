"""What decides for a router: plain strategies, and the counts around whatever decides."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ingot.rill.decider import Counters, DeciderError
from ingot.rill.deciders import decider_of
from ingot.rill.learner import learners
from ingot.rill.strategies import STRATEGIES, Strategy
from ingot.rill.tally import COUNTS, Tallied

ARMS = ["a/1", "b/2", "c/3"]


def context(*allowed: int, **more: Any) -> dict[str, Any]:
    return {"arms": ARMS, "allowed": list(allowed) or [0, 1, 2], "features": {}, **more}


def chosen(decider: Any, *contexts: Any) -> list[int]:
    return [decider.decide(f"d{n}", each, None)["arm"] for n, each in enumerate(contexts)]


def test_fallback_is_the_first_that_is_left() -> None:
    """In the order in which they were given."""
    assert chosen(Strategy("fallback"), context(), context(1, 2), context()) == [0, 1, 0]


def test_round_robin_goes_on_after_the_last_one() -> None:
    """Also where some are left out."""
    contexts = context(), context(), context(0, 2), context(), context(0, 1)

    assert chosen(Strategy("round_robin"), *contexts) == [0, 1, 2, 0, 1]


def test_cheapest_is_by_cost() -> None:
    """One whose cost is not known comes last; equal ones in their order."""
    costs = {"costs": [0.2, None, 0.1]}
    decider = Strategy("cheapest")

    assert chosen(decider, context(**costs), context(0, 1, **costs), context(1, **costs)) == [
        2,
        0,
        1,
    ]
    assert decider.decide("d", context(**costs), None)["scores"] == [-0.2, None, -0.1]


@pytest.mark.parametrize("name", [*STRATEGIES, *learners()])
def test_what_decides_is_as_it_was_when_its_state_is_taken_over(name: str) -> None:
    """The state is JSON, and the same calls then give the same choices and the same state."""
    first, second = decider_of(name), decider_of(name)
    asked = context(costs=[2.0, 1.0, None])
    for n in range(5):
        arm = first.decide(f"d{n}", asked, n)["arm"]
        first.feedback(f"d{n}", arm, 0.5)
        first.observe(event(arm, 3, asks=1, seconds=0.1))
    second.load(json.loads(json.dumps(first.dump())))

    after = [decider.decide("e", asked, 9) for decider in (first, second)]
    assert after[0] == after[1]
    assert first.dump() == second.dump()


def event(arm: int, day: int, **counts: float) -> dict[str, Any]:
    return {"arm": arm, "day": day, **counts}


def tallied() -> Tallied:
    decider = Tallied(Strategy("fallback"))
    decider.decide("d", context(), None)
    return decider


def test_counts_are_added_up_by_model_and_day() -> None:
    """What an event does not name is nothing."""
    decider = tallied()

    decider.observe(event(1, 7, asks=1, valid=1))
    decider.observe(event(1, 8, asks=1, cost=0.5))

    told = decider.inspect()
    zeros = dict.fromkeys(COUNTS, 0)
    assert told["arms"] == ARMS
    assert told["sums"] == {"1": [*{**zeros, "asks": 2, "valid": 1, "cost": 0.5}.values()]}
    assert told["days"]["8"] == {"1": [*{**zeros, "asks": 1, "cost": 0.5}.values()]}


def test_days_are_bounded() -> None:
    """The sums go on when the oldest day is dropped."""
    decider = tallied()
    for day in range(100):
        decider.observe(event(0, day, asks=1))

    told = decider.inspect()
    assert [*told["days"]] == [str(day) for day in range(70, 100)]
    assert told["sums"]["0"][0] == 100


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        [event(0, 1, asks=1)],
        event(3, 1),
        event(-1, 1),
        {"arm": 0},
        event(0, 1, asks=1, valid="many"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_event_changes_nothing(told: Any) -> None:
    """Nor does one that is right in part."""
    decider = tallied()
    before = decider.dump()

    with pytest.raises(DeciderError, match="invalidEvent"):
        decider.observe(told)

    assert decider.dump() == before


def test_other_models_are_refused() -> None:
    """What was learned of the first one is not taken for another's."""
    decider = tallied()

    with pytest.raises(DeciderError, match="invalidEvent"):
        decider.decide("d", {**context(), "arms": ["a/1", "c/3", "b/2"]}, None)


@pytest.mark.parametrize("asked", [None, {}, {"arms": ARMS, "allowed": ["x"]}])
def test_what_is_no_question_is_refused(asked: Any) -> None:
    """Before anything changes."""
    for name in STRATEGIES:
        decider = decider_of(name)
        before = decider.dump()
        with pytest.raises(DeciderError, match="invalidEvent"):
            decider.decide("d", asked, None)
        assert decider.dump() == before


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"arms": ARMS, "sums": {}, "days": {}},
        {"arms": 1, "sums": {}, "days": {}, "decider": {}},
        {"arms": ARMS, "sums": {"0": [1]}, "days": {}, "decider": {}},
        {"arms": ARMS, "sums": {"0": ["x"] * len(COUNTS)}, "days": {}, "decider": {}},
        {"arms": ARMS, "sums": {}, "days": {"monday": {}}, "decider": {}},
    ],
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    """And what was there stays."""
    decider = Tallied(Counters())
    before = decider.dump()

    with pytest.raises(DeciderError, match="invalidState"):
        decider.load(state)

    assert decider.dump() == before


def test_a_strategy_goes_on_after_what_another_one_chose() -> None:
    """Its state is the last choice, and nothing else is."""
    decider = Strategy("round_robin")
    decider.load({**Strategy("fallback").dump(), "last": 1})

    assert chosen(decider, context()) == [2]
    for state in (None, {}, {"last": "x"}, {"decisions": 1}):
        with pytest.raises(DeciderError, match="invalidState"):
            decider.load(state)


def test_a_learner_needs_numpy() -> None:
    """Without it, the way out is named; a plain strategy does without."""
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from ingot.rill.deciders import decider_of\n"
        "decider_of('fallback')\n"
        "try: decider_of('linucb')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("NotConfiguredError the learner linucb computes with numpy")
    assert "ingot-ask[router]" in done.stdout
