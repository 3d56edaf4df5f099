"""Cassettes that are named by a path or by `INGOT_CASSETTE`: one for each, kept until the end."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.cassette.children import VARIABLE, SharedLedger
from ingot.cassette.recorder import Cassette

if TYPE_CHECKING:
    from ingot.cassette.ledger import Entry

__all__ = ["cassette_at", "close_all", "news"]

_lock = threading.Lock()
_open: dict[str, Cassette] = {}
_told: dict[str, int] = {}
"""How many entries of each `news` has returned."""


def cassette_at(path: str) -> Cassette:
    """
    Return the cassette at *path*; what it records is written when the process, or the test, ends.

    In a process that a test started, the test's own cassette is told of each question, and gets
    what is recorded.
    """
    whole = str(Path(path).resolve())
    with _lock:
        found = _open.get(whole)
        if found is None:
            ledger = os.environ.get(VARIABLE)
            ours = ledger is not None and os.environ.get("INGOT_CASSETTE") == path
            found = _open[whole] = Cassette(path, in_ci=ledger is not None)
            found.shared = ledger is not None  # other tests may name it, too
            if ledger is not None and ours:
                found.ledger = SharedLedger(ledger, None)
                found.left_to_parent = True
    return found


def news() -> list[Entry]:
    """Return what happened in all of them since the last call."""
    fresh: list[Entry] = []
    for path, cassette in list(_open.items()):
        entries = cassette.ledger.entries[_told.get(path, 0) :]
        _told[path] = _told.get(path, 0) + len(entries)
        fresh += entries
    return fresh


def close_all(*, failed: bool) -> None:
    """
    Write what was recorded; whoever asks next opens its cassette anew.

    Args:
        failed: Whether what was run ended badly.
    """
    with _lock:
        done = list(_open.values())
        _open.clear()
        _told.clear()
    with ExitStack() as stack:  # all are closed, though one cannot be written
        for cassette in done:
            stack.callback(cassette.close, failed=failed)


def _close_at_exit() -> None:
    used = list(_open.values())
    # The interpreter keeps what ended the program, if something did.
    close_all(failed=getattr(sys, "last_value", None) is not None)
    for cassette in used:
        cassette.ledger.warn_of_left()


atexit.register(_close_at_exit)
