"""What one ask may still spend, seen to before and after each request."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from ingot._budget.estimate import UNBOUNDED, reading
from ingot._budget.ledger import MICROS, NOTHING, Charge, Ledger, Need
from ingot._budget.limits import DEFAULT_TURNS, Budget, open_ledgers
from ingot._price import paid
from ingot._response import Usage
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from ingot._budget.ledger import Limit
    from ingot._request import Request
    from ingot.errors import BudgetExceededError

__all__ = ["Meter", "meter_for"]

_LEAST = 16
"""Tokens of an answer below which vendors refuse to be asked."""

_SILENCE = 600.0
"""Seconds that a server may be silent where no timeout is set."""

_lock = threading.Lock()
"""Held while ledgers that asks share are read and written as one; that is a few sums."""


class Meter:
    """
    What one ask may spend: its own budget and those that are open, of which all hold.

    Before each request `before` sets aside what it may take, so that asks which share a budget do
    not overspend it together; then `after` takes what it took, or `release` gives all back.

    Attributes:
        ledger: The account of this ask alone.
    """

    def __init__(self, ledger: Ledger, shared: tuple[Ledger, ...] = ()) -> None:
        self.ledger = ledger
        self._ledgers = (*shared, ledger)
        budgets = [each.budget for each in self._ledgers]
        self._priced = any(budget.cost is not None for budget in budgets)
        self._counted = self._priced or any(budget.tokens is not None for budget in budgets)
        self._held = NOTHING
        self._asked = Need(), 0
        self._hidden = 0
        self._lowered: tuple[Ledger, Limit, Charge] | None = None
        self._model: str | None = None

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left to this ask, at least 0; None where there is no limit."""
        left = [each.seconds_left for each in self._ledgers]
        return min((seconds for seconds in left if seconds is not None), default=None)

    def check(self) -> None:
        """
        See whether there may be another request at all.

        Raises:
            BudgetExceededError: The turns or the seconds are spent.
        """
        for ledger in self._ledgers:
            ledger.check()

    @property
    def watch(self) -> Callable[[], None] | None:
        """What raises `BudgetExceededError` once the seconds are spent; None if none are set."""
        return None if self.seconds_left is None else self._check_time

    def _check_time(self) -> None:
        for ledger in self._ledgers:
            ledger.check_time()

    def before(self, request: Request, model: str | None) -> Request | None:
        """
        Set aside what *request* may take, and return it with the bounds that are left.

        Args:
            request: What is to be sent.
            model: Who is asked, as `provider/model`; None where only a recording knows.

        Returns:
            The request; its *max_tokens* may be lower, and its *timeout*. None where asks under way
            have set aside what it takes: wait a moment and try again.

        Raises:
            BudgetExceededError: What is left does not cover it.
            NotConfiguredError: A cost is limited, and the price of *model* is not known.
        """
        self.release()  # of a request that failed, if that was not said
        for ledger in self._ledgers:
            ledger.start()
        self._model = model
        need = self._need(request) if self._counted else Need()
        with _lock:
            self.check()
            rooms = [(*each.room(need), each) for each in self._ledgers]
            write, limit, tightest = min(rooms, key=lambda room: room[0])
            if limit is not None and write < (least := min(_LEAST, need.write)):
                raise tightest.exceeded(limit, need.charge(least))
            if any(ledger.is_taken(need, write) for ledger in self._ledgers):
                return None
            self._held, self._asked = need.charge(write), (need, write)
            for ledger in self._ledgers:
                ledger.hold(self._held)
        self._lowered = None if limit is None else (tightest, limit, need.charge(need.write))
        return self._bounded(request, None if limit is None else write)

    def _need(self, request: Request) -> Need:
        read = reading(request) + self._hidden
        write = UNBOUNDED if request.max_tokens is None else request.max_tokens
        if not self._priced or self._model is None:
            return Need(read, write)
        rate = _rate(self._model, read)
        if rate is None:
            raise _unpriced(self._model)
        return Need(read, write, *rate)

    def _bounded(self, request: Request, write: int | None) -> Request:
        seconds = self.seconds_left
        if seconds is not None and seconds < (request.timeout or _SILENCE):
            request = replace(request, timeout=seconds)
        if write is not None:
            request = replace(request, max_tokens=write, chosen_max_tokens=request.max_tokens)
        return request

    def after(self, usage: Usage | None, model: str) -> None:
        """
        Take what the request took; the rest of what was set aside is free again.

        Args:
            usage: What it took; None when the other end does not say, which counts as all that it
                might have taken.
            model: Who served, as `provider/model`.

        Raises:
            NotConfiguredError: A cost is limited, and the price of *model* is not known.
        """
        cost = self._cost(usage, model)
        took = self._held
        if usage is not None:
            took = Charge(1, usage.total_tokens, cost or 0)
            # It may be sent back to the vendor, in blocks that are not estimated.
            self._hidden += usage.reasoning_tokens
        self._take(took, priced=cost is not None)
        if self._priced and cost is None:
            raise _unpriced(model)

    def _cost(self, usage: Usage | None, model: str) -> int | None:
        """What *usage* cost, in millionths of a dollar."""
        if not self._priced:
            return None
        if usage is None:
            return self._held.micros if self._model is not None else None
        served = paid(model, usage)
        if served is None and self._model is not None:
            served = paid(self._model, usage)
        return None if served is None else ceil(served * MICROS)

    def release(self, told: int = 0) -> None:
        """
        Give back what was set aside for a request that failed or was left, if any was.

        What came of its reply was paid for: reading the request, and at most a token for each of
        the *told* characters.
        """
        need, write = self._asked
        took = need.charge(min(told, write)) if told else NOTHING
        self._take(took, priced=not told or (self._priced and self._model is not None))

    def _take(self, took: Charge, *, priced: bool) -> None:
        """Spend *took*, and give back what was set aside."""
        with _lock:
            for ledger in self._ledgers:
                ledger.release(self._held)
                ledger.spend(took, priced=priced)
        self._held = NOTHING

    def cut(self) -> BudgetExceededError | None:
        """The error for a reply that was cut off, where a budget had lowered its bound."""
        if self._lowered is None:
            return None
        ledger, limit, wanted = self._lowered
        return ledger.exceeded(limit, wanted)


def meter_for(
    own: Budget | None,
    *,
    turns: int = DEFAULT_TURNS,
    clock: Callable[[], float] = time.monotonic,
) -> Meter:
    """
    Return the meter of an ask that is made here and now.

    Args:
        own: The budget of this ask alone; None for none.
        turns: Its turns where no budget limits them.
        clock: Gives seconds.
    """
    shared = open_ledgers()
    stated = any(each.budget.turns is not None for each in shared)
    if own is None:
        own = _unlimited if stated else _finite(turns)
    elif own.turns is None and not stated:
        own = replace(own, turns=turns)
    return Meter(Ledger(own, clock=clock), shared)


_unlimited = Budget()


@lru_cache(maxsize=64)
def _finite(turns: int) -> Budget:
    return Budget(turns=turns)


def _rate(model: str, read: int) -> tuple[int, Decimal] | None:
    """What reading costs, and each token that is written, in millionths of a dollar."""
    fixed = paid(model, Usage(input_tokens=read))
    # Dollars for a million tokens are millionths of a dollar for one.
    million = paid(model, Usage(input_tokens=read, output_tokens=MICROS))
    if fixed is None or million is None:
        return None
    return ceil(fixed * MICROS), million - fixed


def _unpriced(model: str) -> NotConfiguredError:
    return NotConfiguredError(
        f"the price of {model} is not known, so a budget of a cost cannot be kept",
        advice="limit Budget(tokens=…) instead; "
        "the prices that are known come with pip install 'ingot-ask[cost]'",
    )
