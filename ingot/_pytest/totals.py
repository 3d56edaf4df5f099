"""What a whole run came to: the last line, and the report that machines read."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from ingot._pytest.standin import StandIn
    from ingot.cassette.ledger import Entry

__all__ = ["Totals", "told_of"]

_SHOWN = ("replayed", "recorded", "drifted", "unused")
_SOMETIMES = {
    "live": "asked live and alike",
    "refused": "refused",
    "left": "left before the end and not recorded",
}


@dataclass(slots=True)
class Totals:
    """
    Sums over a run.

    Attributes:
        counts: How often what happened.
        drifts: Questions that had no recording, or another answer than recorded.
        unused: Rows with answers that a passing test did not ask for.
        notes: What is to be said at the end.
    """

    counts: Counter[str] = field(default_factory=Counter[str])
    drifts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    notes: list[str] = field(default_factory=list[str])

    def add(self, told: dict[str, Any]) -> None:
        """Add what `told_of` returned, here or in another process."""
        self.counts.update(told["counts"])
        self.drifts += told["drifts"]
        self.unused += told["unused"]
        self.notes += told["notes"]

    def line(self) -> str | None:
        """The last line; None if nothing was asked."""
        if not +self.counts:
            return None
        parts = [f"{self.counts[what]} {what}" for what in _SHOWN]
        parts += [f"{self.counts[w]} {said}" for w, said in _SOMETIMES.items() if self.counts[w]]
        return f"ingot: {', '.join(parts)}"

    def write(self, path: Path, mode: str, orphans: list[tuple[str, str]]) -> None:
        """Write the report."""
        report = {
            "mode": mode,
            "totals": {what: self.counts[what] for what in (*_SHOWN, *_SOMETIMES)},
            "drifts": sorted(self.drifts, key=itemgetter("test", "site")),
            "unused": sorted(self.unused, key=itemgetter("test", "site", "key")),
            "orphans": [{"path": where, "test": test} for where, test in orphans],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def told_of(
    stand_in: StandIn, who: str, unused: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    """Return what happened in front of *stand_in* as JSON, for `Totals.add`."""
    return {
        "counts": {**stand_in.counts, "unused": len(unused)},
        "unused": [{"test": who, "path": stand_in.whole_path, **row} for row in unused],
        "drifts": [_drift(entry, stand_in, who) for entry in stand_in.entries if entry.error],
        "notes": notes,
    }


def _drift(entry: Entry, stand_in: StandIn, who: str) -> dict[str, Any]:
    return {
        "test": who,
        "path": getattr(entry.error, "path", None) or stand_in.whole_path,
        "what": entry.what,
        "site": entry.site,
        "key": entry.key,
        "report": str(entry.error),
    }
