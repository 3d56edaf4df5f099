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
    loop = _loop()
    begun: Future[asyncio.Task[Any] | None] = Future()
    future: Future[T] = Future()

    async def run() -> None:
        begun.set_result(asyncio.current_task())
        try:
            future.set_result(await work)
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            future.set_exception(error)

    asyncio.run_coroutine_threadsafe(run(), loop)
    try:
        wait([future])
    except BaseException:
        task = begun.result()
        assert task is not None, "a coroutine runs in a task"
        loop.call_soon_threadsafe(task.cancel)
        wait([future])
        raise
    return future.result()


class _Beside:
    """A loop in a thread of its own, which ends when nobody has this any more."""

    def __init__(self) -> None:
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve() -> None:
            end = asyncio.Event()
            begun.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        thread = threading.Thread(
            target=lambda: asyncio.run(serve()), name="ingot tools", daemon=True
        )
        thread.start()
        self.thread = thread
        self.loop, end = begun.result()
        weakref.finalize(self, _end, self.loop, end).atexit = False


def _end(loop: asyncio.AbstractEventLoop, end: asyncio.Event) -> None:
    with suppress(RuntimeError):  # it has ended
        loop.call_soon_threadsafe(end.set)


_local = threading.local()


def _loop() -> asyncio.AbstractEventLoop:
    """
    The loop beside this thread, made when it is first needed.

    It goes on from ask to ask, as what async tools keep, such as clients, belongs to one loop. Each
    thread has its own, so that a tool which blocks its loop with an ask does not wait for itself.
    """
    beside: _Beside | None = getattr(_local, "beside", None)
    if beside is None or not beside.thread.is_alive():  # which it is not after a fork
        beside = _local.beside = _Beside()
    return beside.loop
