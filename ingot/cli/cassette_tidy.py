"""Tidying: rows that no test asks for, files that no test has, journals that a crash left."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingot._json import is_array, is_object
from ingot._spelling import counted
from ingot.cassette import store
from ingot.cassette.errors import CassetteError
from ingot.cli import show
from ingot.cli.cassette_files import content, opened
from ingot.cli.exits import MisuseError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot.cassette.tape import Tape

__all__ = ["prune", "recover", "unused_of"]


def unused_of(report: Path) -> list[tuple[Path | None, str, int]]:
    """
    Return the rows that a report of `pytest --ingot-report` lists as unused.

    Returns:
        The file of each, the key, and how many of its answers were asked for.

    Raises:
        MisuseError: The file is no such report.
    """
    try:
        told: Any = json.loads(content(report))
    except CassetteError as error:
        raise MisuseError(f"--unused-from {error}") from None
    except (ValueError, RecursionError):
        raise MisuseError(f"--unused-from {report}: it is not JSON") from None
    entries = told.get("unused") if is_object(told) else None
    if not is_array(entries):
        raise MisuseError(
            f"--unused-from {report}: it has no list `unused`; "
            "pytest --ingot-report=FILE writes such a report"
        )
    out: list[tuple[Path | None, str, int]] = []
    for entry in entries:
        if not is_object(entry) or not isinstance(entry.get("key"), str):
            raise MisuseError(f"--unused-from {report}: an entry of `unused` has no `key`")
        named = next((entry[k] for k in ("cassette", "file", "path") if entry.get(k)), None)
        played = entry.get("played", 0)
        out.append(
            (
                None if named is None else Path(str(named)),
                entry["key"],
                played if isinstance(played, int) else 0,
            )
        )
    return out


def prune(
    files: Iterable[Path],
    unused: list[tuple[Path | None, str, int]],
    *,
    dry: bool,
    whole: bool,
) -> None:
    """
    Drop what no row needs and what nobody asks for.

    Args:
        files: The cassettes.
        unused: Rows that go, as `unused_of` returns them.
        dry: Only say what would go.
        whole: Say it as JSON.
    """
    out: list[dict[str, Any]] = []
    for path in files:
        tape = opened(path)
        if tape.upstream is not None:
            continue  # such a file is never changed
        rows = _going(tape, path, unused)
        keys = {str(row["key"]) for row in rows}
        kept = _without(tape, keys)
        types = sorted(tape.types.keys() - kept.to_json()["types"].keys())
        before = len(content(path))
        after = len(store.dump(kept))
        if not dry and (rows or types or before != after):
            store.save(path, partial(_without, keys=keys))
        if rows or types:
            saved = before - after
            out.append({"file": str(path), "rows": rows, "types": types, "bytes": saved})
    if whole:
        show.tree({"dry_run": dry, "dropped": out})
        return
    verb = "would drop" if dry else "dropped"
    for one in out:
        for row in one["rows"]:
            show.prose(f"{one['file']}: {verb} row {row['key'][:11]} ({row['site']})")
        if one["types"]:
            show.prose(f"{one['file']}: {verb} types {', '.join(one['types'])}")
    if not out:
        show.prose("nothing to drop")


def _going(
    tape: Tape, path: Path, unused: list[tuple[Path | None, str, int]]
) -> list[dict[str, str]]:
    whole = path.resolve()
    keys = {
        key
        for file, key, played in unused
        # Of a row that was asked for too few times, the answers that were played stay good.
        if played == 0 and (file is None or file.resolve() == whole)
    }
    return [{"key": row.key, "site": row.site} for row in tape if row.key in keys]


def _without(tape: Tape, keys: set[str]) -> Tape:
    for place in [place for place, row in tape.rows.items() if row.key in keys]:
        del tape.rows[place]
    return tape


def recover(folder: Path, *, whole: bool) -> None:
    """Put what recorders that died left behind into their cassettes."""
    names = {
        path.with_name(path.name.rpartition(".rec-")[0])
        for path in (folder.rglob("*.json.rec-*") if folder.is_dir() else [folder])
        if ".rec-" in path.name
    }
    if folder.is_file() and ".rec-" not in folder.name:
        names.add(folder)
    out: list[dict[str, Any]] = []
    for path in sorted(names):
        saved = store.recover(path)
        alive = [file.name for file in store.journals(path)]
        out.append({"file": str(path), "answers": saved, "being_written": alive})
    if whole:
        show.tree(out)
        return
    for one in out:
        show.prose(f"{one['file']}: {counted(one['answers'], 'answer')} recovered")
        for name in one["being_written"]:
            show.prose(f"{one['file']}: {name} belongs to a recorder that is alive, and stays")
    if not out:
        show.prose("no journals there")
