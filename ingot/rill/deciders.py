"""Deciders by their names: the learners, and the plain strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.rill.learner import find_learner
from ingot.rill.strategies import STRATEGIES, Strategy
from ingot.rill.tally import Tallied

if TYPE_CHECKING:
    from ingot.rill.decider import Decider

__all__ = ["MOST", "decider_of"]

MOST = 16
"""Arms that a learner can tell apart."""


def decider_of(name: str) -> Decider:
    """
    Return the decider of a router: it chooses as *name* says, and counts what becomes of it.

    Args:
        name: A learner, see `find_learner`; or one of `STRATEGIES`, which learn nothing.

    Raises:
        NotConfiguredError: There is none of this name, or it cannot be made here.
    """
    return Tallied(Strategy(name) if name in STRATEGIES else find_learner(name))
