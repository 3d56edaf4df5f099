"""Features of any name and kind as a short row of small whole numbers."""

from __future__ import annotations

from array import array
from math import log
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

from ingot._json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FULL", "WIDTH", "Columns"]

WIDTH = 36
"""Numbers in a row. What is learned of an arm grows with the square of it."""

FULL = 127
"""What stands for 1. Whole numbers of one byte keep a thousand rows small enough for a state."""

_SHARED = 4
"""Columns at the end, for features that come when all others are taken."""

_OWN = WIDTH - _SHARED
_LONGEST_KEY = 64
_VALUES = 6
"""Values of one text that get columns of their own, so that names of people do not fill the row."""

_FARTHEST = 1e6
_MOST = 1 + log(_FARTHEST)


class Columns:
    """
    Which feature stands in which column of a row.

    The first column is always 1. A number or a bool has the column of its name, and each value of
    a text has one; in the order in which they are first seen, and shared by chance when there are
    no more. What is absent is 0. Values that are no number, bool or text are passed over.

    Numbers up to 1 stand as they are, larger ones by their logarithm, and both are divided by the
    largest that their column has seen; from a million on, all are alike.

    Attributes:
        own: Column by feature, or by feature and value: `tools`, `language=de`.
    """

    def __init__(self) -> None:
        self.own: dict[str, int] = {}
        self._peaks: dict[str, float] = {}

    def row(self, features: Mapping[str, object]) -> bytes:
        """Return *features* as `WIDTH` signed bytes, and remember what is new among them."""
        row = [0] * WIDTH
        row[0] = FULL
        for name, value in features.items():
            if isinstance(value, str):
                column, part = self._column(f"{name}={value}", f"{name}="), 1.0
            elif isinstance(value, bool):
                column, part = self._column(name), float(value)
            elif isinstance(value, int | float):
                column = self._column(name)
                part = self._scaled(name, value, shared=column >= _OWN)
            else:
                continue
            row[column] = max(-FULL, min(FULL, row[column] + round(FULL * part)))
        return array("b", row).tobytes()

    def _column(self, key: str, text: str = "") -> int:
        """The column of *key*; of values of one text, which *text* begins, only a few get one."""
        column = self.own.get(key)
        if column is not None:
            return column
        room = len(self.own) < _OWN - 1 and len(key) <= _LONGEST_KEY
        if room and text:
            room = sum(other.startswith(text) for other in self.own) < _VALUES
        if not room:
            return _OWN + crc32(key.encode("utf-8", "surrogatepass")) % _SHARED
        self.own[key] = 1 + len(self.own)
        return self.own[key]

    def _scaled(self, name: str, value: float, *, shared: bool) -> float:
        size = min(_FARTHEST, abs(value))  # in this order, NaN is as far as can be
        if size > 1:
            size = 1 + log(size)
        if shared:
            peak = _MOST
        else:
            peak = self._peaks.get(name, 1.0)
            if size > peak:
                peak = self._peaks[name] = size
        return (-size if value < 0 else size) / peak

    def dump(self) -> dict[str, Any]:
        """Return the features in the order of their columns, and their largest numbers over 1."""
        return {"own": list(self.own), "peaks": dict(self._peaks)}

    @classmethod
    def load(cls, told: Any) -> Self:
        """
        Return columns as they were when *told* was dumped.

        Raises:
            ValueError: It is nothing that was dumped.
        """
        own, peaks = (told.get("own"), told.get("peaks")) if is_object(told) else (None, None)
        if not is_array(own) or not all(isinstance(key, str) for key in own):
            raise ValueError("no columns")
        if not is_object(peaks) or not all(
            isinstance(one, float) and one > 1 for one in peaks.values()
        ):
            raise ValueError("no largest numbers")
        columns = cls()
        columns.own = {key: 1 + n for n, key in enumerate(own)}
        columns._peaks = peaks
        if (
            len(columns.own) != len(own)
            or len(own) >= _OWN
            or not peaks.keys() <= columns.own.keys()
        ):
            raise ValueError("too many columns")
        return columns
