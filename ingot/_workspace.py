"""The folder that tools read and write in, and the handles of what is there."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ingot._root import Root
from ingot._shape.content import File, bound

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

__all__ = ["Workspace"]


class Workspace(Root):
    """
    A folder that tools read and write in; nothing outside of it is ever opened.

    A file is named by its path from the folder, as text, `Path` or `File`, with `/` between its
    parts; an absolute path is taken if it lies inside. Links are followed as long as they stay
    inside. `with Workspace() as workspace:` removes a temporary folder at the end.

    Args:
        root: An existing folder; None for a fresh temporary one, which is removed on `close`, when
            nothing refers to it any more, and at the end of the process.

    Attributes:
        root: The folder's real, absolute path.

    Raises:
        FileAccessError: There is no such folder.
    """

    def __init__(self, root: str | PathLike[str] | None = None) -> None:
        self._remove = None
        if root is None:
            root = tempfile.mkdtemp(prefix="ingot-")
            self._remove = weakref.finalize(self, _removed, root, os.getpid())
        super().__init__(root)

    def __repr__(self) -> str:
        kind = ", temporary" if self._remove else ""
        return f"<Workspace {str(self.root)!r}{kind}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self.root),))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove a temporary folder with all that is in it; leave any other alone."""
        if self._remove:
            self._remove()

    def file(self, path: str | PathLike[str], **extra: Any) -> File:
        """
        Return the handle of a file that is there, to be returned by a tool.

        Args:
            path: Its path in the workspace, or a `File`, whose extras are kept.
            extra: What is known of it, such as `media_type`; it goes where the handle goes.

        Raises:
            FileAccessError: There is no such file in the workspace.
        """
        name = "/".join(self.relative(path))
        known = path.to_dict() if isinstance(path, File) else {}
        return bound(File(**{**known, **extra, "path": name}), self)

    def write_bytes(self, path: str | PathLike[str], data: bytes, **extra: Any) -> File:
        """
        Write a file, in place of one that is there, and return its handle.

        Args:
            path: Its path in the workspace; missing folders are made.
            data: What to write.
            extra: As of `file`.

        Raises:
            FileAccessError: It cannot be written, or must not be.
        """
        with self.open(path, "wb") as file:
            file.write(data)
        return self.file(path, **extra)

    def write_text(
        self, path: str | PathLike[str], text: str, *, encoding: str = "utf-8", **extra: Any
    ) -> File:
        """Write *text*, its line ends as they are; else as `write_bytes`."""
        return self.write_bytes(path, text.encode(encoding), **extra)

    def files(self) -> list[File]:
        """Return the handles of all files by their paths, but for names that no handle can have."""
        found = (
            Path(folder, name).relative_to(self.root).as_posix()
            for folder, _, names, *_ in _walk(self.root)
            for name in names
        )
        return [self.file(path) for path in sorted(found) if self.exists(path)]


def _removed(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # and not a fork of it, which ends while the maker goes on
        shutil.rmtree(folder, ignore_errors=True)


_walk: Any = getattr(os, "fwalk", os.walk)
"""Where there is `fwalk`, a folder that becomes a link meanwhile leads nowhere."""
