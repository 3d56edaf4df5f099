"""What a cassette does with a question: play, record, compare, or stand aside."""

from __future__ import annotations

import os
from typing import Literal, get_args

from ingot.cassette.errors import CassetteModeError

__all__ = ["MODES", "Mode", "mode_of"]

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
