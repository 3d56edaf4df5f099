"""Letting the disk have what was written, beside whoever goes on writing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from ingot.rill.syncing import Syncing


def test_what_was_noted_is_synced_beside() -> None:
    """A pipe cannot be synced; that it was tried is told to whoever writes on."""
    reading, writing = os.pipe()
    syncing = Syncing(writing)
    syncing.note()
    deadline = time.monotonic() + 20
    with pytest.raises(OSError, match="Invalid argument"):
        while time.monotonic() < deadline:
            syncing.note()
            time.sleep(0.01)

    with pytest.raises(OSError, match="Invalid argument"):
        syncing.close()
    os.close(reading)
    os.close(writing)


def test_nothing_runs_once_it_is_closed(tmp_path: Path) -> None:
    """Nor before anything was written."""
    before = threading.active_count()
    with (tmp_path / "file").open("wb") as file:
        for noted in (False, True):
            syncing = Syncing(file.fileno())
            assert threading.active_count() == before
            for _ in range(3 if noted else 0):
                syncing.note()
                assert threading.active_count() == before + 1
            syncing.close()
            assert threading.active_count() == before
