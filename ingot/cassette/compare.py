"""Two cassettes side by side: which rows one of them alone has, and which became another."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import TYPE_CHECKING, Any

from ingot._json import is_equal
from ingot.cassette.rows import first_line, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.cassette.tape import Row, Tape

__all__ = ["Comparison", "compared", "likeness"]


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
    added = [row for place, row in new.rows.items() if place not in old.rows]
    dropped: list[Row] = []
    changed: list[tuple[Row, Row]] = []
    for place, row in old.rows.items():
        if place in new.rows:
            continue
        near = [other for other in added if _place(other) == _place(row)]
        if near:
            found = max(near, key=partial(_nearness, row))
            added.remove(found)
            # A call or a question may have another key only because its ask has.
            (both if is_equal(_bare(row), _bare(found)) else changed).append((row, found))
        else:
            dropped.append(row)
    answered = [(a, b) for a, b in both if not is_equal(a.answers, b.answers)]
    return Comparison(
        old=old,
        new=new,
        changed=tuple(changed),
        answered=tuple(answered),
        dropped=tuple(dropped),
        added=tuple(added),
        same=len(both) - len(answered),
    )


def _place(row: Row) -> tuple[str, str, str, int]:
    data = row.data
    return str(data["kind"]), row.site, str(data.get("tool")), len(data.get("messages", ()))


def _nearness(row: Row, other: Row) -> tuple[bool, float]:
    return is_equal(_bare(row), _bare(other)), likeness(row.data, other.data)


def _bare(row: Row) -> dict[str, Any]:
    """What is asked, without the keys of the row, of its ask and of the call that it is in."""
    return {name: part for name, part in row.data.items() if name not in ("key", "ask", "inside")}


def likeness(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """How alike what two rows ask is, from 0 to 1."""
    return SequenceMatcher(None, _said(one), _said(two), autojunk=False).quick_ratio()


def _said(row: Mapping[str, Any]) -> str:
    return text_of(row["prompt"] if "prompt" in row else first_line(row))[:4000]
