"""Runs tools: several at once, each within its time; whatever a tool does, it comes to a result."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ingot._beside import await_beside, plainly, spawn
from ingot._effects import Consult, Returned
from ingot.provider import Performer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ingot._effects import Call, Invocation
    from ingot.provider import Provider

__all__ = ["aperform", "perform"]

T = TypeVar("T")


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


def _in_order(known: Iterable[Returned | None], done: Iterable[Returned]) -> tuple[Returned, ...]:
    rest = iter(done)
    return tuple(next(rest) if result is None else result for result in known)


# Tools


def _run_here(invocation: Invocation, performer: Performer | None) -> Returned:
    """Run a plain function in this thread, where Ctrl-C reaches it."""

    def run() -> Returned:
        try:
            return _result(invocation, plainly(_call(invocation)))
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
            return Returned.raised(error)

    return _kept(performer, invocation, contextvars.copy_context().run(run))


async def _run_all(
    batch: Sequence[Invocation], limit: int, performer: Performer | None
) -> Sequence[Returned]:
    """Run several, *limit* at the same time; raise what a recording raised once all have ended."""
    gate = asyncio.Semaphore(limit)
    ask = _Cancellation()

    async def run(invocation: Invocation) -> Returned:
        async with gate:
            return _kept(performer, invocation, await _run(invocation, ask))

    done = await asyncio.gather(*map(run, batch), return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each
    return done  # type: ignore[return-value]  # none of them is an exception


async def _run(invocation: Invocation, ask: _Cancellation) -> Returned:
    """Run one, in its time."""
    clock = asyncio.timeout(invocation.seconds)
    try:
        async with clock:
            value = await _awaitable(invocation)
        return _result(invocation, value)
    except asyncio.CancelledError as error:
        if not ask.is_cancelled:
            return Returned.raised(error)  # the tool's own
        invocation.context.cancel()
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the model is told)
        if not clock.expired():
            return Returned.raised(error)
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


def _awaitable(invocation: Invocation) -> Awaitable[Any]:
    call = _call(invocation)
    return call() if invocation.tool.is_async else asyncio.wrap_future(spawn(call))


def _result(invocation: Invocation, value: Any) -> Returned:
    handles = invocation.context.handles
    with handles.noting() as files:
        text = invocation.tool.write(value, handles)
    return Returned(text=text, files=tuple(file.to_dict() for file in files))


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
