"""What is believed of arms: regression, doubt, and how both fade."""

from __future__ import annotations

import random

import pytest

from ingot.rill.learner_beliefs import ARMS, Beliefs
from ingot.rill.learner_columns import FULL, WIDTH, Columns

np = pytest.importorskip("numpy")

ANY = Columns().row({})
"""A question of which nothing is known."""


def rows(count: int) -> list[bytes]:
    chance, columns = random.Random(1), Columns()
    return [columns.row({"a": chance.random(), "b": chance.choice("xyz")}) for _ in range(count)]


def test_of_a_new_arm_the_best_is_expected() -> None:
    """And the more is known of the question, the more it may differ."""
    expected, doubt = Beliefs().expect(2, ANY, 0)
    _, more = Beliefs().expect(2, rows(1)[0], 0)

    assert expected == [1.0, 1.0]
    assert doubt == [0.5, 0.5]
    assert more[0] > 0.5


def test_without_drift_it_is_ridge_regression() -> None:
    """As it is solved in one go, with the weights drawn to those of a new arm."""
    beliefs, asked = Beliefs(drift=0), rows(50)
    rewards = [random.Random(n).random() for n in range(50)]
    for now, (row, reward) in enumerate(zip(asked, rewards, strict=True), 1):
        beliefs.learn(3, row, reward, now)

    x = np.array([memoryview(row).cast("b").tolist() for row in asked]) / FULL
    first, certain = np.eye(WIDTH)[0], np.diag([1 / 0.25] + [1 / 0.1] * (WIDTH - 1))
    spread = np.linalg.inv(x.T @ x / 0.16 + certain)
    weights = spread @ (x.T @ rewards / 0.16 + certain @ first)
    expected, doubt = beliefs.expect(4, asked[7], 50)
    assert beliefs.weights(3) == pytest.approx(weights.tolist())
    assert expected[3] == pytest.approx(x[7] @ weights)
    assert doubt[3] ** 2 == pytest.approx(x[7] @ spread @ x[7])


def test_what_was_learned_long_ago_counts_less() -> None:
    """After a change, the last rewards weigh more than as many before."""
    steady, drifting = Beliefs(drift=0), Beliefs(drift=5)
    for now in range(1, 401):
        for beliefs in (steady, drifting):
            beliefs.learn(0, ANY, 1.0 if now <= 200 else 0.0, now)

    assert steady.expect(1, ANY, 400)[0] == [pytest.approx(0.5, abs=0.01)]
    assert drifting.expect(1, ANY, 400)[0][0] < 0.1


def test_an_arm_that_is_left_alone_is_hoped_for_again() -> None:
    """With the rewards of others it becomes as a new one is, unless arms never change."""
    for drift, expected, doubt in ((1, 1.0, 0.5), (0, 0.1, 0.04)):
        beliefs = Beliefs(drift=drift)
        for now in range(1, 101):
            beliefs.learn(0, ANY, 0.1, now)

        (soon,), _ = beliefs.expect(1, ANY, 100)
        (later,), (unsure,) = beliefs.expect(1, ANY, 100_000)
        assert soon == pytest.approx(0.1, abs=0.02)
        assert later == pytest.approx(expected, abs=0.02)
        assert unsure == pytest.approx(doubt, abs=0.02)


def test_arms_know_nothing_of_each_other() -> None:
    """What one earns says nothing of the next."""
    beliefs = Beliefs(drift=0)
    beliefs.learn(1, ANY, 0.0, 1)

    expected, _ = beliefs.expect(3, ANY, 1)
    assert expected[0] == expected[2] == 1.0
    assert expected[1] < 0.5


def test_what_was_dumped_is_believed_again() -> None:
    """To the last digit, and so it goes on."""
    beliefs, other = Beliefs(), Beliefs()
    for now, row in enumerate(rows(30), 1):
        beliefs.learn(2, row, now % 2, now)
    other.load(2, *beliefs.dump(2))

    for each in (beliefs, other):
        each.learn(2, ANY, 0.3, 50)
    assert other.dump(2) == beliefs.dump(2)
    assert other.expect(ARMS, ANY, 60) == beliefs.expect(ARMS, ANY, 60)


@pytest.mark.parametrize(
    "numbers", [b"", bytes(8), b"\xff" * 8 * (WIDTH + WIDTH * (WIDTH + 1) // 2)]
)
def test_what_was_not_dumped_is_not_believed(numbers: bytes) -> None:
    """Too few numbers, or some that are none."""
    beliefs = Beliefs()
    before = beliefs.dump(0)

    with pytest.raises(ValueError, match="no beliefs"):
        beliefs.load(0, numbers, 0)

    assert beliefs.dump(0) == before


def test_doubt_stays_a_number_for_ever() -> None:
    """Rounding does not add up to a variance below 0, with and without drift."""
    for drift in (0, 1):
        beliefs, asked = Beliefs(drift=drift), rows(20)
        for now in range(1, 5_001):
            beliefs.learn(0, asked[now % 20], 0.5, now)

        expected, doubt = beliefs.expect(1, asked[0], 5_000)
        assert expected == [pytest.approx(0.5, abs=0.01)]
        assert 0 < doubt[0] < 0.2
