"""Two cassettes side by side: which rows one of them alone has, and which became another."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ingot.cassette.rows import text_of

if TYPE_CHECKING:
    from ingot.cassette.tape import Row, Tape

__all__ = ["Comparison", "compared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """
    How a cassette became another.

    Attributes:
        old: The one.
        new: The other.
        changed: Rows of one place whose request differs, old and new.
        answered: Rows of one request whose answers differ, old and new.
        dropped: Rows that only the old one has.
        added: Rows that only the new one has.
        same: How many rows are equal.
    """

    old: Tape
    new: Tape
    changed: tuple[tuple[Row, Row], ...]
    answered: tuple[tuple[Row, Row], ...]
    dropped: tuple[Row, ...]
    added: tuple[Row, ...]
    same: int

    def __bool__(self) -> bool:
        return bool(self.changed or self.answered or self.dropped or self.added)


def compared(old: Tape, new: Tape) -> Comparison:
    """Compare two cassettes: rows by key, and those left over by place and likeness."""
    both = [(row, new.rows[place]) for place, row in old.rows.items() if place in new.rows]
    answered = [(a, b) for a, b in both if a.answers != b.answers]
    added = [row for place, row in new.rows.items() if place not in old.rows]
    dropped: list[Row] = []
    changed: list[tuple[Row, Row]] = []
    for place, row in old.rows.items():
        if place in new.rows:
            continue
        near = [other for other in added if _place(other) == _place(row)]
        if near:
            found = max(near, key=lambda other: _alike(row, other))
            added.remove(found)
            changed.append((row, found))
        else:
            dropped.append(row)
    return Comparison(
        old=old,
        new=new,
        changed=tuple(changed),
        answered=tuple(answered),
        dropped=tuple(dropped),
        added=tuple(added),
        same=len(both) - len(answered),
    )


def _place(row: Row) -> tuple[str, str, int]:
    return str(row.data["kind"]), row.site, len(row.data.get("messages", ()))


def _alike(one: Row, two: Row) -> float:
    texts = [
        text_of(row.data.get("prompt", row.data.get("question", "")))[:4000] for row in (one, two)
    ]
    return SequenceMatcher(None, texts[0], texts[1], autojunk=False).quick_ratio()
