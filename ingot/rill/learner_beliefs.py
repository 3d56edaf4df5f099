"""
What each arm is believed to be worth: a linear model whose weights drift.

The figures of this module were set once, on simulated models; see docs/reference/learners.md.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingot.rill.learner_columns import FULL, WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ARMS", "Beliefs"]

ARMS = 16
"""Arms that are remembered at a time."""

_NOISE = 0.16
"""Variance of a reward around its mean: one that is 0 or 1 has 0.25 at the most."""

_LEVEL = np.zeros(WIDTH)
_LEVEL[0] = 1.0
"""Weights of an arm of which nothing is known: the best reward there is, whatever the features."""

_OPEN = np.full(WIDTH, 0.1)
_OPEN[0] = 0.25
"""Variance of each weight of an arm of which nothing is known; the first is that of its level."""

_LASTS = np.full(WIDTH, 10_000.0)
_LASTS[0] = 2_500.0
"""
Rewards, of whichever arm, after which about a third is left of what is known of a weight.

The level lasts less: a model that becomes better or worse mostly does so at everything.
"""

_UPPER = np.triu_indices(WIDTH)
"""Where the numbers stand that say all of a symmetric matrix."""

_DIAGONAL = slice(None, None, WIDTH + 1)
"""Where its diagonal stands, row after row."""


class Beliefs:
    """
    For each arm, weights of the columns of a row, and how far they may be off.

    The reward is taken to be linear in the row, with noise, and the weights to move at random from
    reward to reward, drawn back to where they were when nothing was known. The best estimate under
    these assumptions is a Kalman filter: it is ridge regression in which what was seen long ago
    counts less and less. An arm that is never chosen is hoped for again in the end.

    Args:
        drift: How fast arms are taken to change, as a multiple of what is usual; 0 for arms that
            never do.
    """

    def __init__(self, drift: float = 1.0) -> None:
        self._drift = drift
        self._fading = drift / _LASTS
        self._weights = np.tile(_LEVEL, (ARMS, 1))
        self._spread = np.tile(np.diag(_OPEN), (ARMS, 1, 1))
        self._learned_at = np.zeros(ARMS, dtype=np.int64)

    def expect(self, arms: int, row: bytes, now: int) -> tuple[list[float], list[float]]:
        """
        Return for each arm the reward that is expected, and the standard deviation of that.

        Args:
            arms: How many arms there are.
            row: The features.
            now: How many rewards were learned from, of whichever arm.
        """
        x, level, open_ = _read(row)
        kept = np.exp((self._learned_at[:arms] - now)[:, None] * self._fading)
        seen = kept * x
        expected = level + np.add.reduce((self._weights[:arms] - _LEVEL) * seen, axis=1)
        known = np.add.reduce((self._spread[:arms] @ seen[:, :, None])[:, :, 0] * seen, axis=1)
        variance = known + (1 - kept**2) @ open_
        # Rounding may leave a little less than nothing.
        return expected.tolist(), [sqrt(max(one, 0.0)) for one in variance.tolist()]

    def learn(self, arm: int, row: bytes, reward: float, now: int) -> None:
        """Learn that *arm* earned *reward* where *row* were the features."""
        x = _read(row).x
        faded = _faded(self._drift, now - int(self._learned_at[arm]))
        weights = _LEVEL + faded.kept * (self._weights[arm] - _LEVEL)
        spread = faded.both * self._spread[arm]
        spread.reshape(-1)[_DIAGONAL] += faded.opened
        gain = spread @ x
        variance = _NOISE + gain @ x
        self._weights[arm] = weights + gain * ((reward - weights @ x) / variance)
        self._spread[arm] = spread - gain[:, None] * gain / variance
        self._learned_at[arm] = now

    def weights(self, arm: int) -> list[float]:
        """The weight of each column for *arm*."""
        weights: list[float] = self._weights[arm].tolist()
        return weights

    def dump(self, arm: int) -> tuple[bytes, int]:
        """Return all that is believed of *arm*, as doubles, and when it was learned."""
        numbers = np.concatenate((self._weights[arm], self._spread[arm][_UPPER]))
        return numbers.astype("<f8").tobytes(), int(self._learned_at[arm])

    def load(self, arm: int, numbers: bytes, learned_at: int) -> None:
        """
        Believe of *arm* what `dump` returned.

        Raises:
            ValueError: It is of another size, or not finite.
        """
        read: NDArray[np.float64] = np.frombuffer(numbers, dtype="<f8")
        if len(read) != WIDTH + len(_UPPER[0]) or not np.isfinite(read).all():
            raise ValueError("no beliefs of an arm")
        self._weights[arm] = read[:WIDTH]
        self._spread[arm][_UPPER] = read[WIDTH:]
        self._spread[arm].T[_UPPER] = read[WIDTH:]
        self._learned_at[arm] = learned_at


# Most of the time of a choice is that of many small arrays: what comes again is kept.


class _Row(NamedTuple):
    """
    A row, as it is computed with.

    Attributes:
        x: Its numbers.
        level: What an arm of which nothing is known is expected to earn.
        open: What each weight of such an arm adds to the variance of that.
    """

    x: NDArray[np.float64]
    level: float
    open: NDArray[np.float64]


@lru_cache(maxsize=256)
def _read(row: bytes) -> _Row:
    x = np.frombuffer(row, dtype=np.int8) / FULL
    return _Row(x, float(_LEVEL @ x), _OPEN * x * x)


class _Faded(NamedTuple):
    """
    What is left of beliefs after some rewards of other arms.

    Attributes:
        kept: The part of each weight that is.
        both: The part of the covariance of each two.
        opened: The variance of each weight that came anew.
    """

    kept: NDArray[np.float64]
    both: NDArray[np.float64]
    opened: NDArray[np.float64]


@lru_cache(maxsize=64)
def _faded(drift: float, rewards: int) -> _Faded:
    kept = np.exp(-rewards * (drift / _LASTS))
    return _Faded(kept, kept[:, None] * kept, (1 - kept**2) * _OPEN)
