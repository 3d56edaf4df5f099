"""Limits of what asks may spend, as a caller states them."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import TYPE_CHECKING, Any

from ingot._budget.ledger import Ledger

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["DEFAULT_TURNS", "Budget", "open_ledgers"]

DEFAULT_TURNS = 16
"""Model turns of one ask where no budget states a limit of them."""

_MOST = 10**9
"""Dollars beyond which a cost is a mistake."""

_open: ContextVar[tuple[Ledger, ...]] = ContextVar("ingot_budgets", default=())


def open_ledgers() -> tuple[Ledger, ...]:
    """Return the ledgers of the budgets that are open here, the outermost first."""
    return _open.get()


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Budget:
    """
    What asks may spend; what is not stated is not limited, but turns (see there).

    Each request is checked before it is sent: what it may take at the most must be left, its
    *max_tokens* is lowered to what is left, and its timeout to the seconds that are.

    As a setting, `ask.using(budget=Budget(…))`, each ask has the whole of it. As a context manager
    all asks inside share it, on top of their own; tasks inherit it, and so do threads that are
    started with `contextvars.copy_context().run`:

        with Budget(cost="0.50") as ledger:
            ask(list[str], "Name three primary colours.")
        print(ledger.spent.cost)

    Each `with` begins a ledger of its own, so a Budget can be a constant. Of several that are open
    all hold.

    Args:
        turns: Replies of a model. None for 16 in one ask, or as many as another budget allows.
        tokens: Tokens read and written. What is read is estimated before it is sent, at one token
            for two bytes.
        cost: US dollars, as `Decimal`, text or number; counted in millionths. Needs the `cost`
            extra and a model whose price it knows.
        seconds: Time from the first request (or from `with`) to the last. A reply under way is not
            interrupted unless its server falls silent.

    Raises:
        ValueError: A limit is not a number of at least 0.
    """

    turns: int | None
    tokens: int | None
    cost: Decimal | None
    seconds: float | None

    def __init__(
        self,
        *,
        turns: int | None = None,
        tokens: int | None = None,
        cost: Decimal | str | float | None = None,
        seconds: float | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "turns", _whole("turns", turns))
        put(self, "tokens", _whole("tokens", tokens))
        put(self, "cost", _dollars(cost))
        put(self, "seconds", _duration(seconds))

    def __repr__(self) -> str:
        limits = {"turns": self.turns, "tokens": self.tokens, "seconds": self.seconds}
        shown = [f"{name}={value}" for name, value in limits.items() if value is not None]
        if self.cost is not None:
            shown.append(f"cost='{self.cost:f}'")
        return f"Budget({', '.join(shown)})"

    def __enter__(self) -> Ledger:
        ledger = Ledger(self)
        ledger.start()
        _open.set((*_open.get(), ledger))
        return ledger

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        ledgers = list(_open.get())
        last = max((n for n, ledger in enumerate(ledgers) if ledger.budget is self), default=None)
        if last is None:
            raise RuntimeError(
                f"{self!r} is not open here; leave `with` in the task or thread that entered it"
            )
        del ledgers[last]
        _open.set(tuple(ledgers))


def _whole(name: str, value: Any) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"Budget({name}=…) is a whole number of at least 0, not {value!r:.80}")


def _dollars(value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        # A float is what it is written as: 0.1 is a tenth.
        amount = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    except (InvalidOperation, TypeError, ValueError):
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or not 0 <= amount <= _MOST:
        raise ValueError(
            f"Budget(cost=…) is an amount of US dollars such as '0.50', not {value!r:.80}"
        )
    return amount


def _duration(value: Any) -> float | None:
    if value is None:
        return None
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not isfinite(value) or value < 0:
        raise ValueError(f"Budget(seconds=…) is a number of at least 0, not {value!r:.80}")
    return float(value)
