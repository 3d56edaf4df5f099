"""Runs tools: several at once, each within its time; whatever a tool does, it comes to a result."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
import traceback
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json, to_json

from ingot._beside import await_beside, leave_if_forked, plainly, spawn
from ingot._effects import Consult, Returned
from ingot._tool_result import consumed, is_lazy
from ingot._tool_signature import innermost
from ingot.errors import IngotError, ToolResultError
from ingot.provider import Performer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from ingot._effects import Call, Invocation
    from ingot._tool import Tool
    from ingot.provider import Provider

__all__ = ["aperform", "perform"]

T = TypeVar("T")

_log = logging.getLogger("ingot")


def perform(effect: Call | Consult, provider: Provider) -> Any:
    """
    Do what *effect* says, unless *provider* remembers what came of it.

    Returns:
        What each call came to, in order, or the person's answer.

    Raises:
        Exception: A recording has no such call, the first in order, before any is made; or what a
            person raised who was asked.
    """
    performer = provider if isinstance(provider, Performer) else None
    if isinstance(effect, Consult):
        return _consult(effect, performer)
    known, left = _recalled(effect.batch, performer)
    done: Iterable[Returned] = ()
    if len(left) == 1 and not left[0].tool.is_async and left[0].seconds is None:
        done = (_run_here(left[0], performer),)
    elif left:
        done = await_beside(_run_all(left, effect.limit, performer))
    return _in_order(known, done)


async def aperform(effect: Call | Consult, provider: Provider) -> Any:
    """
    Like `perform`, with coroutines as tasks and plain functions in threads.

    A task that is cancelled cancels its tools and waits for them to clean up.
    """
    performer = provider if isinstance(provider, Performer) else None
    if isinstance(effect, Consult):
        return await _aconsult(effect, performer)
    known, left = _recalled(effect.batch, performer)
    return _in_order(known, await _run_all(left, effect.limit, performer) if left else ())


# What is remembered


def _recalled(
    batch: Sequence[Invocation], performer: Performer | None
) -> tuple[list[Returned | None], list[Invocation]]:
    """The results that are remembered, None for each of the others; and the calls left to run."""
    known = [None if performer is None else performer.recall(each) for each in batch]
    return known, [each for each, result in zip(batch, known, strict=True) if result is None]


def _kept(performer: Performer | None, asked: Invocation | Consult, result: T) -> T:
    """*result*, once it is remembered."""
    if performer is not None:
        performer.keep(asked, result)
    return result


def _enter(invocation: Invocation, performer: Performer | None) -> None:
    """Let what is asked within the call, in a context of its own, be known for a part of it."""
    if performer is not None:
        performer.enter(invocation)


def _in_order(known: Iterable[Returned | None], done: Iterable[Returned]) -> tuple[Returned, ...]:
    rest = iter(done)
    return tuple(next(rest) if result is None else result for result in known)


# Tools


def _run_here(invocation: Invocation, performer: Performer | None) -> Returned:
    """Run a plain function in this thread, where Ctrl-C reaches it."""
    process = os.getpid()

    def run() -> Returned:
        _enter(invocation, performer)
        try:
            return _result(invocation, plainly(_call(invocation)))
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
            return _raised(invocation, error, process)

    return _kept(performer, invocation, contextvars.copy_context().run(run))


async def _run_all(
    batch: Sequence[Invocation], limit: int, performer: Performer | None
) -> Sequence[Returned]:
    """Run several, *limit* at the same time; raise what a recording raised once all have ended."""
    gate = asyncio.Semaphore(limit)
    ask = _Cancellation()

    async def run(invocation: Invocation) -> Returned:
        async with gate:
            _enter(invocation, performer)
            return _kept(performer, invocation, await _run(invocation, ask, performer))

    done = await asyncio.gather(*map(run, batch), return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each
    return done  # type: ignore[return-value]  # none of them is an exception


async def _run(invocation: Invocation, ask: _Cancellation, performer: Performer | None) -> Returned:
    """Run one, in its time."""
    process, clock = os.getpid(), asyncio.timeout(invocation.seconds)
    try:
        async with clock:
            value = await _value(invocation, ask, performer)
        return _result(invocation, value)
    except asyncio.CancelledError as error:
        if not ask.is_cancelled:
            return _raised(invocation, error, process)  # the tool's own
        invocation.context.cancel()
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the model is told)
        if not clock.expired():
            return _raised(invocation, error, process)
    # A thread cannot be stopped, only told.
    invocation.context.cancel()
    late = TimeoutError(f"the tool did not end within {invocation.seconds:g} seconds")
    return Returned.raised(late)


class _Cancellation:
    """Whether the task that made this was cancelled since."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._count()

    def _count(self) -> int:
        return 0 if self._task is None else self._task.cancelling()

    @property
    def is_cancelled(self) -> bool:
        return self._count() > self._before


def _call(invocation: Invocation) -> Callable[[], Any]:
    return partial(invocation.tool.call, invocation.arguments, invocation.context)


async def _value(invocation: Invocation, ask: _Cancellation, performer: Performer | None) -> Any:
    """What a tool returned; what runs code of its own, as a generator, does so in a thread."""
    call = _call(invocation)
    if invocation.tool.is_async:
        value = await call()
        if not is_lazy(value):
            return value
        call = partial(consumed, value)
    future = spawn(call)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        if ask.is_cancelled and performer is not None:
            future.add_done_callback(partial(_keep_late, invocation, performer, os.getpid()))
        raise


def _keep_late(
    invocation: Invocation, performer: Performer, process: int, future: Future[Any]
) -> None:
    """Remember what a thread came to that went on when its ask was cancelled: it was done."""
    try:
        result = _result(invocation, future.result())
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
        result = _raised(invocation, error, process)
    with suppress(IngotError):  # nobody waits for it; a recording keeps its own errors
        performer.keep(invocation, result)


def _result(invocation: Invocation, value: Any) -> Returned:
    handles = invocation.context.handles
    with handles.noting() as files:
        text = invocation.tool.write(value, handles)
    # What a producer adds is kept as the model is told of it, whether or not it is recorded.
    known = tuple(from_json(to_json(file.to_dict(), inf_nan_mode="null")) for file in files)
    return Returned(text=text, files=known)


_BUGS = (NameError, AttributeError, TypeError, ImportError)
"""Faults of the tool's code rather than of what the model gave; so is a `ToolResultError`."""


def _raised(invocation: Invocation, error: BaseException, process: int) -> Returned:
    """What the model is told of *error*; the log says where it is, and nothing of what it says."""
    leave_if_forked(error, process)  # it has no part in the conversation
    level = logging.WARNING if isinstance(error, _BUGS) else logging.DEBUG
    name, kind = invocation.tool.name, type(error).__name__
    _log.log(level, "the tool %r raised %s at %s", name, kind, _place(invocation.tool, error))
    return Returned.raised(error)


def _place(tool: Tool, error: BaseException) -> str:
    """File and line where *error* was raised, or where the tool is, if it is about its result."""
    code = getattr(innermost(tool.function), "__code__", None)
    if isinstance(error, ToolResultError) and code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    trace = error.__traceback__
    if trace is None:
        return "an unknown place"
    *_, (frame, line) = traceback.walk_tb(trace)
    return f"{frame.f_code.co_filename}:{line}"


# People


def _consult(asked: Consult, performer: Performer | None) -> Any:
    """The answer of a person, or that of a recording."""
    answer = None if performer is None else performer.recall(asked)
    if answer is not None:
        return answer
    said = asked.person(asked.question)
    if inspect.isawaitable(said):
        said = await_beside(said)
    return _kept(performer, asked, asked.question.accept(said))


async def _aconsult(asked: Consult, performer: Performer | None) -> Any:
    """Like `_consult`; a person who blocks is asked in a thread."""
    answer = None if performer is None else performer.recall(asked)
    if answer is not None:
        return answer
    said = await asyncio.wrap_future(spawn(partial(asked.person, asked.question)))
    if inspect.isawaitable(said):
        said = await said
    return _kept(performer, asked, asked.question.accept(said))
