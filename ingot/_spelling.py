"""Words in messages: the one that was meant, and a noun after its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["counted", "nearest"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* with its noun: `1 row`, `2 rows`; *plural* is for those without an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest of *known*, or an empty text."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
