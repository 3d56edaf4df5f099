"""What a router has made of its models: how often each was asked, and how well that went."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from ingot.rill.client import Client
from ingot.rill.decider import Counters
from ingot.rill.runtime import Runtime
from ingot.rill.tally import COUNTS, Tallied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["report_of"]


def report_of(path: Path) -> dict[str, Any]:
    """
    Return what the router whose state is at *path* counted; it may be in use.

    Returns:
        `models`, and `days` of `day` (as 2026-12-31) and `models`, the latest last. A model has its
        name as `model`; `asks`; `share` of all asks; `valid`: the share of its asks that it
        answered; `failed`: the share to which no reply came; `repairs` of an ask; `cost` of an ask
        in US dollars; `seconds` of an ask; `rating`: the mean of the scores that it was given.
        A mean of nothing is None.

    Raises:
        RillStateError: There is no state of a router, or it cannot be used.
    """
    counted: Any = Client(Runtime.peek(path, Tallied(Counters()))).inspect()["handler"]
    names: list[str] = counted["arms"] or []
    days: dict[str, Any] = counted["days"]
    return {
        "models": _models(names, counted["sums"]),
        "days": [
            {"day": _date(int(day)), "models": _models(names, days[day])}
            for day in sorted(days, key=int)
        ],
    }


def _models(names: Sequence[str], sums: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    none = [0] * len(COUNTS)
    counts = [dict(zip(COUNTS, sums.get(str(n), none), strict=True)) for n in range(len(names))]
    total = sum(count["asks"] for count in counts)
    return [
        {
            "model": name,
            "asks": int(count["asks"]),
            "share": _mean(count["asks"], total),
            "valid": _mean(count["valid"], count["asks"]),
            "failed": _mean(count["failed"], count["asks"]),
            "repairs": _mean(count["repairs"], count["asks"]),
            "cost": _mean(count["cost"], count["priced"]),
            "seconds": _mean(count["seconds"], count["asks"]),
            "rating": _mean(count["rating"], count["ratings"]),
        }
        for name, count in zip(names, counts, strict=True)
    ]


def _mean(total: float, count: float) -> float | None:
    return None if count == 0 else round(total / count, 9)


def _date(day: int) -> str:
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=day))
