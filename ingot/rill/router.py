"""A router: a provider that chooses among models, and learns which one pays for what."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ingot._route import ROUTER
from ingot._spelling import nearest
from ingot.errors import NotConfiguredError
from ingot.provider import Provider
from ingot.rill.arms import arms_of, is_amount
from ingot.rill.client import Client
from ingot.rill.deciders import MOST
from ingot.rill.features import features_of, own_features
from ingot.rill.learner import learners
from ingot.rill.lessons import Lessons
from ingot.rill.objective import Objective
from ingot.rill.places import DEFAULT, opened
from ingot.rill.routed import Routed
from ingot.rill.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ingot._provider import Asking
    from ingot._request import Request
    from ingot._response import Response
    from ingot.rill.arms import Price
    from ingot.rill.client import Link
    from ingot.rill.features import Features

    Way: TypeAlias = Literal["learned", "fallback", "round_robin", "cheapest"]

__all__ = ["Router"]

_LEARNED = "learned"


class Router(Provider):
    """
    Several models as one, of which the one is asked that is expected to pay most.

    `ask.using(model=Router(["local/smollm2", "openai/gpt-5.4-mini"]))`. For each ask it looks at
    the type, the prompt and what comes with them, chooses a model, and learns from what became of
    it. If the model fails, another one is asked. `Answer.route` tells what was chosen and why.

    Args:
        models: Who may be asked: model strings, and providers, whose default model is asked.
        objective: What an answer is worth; None for `Objective()`.
        strategy: `learned`: the model that is expected to earn most, or of which there is most to
            learn. Or without learning, `fallback`: the first one, and the next if it fails;
            `round_robin`: each in turn; `cheapest`: the one whose answer costs the least.
        learner: What learns: `linucb`, `thompson`, or what a package announces as `ingot.learners`.
        features: Gives more to choose by: a dict of names to numbers, bools and short texts, of the
            request in no vendor's dialect. The learner keeps them, so they must hold no secrets.
            None for none.
        max_cost: US dollars that one request may cost; a model that might cost more, by what it
            reads and may write, is not asked. None for no bound.
        prices: What models cost, by name: US dollars for a million tokens read, and for a million
            written. None, or a model that is not in it: what the table of `ingot-ask[cost]` says.
        seed: Makes the choices repeatable, for the same asks in the same order from the same state;
            None leaves what chance there is to the learner.
        state: The file in which it is kept what was learned; None for no file. Unless given, one in
            the user's folder for state, for these models and this objective; where a plain strategy
            decides, none.
        runtime: A runtime elsewhere that learns, such as a `Host`, in place of one in this process;
            how and where it learns is its own affair, and its end is yours.

    Attributes:
        arms: The names of the models.

    Raises:
        TypeError: An argument is of the wrong kind, or goes without another one.
        NotConfiguredError: A model is of a provider that is not installed.
        ValueError: There are no models, one is there twice, or an argument is none of those above.
    """

    name = ROUTER

    def __init__(
        self,
        models: Iterable[str | Provider],
        objective: Objective | None = None,
        *,
        strategy: Way = "learned",
        learner: str = "linucb",
        features: Callable[[Request], Mapping[str, float | bool | str]] | None = None,
        max_cost: float | None = None,
        prices: Mapping[str, Price] | None = None,
        seed: int | None = None,
        state: str | os.PathLike[str] | None = DEFAULT,
        runtime: Link | None = None,
    ) -> None:
        _check(strategy, _STRATEGIES, "strategy")
        _check(learner, learners(), "learner")
        if runtime is not None and (strategy != _LEARNED or state is not DEFAULT):
            raise TypeError("a runtime of its own decides and keeps; leave out strategy and state")
        _check_kind(objective, Objective | None, "objective", "an Objective")
        if state is not DEFAULT:
            _check_kind(state, str | os.PathLike | None, "state", "the path of a file")
        if max_cost is not None and not is_amount(max_cost):
            raise ValueError(f"max_cost is US dollars, 0 or more, not {max_cost!r}")
        self._arms = arms_of(models, prices)
        self.arms = tuple(arm.name for arm in self._arms)
        learns = strategy == _LEARNED
        if learns and len(self.arms) > MOST:
            raise ValueError(f"a Router learns of {MOST} models at the most, not {len(self.arms)}")
        self._given = {
            "models": [arm.model for arm in self._arms],
            "objective": objective,
            "strategy": strategy,
            "learner": learner,
            "features": features,
            "max_cost": max_cost,
            "prices": prices,
            "seed": seed,
            "state": state,
            "runtime": runtime,
        }
        objective = objective or Objective()
        what = f"{' | '.join(self.arms)} by {objective if learns else strategy}"
        self.default_model = what
        self.is_named = all(arm.is_named for arm in self._arms)
        self._needs_costs = strategy == "cheapest"
        self._features = features
        self._max_cost = None if max_cost is None else Decimal(str(max_cost))
        decides = learner if learns else strategy
        place = None if state is DEFAULT and not learns else state

        def open_() -> Client:
            if runtime is not None:
                return Client(runtime)
            return opened(decides, place, what)

        self._lessons = Lessons(open_, objective, learns=learns, seed=seed)

    def __repr__(self) -> str:
        return f"<Router: {self.default_model}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # What was learned stays in its file, and keys are left behind by the providers themselves.
        return (_made, (self._given,))

    def for_ask(self, asking: Asking) -> Provider:
        """
        Return what one ask sees: the model that was chosen for it.

        Raises:
            NotConfiguredError: None of the models can be asked; the reasons are listed.
            RillError: What was learned cannot be read or written.
        """
        request = asking.described()
        skipped: dict[str, str] = {}
        for arm in self._arms:
            reason = arm.hindrance(asking, request, self._max_cost)
            if reason is not None:
                skipped[arm.name] = reason
        if len(skipped) == len(self._arms):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
            raise NotConfiguredError(f"the router can ask none of its models: {reasons}")
        context: dict[str, Any] = {"arms": list(self.arms), "features": self._seen(request)}
        if self._needs_costs:
            context["costs"] = self._costs(asking, request, skipped)
        bounded = request.max_tokens is not None
        return Routed(asking, self._arms, skipped, context, self._lessons, bounded=bounded)

    def send(self, request: Request) -> Response:
        """
        Refuse: what is chosen depends on the ask, which a request alone does not tell.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a Router is asked through ask: ask(T, prompt, model=Router([…]))")

    def _costs(
        self, asking: Asking, request: Request, skipped: Mapping[str, str]
    ) -> list[float | None]:
        """What *request* costs at the most, by model; None where that is not known."""
        estimates = [
            None if arm.name in skipped else arm.estimate(asking, request) for arm in self._arms
        ]
        if not any(cost is not None for cost in estimates):
            raise NotConfiguredError(
                "the cheapest model is asked for, and the price of none is known",
                advice="pip install 'ingot-ask[cost]', or give them: Router(…, prices={…})",
            )
        return [None if cost is None else float(cost) for cost in estimates]

    def _seen(self, request: Request) -> Features:
        own = {} if self._features is None else own_features(self._features(request))
        return {**features_of(request), **own}


_STRATEGIES = (_LEARNED, *STRATEGIES)


def _check(given: Any, known: tuple[str, ...], what: str) -> None:
    if given not in known:
        raise ValueError(
            f"there is no {what} {given!r}{nearest(str(given), known)}; "
            f"there are {', '.join(known)}"
        )


def _check_kind(given: Any, kind: Any, what: str, wanted: str) -> None:
    if not isinstance(given, kind):
        raise TypeError(f"the {what} of a Router is {wanted} or None, not {given!r:.80}")


def _made(given: dict[str, Any]) -> Router:
    return Router(**given)
