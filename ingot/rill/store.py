"""
The files of a state: a snapshot, and a journal of what was accepted since.

The snapshot stands at the path of the state and is replaced whole. The journal stands beside it as
`.journal`, and is locked while a runtime has the state. Each of its lines is

    <checksum, 8 hex digits> <Unix time in ms> <request, as it came>

where the checksum is the CRC-32 of the rest of the line and of all lines before it. In place of a
request, the first line names the snapshot that the journal goes on from, and the terms on which
requests are accepted, `base 1 <SHA-256> <JSON object>`. Before a snapshot is replaced, a line names
the one that will hold all of the journal, `next <SHA-256>`.

So what a crash leaves is known: a last line without its end, which nobody was told of; or a journal
that is in the snapshot already. Whatever else does not fit is damage, and refused.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ingot._disk import append, clear, replace, sync_folder
from ingot._locks import try_lock
from ingot._record import record
from ingot.rill.errors import RillLockedError, RillStateError
from ingot.rill.syncing import Syncing, fdatasync

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

__all__ = ["Entry", "Found", "Store", "damaged", "look", "place_of", "set_aside"]

_BASE, _NEXT = b"base 1 ", b"next "

_FULL = 4 * 2**20
"""Bytes of a journal after which a snapshot is due: what a start has to go through again."""

_LARGEST = 64 * 2**20
"""Bytes of a file that is read; a state has far fewer."""


@record
class Entry:
    """
    A request that was accepted.

    Attributes:
        now: When, in Unix milliseconds.
        line: The request, as it came.
    """

    now: int
    line: bytes


@record
class Found:
    """
    What is on disk.

    Attributes:
        snapshot: The bytes of the snapshot.
        terms: On which what follows was accepted; empty where nothing was.
        entries: What was accepted since, in order.
    """

    snapshot: bytes
    terms: Mapping[str, Any] = field(default_factory=dict[str, Any])
    entries: tuple[Entry, ...] = ()


def place_of(path: str | os.PathLike[str]) -> Path:
    """
    Return the file that *path* leads to: its journal is beside that, and not beside a link to it.

    Raises:
        RillStateError: It is a folder.
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise RillStateError("it is a folder", path=str(place), advice="name a file in it")
    return place


def look(path: Path) -> Found | None:
    """
    Return the state at *path*, which a runtime may be writing to; None where there is none.

    Raises:
        RillStateError: The files are damaged, or cannot be read.
    """
    with _told(path):
        while True:
            snapshot, journal = _bytes(path), _bytes(_journal_of(path)) or b""
            if _bytes(path) == snapshot:  # else it was replaced while we looked
                return _checked(path, snapshot, journal)


class Store:
    """
    The state at a path, for one runtime, which has its lock until `close`.

    Args:
        path: Where the snapshot is, or will be. Its folder is made.
        durable: Whether `append` waits until the disk has it. Otherwise the system has it, which is
            enough for the end of this process, and the disk within 100 ms.

    Attributes:
        path: See above.
        found: What was there; None where nothing was. A `checkpoint` must follow before any
            `append`.

    Raises:
        RillLockedError: Another runtime has it.
        RillStateError: The files are damaged, or cannot be read or written.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self._end = self._checksum = 0
        self._is_whole = True
        self._durable = durable
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._journal = os.open(_journal_of(path), flags, 0o644)
        try:
            with _told(path):
                if not try_lock(self._journal):
                    raise RillLockedError(str(path))
                sync_folder(path.parent)
                clear(path)
                journal = _bytes(_journal_of(path)) or b""
                self.found = _checked(path, _bytes(path), journal)
                self._end = journal.rfind(b"\n") + 1
                self._checksum = _last_checksum(journal[: self._end])
                os.ftruncate(self._journal, self._end)
        except BaseException:
            os.close(self._journal)
            raise
        self._syncing = None if durable else Syncing(self._journal)

    @property
    def is_due(self) -> bool:
        """Whether a `checkpoint` is: the journal is long, or something could not be written."""
        return self._end >= _FULL or not self._is_whole

    def append(self, now: int, line: bytes) -> None:
        """
        Keep a request that was accepted.

        Args:
            now: When, in Unix milliseconds.
            line: The request, without the end of its line.

        Raises:
            RillStateError: It cannot be written; then the journal is as it was.
        """
        with _told(self.path):
            self._write(now, line)

    def checkpoint(self, snapshot: bytes, terms: Mapping[str, Any]) -> None:
        """
        Replace the snapshot by one that holds all of the journal, and begin the journal anew.

        Args:
            snapshot: What is written.
            terms: On which requests are accepted from now on, as JSON.

        Raises:
            RillStateError: It cannot be written; what was there still is.
        """
        name = sha256(snapshot).hexdigest().encode()
        with _told(self.path):
            os.ftruncate(self._journal, self._end)  # what could not be written whole
            if self._end:
                self._write(0, _NEXT + name)
                fdatasync(self._journal)
            self._is_whole = False  # until the journal has begun anew
            replace(self.path, snapshot)
            self._end = self._checksum = 0
            os.ftruncate(self._journal, 0)
            self._write(0, b"%b%b %b" % (_BASE, name, json.dumps(terms).encode()))

    def close(self) -> None:
        """
        Let the disk have all of it, and free the lock.

        Raises:
            RillStateError: The disk does not take it.
        """
        with _told(self.path):
            try:
                if self._syncing is not None:
                    self._syncing.close()
            finally:
                os.close(self._journal)

    def _write(self, now: int, line: bytes) -> None:
        rest = b"%d %b\n" % (now, line)
        checksum = crc32(rest, self._checksum)
        entry = b"%08x %b" % (checksum, rest)
        self._is_whole = False
        append(self._journal, entry, self._end, fdatasync if self._durable else None)
        self._is_whole = True
        self._end += len(entry)
        self._checksum = checksum
        if self._syncing is not None:
            self._syncing.note()


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _bytes(path: Path) -> bytes | None:
    """What is in a file; None where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    if len(data) > _LARGEST:
        raise OSError(f"{path.name} is larger than any state")
    return data


def _checked(path: Path, snapshot: bytes | None, journal: bytes) -> Found | None:
    """What these bytes of the two files are."""
    try:
        return _read(path, snapshot, journal)
    except ValueError as error:  # its checksums are right
        raise damaged(path, "its journal is not one that is written here") from error


def _read(path: Path, snapshot: bytes | None, journal: bytes) -> Found | None:
    lines = list(_lines(path, journal))
    entries = tuple(entry for entry in lines[1:] if not entry.line.startswith(_NEXT))
    if snapshot is None:
        if entries:
            raise damaged(path, "its journal is there, and the snapshot before it is not")
        return None
    name = sha256(snapshot).hexdigest().encode()
    if not lines or lines[-1].line == _NEXT + name:
        return Found(snapshot=snapshot)
    base, _, terms = lines[0].line.partition(name + b" ")
    if base != _BASE:
        raise damaged(path, "its journal goes on from another snapshot")
    return Found(snapshot=snapshot, terms=json.loads(terms), entries=entries)


def _lines(path: Path, journal: bytes) -> Generator[Entry]:
    """The lines of a journal; a last one without its end is not there."""
    checksum = 0
    *lines, cut = journal.split(b"\n")
    for number, line in enumerate(lines, 1):
        rest = line[9:]
        checksum = crc32(rest + b"\n", checksum)
        if line[:9] != b"%08x " % checksum:
            raise damaged(path, f"line {number} of its journal is not as it was written")
        now, _, request = rest.partition(b" ")
        yield Entry(now=int(now), line=request)
    if cut[:9] == b"%08x " % crc32(cut[9:-1] + b"\n", checksum):  # whole, but for its last byte
        raise damaged(path, "the end of its journal is not as it was written")


def _last_checksum(lines: bytes) -> int:
    """The checksum of the last of *lines*, which goes into that of the next."""
    start = lines.rfind(b"\n", 0, -1) + 1
    return int(lines[start : start + 8] or b"0", 16)


def set_aside(path: Path) -> list[Path]:
    """
    Rename the files of the state at *path*, so that there is none; return their new names.

    Raises:
        RillLockedError: A runtime uses them.
        RillStateError: They cannot be renamed.
    """
    path = place_of(path)
    with _told(path), _locked(_journal_of(path), path):
        files = [file for file in (path, _journal_of(path)) if file.exists()]
        return [file.replace(_aside(file)) for file in files]


def _aside(file: Path) -> Path:
    """A name for *file* that no other one has: one that was set aside before stays."""
    names = (file.with_name(f"{file.name}.damaged{number or ''}") for number in count())
    return next(name for name in names if not name.exists())


@contextmanager
def _locked(journal: Path, path: Path) -> Generator[None]:
    """Hold the lock of the state at *path*, if there is a *journal* that could be locked."""
    if not journal.exists():
        yield
        return
    descriptor = os.open(journal, os.O_RDWR)
    try:
        if not try_lock(descriptor):
            raise RillLockedError(str(path))
        yield
    finally:
        os.close(descriptor)


def damaged(path: Path, reason: str, first: str | None = None) -> RillStateError:
    """Return the error for a state that cannot be used for *reason*; *first* is a way out more."""
    ways = (
        f"restore {path.name} and {_journal_of(path).name} together, remove the journal to go back "
        f"to the snapshot, or begin anew: ingot rill reset --force --state {path}"
    )
    return RillStateError(reason, path=str(path), advice=f"{first}; {ways}" if first else ways)


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Say what cannot be read or written, and the way out, where the system says no."""
    try:
        yield
    except OSError as error:
        raise RillStateError(
            f"it cannot be read or written: {error.strerror or error}",
            path=str(path),
            advice="make room, let its folder be written to, or name another file",
        ) from error
