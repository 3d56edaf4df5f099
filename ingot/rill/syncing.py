"""Letting the disk have what was written, a moment later and beside whoever goes on writing."""

from __future__ import annotations

import os
import threading

__all__ = ["Syncing", "fdatasync"]

fdatasync = getattr(os, "fdatasync", os.fsync)
"""Waits until the disk has a file, as cheaply as the system can."""

_LATER = 0.08
"""Seconds between a write and its way to the disk, which takes a moment itself."""


class Syncing:
    """
    A thread that lets the disk have a file within 100 ms of each `note`.

    Args:
        descriptor: The file, which stays open until `close`.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._due = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    def note(self) -> None:
        """
        Take note that something was written.

        Raises:
            OSError: The disk did not take what was written before.
        """
        if self._failure is not None:
            raise self._failure
        if self._due.is_set():
            return
        self._due.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ingot rill", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """
        Let the disk have all of it, and end.

        Raises:
            OSError: The disk does not take it.
        """
        self._over.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        fdatasync(self._descriptor)

    def _work(self) -> None:
        while not self._over.is_set():
            self._due.wait()
            self._over.wait(_LATER)
            self._due.clear()
            try:
                fdatasync(self._descriptor)
            except OSError as error:
                self._failure = error
                return
