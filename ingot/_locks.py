"""Locks on files, which processes share and the system frees when one dies."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

__all__ = ["held", "try_lock"]

if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int, *, wait: bool = False) -> bool:
        """Lock the file; False if another process has it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(descriptor: int, *, wait: bool = False) -> bool:
        """Lock the file; False if another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True


@contextmanager
def held(path: Path) -> Generator[None]:
    """Hold the lock of *path*, a file of its own beside it, while open."""
    beside = path.with_name(path.name + ".lock")
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            while not try_lock(descriptor, wait=True):
                pass  # Windows gives up after ten seconds
            # Whoever had it may have taken the file away; then this lock is on nothing.
            if _is(descriptor, beside):
                try:
                    yield
                finally:
                    with suppress(PermissionError):  # Windows keeps what is open
                        beside.unlink(missing_ok=True)
                return
        finally:
            os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
