"""The learners as deciders: what they choose, remember, forget, and learn when models change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import MODELS, Earned, World, recovery, regret, routed

from ingot.rill.decider import DeciderError
from ingot.rill.learner_linear import Linear, linucb, thompson

BOTH = pytest.mark.parametrize("make", [linucb, thompson])
ARMS = ["a", "b", "c"]
STATE_BYTES = 2**18
"""What the source system lets a state be."""


def context(*allowed: int, **features: Any) -> dict[str, Any]:
    return {"arms": ARMS, "allowed": list(allowed) or [0, 1, 2], "features": features}


def taught(decider: Linear, rounds: int = 60) -> Linear:
    """Let it see that `b` is good at German and `c` at French, and `a` at nothing."""
    worth = {"de": (0.1, 0.9, 0.2), "fr": (0.1, 0.2, 0.9)}
    for n in range(rounds):
        language = ("de", "fr")[n % 2]
        arm = decider.decide(f"t{n}", context(language=language), n)["arm"]
        decider.feedback(f"t{n}", arm, worth[language][arm])
    return decider


# Learning


@BOTH
def test_each_arm_is_tried_before_any_is_compared(make: Any) -> None:
    """In turn, also when no reward has come yet, and an arm that joins later too."""
    decider = make()

    assert [decider.decide(f"d{n}", context(), n)["arm"] for n in range(6)] == [0, 1, 2] * 2
    joined = {**context(0, 1, 2, 3), "arms": [*ARMS, "d"]}
    assert [decider.decide(f"e{n}", joined, n)["arm"] for n in range(2)] == [3, 3]


@BOTH
def test_it_learns_which_arm_is_good_at_what(make: Any) -> None:
    """The features decide."""
    decider = taught(make())

    told = [decider.decide(f"d{n}", context(language="de"), n) for n in range(20)]
    assert sum(one["arm"] == 1 for one in told) >= 18
    told = [decider.decide(f"e{n}", context(language="fr"), n) for n in range(20)]
    assert sum(one["arm"] == 2 for one in told) >= 18


def fixed(told: list[Earned]) -> float:
    """What the best of the models would lose if it answered all."""
    return min(sum(one.best - one.means[arm] for one in told) for arm in range(len(MODELS)))


@BOTH
@pytest.mark.parametrize("waiting", [0, 16])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_learns_and_learns_anew_after_a_change(make: Any, waiting: int, seed: int) -> None:
    """It loses less than half of what any one model does, though one falls; see `simulated`."""
    told = routed(make(), World(seed), 1_200, waiting=waiting)

    assert regret(told) < fixed(told) / 2
    assert recovery(told) is not None
    assert regret(told[-200:]) < 0.05 * sum(one.best for one in told[-200:])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_it_is_well_again_within_200_asks_of_a_change(seed: int) -> None:
    """When it had a thousand to learn from before."""
    told = routed(linucb(), World(seed), 2_000)

    assert regret(told) < fixed(told) / 2
    again = recovery(told)
    assert again is not None
    assert again <= 200


# The output


def test_what_was_compared_is_told() -> None:
    """The highest score of those that are allowed is chosen; the others have none."""
    decider = taught(linucb())

    told = decider.decide("d", context(0, 2, language="de"), None)
    assert told == {
        "arm": 2,
        "scores": [told["scores"][0], None, told["scores"][2]],
        "exploring": False,
        "learner": "linucb",
    }
    assert 0.1 < told["scores"][0] < told["scores"][2]


def test_exploring_is_to_choose_what_is_not_expected_to_earn_most() -> None:
    """Such as an arm that has to be tried."""
    decider = linucb()
    for n, reward in enumerate((0.9, 0.1, 0.1, 0.9, 0.1)):
        decider.decide(f"d{n}", context(), None)
        decider.feedback(f"d{n}", n % 3, reward)

    assert decider.decide("d", context(), None) | {"scores": []} == {
        "arm": 2,
        "scores": [],
        "exploring": True,
        "learner": "linucb",
    }
    assert not taught(linucb()).decide("d", context(language="de"), None)["exploring"]


def test_a_choice_before_anything_is_compared_is_exploring() -> None:
    """Unless there is nothing to choose."""
    decider = linucb()

    assert not decider.decide("d", context(1), None)["exploring"]
    assert decider.decide("e", context(), None)["exploring"]


def test_exploration_weighs_doubt() -> None:
    """Without any, what is expected is all that counts."""
    for exploration, above in ((0.0, 0.0), (2.0, 1.0)):
        decider = linucb(exploration=exploration)
        score = decider.decide("d", context(), None)["scores"][0]

        assert score == 1.0 + above


# Chance


def test_the_same_seed_draws_the_same() -> None:
    """For the same state; another one draws otherwise, and the state does where there is none."""
    drawn = [
        [taught(thompson()).decide("d", context(), seed)["scores"] for _ in range(2)]
        for seed in (1, 2, None)
    ]

    assert all(one == other for one, other in drawn)
    assert len({str(one) for one, _ in drawn}) == 3
    own = [thompson(seed=seed).decide("d", context(), None)["scores"] for seed in (1, 2)]
    assert own[0] != own[1]


def test_linucb_leaves_nothing_to_chance() -> None:
    """Whatever the seed."""
    told = [taught(linucb()).decide("d", context(), seed) for seed in (1, 2, None)]

    assert told[0] == told[1] == told[2]


# Feedback


def test_what_was_done_is_learned_of() -> None:
    """Even if it is not what was decided."""
    decider = linucb(exploration=0)
    assert decider.decide("d", context(), None)["arm"] == 0

    assert decider.feedback("d", 2, 0.0) == {"learned": True}
    scores = decider.decide("e", context(), None)["scores"]
    assert scores[0] == scores[1] == 1.0
    assert scores[2] < 0.5


def test_of_what_was_forgotten_nothing_is_learned() -> None:
    """Be it that a runtime said so, or that too many have come since."""
    decider = linucb()
    for n in range(1026):
        decider.decide(f"d{n}", context(), None)
    decider.forget(["d9", "unknown"])

    assert decider.inspect()["waiting"] == 1023
    for decision, learned in (("d1", False), ("d2", True), ("d9", False), ("d2", False)):
        assert decider.feedback(decision, 0, 0.5) == {"learned": learned}
    assert decider.inspect()["rewards"] == 1


def test_one_slip_does_not_outweigh_the_rest() -> None:
    """A reward far out counts as one at the end of the range."""
    told: list[Any] = []
    for reward in (1.0, 1e300):
        decider = linucb()
        decider.decide("d", context(), None)
        decider.feedback("d", 0, reward)
        told.append(decider.dump())

    assert told[0] == told[1]


def test_an_arm_that_was_never_named_is_refused() -> None:
    """And the decision still waits."""
    decider = linucb()
    decider.decide("d", context(), None)

    with pytest.raises(DeciderError, match="there is no arm 3; there are 3, from 0 on"):
        decider.feedback("d", 3, 0.5)

    assert decider.feedback("d", 2, 0.5) == {"learned": True}


def test_events_teach_nothing() -> None:
    """All that is learned is learned of decisions."""
    decider = taught(linucb())
    before = decider.dump()

    assert decider.observe({"anything": 1}) == {}
    assert decider.dump() == before


def test_what_was_learned_can_be_looked_at() -> None:
    """How often each arm was chosen, and what each feature adds."""
    told = taught(linucb()).inspect()

    assert told["decisions"] == told["rewards"] == sum(arm["chosen"] for arm in told["arms"]) == 60
    german, french = (told["arms"][1]["added"][f"language={one}"] for one in ("de", "fr"))
    assert german > french
    assert json.dumps(told)


# The context


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (None, "an object with `arms`"),
        ([], "an object with `arms`"),
        ({}, "`arms` of a context is a list of 1 to 16 names"),
        ({"arms": []}, "`arms`"),
        ({"arms": "abc"}, "`arms`"),
        ({"arms": ["a"] * 17}, "`arms`"),
        ({"arms": ARMS, "allowed": []}, "`allowed`"),
        ({"arms": ARMS, "allowed": [3]}, "`allowed`"),
        ({"arms": ARMS, "allowed": [-1]}, "`allowed`"),
        ({"arms": ARMS, "allowed": ["a"]}, "`allowed`"),
        ({"arms": ARMS, "allowed": [True]}, "`allowed`"),
        ({"arms": ARMS, "features": []}, "`features`"),
        ({"arms": ARMS, "feature": {}}, "no `feature`; did you mean 'features'?"),
    ],
)
def test_what_is_no_question_changes_nothing(asked: Any, reason: str) -> None:
    """It is refused, for what is wrong with it, before anything of it is remembered."""
    decider = taught(linucb())
    before = decider.dump()

    with pytest.raises(DeciderError) as caught:
        decider.decide("d", asked, None)

    assert caught.value.fault == "invalidEvent"
    assert caught.value.reason is not None
    assert reason in caught.value.reason

    assert decider.dump() == before


def test_arms_alone_will_do() -> None:
    """All are allowed, and there are no features."""
    assert linucb(exploration=1).decide("d", {"arms": ARMS}, None)["scores"] == [1.5] * 3


# The state


@BOTH
def test_a_state_is_taken_over_whole(make: Any) -> None:
    """What comes after is the same, and so are decisions that wait."""
    first, second = taught(make()), make()
    first.decide("d", context(language="de"), None)
    second.load(json.loads(json.dumps(first.dump())))

    for decider in (first, second):
        decider.feedback("d", 1, 0.3)
        taught(decider, 10)
    assert first.dump() == second.dump()


def test_the_other_learner_goes_on() -> None:
    """What is believed does not depend on how one chooses by it."""
    state = taught(linucb()).dump()
    other = thompson()
    other.load(state)

    assert other.dump() == state


def test_the_fullest_state_is_small_enough() -> None:
    """With as many arms, features and waiting decisions as there may be, of long names."""
    decider = linucb()
    arms = ["\x01" * 200] * 16
    for n in range(1_100):
        features = {f"{n % 40}" + "\x01" * 60: n, "who": f"{n}"}
        arm = decider.decide(f"{n}".zfill(128), {"arms": arms, "features": features}, None)["arm"]
        if n < 50:
            decider.feedback(f"{n}".zfill(128), arm, 0.5)

    assert len(json.dumps(decider.dump(), separators=(",", ":"))) < STATE_BYTES


STATE = taught(linucb(), 10)
STATE.decide("d", context(language="de"), None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", 2),
        ("decisions", -1),
        ("rewards", 9.0),
        ("rewards", 2**64),
        ("columns", None),
        ("arms", [{}]),
        ("arms", [{"chosen": 1, "at": 11, "beliefs": ""}]),
        ("arms", [{"chosen": 1, "at": 1, "beliefs": "AAAA"}]),
        ("arms", [{"chosen": 1, "at": 1, "beliefs": "?"}]),
        ("arms", [{}] * 17),
        ("waiting", []),
        ("waiting", {"k": "AAAA"}),
        ("waiting", {"k": 1}),
    ],
)
def test_what_is_no_state_is_refused(name: str, value: Any) -> None:
    """And what was learned before stays."""
    state = STATE.dump()
    decider = taught(linucb(), 4)
    before = decider.dump()

    with pytest.raises(DeciderError, match="invalidState"):
        decider.load(state | {name: value})

    assert decider.dump() == before
    decider.load(state)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(JSON | st.dictionaries(st.sampled_from([*STATE.dump()]), JSON).map(STATE.dump().__or__))
def test_any_state_is_taken_over_or_refused(state: Any) -> None:
    """Nothing else is raised, and then it is as it was."""
    decider = linucb()
    before = decider.dump()
    try:
        decider.load(state)
    except DeciderError:
        assert decider.dump() == before
    else:
        assert decider.dump() == state
