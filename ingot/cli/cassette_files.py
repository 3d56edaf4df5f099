"""Cassettes on the command line: which files are meant, and what is in them."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from ingot._json import is_array, is_object
from ingot.cassette import store
from ingot.cassette.check import malformed
from ingot.cassette.errors import CassetteError, CassetteFormatError
from ingot.cassette.rows import is_row
from ingot.cli.exits import MisuseError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot.cassette.tape import Row, Tape

__all__ = [
    "content",
    "default_folder",
    "files_in",
    "files_of",
    "leftovers",
    "one_row",
    "opened",
    "refuse_malformed",
]

_RESTORE = "restore it from version control, or record it anew"
_HEADS = (b'"ingot_cassette"', b'"cassetteVersion"')
_SKIPPED = {"node_modules", "__pycache__", "site-packages"}


def default_folder() -> Path:
    """Where this project keeps its cassettes: what its pyproject.toml says, else the usual."""
    file = Path("pyproject.toml")
    if file.is_file():
        try:
            tool = tomllib.loads(file.read_text("utf-8")).get("tool", {})
            named = tool.get("pytest", {}).get("ini_options", {}).get("ingot_cassettes")
        except (OSError, ValueError, AttributeError):
            named = None
        if isinstance(named, str) and Path(named).is_dir():
            return Path(named)
    usual = (Path("tests/cassettes"), Path("cassettes"))
    return next((folder for folder in usual if folder.is_dir()), Path())


def content(path: Path) -> bytes:
    """
    Return the bytes of the file.

    Raises:
        CassetteError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CassetteError(
            "there is no such file", path=str(path), advice="`ingot cassette ls` lists those there"
        ) from None
    except IsADirectoryError:
        raise CassetteError(
            "it is a folder, and one file is meant",
            path=str(path),
            advice=f"ingot cassette ls {path}",
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CassetteError(
            f"it cannot be read: {why}", path=str(path), advice="look at its permissions"
        ) from None


def opened(path: Path) -> Tape:
    """
    Read a cassette that must be there, every row of it.

    Raises:
        CassetteError: It cannot be read as one; the fix is in the message.
    """
    data = content(path)
    if not data.strip():
        raise CassetteFormatError("it is empty", path=str(path), advice=_RESTORE)
    refuse_malformed(data, path)
    return store.parse(data, path)


def refuse_malformed(data: bytes, path: Path) -> None:
    """
    Look at the form of every row, which playing a cassette does not, to be fast.

    Raises:
        CassetteFormatError: A row has another form than ingot writes.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return  # `store.parse` says what is wrong with it
    rows = value.get("rows") if is_object(value) else None
    for row in rows if is_array(rows) else ():
        wrong = malformed(row) if is_row(row) else None
        if wrong is not None:
            raise CassetteFormatError(
                f"row {row['key'][:11]}: {wrong}", path=str(path), advice=_RESTORE
            )


def one_row(tape: Tape, key: str, path: Path) -> Row:
    """
    Return the row whose key begins with *key*, with or without `k1:`.

    Raises:
        MisuseError: There is none, or more than one.
    """
    rows = [row for row in tape if row.key.startswith(key) or row.key[3:].startswith(key)]
    if len(rows) == 1:
        return rows[0]
    what = f"{len(rows)} rows of {path} begin" if rows else f"no row of {path} begins"
    keys = ", ".join(row.key[:11] for row in (rows or [*tape])[:6]) or "none"
    raise MisuseError(f"{key}: {what} with it; there are {keys}")


def files_in(folder: Path) -> list[Path]:
    """Files below *folder* that are cassettes, or were, in order."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if n not in _SKIPPED and not n.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.endswith(".json") and not name.startswith(".") and _looks(path):
                found.append(path)
    return found


def _looks(path: Path) -> bool:
    """Whether a file begins as a cassette does; one that cannot be read may be one."""
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError:
        return True
    return any(name in start for name in _HEADS) or not start.strip()


def files_of(paths: Iterable[Path]) -> list[Path]:
    """
    Return the files that *paths* mean: files as they are, folders for the cassettes in them.

    Raises:
        CassetteError: A path leads nowhere.
    """
    out: list[Path] = []
    for path in paths:
        if path.is_dir():
            out += files_in(path)
        elif path.exists():
            out.append(path)
        else:
            raise CassetteError(
                "there is no such file or folder",
                path=str(path),
                advice="name a cassette or a folder of them",
            )
    return list(dict.fromkeys(out))


def leftovers(path: Path) -> list[Path]:
    """Journals, locks and half-written files beside a cassette."""
    if not path.parent.is_dir():
        return []
    starts = (f"{path.name}.rec-", f".{path.name}.")
    names = sorted(name for name in os.listdir(path.parent) if name.startswith(starts))  # noqa: PTH208
    lock = path.with_name(f"{path.name}.lock")
    return [*(path.with_name(name) for name in names), *([lock] if lock.exists() else [])]
