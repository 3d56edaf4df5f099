"""From a folder down to one file, step by step, so that no link leads out of the folder."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = ["LEAVES", "Place", "Refused", "descend", "failed", "parts_of", "within"]

LEAVES = "it leads out of the workspace"
_CHANGED = "it changed while it was being opened"
_GONE = "the workspace's folder is not there any more"
_TANGLED = "it leads through too many links or folders"

_MOST_LINKS = 40
"""Links that may be followed; as many as Linux allows."""

_MOST_STEPS = 2000
"""Names that may be looked up for one path; links and `..` can make a path very long."""

_BY_DESCRIPTOR = hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.readlink} <= os.supports_dir_fd
"""Whether this platform opens a name in a folder that is held open, and can refuse links."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_ENTER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


class Refused(Exception):  # noqa: N818 (becomes an error that also names the file)
    """
    A path that must not be opened.

    Attributes:
        reason: Why not; without a name of a file or folder.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Place:
    """
    Where a file is or may come to be.

    Attributes:
        parts: Names that lead to it from the root; none of them a link or `..`.
        name: What to open in *folder*: the last of *parts*, or the whole path without a *folder*.
        folder: Descriptor of the folder it is in; None where the platform opens by path alone.
        status: What is there, not following links; None for nothing.
    """

    parts: tuple[str, ...]
    name: str
    folder: int | None
    status: os.stat_result | None

    def check(self, *, may_be_absent: bool) -> None:
        """
        Refuse what is no plain file.

        Raises:
            Refused: It is a pipe, a socket or a device.
            OSError: It is a folder, or absent though it may not be.
        """
        if self.status is not None:
            _check_plain(self.status)
        elif not may_be_absent:
            raise failed(errno.ENOENT)

    def open(self, flags: int) -> int:
        """
        Return a descriptor of the file, opened with *flags*; it is plain and was no link.

        Raises:
            Refused: It is no plain file, or became another while it was opened.
            OSError: The system does not open it.
        """
        self.check(may_be_absent=bool(flags & os.O_CREAT))
        # Emptied only once it is known what was opened; and a pipe must not keep us waiting.
        empty = flags & os.O_TRUNC
        how = (flags & ~os.O_TRUNC) | _NO_LINK | _NO_WAIT
        opened = os.open(self.name, how, 0o666, dir_fd=self.folder)
        try:
            status = os.fstat(opened)
            _check_plain(status)
            if self.folder is None:
                self._check_unmoved(status)
            if empty:
                os.ftruncate(opened, 0)
        except BaseException:
            os.close(opened)
            raise
        return opened

    def _check_unmoved(self, status: os.stat_result) -> None:
        """Look again, where a folder on the way may have become a link before the file was open."""
        moved = os.path.realpath(self.name) != self.name
        if moved or not os.path.samestat(status, os.lstat(self.name)):
            raise Refused(_CHANGED)


def _check_plain(status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise failed(errno.EISDIR)
    if not stat.S_ISREG(mode):
        raise Refused("it is a pipe, a socket or a device, not a file")


def failed(number: int) -> OSError:
    """The error that the system raises for *number*."""
    return OSError(number, os.strerror(number))


def parts_of(path: str) -> list[str]:
    """The names in a path, without those that lead nowhere."""
    return [part for part in path.split("/") if part not in ("", ".")]


def within(path: str, roots: Sequence[str]) -> str | None:
    """What follows one of *roots* in an absolute path, by its text; None if it is in none."""
    for root in roots:
        start = root.rstrip("/") + "/"
        if os.path.normcase(path + "/").startswith(os.path.normcase(start)):
            return path[len(start) :]
    return None


@contextmanager
def descend(
    roots: Sequence[str], parts: Sequence[str], *, make: bool = False
) -> Generator[Place, None, None]:
    """
    Find the place that *parts* lead to, following links only as far as they stay inside.

    Where the platform can, each folder is opened from the one before and held open, so that
    whatever is renamed or replaced meanwhile, what is reached lies in the root. The caller opens
    the file while the context is open.

    Args:
        roots: Absolute paths of the root, with `/`, the real one first; links may name any.
        parts: Names that lead to the file, `..` among them.
        make: Whether to make the folders that are missing.

    Raises:
        Refused: The way leads out of the root, or to no end.
        OSError: The system does not let us through.
    """
    if not _BY_DESCRIPTOR:
        yield _look_up(roots[0], parts, make=make)
        return
    descent = _Descent(roots, parts)
    try:
        yield descent.walk(make=make)
    finally:
        os.close(descent.folder)


class _Descent:
    """One walk, which stands in one open folder at a time."""

    def __init__(self, roots: Sequence[str], parts: Sequence[str]) -> None:
        self.roots = roots
        self.behind: list[str] = []
        self.ahead = deque(parts)
        self.links = 0
        self.folder = self._enter_root()

    def walk(self, *, make: bool) -> Place:
        for _ in range(_MOST_STEPS):
            if not self.ahead:
                raise failed(errno.EISDIR)
            name = self.ahead.popleft()
            if name == "..":
                self._turn_back()
                continue
            status = self._status(name)
            if status is not None and stat.S_ISLNK(status.st_mode):
                self._follow(name)
                continue
            self.behind.append(name)
            if not self.ahead:
                return Place(tuple(self.behind), name, self.folder, status)
            if status is None and make:
                with suppress(FileExistsError):  # another thread made it
                    os.mkdir(name, dir_fd=self.folder)
            self._stand_in(os.open(name, _ENTER, dir_fd=self.folder))
        raise Refused(_TANGLED)

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _turn_back(self) -> None:
        """Walk again from the root: the `..` of a folder that was moved may lie anywhere."""
        if not self.behind:
            raise Refused(LEAVES)
        self.ahead.extendleft(reversed(self.behind[:-1]))
        self._start_over()

    def _follow(self, name: str) -> None:
        self.links += 1
        if self.links > _MOST_LINKS:
            raise Refused(_TANGLED)
        target = os.readlink(name, dir_fd=self.folder)
        if target.startswith("/"):
            inside = within(target, self.roots)
            if inside is None:
                raise Refused(LEAVES)
            target = inside
            self._start_over()
        self.ahead.extendleft(reversed(parts_of(target)))

    def _start_over(self) -> None:
        self.behind.clear()
        self._stand_in(self._enter_root())

    def _enter_root(self) -> int:
        try:
            return os.open(self.roots[0], _ENTER)
        except FileNotFoundError:
            raise Refused(_GONE) from None

    def _stand_in(self, folder: int) -> None:
        before, self.folder = self.folder, folder
        os.close(before)


def _look_up(root: str, parts: Sequence[str], *, make: bool) -> Place:
    """The place by its real path, for a platform that has no descriptors of folders."""
    if not Path(root).is_dir():
        raise Refused(_GONE)
    path = os.path.realpath(Path(root, *parts))
    inside = within(path.replace(os.sep, "/"), (root,))
    if inside is None:
        raise Refused(LEAVES)
    if not inside:
        raise failed(errno.EISDIR)
    if make:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    status = os.lstat(path) if os.path.lexists(path) else None
    if status is not None and stat.S_ISLNK(status.st_mode):
        raise Refused(_TANGLED)
    return Place(tuple(parts_of(inside)), path, None, status)
