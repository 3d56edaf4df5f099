"""What there is: the cassettes of a folder, what they cost, and what is wrong with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingot._json import is_object
from ingot._price import price
from ingot._response import Usage
from ingot._spelling import counted
from ingot.cassette.answers import server_of
from ingot.cassette.check import LARGE, Fault, faults
from ingot.cassette.errors import CassetteError
from ingot.cassette.secrets import Scanner
from ingot.cli import show
from ingot.cli.cassette_files import content, leftovers, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from ingot.cassette.tape import Row, Tape

__all__ = ["show_check", "show_list", "show_stats"]


def show_list(files: Iterable[Path], *, whole: bool) -> None:
    """Print a line for each cassette."""
    found = [_entry(path) for path in files]
    if whole:
        show.tree(found)
        return
    if not found:
        show.note("no cassettes there")
        return
    rows = [
        [
            str(one["file"]),
            str(one["rows"]),
            str(one["answers"]),
            _size(one["bytes"]),
            str(one["served"] or "–"),
            "; ".join(one["problems"]) or "–",
        ]
        for one in found
    ]
    head = ["file", "rows", "answers", "size", "model", "problems"]
    show.table(counted(len(found), "cassette"), head, rows)


def _entry(path: Path) -> dict[str, Any]:
    problems: list[str] = []
    tape: Tape | None = None
    try:
        tape = opened(path)
        if path.stat().st_size > LARGE:
            problems.append("large")
        if any(not tape.is_genuine(row) for row in tape):
            problems.append("a row was edited")
    except CassetteError as error:
        problems.append(_reason(error))
    if any(".rec-" in file.name for file in leftovers(path)):
        problems.append("a journal waits (ingot cassette recover)")
    served = [a["served"] for row in tape or () for a in row.answers.values() if a.get("served")]
    return {
        "file": str(path),
        "rows": None if tape is None else len(tape.rows),
        "answers": None if tape is None else len(tape),
        "bytes": path.stat().st_size if path.exists() else None,
        "served": served[-1] if served else None,
        "problems": problems,
    }


def _reason(error: CassetteError) -> str:
    return str(getattr(error, "reason", error)).removeprefix(f"{error.path}: ")


def _size(count: int | None) -> str:
    if count is None:
        return "–"
    return f"{count / 1024:,.1f} KiB" if count >= 1024 else f"{count} B"


# check


def show_check(files: Iterable[Path], *, whole: bool) -> bool:
    """Print a line for each thing that is wrong, and return whether nothing is but warnings."""
    scanner = Scanner(os.environ)
    found = {path: _faults(path, scanner) for path in files}
    failed = any(fault.grade == "error" for known in found.values() for fault in known)
    if whole:
        show.tree(
            {
                "ok": not failed,
                "files": [str(path) for path in found],
                "problems": [
                    {
                        "file": str(path),
                        "grade": fault.grade,
                        "row": fault.key,
                        "problem": fault.what,
                        "fix": fault.fix,
                    }
                    for path, known in found.items()
                    for fault in known
                ],
            }
        )
        return not failed
    for path, known in found.items():
        for fault in known:
            show.prose(f"{path}: {fault.grade}: {fault.what}; {fault.fix}")
    bad = sum(any(f.grade == "error" for f in known) for known in found.values())
    files_ = counted(len(found), "cassette")
    show.prose(f"{files_} checked, {bad} with problems" if bad else f"{files_} checked, all well")
    return not failed


def _faults(path: Path, scanner: Scanner) -> list[Fault]:
    out: list[Fault] = []
    try:
        out += faults(opened(path), len(content(path)), scanner)
    except CassetteError as error:
        fix = error.advice or "restore it from version control"
        reason = str(getattr(error, "reason", ""))
        if not reason:
            reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {fix}")
        out.append(Fault(reason, fix))
    for file in leftovers(path):
        if ".rec-" in file.name:
            fix = f"ingot cassette recover {path.parent}"
            what = f"the journal {file.name} waits to be merged, or is being written"
        else:
            fix = f"if nothing records now, remove it: rm {file}"
            what = f"{file.name} was left behind by a recorder that died"
        out.append(Fault(what, fix, grade="warning"))
    return out


# stats


@dataclass(slots=True)
class _Sum:
    rows: int = 0
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    unpriced: int = 0
    kinds: set[str] = field(default_factory=set[str])

    def add(self, row: Row) -> None:
        """Count *row*; answers that are written once are counted as often as they were given."""
        self.rows += 1
        for answer in row.answers.values():
            self.answers += 1
            used = usage_of(answer)
            if used is None:
                continue
            self.input_tokens += (
                used.input_tokens
                + used.cache_read_tokens
                + used.cache_write_tokens
                + used.cache_write_1h_tokens
            )
            self.output_tokens += used.output_tokens
            paid = cost_of(row.data, answer, used)
            if paid is None:
                self.unpriced += 1
            else:
                self.cost = paid if self.cost is None else self.cost + paid

    def to_json(self) -> dict[str, Any]:
        """All of it; *cost* is in US dollars, and None where no price is known."""
        return {
            "rows": self.rows,
            "answers": self.answers,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": None if self.cost is None else float(self.cost),
            "answers_without_price": self.unpriced,
        }

    def cells(self) -> list[str]:
        """The cells of a table."""
        paid = "–" if self.cost is None else f"${self.cost:.4f}"
        more = " + ?" if self.unpriced and self.cost is not None else ""
        return [
            f"{self.rows:,}",
            f"{self.answers:,}",
            f"{self.input_tokens:,}",
            f"{self.output_tokens:,}",
            paid + more,
        ]


def usage_of(answer: Mapping[str, Any]) -> Usage | None:
    """The tokens of an answer; None where they are not known."""
    counts = answer.get("usage")
    if not is_object(counts):
        return None
    known = {k: v for k, v in counts.items() if k in Usage.__dataclass_fields__}
    return Usage(**{"input_tokens": 0, "output_tokens": 0, **known})


def cost_of(data: Mapping[str, Any], answer: Mapping[str, Any], used: Usage) -> Decimal | None:
    """What an answer cost: by the model that served it, else by the one that was asked."""
    asked = str(data.get("model", ""))
    names = (server_of(asked, answer), asked) if "/" in asked else ()
    return next((paid for name in names if (paid := price(name, used)) is not None), None)


def show_stats(files: Iterable[Path], *, whole: bool) -> None:
    """Print rows, answers, tokens and cost: in all, by model and by site."""
    everything = _Sum()
    models: dict[str, _Sum] = {}
    sites: dict[str, _Sum] = {}
    count = 0
    for path in files:
        count += 1
        for row in opened(path):
            everything.add(row)
            models.setdefault(_model(row), _Sum()).add(row)
            sites.setdefault(row.site or "–", _Sum()).add(row)
    if whole:
        show.tree(
            {
                "files": count,
                **everything.to_json(),
                "models": {name: one.to_json() for name, one in sorted(models.items())},
                "sites": {name: one.to_json() for name, one in sorted(sites.items())},
            }
        )
        return
    numbers = ["rows", "answers", "tokens in", "out", "cost"]
    for title, groups in (("by model", models), ("by site", sites)):
        head = [title.removeprefix("by "), *numbers]
        rows = [[name, *groups[name].cells()] for name in sorted(groups)]
        show.table(title, head, [*rows, ["in all", *everything.cells()]])


def _model(row: Row) -> str:
    served = [answer for answer in row.answers.values() if answer.get("served")]
    asked = str(row.data.get("model", "–"))
    if not served:
        return asked
    return server_of(asked, served[-1]) if "/" in asked else str(served[-1]["served"])
