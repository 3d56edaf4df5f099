"""The handles that one run knows: only what a tool or the caller produced is taken from a model."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ingot._root import shown
from ingot._shape.content import File, Provenance, bound
from ingot.errors import FileAccessError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from ingot._workspace import Workspace

__all__ = ["Handles"]

_SHOWN = 20
"""Known handles that a message lists, the newest first; the rest is counted."""

_noting: ContextVar[tuple[Handles, list[File]] | None] = ContextVar("noting", default=None)
"""Whose new handles are noted here, and where; each thread and task has its own."""


class Handles(Provenance):
    """
    The handles of one run. May be used from several threads.

    Args:
        workspace: Where the files lie.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.Lock()
        self._known: dict[str, File] = {}

    def __repr__(self) -> str:
        return f"<{len(self._known)} handles in {self.workspace!r}>"

    @property
    def known(self) -> tuple[str, ...]:
        """The paths, in the order in which they were produced."""
        with self._lock:
            return tuple(self._known)

    @property
    def produced(self) -> list[File]:
        """The handles, in the order in which they were produced."""
        with self._lock:
            return list(self._known.values())

    def admit(self, file: File) -> File:
        """
        Remember a file that a tool or the caller produced.

        Returns:
            The handle as it is known from now on: its path leads from the workspace's folder.

        Raises:
            FileAccessError: There is no such file in the workspace.
        """
        admitted = self.workspace.file(file)
        self._remember(admitted)
        noting = _noting.get()
        if noting is not None and noting[0] is self:
            noting[1].append(admitted)
        return admitted

    def restore(self, handles: Iterable[Mapping[str, Any]]) -> None:
        """
        Remember handles out of a recording, whose files need not be there.

        Raises:
            FileAccessError: A path leads out of the workspace by its text.
        """
        for handle in handles:
            path = "/".join(self.workspace.spelled(handle["path"]))
            self._remember(bound(File(**{**handle, "path": path}), self.workspace))

    def _remember(self, file: File) -> None:
        with self._lock:
            self._known.pop(file.path, None)  # produced anew, it is the newest
            self._known[file.path] = file

    @contextmanager
    def noting(self) -> Generator[list[File], None, None]:
        """Give a list that what is admitted in this block, on this thread or task, is put into."""
        noted: list[File] = []
        token = _noting.set((self, noted))
        try:
            yield noted
        finally:
            _noting.reset(token)

    def resolve(self, file: File | Mapping[str, Any] | str) -> File:
        """
        Return the handle that a model means, with all that its producer added. Reads no disk.

        Args:
            file: What came back from the model. Its path counts; what else it says must at least
                be of the kind that the producer said, as it may be meant for another type.

        Raises:
            ValueError: Nobody produced such a handle; the message lists those that are known.
        """
        if not isinstance(file, File):
            file = File(file) if isinstance(file, str) else File(**file)
        try:
            name = "/".join(self.workspace.spelled(file.path))
        except FileAccessError:
            name = ""
        with self._lock:
            known = self._known.get(name)
        if known is None:
            raise ValueError(f"no tool returned the file {shown(file.path)!r}; {self._listed()}")
        added = sorted(set(file) - set(known))
        if added:
            raise ValueError(
                f"the file {shown(name)!r} has no {added[0]!r:.40}; give its path alone"
            )
        return known

    def _listed(self) -> str:
        names = self.known
        if not names:
            return "no tool has returned a file yet"
        listed = ", ".join(repr(shown(name)) for name in reversed(names[-_SHOWN:]))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"known: {listed}{more}"
