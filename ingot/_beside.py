"""Work beside this thread: functions in threads, coroutines in a loop that goes on."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
import weakref
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Beside", "await_beside", "plainly", "spawn"]

T = TypeVar("T")


def spawn(function: Callable[[], T]) -> Future[T]:
    """Run *function* in a thread that keeps no program from ending, in the context of this one."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # whoever gives up on it cannot cancel it
    context, process = contextvars.copy_context(), os.getpid()

    def work() -> None:
        try:
            future.set_result(context.run(plainly, function))
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is awaited)
            leave_if_forked(error, process)
            future.set_exception(error)

    threading.Thread(target=work, name="ingot tool", daemon=True).start()
    return future


def plainly(function: Callable[[], T]) -> T:
    """Call *function*; what no awaitable can raise becomes what a coroutine makes of it."""
    try:
        return function()
    except StopIteration as error:
        raise RuntimeError("it raised StopIteration") from error


def leave_if_forked(error: BaseException, process: int) -> None:
    """
    End this process, at once, if *error* is its exit and it was forked from *process*.

    It shares pipes with the loops of its parent: to let one run on, or to close it, would take a
    wake-up that the parent waits for.
    """
    if isinstance(error, SystemExit) and os.getpid() != process:
        _leave(error.code)


def _leave(code: Any) -> NoReturn:
    if not (code is None or isinstance(code, int)):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it may be closed
            stream.flush()
    os._exit((code or 0) & 0xFF)


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


class Beside:
    """
    A loop in a thread of its own, which ends when nobody has this any more.

    Attributes:
        loop: The loop.
        thread: Where it runs.
        end: Cancels what is left in the loop and ends it, without waiting for that.

    Raises:
        OSError: There can be no loop, as where too many files are open.
    """

    def __init__(self) -> None:
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve() -> None:
            end = asyncio.Event()
            begun.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        ended: list[BaseException] = []  # the thread must not hold this object itself

        def work() -> None:
            try:
                with asyncio.Runner() as runner:
                    try:
                        runner.run(serve())
                    except BaseException as error:  # noqa: BLE001 (raised in the thread that waits)
                        ended.append(error)  # before its tasks are cancelled
            except OSError as error:  # no file is left for a loop
                if begun.done():
                    raise
                begun.set_exception(error)

        self._ended = ended
        self.thread = threading.Thread(target=work, name="ingot tools", daemon=True)
        self.thread.start()
        self.loop, end = begun.result()
        self.end = weakref.finalize(self, _end, self.loop, end)
        self.end.atexit = False

    @property
    def failure(self) -> BaseException | None:
        """What ended it too early: an exit or an interrupt out of one of its tasks."""
        return self._ended[0] if self._ended else None


def _end(loop: asyncio.AbstractEventLoop, end: asyncio.Event) -> None:
    with suppress(RuntimeError):  # it has ended
        loop.call_soon_threadsafe(end.set)


_local = threading.local()


def _beside() -> Beside:
    """
    The loop beside this thread, made when it is first needed.

    It goes on from ask to ask, as what async tools keep, such as clients, belongs to one loop. Each
    thread has its own, so that a tool which blocks its loop with an ask does not wait for itself.
    """
    beside: Beside | None = getattr(_local, "beside", None)
    if beside is None or beside.failure is not None or not beside.thread.is_alive():
        beside = _local.beside = Beside()  # its thread does not live on after a fork
    return beside
