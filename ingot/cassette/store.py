"""Cassettes on disk: read strictly, written whole or not at all, journalled answer by answer."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ingot._disk import append, beside, clear, replace, sync_folder
from ingot._json import is_array, is_equal, is_object
from ingot._locks import held, try_lock
from ingot.cassette.errors import CassetteError, CassetteFormatError
from ingot.cassette.rows import is_row
from ingot.cassette.tape import VERSION, Row, Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

__all__ = ["Journal", "dump", "journals", "load", "parse", "recover", "rewrite", "save"]


def load(path: Path) -> Tape:
    """
    Read the cassette at *path*; an absent one is empty.

    Raises:
        CassetteFormatError: The file cannot be read as a cassette; the fix is in the message.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Tape()
    except OSError as error:
        raise CassetteError(f"it cannot be read: {error.strerror}", path=str(path)) from error
    return parse(data, path)


def parse(data: bytes, path: Path) -> Tape:
    """Read the bytes of a cassette, ours or one of Ingot's own form; see `load`."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CassetteFormatError(
            f"it is not UTF-8 (byte {error.start})",
            path=str(path),
            advice="restore it from version control",
        ) from None
    if '"ingot_cassette"' not in text[:512] and '"cassetteVersion"' in text:
        from ingot.cassette import upstream_file

        return upstream_file.read(text, path)
    if "<<<<" in text and any(line.startswith("<<<<<<< ") for line in text.split("\n")):
        raise CassetteFormatError(
            "it has conflict markers", path=str(path), advice=f"ingot cassette resolve {path}"
        )
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        # Of a string that is cut, the error tells where it begins.
        end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "it breaks off" if end else f"it is no JSON: {error.msg}"
        raise CassetteFormatError(
            f"{what} (line {error.lineno}, column {error.colno})",
            path=str(path),
            advice="restore it from version control, or record it anew",
        ) from None
    except _TwiceError as error:
        raise CassetteFormatError(
            f"one object names {error.key!r} twice",
            path=str(path),
            advice=f"a merge went wrong: ingot cassette resolve {path}",
        ) from None
    except (RecursionError, ValueError):
        raise CassetteFormatError(
            "it is nested too deeply, or holds what JSON has no number for",
            path=str(path),
            advice="restore it from version control",
        ) from None
    return _tape(value, path)


class _TwiceError(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        raise _TwiceError(next(k for k, _ in pairs if k in seen or seen.add(k)))  # type: ignore[func-returns-value]
    return made


def _tape(value: Any, path: Path) -> Tape:
    if not is_object(value) or "ingot_cassette" not in value:
        raise CassetteFormatError(
            "it is JSON, and no cassette: `ingot_cassette` is missing at the top",
            path=str(path),
            advice="name another file, or restore it from version control",
        )
    version = value["ingot_cassette"]
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        raise CassetteFormatError(
            f"it has version {version!r}, and this ingot reads version {VERSION}",
            path=str(path),
            advice="pip install --upgrade ingot-ask" if newer else f"ingot cassette migrate {path}",
        )
    rows = value.get("rows", [])
    types = value.get("types", {})
    if not is_array(rows) or not is_object(types) or not all(map(is_row, rows)):
        raise CassetteFormatError(
            "a row lacks its kind, key or answers",
            path=str(path),
            advice="restore it from version control",
        )
    rest = {k: v for k, v in value.items() if k not in ("ingot_cassette", "types", "rows")}
    tape = Tape({}, types, rest)
    for data in rows:
        row = Row(data, written=data.pop("answers"))
        other = tape.rows.setdefault((data["kind"], data["key"]), row)
        if other is not row and not is_equal(other.to_json(), row.to_json()):
            raise CassetteFormatError(
                f"two rows have the key {row.key} and different answers",
                path=str(path),
                advice=f"a merge went wrong: ingot cassette resolve {path}",
            )
    return tape


def dump(tape: Tape) -> bytes:
    """Return the bytes of *tape*: the same for the same rows, whatever their order was."""
    return _bytes(json.dumps(tape.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def _bytes(text: str) -> bytes:
    """JSON in UTF-8; half of a surrogate pair, which UTF-8 has no bytes for, as its escape."""
    return text.encode("utf-8", "backslashreplace")


def save(path: Path, change: Callable[[Tape], Tape]) -> bytes:
    """
    Rewrite the cassette at *path*, under its lock, whole or not at all.

    Args:
        path: The file.
        change: Is given what is on disk now, which another process may have written, and returns
            what shall be there.

    Returns:
        The bytes that are there now.
    """
    with _told(path), _alone(path):
        before = load(path)
        if before.upstream is not None:
            from ingot.cassette.upstream_file import no_writing

            raise no_writing(before, path)
        data = dump(change(before))
        _write(path, data)
    return data


def _write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        replace(path, data)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """
    Rewrite the file at *path* that is no cassette yet, or is none any more, as `save` does.

    Args:
        path: The file; an absent one is empty.
        change: Is given the bytes that are there, and returns those that shall be.

    Returns:
        The bytes that are there now.
    """
    with _told(path), _alone(path):
        before = path.read_bytes() if path.exists() else b""
        data = change(before)
        if data != before:
            replace(path, data)
    return data


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Say what cannot be written, and the way out, where the system says no."""
    try:
        yield
    except OSError as error:
        raise CassetteError(
            f"it cannot be written: {error.strerror or error}",
            path=str(path),
            advice="make room, or the folder writable; what was recorded before is kept",
        ) from error


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Hold the lock of *path*, and remove what those who died with it left half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with held(path):
        clear(path)
        yield


class Journal:
    """
    What was recorded and is not in its cassette yet, one line for each answer.

    A line is on disk before `append` returns. The file is locked while its recorder lives, so one
    whose lock is free belongs to a recorder that died.

    Args:
        path: The cassette.
        trial: Whether its answers are worth nothing unless the recorder ends well.
    """

    def __init__(self, path: Path, *, trial: bool = False) -> None:
        self._cassette = path
        self._end = 0
        self._owner = os.getpid()
        mark = f"{self._owner}-{secrets.token_hex(4)}{_TRIAL if trial else ''}"
        self.path = path.with_name(f"{path.name}.rec-{mark}")
        with _told(path), _alone(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._descriptor = os.open(self.path, flags, 0o644)
            try:
                if not try_lock(self._descriptor):
                    raise OSError("its folder does not lock files")
                sync_folder(path.parent)
            except BaseException:
                self.close()
                raise

    @property
    def is_ours(self) -> bool:
        """Whether this process made it; a fork has a copy of its parent's."""
        return self._owner == os.getpid()

    def append(self, entry: dict[str, Any]) -> None:
        """
        Write *entry*, and wait until it is on disk.

        Raises:
            CassetteError: It cannot be written; then the journal is as it was.
        """
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
        line = _bytes(text)
        with _told(self._cassette):
            append(self._descriptor, line, self._end, os.fsync)
        self._end += len(line)

    def close(self, *, keep: bool = False) -> None:
        """Let go of the journal, and remove it unless *keep*."""
        if os.name == "nt":
            os.close(self._descriptor)
        if not keep:
            self.path.unlink(missing_ok=True)
        if os.name != "nt":
            os.close(self._descriptor)


_TRIAL = "-refresh"


def journals(path: Path) -> list[Path]:
    """Journals of the cassette at *path*, those of living recorders too."""
    return [path.with_name(name) for name in beside(path, f"{path.name}.rec-")]


def recover(path: Path, adopt: Callable[[dict[str, Any]], None] | None = None) -> int:
    """
    Put what dead recorders left behind into the cassette at *path*, and clean up after them.

    What a `refresh` left that did not end is dropped: the file stands as it was before.

    Args:
        path: The file.
        adopt: Takes over each entry instead.

    Returns:
        The number of answers that were saved.
    """
    if not (beside(path, f"{path.name}.rec-") or beside(path, f"{path.name}.lock")):
        return 0
    dead: list[tuple[int, Path]] = []
    with _told(path):
        try:
            with _alone(path):
                # New journals get their names under the same lock, so each is locked or dead.
                for journal in journals(path):
                    with suppress(FileNotFoundError):  # its recorder has just ended well
                        descriptor = os.open(journal, os.O_RDWR)
                        dead.append((descriptor, journal))
                        if not try_lock(descriptor) or not journal.exists():
                            os.close(dead.pop()[0])
                kept = [d for d, journal in dead if adopt or not journal.name.endswith(_TRIAL)]
                entries = [entry for descriptor in kept for entry in _entries(descriptor)]
                if adopt is None and entries:
                    _unite(path, entries)
            if adopt is not None:
                for entry in entries:
                    adopt(entry)
            for _, journal in dead:
                journal.unlink(missing_ok=True)
        finally:
            for descriptor, _ in dead:
                os.close(descriptor)
    return len(entries)


def _unite(path: Path, entries: list[dict[str, Any]]) -> None:
    found = load(path)
    for entry in entries:
        found.add(entry["row"], entry["types"], entry["n"], entry["answer"])
    _write(path, dump(found))


def _entries(descriptor: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with os.fdopen(os.dup(descriptor), "rb") as file:
        lines = file.read().split(b"\n")
    for line in lines:
        try:
            entry = json.loads(line)
            Tape().add(entry["row"], entry["types"], entry["n"], entry["answer"])
        except (ValueError, KeyError, TypeError):
            continue  # the last line of a recorder that died while it wrote; it was not returned
        found.append(entry)
    return found
