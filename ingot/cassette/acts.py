"""Which calls and questions to people each answer of a model led to, for reading in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot._json import is_equal, is_object
from ingot.cassette.rows import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ingot.cassette.tape import Row

__all__ = ["Acts", "arguments_of", "is_result"]


class Acts:
    """
    The rows of calls and questions of one ask, from which each is taken once.

    Args:
        rows: All of them.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.left = sorted(rows, key=lambda row: row.data.get("repeat", 0))

    def of(self, call: Mapping[str, Any], *, exact: bool) -> list[Row]:
        """
        Take the rows that *call* led to: whether it may be made, then what came of it.

        Args:
            call: The call in the answer of a model.
            exact: Whether its arguments stand there as in the row; else a vendor's form of them.
        """
        name, said = call["tool"], arguments_of(call)

        def is_meant(row: Row) -> bool:
            return row.data.get("tool") == name and (not exact or is_equal(row.data["args"], said))

        def is_put(row: Row) -> bool:
            return is_object(said) and text_of(row.data["question"]) == said.get("question")

        found = [
            self._taken(lambda row: row.of == "human" and is_meant(row)),
            self._taken(lambda row: row.of == "tool" and is_meant(row)),
            self._taken(lambda row: row.of == "human" and "tool" not in row.data and is_put(row)),
        ]
        return [row for row in found if row is not None]

    def _taken(self, fits: Callable[[Row], bool]) -> Row | None:
        row = next(filter(fits, self.left), None)
        if row is not None:
            self.left.remove(row)
        return row


def arguments_of(call: Mapping[str, Any]) -> Any:
    """Return the arguments of a call as JSON, or as the text that stands there if it is none."""
    try:
        return json.loads(call["arguments"] or "{}")
    except (ValueError, RecursionError):
        return call["arguments"]


def is_result(row: Row) -> bool:
    """Whether *row* tells what came of a call, not only that it might be made."""
    return row.of == "tool" or "tool" not in row.data
