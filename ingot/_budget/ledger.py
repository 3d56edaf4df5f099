"""The account of a budget: what was spent, and what is set aside for requests under way."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Literal, TypeAlias

from ingot.errors import BudgetExceededError, TurnLimitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot._budget.limits import Budget

    Limit: TypeAlias = Literal["tokens", "cost"]

__all__ = ["MICROS", "NOTHING", "Charge", "Ledger", "Need", "Spent"]

MICROS = 1_000_000
"""Costs are counted in millionths of a US dollar: so many are one dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """
    What was spent of a budget.

    Attributes:
        turns: Replies of a model.
        tokens: Tokens read and written. A reply whose server does not count them is charged what
            it might have taken.
        cost: US dollars, each request rounded up to a millionth. None when something was not
            priced: nothing is where no limit of a cost is in force.
        seconds: Time since the budget was opened.
    """

    turns: int
    tokens: int
    cost: Decimal | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Charge:
    """
    An amount to be set aside or spent.

    Attributes:
        turns: Replies of a model.
        tokens: Tokens.
        micros: Millionths of a US dollar.
    """

    turns: int = 0
    tokens: int = 0
    micros: int = 0

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            self.turns + other.turns, self.tokens + other.tokens, self.micros + other.micros
        )

    def __sub__(self, other: Charge) -> Charge:
        return Charge(
            self.turns - other.turns, self.tokens - other.tokens, self.micros - other.micros
        )


NOTHING = Charge()


@dataclass(frozen=True, slots=True)
class Need:
    """
    What the next request may take, as far as it is known before.

    Attributes:
        read: Tokens that the model reads, at the most.
        write: Tokens that it may write.
        fixed: What is read costs so many millionths of a US dollar.
        each: A token that is written costs so many.
    """

    read: int = 0
    write: int = 0
    fixed: int = 0
    each: Decimal = Decimal(0)

    def charge(self, write: int) -> Charge:
        """What it takes when the model writes *write* tokens."""
        return Charge(1, self.read + write, self.fixed + ceil(self.each * write))

    def affordable(self, micros: int) -> int:
        """How many tokens may be written for *micros*; below 0 when not even reading is paid."""
        left = micros - self.fixed
        if left < 0:
            return -1
        return int(left // self.each) if self.each else self.write


class Ledger:
    """
    The account of one budget; all asks inside `with Budget(…) as ledger:` share one.

    Attributes:
        budget: The limits.
    """

    __slots__ = ("_began", "_clock", "_held", "_priced", "_spent", "budget")

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._began: float | None = None
        self._held = self._spent = NOTHING
        self._priced = True

    def __repr__(self) -> str:
        return f"<Ledger of {self.budget!r}: {self.spent!r}>"

    @property
    def spent(self) -> Spent:
        """What was spent so far; what requests under way may take is not in it."""
        spent = self._spent
        cost = Decimal(spent.micros) / MICROS if self._priced else None
        return Spent(turns=spent.turns, tokens=spent.tokens, cost=cost, seconds=self._elapsed())

    @property
    def remaining(self) -> Budget:
        """What is left, as a budget, which can be given to others; nothing in it is below 0."""
        limits, spent = self.budget, self._spent
        turns, tokens, cost = limits.turns, limits.tokens, limits.cost
        return replace(
            limits,
            turns=None if turns is None else max(0, turns - spent.turns),
            tokens=None if tokens is None else max(0, tokens - spent.tokens),
            cost=None if cost is None else max(Decimal(0), cost - Decimal(spent.micros) / MICROS),
            seconds=self.seconds_left,
        )

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left, at least 0; None where there is no limit."""
        limit = self.budget.seconds
        return None if limit is None else max(0.0, limit - self._elapsed())

    def _elapsed(self) -> float:
        return 0.0 if self._began is None else self._clock() - self._began

    def start(self) -> None:
        """Begin to count the seconds, if that has not begun."""
        if self._began is None:
            self._began = self._clock()

    def check(self) -> None:
        """
        See whether there may be another request at all.

        Raises:
            BudgetExceededError: The turns or the seconds are spent.
        """
        limits, turns = self.budget, self._spent.turns
        if limits.turns is not None and turns >= limits.turns:
            raise TurnLimitError(allowed=limits.turns, spent=turns)
        self.check_time()

    def check_time(self) -> None:
        """
        See whether there is time left.

        Raises:
            BudgetExceededError: The seconds are spent.
        """
        limit = self.budget.seconds
        if limit is not None and (elapsed := self._elapsed()) >= limit:
            raise BudgetExceededError("seconds", allowed=limit, spent=elapsed)

    def room(self, need: Need) -> tuple[int, Limit | None]:
        """How many tokens the model may write if nothing is set aside, and what limits them."""
        return self._room(need, self._spent)

    def is_taken(self, need: Need, write: int) -> bool:
        """Whether requests under way have set aside what is needed to write *write* tokens."""
        used, turns = self._spent + self._held, self.budget.turns
        return (turns is not None and used.turns >= turns) or self._room(need, used)[0] < write

    def _room(self, need: Need, used: Charge) -> tuple[int, Limit | None]:
        limits = self.budget
        room: tuple[int, Limit | None] = (need.write, None)
        if (
            limits.tokens is not None
            and (left := limits.tokens - used.tokens - need.read) < room[0]
        ):
            room = (left, "tokens")
        if limits.cost is not None:
            left = need.affordable(int(limits.cost * MICROS) - used.micros)
            if left < room[0]:
                room = (left, "cost")
        return room

    def exceeded(self, limit: Limit, charge: Charge) -> BudgetExceededError:
        """The error that *charge* goes beyond *limit*."""
        limits, spent = self.budget, self._spent
        if limit == "tokens":
            return BudgetExceededError(
                limit, allowed=limits.tokens or 0, spent=spent.tokens, needed=charge.tokens
            )
        return BudgetExceededError(
            limit,
            allowed=limits.cost or Decimal(0),
            spent=Decimal(spent.micros) / MICROS,
            needed=Decimal(charge.micros) / MICROS,
        )

    def hold(self, charge: Charge) -> None:
        """Set *charge* aside."""
        self._held += charge

    def release(self, charge: Charge) -> None:
        """Give back what was set aside."""
        self._held -= charge

    def spend(self, charge: Charge, *, priced: bool) -> None:
        """Note what was spent; *priced* is whether its cost is in it."""
        self._spent += charge
        self._priced = self._priced and priced
