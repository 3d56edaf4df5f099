"""What a tool is told of the run that calls it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from ingot._budget.ledger import Ledger
    from ingot._handles import Handles
    from ingot._workspace import Workspace

__all__ = ["Context"]

D_co = TypeVar("D_co", covariant=True, default=Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[D_co]):
    """
    What a tool is told of the run that calls it.

    A parameter of this type is filled in by ingot, and the model never sees it: `Context`, or
    `Context[Database]` where `using(deps=…)` is given a `Database`.

    Attributes:
        deps: What the caller handed to its tools; None for nothing.
        workspace: Where the files of the run lie.
        handles: The files that the run knows.
        ledger: What the run has spent of its budget; None outside of a run.
        tool: Name of the tool.
        call_id: The vendor's id of the call.
        turn: The turn of the model that made the call, from 1.
    """

    deps: D_co
    workspace: Workspace
    handles: Handles = field(repr=False)
    ledger: Ledger | None = field(default=None, repr=False)
    tool: str = ""
    call_id: str = ""
    turn: int = 0
    _cancelled: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """
        Whether the run has given up on this call: it is late, or the ask was cancelled.

        A thread cannot be stopped: a plain function that takes long looks here and returns.
        """
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Give up on this call."""
        self._cancelled.set()
