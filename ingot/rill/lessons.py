"""What a router asks of its runtime, and what it tells it: choices, rewards and counts."""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot._json import is_array, is_object
from ingot.rill.errors import RillError, RillRefusedError, RillRequestError
from ingot.rill.runtime import now_ms
from ingot.rill.wire_codes import FAULTS, PENDING_FULL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from ingot.rill.client import Client
    from ingot.rill.objective import Objective
    from ingot.rill.session import Decision
    from ingot.rill.trial import Trial

__all__ = ["Choice", "Lessons"]

_DAY_MS = 86_400_000
"""Milliseconds of a day."""

_OTHER_MODELS = "a state is of one list of models, in its order: name another file with state=…"


class Choice(NamedTuple):
    """
    What was decided.

    Attributes:
        decision: Its id; None where there is none, of which nothing can be learned.
        arm: The arm, counted from 0.
        scores: What is expected of each arm; None for one of which nothing is said.
        exploring: Whether it was chosen to learn rather than to earn.
        learner: What decided.
    """

    decision: str | None
    arm: int
    scores: tuple[float | None, ...]
    exploring: bool
    learner: str


class Lessons:
    """
    The runtime of a router, opened when it is first asked.

    Args:
        open: Opens the runtime.
        objective: What is rewarded.
        learns: Whether rewards change anything.
        seed: Makes choices repeatable; None for no seed.
    """

    def __init__(
        self,
        open: Callable[[], Client],
        objective: Objective,
        *,
        learns: bool,
        seed: int | None,
    ) -> None:
        self._open = open
        self._objective = objective
        self._learns = learns
        self._seed = seed
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._owner = 0

    @property
    def client(self) -> Client:
        """
        The runtime; a fork of the process that opened it opens its own.

        Raises:
            RillError: It cannot be opened.
        """
        with self._lock:
            if self._client is None or self._owner != os.getpid():
                self._client, self._owner = self._open(), os.getpid()
            return self._client

    def choice(self, context: Mapping[str, Any]) -> Choice:
        """
        Have an arm chosen.

        Args:
            context: `arms`, their names; `allowed`, which of them there are to choose from;
                `features`; `costs`, in US dollars or null, where the choice depends on them.

        Raises:
            RillError: The runtime cannot be used, or does not choose among these arms.
        """
        try:
            made = self.client.decide(context, seed=self._next_seed())
        except RillRefusedError as error:
            if error.word == FAULTS["invalidEvent"].code:
                asked = f"this router is of {', '.join(context['arms'])}"
                raise RillRefusedError(
                    error.word, error.said, retryable=False, advice=f"{asked}; {_OTHER_MODELS}"
                ) from error
            if error.said != PENDING_FULL.message:  # its code differs by surface
                raise
            # As many asks as it remembers are under way: this one is asked all the same.
            unknown = (None,) * len(context["arms"])
            return Choice(None, context["allowed"][0], unknown, exploring=False, learner="none")
        return _read(made, context)

    def ended(self, trial: Trial, validity: float) -> None:
        """Have it learned what became of an arm: *validity* is from 0, no answer, to 1."""
        counts = {
            "asks": 1,
            "valid": int(validity > 0),
            "repairs": trial.repairs,
            "failed": int(not trial.served),
            "seconds": round(trial.seconds, 4),
        }
        if trial.cost is not None:
            counts |= {"cost": round(trial.cost, 9), "priced": 1}
        with _spared():
            self._teach(trial.choice, trial, validity)
            self._count(trial, counts)

    def rated(self, trial: Trial, score: float) -> None:
        """Have it learned that the answer of an arm is worth *score*, from 0 to 1."""
        if self._learns:
            # The decision had its one feedback, so this is one more, of the same arm.
            again = self.choice({**trial.context, "allowed": [trial.choice.arm]})
            self._teach(again, trial, score)
        self._count(trial, {"rating": score, "ratings": 1})

    def _teach(self, choice: Choice, trial: Trial, validity: float) -> None:
        if choice.decision is None:
            return
        reward = self._objective.reward(validity, cost=trial.cost, seconds=trial.seconds)
        self.client.feedback(choice.decision, choice.arm, round(reward, 6))

    def _count(self, trial: Trial, counts: Mapping[str, float]) -> None:
        day = now_ms() // _DAY_MS
        # A runtime elsewhere may count nothing, which is no loss to whoever asks.
        with suppress(RillRefusedError, RillRequestError):
            told = {name: count for name, count in counts.items() if count}
            self.client.observe({"arm": trial.choice.arm, "day": day, **told})

    def _next_seed(self) -> int | None:
        """Another seed for each choice, the same ones for each router of this seed."""
        if self._seed is None:
            return None
        digest = sha256(f"{self._seed} {next(self._numbers)}".encode()).digest()
        return int.from_bytes(digest[:8])


@contextmanager
def _spared() -> Generator[None]:
    """Do not lose an answer that was paid for because nothing can be learned of it."""
    try:
        yield
    except RillError as error:
        warnings.warn(f"the router did not learn: {error}", RuntimeWarning, stacklevel=2)


def _read(made: Decision, context: Mapping[str, Any]) -> Choice:
    """The choice in what a runtime decided, which need not be one of ours."""
    output, count = made.output, len(context["arms"])
    arm = output.get("arm") if is_object(output) else None
    if type(arm) is not int or arm not in context["allowed"]:
        raise RillRefusedError(
            "invalidOutput",
            f"it was to choose one of the arms {context['allowed']}, and chose {arm!r:.80}",
            retryable=False,
            advice="let it be one that was started with a learner: ingot rill serve",
        )
    scores = output.get("scores")
    if not is_array(scores) or len(scores) != count:
        scores = [None] * count
    return Choice(
        decision=made.id,
        arm=arm,
        scores=tuple(score if type(score) in (int, float) else None for score in scores),
        exploring=output.get("exploring") is True,
        learner=str(output.get("learner", "unknown")),
    )
