"""Stdout as the way to whoever started this program, which nothing else may write to."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

__all__ = ["taken"]


def taken() -> BinaryIO:
    """Return what stdout is, and let stderr be stdout from now on, also for programs below."""
    try:
        number = sys.stdout.fileno()
    except OSError:  # a stand-in without a descriptor
        return sys.stdout.buffer
    out = os.fdopen(os.dup(number), "wb")
    os.dup2(sys.stderr.fileno(), number)
    sys.stdout.flush()  # what was printed before goes there too
    return out
