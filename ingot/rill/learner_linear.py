"""LinUCB and Thompson sampling over the same beliefs, for arms that change."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ingot._json import is_array, is_object
from ingot._spelling import nearest
from ingot.rill.decider import DeciderError
from ingot.rill.learner_beliefs import ARMS, Beliefs
from ingot.rill.learner_columns import WIDTH, Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Rule: TypeAlias = Callable[[Sequence[float], Sequence[float], str], list[float]]

__all__ = ["Linear", "linucb", "thompson"]

_WAITING = 1024
"""Decisions whose features are remembered; as many as a runtime lets wait for their feedback."""

_FIRST = 2
"""How often each arm is chosen before anything is compared."""

_FARTHEST = 1.0
"""Rewards are taken to lie this near to 0: one slip must not outweigh all else."""

_MOST = 2**53
"""The largest count, which floats still tell from the next."""

_KEYS = ("arms", "allowed", "features")
"""What of a context is read."""

_FORMAT = 1
"""Counts the forms of the state; another width of rows is another form, too."""


def linucb(*, exploration: float = 1.5, drift: float = 1.0) -> Linear:
    """
    Return a learner that chooses the arm that may earn most, if all turns out as can be hoped.

    Source: Li, Chu, Langford, Schapire, A Contextual-Bandit Approach to Personalized News Article
    Recommendation, 2010, Algorithm 1, with the beliefs of `Beliefs`.

    Args:
        exploration: How many standard deviations above what is expected can be hoped for.
        drift: How fast arms are taken to change, as a multiple of what is usual; 0 for arms that
            never do.
    """

    def hoped(expected: Sequence[float], doubt: Sequence[float], _: str) -> list[float]:
        return [e + exploration * d for e, d in zip(expected, doubt, strict=True)]

    return Linear("linucb", hoped, drift=drift)


def thompson(*, exploration: float = 0.4, drift: float = 1.0, seed: int = 0) -> Linear:
    """
    Return a learner that draws what each arm may earn, and chooses the one that draws most.

    Source: Agrawal, Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs, 2013,
    Algorithm 1, with the beliefs of `Beliefs`.

    Args:
        exploration: The width of what is drawn from, as a multiple of what is believed.
        drift: How fast arms are taken to change, as a multiple of what is usual; 0 for arms that
            never do.
        seed: Fixes what is drawn where a decision comes without a seed.
    """

    def drawn(expected: Sequence[float], doubt: Sequence[float], chance: str) -> list[float]:
        # Weights are normal, hence what they make of one row is: one number is drawn for each arm.
        draw = Random(chance).gauss
        return [e + exploration * d * draw(0.0, 1.0) for e, d in zip(expected, doubt, strict=True)]

    return Linear("thompson", drawn, drift=drift, seed=seed)


class Linear:
    """
    A decider that expects a reward of each arm, which is linear in the features.

    Its context is `{"arms": [names], "allowed": [numbers of arms], "features": {name: number, bool
    or text}}`; all arms are allowed and there are no features unless these are given. An arm is
    known by its number, of 16 at most. Its output is `{"arm": number, "scores": [what was compared,
    or null for one that is not allowed], "exploring": whether it was chosen to learn of it: another
    arm is expected to earn more, or one of them was not chosen often enough to be compared;
    "learner": name}`.

    Args:
        name: The name of the learner.
        rule: Makes scores of the rewards that are expected, of their standard deviations, and of a
            text on which chance depends.
        drift: See `Beliefs`.
        seed: Fixes what is left to chance where a decision comes without a seed.
    """

    def __init__(self, name: str, rule: Rule, *, drift: float = 1.0, seed: int = 0) -> None:
        self._name = name
        self._rule = rule
        self._drift = drift
        self._seed = seed
        self._beliefs = Beliefs(drift)
        self._columns = Columns()
        self._decisions = 0
        self._rewards = 0
        self._chosen: list[int] = []
        self._waiting: dict[str, bytes] = {}

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        """Choose an arm for the features of *context*, and remember these."""
        arms, allowed, features = _read(context)
        self._chosen += [0] * (arms - len(self._chosen))
        row = self._columns.row(features)
        expected, doubt = self._beliefs.expect(arms, row, self._rewards)
        chance = f"{self._seed if seed is None else seed}/{self._decisions}"
        scores = self._rule(expected, doubt, chance)
        arm = min(allowed, key=self._chosen.__getitem__)
        compared = self._chosen[arm] >= _FIRST
        if compared:
            arm = max(allowed, key=scores.__getitem__)
        best = max(allowed, key=expected.__getitem__)
        self._decisions += 1
        self._chosen[arm] += 1
        self._waiting[_key(decision)] = row
        if len(self._waiting) > _WAITING:
            del self._waiting[next(iter(self._waiting))]
        return {
            "arm": arm,
            "scores": [round(scores[n], 4) if n in allowed else None for n in range(arms)],
            "exploring": len(allowed) > 1 and not (compared and arm == best),
            "learner": self._name,
        }

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """Learn what *arm* earned, unless the features of *decision* were forgotten."""
        if arm >= len(self._chosen):
            raise DeciderError(
                "invalidEvent", f"there is no arm {arm}; there are {len(self._chosen)}, from 0 on"
            )
        row = self._waiting.pop(_key(decision), None)
        if row is not None:
            self._rewards += 1
            reward = max(-_FARTHEST, min(_FARTHEST, reward))
            self._beliefs.learn(arm, row, reward, self._rewards)
        return {"learned": row is not None}

    def observe(self, event: Any) -> Any:
        """Take no note: all that is learned is learned of decisions."""
        return {}

    def inspect(self) -> Any:
        """Tell how often each arm was chosen, and what each feature is believed to add to it."""
        arms: list[Any] = []
        for arm, chosen in enumerate(self._chosen):
            weights = [round(weight, 4) for weight in self._beliefs.weights(arm)]
            added = {key: weights[column] for key, column in self._columns.own.items()}
            arms.append({"chosen": chosen, "level": weights[0], "added": added})
        return {
            "learner": self._name,
            "decisions": self._decisions,
            "rewards": self._rewards,
            "waiting": len(self._waiting),
            "arms": arms,
        }

    def forget(self, decisions: Sequence[str]) -> None:
        """Forget the features of *decisions*, of which nothing is learned then."""
        for decision in decisions:
            self._waiting.pop(_key(decision), None)

    def dump(self) -> Any:
        """All that was learned; what is many numbers is the base64 of their bytes."""
        arms: list[Any] = []
        for arm, chosen in enumerate(self._chosen):
            beliefs, at = self._beliefs.dump(arm)
            arms.append({"chosen": chosen, "at": at, "beliefs": b64encode(beliefs).decode()})
        return {
            "format": _FORMAT,
            "decisions": self._decisions,
            "rewards": self._rewards,
            "columns": self._columns.dump(),
            "arms": arms,
            "waiting": {key: b64encode(row).decode() for key, row in self._waiting.items()},
        }

    def load(self, state: Any) -> None:
        """Take over what was learned, also by a learner of another rule or drift."""
        try:
            known = state["format"] == _FORMAT and is_array(state["arms"])
            if not known or len(state["arms"]) > ARMS:
                raise ValueError("another format")
            rewards = _count(state["rewards"])
            decisions = _count(state["decisions"])
            columns = Columns.load(state["columns"])
            beliefs = Beliefs(self._drift)
            for number, arm in enumerate(state["arms"]):
                at = _count(arm["at"], rewards)
                beliefs.load(number, b64decode(arm["beliefs"], validate=True), at)
            chosen = [_count(arm["chosen"], decisions) for arm in state["arms"]]
            waiting = {key: _row(text) for key, text in state["waiting"].items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DeciderError("invalidState") from error
        self._decisions, self._rewards = decisions, rewards
        self._columns, self._beliefs = columns, beliefs
        self._chosen, self._waiting = chosen, waiting


class _Question(NamedTuple):
    """
    What a decision depends on.

    Attributes:
        arms: How many there are.
        allowed: The numbers of those that may be chosen.
        features: What is known of the question.
    """

    arms: int
    allowed: Sequence[int]
    features: Mapping[str, Any]


def _read(context: Any) -> _Question:
    """Read *context* whole before anything is learned of it."""
    if not is_object(context):
        raise _wrong("a context is an object with `arms`")
    for key in context.keys() - _KEYS:
        meant = nearest(key, _KEYS)
        if meant:  # what is like none of them may be meant for others, and is passed over
            raise _wrong(f"a context has no `{key:.40}`{meant}")
    arms, features = context.get("arms"), context.get("features", {})
    if not is_array(arms) or not 0 < len(arms) <= ARMS:
        raise _wrong(f"`arms` of a context is a list of 1 to {ARMS} names")
    if not is_object(features):
        raise _wrong("`features` of a context is an object of names and values")
    allowed = context.get("allowed", list(range(len(arms))))
    if not is_array(allowed) or not allowed or not all(_is_arm(arm, len(arms)) for arm in allowed):
        raise _wrong("`allowed` of a context is a list of numbers of `arms`, counted from 0")
    return _Question(len(arms), allowed, features)


def _is_arm(given: Any, arms: int) -> bool:
    return type(given) is int and 0 <= given < arms


def _wrong(what: str) -> DeciderError:
    return DeciderError("invalidEvent", what)


def _key(decision: str) -> str:
    """A short name of *decision*, so that long ones do not fill the state."""
    return blake2b(decision.encode(), digest_size=12).hexdigest()


def _row(text: str) -> bytes:
    row = b64decode(text, validate=True)
    if len(row) != WIDTH:
        raise ValueError("no row of features")
    return row


def _count(value: Any, most: int = _MOST) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("no count")
    return value
