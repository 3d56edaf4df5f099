"""What learns, by its name: the two that come along, and those that others announce."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ingot._spelling import nearest
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ingot.rill.decider import Decider

__all__ = ["GROUP", "find_learner", "learners"]

GROUP = "ingot.learners"
"""The entry-point group in which learners are announced: what, called with nothing, makes one."""


@lru_cache(maxsize=1)
def _announced() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def learners() -> tuple[str, ...]:
    """Return the names of all learners that are installed, by the alphabet."""
    return tuple(sorted(_announced()))


def find_learner(name: str) -> Decider:
    """
    Return a new learner, which knows nothing yet.

    Raises:
        NotConfiguredError: There is none of this name, or it cannot be made here.
    """
    announced = _announced()
    if name not in announced:
        raise NotConfiguredError(
            f"there is no learner {name!r}{nearest(name, announced)}",
            advice=f"installed: {', '.join(learners()) or 'none'}",
        )
    try:
        made: Any = announced[name].load()()
    except Exception as error:
        if isinstance(error, ImportError) and error.name == "numpy":
            raise NotConfiguredError(
                f"the learner {name} computes with numpy, which is not installed",
                advice="pip install 'ingot-ask[router]', or let a plain strategy choose, which "
                "learns nothing",
            ) from error
        raise NotConfiguredError(
            f"the learner {name} cannot be made: {type(error).__name__}: {error}"
        ) from error
    decider: Decider = made
    return decider
