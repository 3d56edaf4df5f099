"""What may be written: nothing that looks like a secret, and not more than the file may hold."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ingot.cassette.errors import CassetteError, CassetteSecretError, CassetteSizeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingot.cassette.secrets import Finding, Scanner

__all__ = ["Gate"]


class Gate:
    """
    Lets answers through to one file.

    Args:
        path: The file.
        patterns: Regular expressions of texts that must never be written, beside those known.
        max_bytes: Largest file.
    """

    def __init__(self, path: Path, patterns: tuple[str, ...], max_bytes: int) -> None:
        self.patterns = patterns
        self.max_bytes = max_bytes
        self._path = path
        self._size: int | None = None
        self._scanner: Scanner | None = None

    def shown(self, line: str) -> str:
        """Return *line* of a report, or what stands for it where it holds a secret."""
        found = self._scan(line)
        return line if found is None else f"    (a line with {found.kind} is not shown)"

    def _scan(self, value: Any) -> Finding | None:
        if self._scanner is None:
            from ingot.cassette.secrets import Scanner

            self._scanner = Scanner(os.environ, self.patterns)
        return self._scanner.find(value)

    def check(
        self, row: Mapping[str, Any], types: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> None:
        """
        Refuse what must not be written, before a byte of it is.

        Raises:
            CassetteSecretError: There is a secret in it; the error does not hold it.
            CassetteSizeError: The file would grow too large.
            CassetteError: It is no JSON, so the file could not be read again.
        """
        found = self._scan({**row, "types": types, "answers": [answer]})
        if found is not None:
            raise CassetteSecretError(_dotted(found.path), found.kind, path=str(self._path))
        size = self._measured([row, answer]) + self._before()
        if size > self.max_bytes:
            raise CassetteSizeError(self.max_bytes, str(row["site"]), path=str(self._path))
        self._size = size

    def _before(self) -> int:
        """How many bytes the file had, and what was let through since."""
        if self._size is None:  # most cassettes are only played
            return self._path.stat().st_size if self._path.exists() else 0
        return self._size

    def _measured(self, written: Any) -> int:
        """How many bytes *written* takes."""
        try:
            text = json.dumps(written, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise CassetteError(
                f"nothing was written, because an answer is no JSON that can be read: {error}",
                path=str(self._path),
                advice="return numbers that are finite, and values that are not nested so deeply",
            ) from None
        return len(text.encode(errors="replace"))


def _dotted(path: tuple[str | int, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
