"""A file in the form of Ingot itself: it is read as rows of ours, and never written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ingot.cassette.errors import CassetteError, CassetteModeError
from ingot.cassette.interop import import_tape
from ingot.cassette.upstream import loads

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.cassette.tape import Tape

__all__ = ["import_command", "no_writing", "read", "refuse_mode"]


def read(text: str, path: Path) -> Tape:
    """
    Read the rows of the file, which are of the kind `imported`.

    Raises:
        CassetteFormatError: It is no cassette of Ingot 0.1, 0.2 or 0.3.
    """
    found = loads(text, path=str(path))
    return replace(import_tape(found), upstream=found.version)


def refuse_mode(tape: Tape, mode: str, path: Path) -> None:
    """
    Refuse to do anything with such a file but play it.

    Raises:
        CassetteModeError: *mode* is another than `replay`.
    """
    if tape.upstream is not None and mode != "replay":
        reason = f"the file is a cassette of Ingot {tape.upstream}, which can only be replayed"
        raise CassetteModeError(mode, reason, path=str(path), advice=import_command(path))


def no_writing(tape: Tape, path: Path) -> CassetteError:
    """The error for what would change such a file."""
    reason = f"it is a cassette of Ingot {tape.upstream}, which is never changed"
    return CassetteError(reason, path=str(path), advice=import_command(path))


def import_command(path: Path) -> str:
    """Return the command that makes a cassette of ours of it, beside it."""
    return f"ingot cassette import {path} {path.with_suffix('.ingot.json')}"
