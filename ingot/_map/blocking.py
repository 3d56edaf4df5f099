"""`Map`: the results of a run for code that blocks; a loop beside its thread does the work."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ingot._beside import Beside
from ingot._forms import Blocking
from ingot._map.run import WRITTEN, Run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from ingot._map.surface import Plan

__all__ = ["Map"]

R_co = TypeVar("R_co", covariant=True)

_LOOK = 0.5
"""Seconds after which a thread that waits looks up: some systems tell it of Ctrl-C only then."""

_PATIENCE = 0.8
"""Seconds in which what is cancelled may clean up before it is left to itself."""


class Map(Run[R_co], Blocking, Iterator[R_co]):
    """
    The results of `ask.map`.

    Prompts are drawn, and asked, while results are taken: as many as *concurrency* says are in
    flight, and as many again wait or are ready. `list()` takes all that is left. A run that is not
    taken to its end is to be closed, by `with` or `close()`; one that is dropped is closed as well.
    Several threads may take from one run, and any may close it.

    Args:
        plan: What is to be done.
        prompts: What it is to be done for.
    """

    _written = WRITTEN

    def __init__(self, plan: Plan, prompts: Iterable[Any]) -> None:
        self._woken = threading.Event()
        self._taking = threading.RLock()
        super().__init__(plan, prompts, self._woken.set)
        self._source = iter(prompts)
        self._context = copy_context()
        self._beside: Beside | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> R_co:
        with self._taking:
            return self._taken()

    def _taken(self) -> R_co:
        if self._closed:
            raise StopIteration
        try:
            self._step()
            while self._due is None and not self._is_over:
                self._step()
            due = self._due
            if due is not None:
                return self._hand_out(due)  # type: ignore[no-any-return]  # it is a T
        except BaseException:
            self.close()
            raise
        self.close()
        self._check()
        raise StopIteration

    def list(self) -> builtins.list[R_co]:
        """
        Take all results that are left.

        Raises:
            MapError: An ask failed that ends the run; what was finished is in its `completed`.
            RuntimeError: The run was closed before its end.
        """
        with self._taking:
            return self._all()

    def _all(self) -> builtins.list[R_co]:
        self._gathers = True
        try:
            while not self._is_over:
                self._step()
        except BaseException:
            self.close()
            raise
        self.close()
        self._check()
        return self._gathered()

    def _step(self) -> None:
        """Draw a prompt if there is room, else wait until something was done; take that over."""
        self._woken.clear()
        self._collect()
        if self._is_over:
            return
        if self._has_room:
            item = self._drawn_item()
            if item is _END:
                self._exhausted = True
            elif self._draw(item):
                self._start()
        elif self._due is None:
            self._woken.wait(_LOOK)
            self._check_alive()
        self._collect()

    def _drawn_item(self) -> Any:
        try:
            return next(self._source, _END)
        except Exception as error:
            self.close()
            raise self._cut_off(error) from error

    def _check_alive(self) -> None:
        """
        Refuse to wait for what will not come.

        Raises:
            RuntimeError: The loop has ended, or belongs to the process that this was forked from.
        """
        if self._beside is not None and not (self._closed or self._beside.thread.is_alive()):
            raise RuntimeError("the loop of this run has ended; a fork has to begin its own run")

    def _start(self) -> None:
        if self._beside is None:
            self._beside = Beside()
        self._beside.loop.call_soon_threadsafe(self._crew.start, context=self._context)

    def close(self) -> None:
        """Cancel what is in flight, and wait until its connections are closed."""
        if self._closed:
            return
        self._closed = True
        if self._beside is not None:
            self._beside.end()
            self._beside.thread.join(_PATIENCE)
        if self._store is not None:
            self._store.close()
        self._ended()
        self._woken.set()  # who waits in another thread

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


_END: Any = object()
"""Stands for the end of the prompts."""
