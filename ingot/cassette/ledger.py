"""What happened to each question of one run, noted before anything is raised."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ingot.cassette.errors import (
    AmbiguousRepeatError,
    CassetteMissError,
    CassetteSecretError,
    CassetteSizeError,
)

if TYPE_CHECKING:
    from ingot.cassette.errors import CassetteError
    from ingot.errors import IngotError

__all__ = ["Entry", "Ledger", "word_of"]


class Entry(NamedTuple):
    """
    One question of a run.

    Attributes:
        what: `replayed`, `recorded`, `left`, `missed`, `ambiguous`, `secret`, `drifted` or `live`.
        site: Where it was asked.
        key: The key of the request.
        prompt: First line of the prompt.
        error: What was raised, or kept to be raised; None when all was well.
        kind: The kind of row: `ask`, `tool` or `human`.
    """

    what: str
    site: str
    key: str
    prompt: str
    error: IngotError | None = None
    kind: str = "ask"


@dataclass(slots=True)
class Ledger:
    """
    The questions of one run, in the order of their answers.

    Attributes:
        entries: Each of them.
    """

    entries: list[Entry] = field(default_factory=list[Entry])

    def note(self, entry: Entry) -> None:
        """Add *entry*."""
        self.entries.append(entry)

    def count(self, what: str) -> int:
        """How many entries are *what*."""
        return sum(entry.what == what for entry in self.entries)

    @property
    def errors(self) -> list[IngotError]:
        """What must not be swallowed, whatever the program did with it."""
        return [entry.error for entry in self.entries if entry.error is not None]

    def __str__(self) -> str:
        counted = {what: self.count(what) for what in ("replayed", "recorded", "missed", "drifted")}
        left = self.count("left")
        if left:
            counted["left before the end"] = left
        return ", ".join(f"{count} {what}" for what, count in counted.items())

    def warn_of_left(self) -> None:
        """Warn of answers that were not recorded, as nobody waited for their end."""
        sites = {entry.site: None for entry in self.entries if entry.what == "left"}
        if sites:
            warnings.warn(
                f"{', '.join(sites)}: an answer was left before its end, so it is not recorded and "
                "cannot be played; read the stream to its end, or s.value in its block",
                stacklevel=4,  # the block
            )


def word_of(error: CassetteError) -> str:
    """What an entry calls *error*."""
    if isinstance(error, CassetteMissError):
        return "missed"
    if isinstance(error, CassetteSecretError | CassetteSizeError):
        return "secret"
    return "ambiguous" if isinstance(error, AmbiguousRepeatError) else "failed"
