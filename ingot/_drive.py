"""The only loops: they perform what a plan yields, blocking or awaiting."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ingot._effects import Call, Consult, Emit, Send, Wait
from ingot.errors import IngotError

if TYPE_CHECKING:
    from ingot._answer import Answer
    from ingot._effects import Flow, Settle
    from ingot.provider import Provider

__all__ = ["arun", "run"]


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
                elif isinstance(effect, Wait):
                    time.sleep(effect.seconds)
                elif isinstance(effect, Call | Consult):
                    from ingot._perform import perform

                    done = perform(effect, provider)
                else:
                    _tell(effect, provider)
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
    import asyncio

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
                elif isinstance(effect, Wait):
                    await asyncio.sleep(effect.seconds)
                elif isinstance(effect, Call | Consult):
                    from ingot._perform import aperform

                    done = await aperform(effect, provider)
                else:
                    _tell(effect, provider)
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


def _tell(effect: Settle | Emit, provider: Provider) -> None:
    if isinstance(effect, Emit):
        effect.listener(effect.event)
    else:
        provider.settle(effect.request, effect.outcome)
