"""Which of several models was asked, and why it was that one."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ingot._record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ROUTER", "Attempt", "Route", "Teacher"]

ROUTER = "router"
"""What stands before the slash where a router is asked, which is no model's provider."""


class Attempt(NamedTuple):
    """
    One model that was asked.

    Attributes:
        arm: The model, as `provider/model`.
        error: The class of the error it failed with; None where it replied.
    """

    arm: str
    error: str | None


class Teacher(Protocol):
    """Who learns from what is said of an answer later."""

    def rate(self, score: float) -> None:
        """Learn that the answer is worth *score*, from 0 to 1."""
        ...


@record
class Route:
    """
    How a router came to the model that replied.

    Attributes:
        arm: The model, as `provider/model`.
        features: What the router looked at, by name.
        scores: What it expected of each model, by name; None for one of which it said nothing.
        exploring: Whether it chose to learn rather than to earn.
        learner: What decided.
        attempts: The models that were asked for this reply, in order, the last of which gave it.
        skipped: Why a model could not be asked, by name.
        teacher: Who learns from `Answer.rate`; None in a recording, and in another process.
    """

    arm: str
    features: Mapping[str, float | bool | str] = field(hash=False)
    scores: Mapping[str, float | None] = field(hash=False)
    exploring: bool
    learner: str
    attempts: tuple[Attempt, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    teacher: Teacher | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return what a recording holds of it."""
        out = {
            "arm": self.arm,
            "features": dict(self.features),
            "scores": dict(self.scores),
            "exploring": self.exploring,
            "learner": self.learner,
            "attempts": [list(attempt) for attempt in self.attempts],
        }
        return {**out, "skipped": dict(self.skipped)} if self.skipped else out

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Route:
        """Return the route that a recording tells of."""
        return cls(
            arm=told["arm"],
            features=told["features"],
            scores=told["scores"],
            exploring=told["exploring"],
            learner=told["learner"],
            attempts=tuple(Attempt(*attempt) for attempt in told["attempts"]),
            skipped=told.get("skipped", {}),
        )
