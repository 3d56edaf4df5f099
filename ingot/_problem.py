"""One place where an answer does not fit its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Problem"]


class Problem:
    """
    One place where an answer does not fit its type.

    Attributes:
        path: Field names and list positions that lead to the place, from the root of the reply.
        message: What was expected there, and what was found.
    """

    __slots__ = ("message", "path")

    def __init__(self, path: Sequence[str | int], message: str) -> None:
        self.path = tuple(path)
        self.message = message

    def __str__(self) -> str:
        steps = (
            f"at index {s}: " if isinstance(s, int) else f"in field `{s}`: " for s in self.path
        )
        return "".join(steps) + self.message

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.message!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return (self.path, self.message) == (other.path, other.message)

    def __hash__(self) -> int:
        return hash((self.path, self.message))

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON."""
        return {"path": list(self.path), "message": self.message}
