"""What the processes that a test starts tell it of their questions, line by line in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ingot.cassette.errors import CassetteError
from ingot.cassette.ledger import Entry, Ledger

__all__ = ["VARIABLE", "SharedLedger", "told"]

VARIABLE = "INGOT_CASSETTE_LEDGER"
"""Names the file, in the environment of the children."""


class SharedLedger(Ledger):
    """
    A ledger whose entries other processes can read.

    Args:
        path: Where entries are told.
        owner: The process that reads them, and need not tell itself; None where that is another.
    """

    __slots__ = ("_owner", "_path")

    def __init__(self, path: str, owner: int | None) -> None:
        super().__init__()
        self._path = path
        self._owner = owner

    def note(self, entry: Entry) -> None:
        """Add *entry*, and tell it if this process is not the one that reads them."""
        super().note(entry)
        if os.getpid() == self._owner:
            return
        facts = entry._asdict()
        if entry.error is not None:
            facts["error"] = str(entry.error)
        if entry.what == "secret":
            facts["prompt"] = ""  # it may be what must not be written
        line = json.dumps(facts) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError:
            return  # the test is over, and its folder gone
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def told(path: str) -> list[Entry]:
    """Return the entries that other processes have told so far."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    out: list[Entry] = []
    for line in lines[:-1]:
        facts = json.loads(line)
        said = facts.pop("error")
        error = None if said is None else CassetteError(f"in a process of this test: {said}")
        out.append(Entry(**facts, error=error))
    return out
