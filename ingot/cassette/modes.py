"""What a cassette does with a question: play, record, compare, or stand aside."""

from __future__ import annotations

import fnmatch
import os
from typing import Literal, get_args

from ingot.cassette.errors import CassetteModeError

__all__ = ["MODES", "Mode", "check_ways", "is_meant", "mode_of"]

Mode = Literal["replay", "record", "refresh", "verify", "live"]
MODES: tuple[Mode, ...] = get_args(Mode)


def mode_of(mode: str | None, *, in_ci: bool) -> Mode:
    """
    Return the mode in force.

    Args:
        mode: What was asked for; None for what `INGOT_CASSETTE_MODE` says, else `replay`.
        in_ci: Whether recording is allowed where the variable `CI` is set.

    Raises:
        CassetteModeError: There is no such mode, or it is not allowed here.
    """
    chosen = mode or os.environ.get("INGOT_CASSETTE_MODE") or "replay"
    if chosen not in MODES:
        raise CassetteModeError(chosen, f"there is no such mode; there are {', '.join(MODES)}")
    if chosen in ("record", "refresh") and os.environ.get("CI") and not in_ci:
        raise CassetteModeError(
            chosen,
            "recording is refused where the variable CI is set",
            advice="record on your machine and commit the file, or allow it: in_ci=True",
        )
    return chosen


def check_ways(**chosen: str) -> None:
    """
    Check what a cassette was told of how it plays.

    Raises:
        ValueError: There is no such way.
    """
    for name, value in chosen.items():
        if value not in _WAYS[name]:
            ways = ", ".join(_WAYS[name])
            raise ValueError(f"{name} of a cassette is one of {ways}, not {value!r:.80}")


_WAYS = {
    "unused": ("ignore", "fail"),
    "repeats": ("fail", "last"),
    "tools": ("replay", "live"),
    "stream": ("whole", "words", "recorded"),
}


def is_meant(only: str, site: str, key: str) -> bool:
    """Whether the patterns in *only*, with `|` between them, mean what is asked at *site*."""
    texts = (site, site.rpartition(":")[2], key)
    return any(
        any(fnmatch.fnmatchcase(text, one) for text in texts)
        or key.removeprefix("k1:").startswith(one)
        for one in only.split("|")
    )
