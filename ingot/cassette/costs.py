"""What the answers of a cassette cost, when they were made."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ingot._price import price
from ingot._response import Usage
from ingot.cassette.answers import server_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.cassette.tape import Row, Tape

__all__ = ["cost_of"]


def cost_of(tape: Tape, fresh: Tape, played: Mapping[tuple[str, str], int]) -> Decimal | None:
    """
    Return what answers cost in US dollars.

    Args:
        tape: What was recorded before.
        fresh: What was recorded now; all of it counts.
        played: How many answers of *tape* were played, by kind and key.

    Returns:
        The sum, or None if the price of one is not known.
    """
    answers = [(row, answer) for row in fresh for answer in row.answers.values()]
    for place, count in played.items():
        row = tape.row(*place)
        if row is not None:
            answers += [(row, row.answers[n]) for n in sorted(row.answers)[:count]]
    total = Decimal()
    for row, answer in answers:
        cost = _cost(row, answer)
        if cost is None:
            return None
        total += cost
    return total


def _cost(row: Row, answer: Mapping[str, Any]) -> Decimal | None:
    if "cost" in answer:
        return Decimal(answer["cost"])
    if row.of != "ask":
        return Decimal()  # tools and people are not paid by the token
    if "usage" not in answer:
        return Decimal() if "error" in answer else None
    model = server_of(str(row.data.get("model", "")), answer)
    return price(model, Usage(**answer["usage"]))
