"""`AsyncMap`: the results of a run for code that awaits; its own loop does the work."""

from __future__ import annotations

import asyncio
import builtins
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ingot._forms import Awaited, Blocking
from ingot._map.run import WRITTEN, Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable
    from types import TracebackType

    from ingot._map.crew import Crew
    from ingot._map.surface import Plan

__all__ = ["AsyncMap"]

R_co = TypeVar("R_co", covariant=True)


class AsyncMap(Run[R_co], Awaited, AsyncIterator[R_co]):
    """
    The results of `ask.aio.map`.

    It is like `Map`, with `async for`, `async with`, `await ….list()` and `await ….aclose()`.
    Several tasks of one loop may take from it, and any may close it.

    Args:
        plan: What is to be done.
        prompts: What it is to be done for.
    """

    _written = WRITTEN

    def __init__(self, plan: Plan, prompts: Iterable[Any] | AsyncIterable[Any]) -> None:
        self._woken = asyncio.Event()
        self._taking = asyncio.Lock()
        super().__init__(plan, prompts, self._woken.set)
        awaited = hasattr(prompts, "__aiter__") and not isinstance(prompts, Blocking)
        self._source: Any = aiter(prompts) if awaited else iter(prompts)  # type: ignore[arg-type]
        self._drawing: asyncio.Future[Any] | None = None
        self._begun = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> R_co:
        async with self._taking:
            return await self._taken()

    async def _taken(self) -> R_co:
        if self._closed:
            raise StopAsyncIteration
        try:
            await self._step()
            while self._due is None and not self._is_over:
                await self._step()
            due = self._due
            if due is not None:
                return self._hand_out(due)  # type: ignore[no-any-return]  # it is a T
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        self._check()
        raise StopAsyncIteration

    async def list(self) -> builtins.list[R_co]:
        """
        Take all results that are left.

        Raises:
            MapError: An ask failed that ends the run; what was finished is in its `completed`.
            RuntimeError: The run was closed before its end.
        """
        async with self._taking:
            return await self._all()

    async def _all(self) -> builtins.list[R_co]:
        self._gathers = True
        try:
            while not self._is_over:
                await self._step()
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        self._check()
        return self._gathered()

    async def _step(self) -> None:
        """Draw a prompt if there is room, else wait until something was done; take that over."""
        self._woken.clear()
        self._collect()
        if self._is_over:
            return
        if self._has_room:
            try:
                item = await self._drawn_item()
            except Exception as error:
                await self.aclose()
                raise self._cut_off(error) from error
            if item is _END:
                self._exhausted = True
            elif item is not _NONE_YET and self._draw(item):
                self._start()
        elif self._due is None:
            await self._woken.wait()
        self._collect()

    async def _drawn_item(self) -> Any:
        """Draw a prompt, or return `_NONE_YET` where something was done before it came."""
        if not hasattr(self._source, "__anext__"):
            return next(self._source, _END)
        if self._drawing is None:
            self._drawing = asyncio.ensure_future(anext(self._source, _END))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait((self._drawing, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        if not self._drawing.done():
            return _NONE_YET
        drawing, self._drawing = self._drawing, None
        return drawing.result()

    def _start(self) -> None:
        if not self._begun:
            self._begun = True
            loop = asyncio.get_running_loop()
            weakref.finalize(self, _stop_soon, loop, self._crew).atexit = False
        self._crew.start()

    async def aclose(self) -> None:
        """Cancel what is in flight, and wait until its connections are closed."""
        if self._closed:
            return
        self._closed = True
        if self._drawing is not None:
            self._drawing.cancel()
            await asyncio.gather(self._drawing, return_exceptions=True)
        await self._crew.stop()
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
        self._ended()
        self._woken.set()  # who waits in another task

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.aclose()


_END: Any = object()
"""Stands for the end of the prompts."""

_NONE_YET: Any = object()
"""Stands for a prompt that has not come yet."""


def _stop_soon(loop: asyncio.AbstractEventLoop, crew: Crew) -> None:
    """Cancel what a run left in flight that was dropped."""
    with suppress(RuntimeError):  # its loop has ended
        loop.call_soon_threadsafe(crew.halt)
