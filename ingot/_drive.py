"""The only loops: they perform what a plan yields, blocking or awaiting."""

from __future__ import annotations

import time
from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any

from ingot._effects import Emit, Send, Settle, Wait
from ingot._response import Response
from ingot.errors import IngotError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from typing import TypeAlias

    from ingot._answer import Answer
    from ingot._effects import Call, Consult, Flow
    from ingot.provider import Provider

    Step: TypeAlias = Send | str | Answer[Any]
    """A turn begins; a piece of its text; and, once, at last, the answer."""

__all__ = ["arun", "astream", "run", "stream"]


def run(flow: Flow, provider: Provider) -> Answer[Any]:
    """Perform *flow* in this thread."""
    try:
        effect = next(flow)
        while True:
            try:
                done: Any = None
                if isinstance(effect, Send):
                    began = time.perf_counter()
                    try:
                        done = provider.send(effect.request)
                    finally:
                        effect.seconds = time.perf_counter() - began
                else:
                    done = _done(effect, provider)
            except Exception as error:  # noqa: BLE001 (the plan decides what it means)
                effect = flow.throw(error)
            else:
                effect = flow.send(done)
    except StopIteration as stop:
        provider.finish(None)
        return stop.value  # type: ignore[no-any-return]  # a generator's value is untyped
    except IngotError as error:
        provider.finish(error)
        raise
    finally:
        flow.close()


async def arun(flow: Flow, provider: Provider) -> Answer[Any]:
    """Perform *flow* in this task."""
    try:
        effect = next(flow)
        while True:
            try:
                done: Any = None
                if isinstance(effect, Send):
                    began = time.perf_counter()
                    try:
                        done = await provider.asend(effect.request)
                    finally:
                        effect.seconds = time.perf_counter() - began
                else:
                    done = await _adone(effect, provider)
            except Exception as error:  # noqa: BLE001 (the plan decides what it means)
                effect = flow.throw(error)
            else:
                effect = flow.send(done)
    except StopIteration as stop:
        provider.finish(None)
        return stop.value  # type: ignore[no-any-return]  # a generator's value is untyped
    except IngotError as error:
        provider.finish(error)
        raise
    finally:
        flow.close()


def stream(flow: Flow, provider: Provider) -> Generator[Step]:
    """Perform *flow* in this thread, and hand on each step; closing it closes the connection."""
    answer: Answer[Any]
    try:
        effect = next(flow)
        while True:
            try:
                done: Any = None
                if isinstance(effect, Send):
                    yield effect
                    with _timed(effect), closing(provider.stream(effect.request)) as pieces:
                        for done in pieces:
                            if isinstance(done, str):
                                effect.told += len(done)
                                paused = time.perf_counter()
                                yield done
                                effect.seconds -= time.perf_counter() - paused
                                if effect.check is not None:
                                    effect.check()
                    _check_whole(done, provider)
                else:
                    done = _done(effect, provider)
            except Exception as error:  # noqa: BLE001 (the plan decides what it means)
                effect = flow.throw(error)
            else:
                effect = flow.send(done)
    except StopIteration as stop:
        answer = stop.value
    except IngotError as error:
        provider.finish(error)
        raise
    finally:
        flow.close()
    provider.finish(None)
    yield answer


async def astream(flow: Flow, provider: Provider) -> AsyncGenerator[Step]:
    """Perform *flow* in this task, and hand on each step; closing it closes the connection."""
    answer: Answer[Any]
    try:
        effect = next(flow)
        while True:
            try:
                done: Any = None
                if isinstance(effect, Send):
                    yield effect
                    with _timed(effect):
                        async with aclosing(provider.astream(effect.request)) as pieces:
                            async for done in pieces:
                                if isinstance(done, str):
                                    effect.told += len(done)
                                    paused = time.perf_counter()
                                    yield done
                                    effect.seconds -= time.perf_counter() - paused
                                    if effect.check is not None:
                                        effect.check()
                    _check_whole(done, provider)
                else:
                    done = await _adone(effect, provider)
            except Exception as error:  # noqa: BLE001 (the plan decides what it means)
                effect = flow.throw(error)
            else:
                effect = flow.send(done)
    except StopIteration as stop:
        answer = stop.value
    except IngotError as error:
        provider.finish(error)
        raise
    finally:
        flow.close()
    provider.finish(None)
    yield answer


def _done(effect: Wait | Settle | Call | Consult | Emit, provider: Provider) -> Any:
    """Do what *effect* says, which is not to send."""
    if isinstance(effect, Settle):
        provider.settle(effect.request, effect.outcome)
    elif isinstance(effect, Wait):
        time.sleep(effect.seconds)
    elif isinstance(effect, Emit):
        effect.listener(effect.event)
    else:
        from ingot._perform import perform

        return perform(effect, provider)
    return None


async def _adone(effect: Wait | Settle | Call | Consult | Emit, provider: Provider) -> Any:
    """Like `_done`, awaiting."""
    if isinstance(effect, Settle):
        provider.settle(effect.request, effect.outcome)
    elif isinstance(effect, Wait):
        import asyncio

        await asyncio.sleep(effect.seconds)
    elif isinstance(effect, Emit):
        effect.listener(effect.event)
    else:
        from ingot._perform import aperform

        return await aperform(effect, provider)
    return None


@contextmanager
def _timed(effect: Send) -> Generator[None]:
    """Add how long it took to send and to read the reply."""
    began = time.perf_counter()
    try:
        yield
    finally:
        effect.seconds += time.perf_counter() - began


def _check_whole(last: object, provider: Provider) -> None:
    if not isinstance(last, Response):
        raise TypeError(f"{provider!r} must stream a Response last, not {type(last).__name__}")
