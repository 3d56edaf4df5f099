"""`Rate`: how much may be asked in a time, as arithmetic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["Per", "Rate", "rate_of"]

Per: TypeAlias = Literal["s", "min", "h"]

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|min|h)\s*", re.ASCII)

_SECONDS: dict[Per, float] = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """
    How much may be asked of one vendor with one key in a time.

        Rate(requests=500, tokens=200_000, per="min")

    Requests are spread evenly over the time, as vendors look at less than a minute too. Tokens are
    estimated before a request and corrected by what the reply says was used.

    Attributes:
        requests: Requests in that time, retries and repairs included; None for no bound.
        tokens: Tokens in that time, read and written; None for no bound.
        per: `s`, `min` or `h`.

    Raises:
        ValueError: There is no bound, one is not above 0, or *per* is none of the three words.
    """

    requests: float | None = None
    tokens: float | None = None
    per: Per = "min"

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.requests, self.tokens) if bound is not None]
        if not bounds or not all(0 < bound < float("inf") for bound in bounds):
            raise ValueError("a Rate states requests or tokens, each above 0")
        if self.per not in get_args(Per):
            raise ValueError(f"Rate(per=…) is 's', 'min' or 'h', not {self.per!r:.80}")

    def spacing(self, bound: float | None) -> float:
        """Seconds that one of *bound*, which are the requests or the tokens, takes; 0 for None."""
        return 0.0 if bound is None else _SECONDS[self.per] / bound


def rate_of(said: object) -> Rate:
    """
    Return the rate that *said* is, such as `500/min`, which counts requests.

    Raises:
        ValueError: It is not a rate.
    """
    if isinstance(said, Rate):
        return said
    found = _RATE.fullmatch(said) if isinstance(said, str) else None
    if found is None:
        raise ValueError(
            "write it as '500/min', with s, min or h, or as Rate(requests=…, tokens=…)"
        )
    return Rate(requests=float(found[1]), per=found[2])  # type: ignore[arg-type]  # of the pattern
