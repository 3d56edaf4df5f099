"""One cassette, or two, for reading: on the terminal, as JSON, as a page of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._spelling import counted
from ingot.cassette import store
from ingot.cassette.compare import compared
from ingot.cassette.drift import changes
from ingot.cassette.page import page_of
from ingot.cassette.reading import answer_blocks, conversations
from ingot.cassette.rows import first_line
from ingot.cassette.tape import Tape
from ingot.cli import show
from ingot.cli.cassette_files import one_row, opened
from ingot.cli.cassette_print import Line, show_lines, show_tape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingot.cassette.compare import Comparison
    from ingot.cassette.tape import Row

__all__ = ["show_cassette", "show_difference"]


def show_cassette(path: Path, *, key: str | None, html: Path | None, whole: bool) -> None:
    """
    Show a cassette, or the conversation of one row.

    Args:
        path: The cassette.
        key: The beginning of the key of a row; None for all of them.
        html: The page to write instead.
        whole: Print it as JSON.
    """
    tape = opened(path)
    row = None if key is None else one_row(tape, key, path)
    if html is not None:
        shown = tape if row is None else _around(tape, row)
        _write(html, page_of(shown, title=path.name))
    elif whole:
        show.tree(tape.to_json() if row is None else _around(tape, row).to_json())
    else:
        show_tape(tape, path, row)


def _around(tape: Tape, row: Row) -> Tape:
    """The rows of the conversation that *row* is in."""
    rows = next(one.rows for one in conversations(tape) if row in one.rows)
    return Tape({(r.data["kind"], r.key): r for r in rows}, tape.types, tape.rest)


def _write(path: Path, text: str) -> None:
    store.rewrite(path, lambda _: text.encode())
    show.note(f"written: {path}")


def show_difference(old: Path, new: Path, *, html: Path | None, whole: bool) -> bool:
    """
    Show how one cassette became another.

    Returns:
        Whether they say the same.
    """
    found = compared(opened(old), opened(new))
    if html is not None:
        names = (old.name, new.name) if old.name != new.name else (str(old), str(new))
        title = f"{names[0]} → {names[1]}"
        _write(html, page_of(found.new, title=title, drift=found, names=names))
    elif whole:
        show.tree(_json(found))
    else:
        show_lines(_lines(found, old, new))
    return not found


def _changes(found: Comparison, pair: tuple[Row, Row]) -> list[str]:
    return changes(pair[0].data, pair[1].data, found.old.types, found.new.types)


def _json(found: Comparison) -> dict[str, Any]:
    return {
        "changed": [
            {"site": a.site, "old": a.key, "new": b.key, "changes": _changes(found, (a, b))}
            for a, b in found.changed
        ],
        "answered": [
            {
                "site": a.site,
                "key": a.key,
                "old": a.to_json()["answers"],
                "new": b.to_json()["answers"],
            }
            for a, b in found.answered
        ],
        "dropped": [_told(row) for row in found.dropped],
        "added": [_told(row) for row in found.added],
        "same": found.same,
    }


def _told(row: Row) -> dict[str, str]:
    return {"site": row.site, "key": row.key, "asked": first_line(row.data)}


def _lines(found: Comparison, old: Path, new: Path) -> Iterator[Line]:
    for a, b in found.changed:
        yield Line(f"~ {a.site}   {a.key[:11]} → {b.key[:11]}", "bold yellow")
        for line in _changes(found, (a, b)):
            yield Line(line, _style(line), 4)
    for a, b in found.answered:
        yield Line(f"~ {a.site}   {a.key[:11]} is answered differently", "bold yellow")
        for sign, row in (("-", a), ("+", b)):
            for block in answer_blocks(row):
                text = f"{sign} " + block.text.replace("\n", f"\n{sign} ")
                yield Line(text, "red" if sign == "-" else "green", 4)
    for sign, rows, path, style in (
        ("-", found.dropped, old, "red"),
        ("+", found.added, new, "green"),
    ):
        for row in rows:
            said = row.first_line
            yield Line(f"{sign} {row.site}   {row.key[:11]}, only in {path}: {said!r}", style)
    same = f"{counted(found.same, 'row')} the same"
    yield Line(same if found else f"no difference; {same}", "dim")


def _style(line: str) -> str:
    bare = line.lstrip().partition(": ")[2] if line.lstrip().startswith("@@") else line.lstrip()
    return {"-": "red", "+": "green", "~": "yellow"}.get(bare[:1], "")
