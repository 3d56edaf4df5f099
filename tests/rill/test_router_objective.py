"""What an answer is worth."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot import Objective


def test_a_part_is_a_half_where_it_is_said_to_be() -> None:
    """At `dear` dollars and at `slow` seconds; at three times that, a quarter."""
    cost = Objective(validity=0, cost=1, latency=0, dear=2)
    latency = Objective(validity=0, cost=0, latency=1, slow=3)

    assert [cost.reward(1, cost=c, seconds=9) for c in (0, 2, 6)] == [1, 0.5, 0.25]
    assert [latency.reward(1, cost=9, seconds=s) for s in (0, 3, 9)] == [1, 0.5, 0.25]


def test_parts_are_weighed() -> None:
    """The reward is their mean."""
    objective = Objective(validity=2, cost=1, latency=1, dear=1, slow=1)

    assert objective.reward(0.5, cost=0, seconds=1) == (2 * 0.5 + 1 + 0.5) / 4


def test_an_unknown_cost_is_left_out() -> None:
    """It speaks neither for a model nor against it."""
    assert Objective(validity=1, cost=1, latency=0).reward(0.5, cost=None, seconds=0) == 0.5
    assert Objective(validity=0, cost=1, latency=0).reward(0.5, cost=None, seconds=0) == 0.5


def test_what_is_no_answer_earns_nothing() -> None:
    """However cheap it was."""
    assert Objective(validity=0.1, cost=9, latency=9).reward(0, cost=0, seconds=0) == 0


_amounts = st.floats(0, 1e9)


@given(_amounts, _amounts, _amounts, st.floats(0, 1), st.none() | _amounts, _amounts)
def test_a_reward_is_from_0_to_1(
    validity: float, cost: float, latency: float, right: float, paid: float | None, seconds: float
) -> None:
    """For whatever weights, and whatever came."""
    if validity + cost + latency == 0:
        return
    objective = Objective(validity=validity, cost=cost, latency=latency)

    assert 0 <= objective.reward(right, cost=paid, seconds=seconds) <= 1 + 1e-9


@pytest.mark.parametrize(
    "given",
    [
        {"validity": -1},
        {"validity": float("nan")},
        {"validity": 0, "cost": 0, "latency": 0},
        {"dear": 0},
        {"slow": float("inf")},
    ],
)
def test_what_is_no_objective(given: Any) -> None:
    """It is refused when it is made."""
    with pytest.raises(ValueError, match="Objective"):
        Objective(**given)


def test_it_reads_as_the_key_of_a_recording_says_it() -> None:
    """Whole numbers without a point, so that `1` and `1.0` are one."""
    assert str(Objective(validity=1.0)) == str(Objective(validity=1))
    assert str(Objective()) == "validity 1, cost 0.2 (dear 0.01), latency 0.1 (slow 5)"
