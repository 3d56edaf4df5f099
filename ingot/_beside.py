"""Work beside this thread: functions in threads, coroutines in a loop that goes on."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["await_beside", "plainly", "spawn"]

T = TypeVar("T")


def spawn(function: Callable[[], T]) -> Future[T]:
    """Run *function* in a thread that keeps no program from ending, in the context of this one."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # whoever gives up on it cannot cancel it
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(plainly, function))
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is awaited)
            future.set_exception(error)

    threading.Thread(target=work, name="ingot tool", daemon=True).start()
    return future


def plainly(function: Callable[[], T]) -> T:
    """Call *function*; what no awaitable can raise becomes what a coroutine makes of it."""
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("it raised StopIteration") from error


def await_beside(work: Awaitable[T]) -> T:
    """
    Await *work* in the loop beside this thread, in which a loop may be running; and wait for it.

    Ctrl-C cancels it and waits for it to clean up.
    """
    beside = _beside()
    begun: Future[asyncio.Task[Any] | None] = Future()
    future: Future[T] = Future()

    async def run() -> None:
        begun.set_result(asyncio.current_task())
        try:
            future.set_result(await work)
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            future.set_exception(error)

    asyncio.run_coroutine_threadsafe(run(), beside.loop)
    try:
        wait([future])
    except BaseException:
        task = begun.result()
        assert task is not None, "a coroutine runs in a task"
        beside.loop.call_soon_threadsafe(task.cancel)
        wait([future])
        raise
    try:
        return future.result()
    except asyncio.CancelledError:
        if beside.failure is not None:
            raise beside.failure from None
        raise


class _Beside:
    """
    A loop in a thread of its own, which ends when nobody has this any more.

    Attributes:
        loop: The loop.
        thread: Where it runs.
    """

    def __init__(self) -> None:
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve() -> None:
            end = asyncio.Event()
            begun.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        ended: list[BaseException] = []  # the thread must not hold this object itself

        def work() -> None:
            with asyncio.Runner() as runner:
                try:
                    runner.run(serve())
                except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
                    ended.append(error)  # before its tasks are cancelled

        self._ended = ended
        self.thread = threading.Thread(target=work, name="ingot tools", daemon=True)
        self.thread.start()
        self.loop, end = begun.result()
        weakref.finalize(self, _end, self.loop, end).atexit = False

    @property
    def failure(self) -> BaseException | None:
        """What ended it too early: an exit or an interrupt out of one of its tasks."""
        return self._ended[0] if self._ended else None


def _end(loop: asyncio.AbstractEventLoop, end: asyncio.Event) -> None:
    with suppress(RuntimeError):  # it has ended
        loop.call_soon_threadsafe(end.set)


_local = threading.local()


def _beside() -> _Beside:
    """
    The loop beside this thread, made when it is first needed.

    It goes on from ask to ask, as what async tools keep, such as clients, belongs to one loop. Each
    thread has its own, so that a tool which blocks its loop with an ask does not wait for itself.
    """
    beside: _Beside | None = getattr(_local, "beside", None)
    if beside is None or beside.failure is not None or not beside.thread.is_alive():
        beside = _local.beside = _Beside()  # its thread does not live on after a fork
    return beside
