"""One model that a router may ask: what keeps it from being asked, and what it costs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot import _registry
from ingot._budget.estimate import UNBOUNDED, reading
from ingot._price import paid
from ingot._response import Usage
from ingot._route import ROUTER
from ingot.errors import NotConfiguredError
from ingot.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingot._provider import Asking
    from ingot._request import Request
    from ingot._response import Response

__all__ = ["Arm", "Price", "arms_of", "is_amount"]

Price: TypeAlias = "tuple[float, float]"
"""US dollars for a million tokens that are read, and for a million that are written."""

_MILLION = 1_000_000


class Arm:
    """
    One model.

    Args:
        model: `provider/model`, or a provider, whose default model is asked.
        price: What it costs; None for what the price table says.

    Attributes:
        model: What was given.
        name: The model, as `provider/model`.
        is_named: Whether *model* is a text.
    """

    def __init__(self, model: str | Provider, price: Price | None) -> None:
        self.model = model
        self.is_named = isinstance(model, str)
        self.name = model if isinstance(model, str) else f"{model.name}/{model.default_model}"
        self._price = price
        self._ready = not self.is_named

    def found(self) -> tuple[Provider, str]:
        """
        Return the provider, and the model in the vendor's word.

        Raises:
            NotConfiguredError: It cannot be asked as things stand.
        """
        provider, model = _registry.find_provider(self.model)
        if not self._ready:
            obstacle = _obstacle(provider)
            if obstacle is not None:
                raise NotConfiguredError(obstacle)
            self._ready = True  # what is there does not go away, and looking takes a while
        return provider, model

    def hindrance(self, asking: Asking, request: Request, max_cost: Decimal | None) -> str | None:
        """
        Why the model must not be asked, in words; None when it may.

        Args:
            asking: The ask.
            request: What is asked, in no vendor's dialect.
            max_cost: US dollars that a request must not exceed; None for no bound.
        """
        try:
            provider, model = self.found()
        except NotConfiguredError as error:
            return str(error)
        lacking = provider.lacks(request, model)
        if lacking is not None:
            return lacking
        if asking.constrain == "strict":
            shape = asking.shaped(provider.dialect)
            if shape.kind == "schema" and not shape.constrained:
                return f"its server cannot hold it to the type: {'; '.join(shape.obstacles)}"
        return None if max_cost is None else self._beyond(asking, request, max_cost)

    def _beyond(self, asking: Asking, request: Request, max_cost: Decimal) -> str | None:
        cost = self.estimate(asking, request)
        if cost is None:
            return "its price is not known; give it with prices={…}"
        if cost <= max_cost:
            return None
        return f"it may cost ${cost:.4g}, and max_cost is ${max_cost:.4g}; a lower max_tokens helps"

    def estimate(self, asking: Asking, request: Request) -> Decimal | None:
        """Return what *request* costs at the most, in US dollars; None where that is not known."""
        provider, model = self.found()
        form = asking.shaped(provider.dialect).format(shown=provider.show_schema)
        write = request.max_tokens or provider.default_max_tokens or UNBOUNDED
        usage = Usage(input_tokens=reading(replace(request, format=form)), output_tokens=write)
        return self._cost(f"{provider.name}/{model}", usage)

    def cost(self, response: Response) -> Decimal | None:
        """Return what *response* cost, in US dollars; None where that is not known."""
        if response.cost is not None:
            return response.cost
        provider, _, model = self.name.partition("/")
        return self._cost(f"{provider}/{response.model or model}", response.usage)

    def _cost(self, model: str, usage: Usage | None) -> Decimal | None:
        if self._price is None or usage is None:
            return paid(model, usage)
        read, write = self._price
        dollars = (usage.total_tokens - usage.output_tokens) * read + usage.output_tokens * write
        return Decimal(dollars) / _MILLION


def arms_of(
    models: Iterable[str | Provider], prices: Mapping[str, Price] | None
) -> tuple[Arm, ...]:
    """
    Return the arms that *models* are.

    Raises:
        TypeError: One is neither a text nor a provider, or is a router.
        NotConfiguredError: A text names no provider that there is.
        ValueError: There is none, two have one name, or a price is of no model or no price.
    """
    if isinstance(models, str):
        raise TypeError("the models of a Router are a list; write Router(['openai/…', …])")
    known = dict(prices or {})
    arms: list[Arm] = []
    for model in models:
        _check(model)
        name = model if isinstance(model, str) else f"{model.name}/{model.default_model}"
        arms.append(Arm(model, _checked(name, known.pop(name, None))))
    names = [arm.name for arm in arms]
    if not names:
        raise ValueError("a Router needs models to choose among")
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise ValueError(f"a Router has {twice!r} twice; two models need two names")
    if known:
        raise ValueError(f"prices names {min(known)!r}, which is not among the models")
    return tuple(arms)


def _check(model: Any) -> None:
    if not isinstance(model, str | Provider):
        raise TypeError(f"a model of a Router is a text or a provider, not {model!r:.80}")
    if getattr(model, "name", None) == ROUTER:
        raise TypeError("a Router does not choose among routers; list the models of both")
    if isinstance(model, str):  # what lacks a key may have it one day; a slip stays one
        _registry.announced(_registry.parts_of(model)[0])


def _checked(name: str, price: Any) -> Price | None:
    if price is None:
        return None
    with suppress(TypeError, ValueError):
        read, write = price
        if is_amount(read) and is_amount(write):
            return read, write
    raise ValueError(
        f"the price of {name} is two numbers: US dollars for a million tokens read, and written"
    )


def is_amount(given: Any) -> bool:
    """Whether *given* is a number of US dollars: finite, and 0 or more."""
    known = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
    return known and 0 <= given < float("inf")


def _obstacle(provider: Provider) -> str | None:
    """Why *provider* cannot be asked for the model that was named."""
    # The exec provider has no default model, which is all that keeps it from being asked unnamed;
    # and a server at an address of its own may need no key.
    if not provider.default_model or getattr(provider, "base_url", None):
        return None
    return provider.obstacle()
