"""Cassettes that are named by a path or by `INGOT_CASSETTE`: one for each, kept until the end."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from pathlib import Path

from ingot.cassette.children import VARIABLE, SharedLedger
from ingot.cassette.recorder import Cassette

__all__ = ["cassette_at"]

_lock = threading.Lock()
_open: dict[str, Cassette] = {}


def cassette_at(path: str) -> Cassette:
    """
    Return the cassette at *path*; what it records is written when the process ends.

    In a process that a test started, the test's own cassette is told of each question, and gets
    what is recorded.
    """
    whole = str(Path(path).resolve())
    with _lock:
        found = _open.get(whole)
        if found is None:
            if not _open:
                atexit.register(_close)
            ledger = os.environ.get(VARIABLE)
            ours = ledger is not None and os.environ.get("INGOT_CASSETTE") == path
            found = _open[whole] = Cassette(path, in_ci=ours)
            if ledger is not None and ours:
                found.ledger = SharedLedger(ledger, None)
                found.left_to_parent = True
    return found


def _close() -> None:
    # The interpreter keeps what ended the program, if something did.
    failed = getattr(sys, "last_value", None) is not None
    for cassette in _open.values():
        cassette.close(failed=failed)
    _open.clear()
