"""What a vendor says is left of its limits, read from the headers of a reply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Allowance", "allowances"]


class Allowance(NamedTuple):
    """
    What is left of one limit.

    Attributes:
        of: `requests` or `tokens`.
        limit: How many there are when it is full.
        remaining: How many are left.
        seconds: Until it is full again.
    """

    of: Literal["requests", "tokens"]
    limit: float
    remaining: float
    seconds: float

    def wait(self, amount: float) -> float:
        """Seconds until *amount* is there, as it fills evenly; 0 if it is."""
        if self.remaining >= amount or self.limit <= self.remaining:
            return 0.0
        lacking = min(amount, self.limit) - self.remaining
        return self.seconds * lacking / (self.limit - self.remaining)


def allowances(headers: Mapping[str, str]) -> tuple[Allowance, ...]:
    """
    Return what *headers* tell of, in the form of OpenAI or of Anthropic; nothing where they do not.

    Sources: platform.openai.com/docs/guides/rate-limits (durations such as `6m0s`) and
    docs.anthropic.com/en/api/rate-limits (moments in RFC 3339).
    """
    if "x-ratelimit-remaining-requests" in headers:
        told = "x-ratelimit-{0}-{1}"
    elif "anthropic-ratelimit-requests-remaining" in headers:
        told = "anthropic-ratelimit-{1}-{0}"
    else:
        return ()
    found = (_allowance(headers, told, of) for of in ("requests", "tokens"))
    return tuple(one for one in found if one is not None)


def _allowance(
    headers: Mapping[str, str], told: str, of: Literal["requests", "tokens"]
) -> Allowance | None:
    try:
        limit, remaining = (float(headers[told.format(n, of)]) for n in ("limit", "remaining"))
        seconds = _seconds(headers[told.format("reset", of)], headers)
    except (KeyError, TypeError, ValueError):
        return None
    return Allowance(of, limit, remaining, seconds)


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def _seconds(text: str, headers: Mapping[str, str]) -> float:
    found = _DURATION.fullmatch(text)
    if found is not None and text:
        hours, minutes, seconds, millis = (float(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds + millis / 1000
    from datetime import datetime
    from email.utils import parsedate_to_datetime

    # By the vendor's own clock, which need not be ours.
    now = parsedate_to_datetime(headers["date"])
    return max(0.0, (datetime.fromisoformat(text) - now).total_seconds())
