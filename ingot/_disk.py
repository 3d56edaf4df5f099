"""Files that hold all of what was written or none of it, whenever the power goes."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["append", "beside", "clear", "replace", "sync_folder"]


def replace(path: Path, data: bytes) -> None:
    """
    Let *path* hold *data*, or leave it as it is.

    Raises:
        OSError: It cannot be written.
    """
    fresh = path.with_name(f".{path.name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def clear(path: Path) -> None:
    """Remove what those who died while they replaced *path* left beside it."""
    for name in beside(path, f".{path.name}.tmp-"):
        path.with_name(name).unlink(missing_ok=True)


def beside(path: Path, start: str) -> list[str]:
    """Names in the folder of *path* that begin with *start*, in order; none if it is not there."""
    try:
        names = os.listdir(path.parent)  # noqa: PTH208 (a path for each name takes ten times longer)
        return sorted(name for name in names if name.startswith(start))
    except (FileNotFoundError, NotADirectoryError):
        return []


def append(descriptor: int, data: bytes, end: int, sync: Callable[[int], None] | None) -> None:
    """
    Write *data* at the end of a file, or leave the file as it is.

    Args:
        descriptor: The file, which was opened for appending.
        data: What is added.
        end: Bytes that the file has before.
        sync: Waits until it is on disk, such as `os.fsync`; None for not to wait.

    Raises:
        OSError: It cannot be written.
    """
    try:
        _write(descriptor, data)
        if sync is not None:
            sync(descriptor)
    except BaseException:
        os.ftruncate(descriptor, end)
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in *folder* are on disk, where the system knows such a thing."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
