"""A folder whose files are opened by handle, and nothing outside of it ever is."""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ingot._descent import LEAVES, Refused, descend, failed, parts_of, within
from ingot.errors import FileAccessError

if TYPE_CHECKING:
    from collections.abc import Generator
    from os import PathLike

__all__ = ["Root", "check_windows_name", "shown"]

_LONGEST = 4096
"""Characters of a handle; what is longer is no path on any platform."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(
    r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)

_WINDOWS = os.name == "nt"

_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EEXIST: "it is there already",
    errno.ENOTDIR: "a part of its path is no folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "it changed while it was being opened",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EACCES: "the system does not permit it",
    errno.EPERM: "the system does not permit it",
}

_ADVICE = "name a file by its path from the workspace's folder, with '/' and without '..'"


class Root:
    """
    A folder and what lies in it.

    A path leads from the folder, with `/` between its parts. It may be absolute if it begins with
    the folder's own. Links are followed as long as they stay inside. Where the platform can, each
    folder is opened from the one before, so that nothing that is replaced meanwhile leads out.

    Args:
        folder: An existing folder.

    Raises:
        FileAccessError: There is no such folder.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.root = Path(os.path.realpath(folder))
        if not self.root.is_dir():
            raise FileAccessError(
                self.root.name,
                "a workspace is a folder, and this is none",
                advice="make the folder first, or give none for a fresh temporary one",
            )
        given = (self.root, Path(folder).absolute())
        self._roots = tuple(dict.fromkeys(path.as_posix() for path in given))

    def open(
        self,
        handle: str | PathLike[str],
        mode: str = "rb",
        *,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """
        Open a file, as Python's own `open` does.

        Folders that are missing on the way to a file that is to be written are made.

        Args:
            handle: Its path in the workspace, or a `File`.
            mode: As of Python's `open`; `rb` unless given.
            buffering: As of Python's `open`.
            encoding: Of text; None for UTF-8.
            errors: As of Python's `open`.
            newline: As of Python's `open`.

        Raises:
            FileAccessError: It cannot be opened, or must not be.
        """
        text = _text(handle)
        if encoding is None and "b" not in mode:
            encoding = "utf-8"

        def opener(_: str, flags: int) -> int:
            # A path that turns back leaves no folders behind if it is refused further on.
            make = bool(flags & os.O_CREAT) and ".." not in parts
            with descend(self._roots, parts, make=make) as place:
                return place.open(flags)

        with _telling(text):
            parts = self._parts(text)
            name = "/".join(parts)
            return open(name, mode, buffering, encoding, errors, newline, opener=opener)

    def read_bytes(self, handle: str | PathLike[str]) -> bytes:
        """Return what is in a file, whole; raises as `open`."""
        with self.open(handle) as file:
            data: bytes = file.read()
        return data

    def read_text(self, handle: str | PathLike[str], encoding: str = "utf-8") -> str:
        """Return the text that is in a file, whole; raises as `open`."""
        with self.open(handle, "r", encoding=encoding) as file:
            text: str = file.read()
        return text

    def stat(self, handle: str | PathLike[str]) -> os.stat_result:
        """
        Return size, times and mode of a file.

        Raises:
            FileAccessError: It is no file of this workspace.
        """
        text = _text(handle)
        with _telling(text), descend(self._roots, self._parts(text)) as place:
            place.check(may_be_absent=False)
            assert place.status is not None
            return place.status

    def exists(self, handle: str | PathLike[str]) -> bool:
        """Whether there is such a file in the workspace; what must not be opened is not there."""
        try:
            self.stat(handle)
        except FileAccessError:
            return False
        return True

    def path(self, handle: str | PathLike[str]) -> Path:
        """
        Return the absolute path of a file that is in the workspace or may be written there.

        It held when it was looked at. `open` also holds against what others replace meanwhile.

        Raises:
            FileAccessError: It leads out, or to what is no file.
        """
        return self.root.joinpath(*self.relative(handle, may_be_absent=True, real=True))

    def relative(
        self, handle: str | PathLike[str], *, may_be_absent: bool = False, real: bool = False
    ) -> tuple[str, ...]:
        """
        Return the names that lead from the root to a file, checked.

        Args:
            handle: Its path in the workspace.
            may_be_absent: Whether the file need not be there.
            real: Whether links are replaced with what they lead to.

        Raises:
            FileAccessError: It leads out, or to what is no file.
        """
        text = _text(handle)
        with _telling(text):
            parts = self._parts(text)
            try:
                with descend(self._roots, parts) as place:
                    place.check(may_be_absent=may_be_absent)
            except FileNotFoundError:
                # A folder on the way is missing, so that nothing is where the rest of it leads.
                if not may_be_absent or ".." in parts:
                    raise
                return tuple(parts)
            return place.parts if real or ".." in parts else tuple(parts)

    def spelled(self, handle: str | PathLike[str]) -> tuple[str, ...]:
        """
        Return the names that lead from the root to a file by the text alone; no disk is looked at.

        Raises:
            FileAccessError: The text leads out of the root, or is no path.
        """
        text = _text(handle)
        with _telling(text):
            return _folded(self._parts(text))

    def _parts(self, text: str) -> list[str]:
        """Read a handle as the names that lead from the root, or refuse it by its text."""
        _check_text(text)
        if _is_absolute(text):
            inside = within(text, self._roots)
            if inside is None:
                raise Refused("it is an absolute path outside of the workspace")
            text = inside
        elif _DRIVE.match(text):
            raise Refused("it names a drive")
        parts = parts_of(text)
        depth = 0
        for part in parts:
            depth += -1 if part == ".." else 1
            if depth < 0:
                raise Refused(LEAVES)
            if _WINDOWS:
                check_windows_name(part)
        if not parts:
            raise failed(errno.EISDIR)
        return parts


def _text(handle: str | PathLike[str]) -> str:
    text: Any = os.fspath(handle)
    if not isinstance(text, str):
        raise TypeError(f"a path in a workspace is a str, not {type(text).__name__}")
    return text.replace("\\", "/") if _WINDOWS else text


def _is_absolute(text: str) -> bool:
    return text.startswith("/") or (_WINDOWS and Path(text).is_absolute())


def _folded(parts: list[str]) -> tuple[str, ...]:
    """The names without each `..` and the one before it."""
    out: list[str] = []
    for part in parts:
        if part == "..":
            out.pop()
        else:
            out.append(part)
    if not out:
        raise failed(errno.EISDIR)
    return tuple(out)


def _check_text(text: str) -> None:
    if not text:
        raise Refused("it has no name")
    if len(text) > _LONGEST:
        raise Refused(f"its path is longer than {_LONGEST} characters")
    if "\0" in text:
        raise Refused("a NUL character stands in it")
    if "\\" in text:
        raise Refused("a backslash stands in it")
    if _URL.match(text):
        raise Refused("it is a URL, and only paths are opened")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused("half of a surrogate pair stands in it") from None


def check_windows_name(part: str) -> None:
    """
    Refuse a name that Windows takes for another or for a device.

    Raises:
        Refused: It does.
    """
    if part != ".." and part[-1] in ". ":
        raise Refused("a part of it ends with a dot or a space")
    if ":" in part:
        raise Refused("a colon stands in it")
    if _DEVICE.fullmatch(part):
        raise Refused("it names a device")


@contextmanager
def _telling(text: str) -> Generator[None, None, None]:
    """Turn what goes wrong with a file into one error, which tells nothing from outside."""
    try:
        yield
    except Refused as error:
        raise FileAccessError(shown(text), error.reason, advice=_ADVICE) from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or type(error).__name__
        raise FileAccessError(shown(text), reason) from error


def shown(text: str) -> str:
    """A path as messages show it: bounded, and without the folders of an absolute one."""
    if _is_absolute(text) or _DRIVE.match(text) or text.startswith("\\"):
        text = "…/" + re.split(r"[/\\]", text)[-1]
    return text if len(text) <= 100 else text[:99] + "…"
