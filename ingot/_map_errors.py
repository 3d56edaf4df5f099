"""What goes wrong in a map: one ask, the whole run, or the store of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingot._error import IngotError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Failure", "MapError", "StoreError"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    What stands in the place of a result where `on_error="return"` and the ask failed.

    Attributes:
        index: The place of the prompt, from 0.
        prompt: What was given for it.
        error: Why it failed.
    """

    index: int
    prompt: Any
    error: Exception

    def __repr__(self) -> str:
        error = f"{type(self.error).__name__}({_first_line(self.error, 200)})"
        return f"Failure(index={self.index}, error={error})"


def _first_line(error: Exception, length: int) -> str:
    """What *error* says, as far as it stands on the first line and is no longer than *length*."""
    said = str(getattr(error, "message", error))
    line = said.partition("\n")[0][:length]
    return line if line == said else f"{line}…"


class MapError(IngotError):
    """
    A run of `ask.map` stopped before its end; nothing of it is in flight any more.

    Attributes:
        index: The place of the prompt that failed, from 0.
        prompt: What was given for it; None where the prompts ended with an error there.
        error: Why it failed, which is the `__cause__` too.
        completed: Results that were finished and not handed out yet, by the place of their prompt;
            of `.list()`, which hands out nothing before the end, all that were finished.
    """

    code = "map"

    def __init__(
        self, index: int, prompt: Any, error: Exception, completed: Mapping[int, Any]
    ) -> None:
        self.index = index
        self.prompt = prompt
        self.error = error
        self.completed = completed
        super().__init__(
            f"the run stopped at prompt {index} "
            f"({type(error).__name__}: {_first_line(error, 500)})",
            advice=getattr(error, "advice", None),
        )


class StoreError(IngotError):
    """
    The store of a durable run cannot be used.

    Attributes:
        path: The file.
    """

    code = "store"

    def __init__(self, message: str, *, path: str, advice: str | None = None) -> None:
        self.path = path
        super().__init__(f"the store {path}: {message}", advice=advice)
