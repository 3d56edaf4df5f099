"""Every way to ask for several values, for tests of what must be the same for all of them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ingot import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["EVERY", "STREAMS", "values"]


def whole(t: Any, prompts: Iterable[str], **given: Any) -> Iterator[Any]:
    """One after the other."""
    for prompt in prompts:
        yield ask(t, prompt, **given)


def streamed(t: Any, prompts: Iterable[str], **given: Any) -> Iterator[Any]:
    """One after the other, each listened to."""
    for prompt in prompts:
        with ask.stream(t, prompt, **given) as s:
            for _ in s:
                pass
            yield s.value


def streamed_in_threads(t: Any, prompts: Iterable[str], **given: Any) -> Iterator[Any]:
    """As many at once as there are threads."""

    def one(prompt: str) -> Any:
        return next(streamed(t, [prompt], **given))

    with ThreadPoolExecutor(16) as pool:
        yield from pool.map(one, prompts)


def streamed_in_tasks(t: Any, prompts: Iterable[str], **given: Any) -> Iterator[Any]:
    """All at once, in one loop."""

    async def one(prompt: str) -> Any:
        async with ask.aio.stream(t, prompt, **given) as s:
            async for _ in s:
                await asyncio.sleep(0)
            return s.value

    async def main() -> Any:
        return await asyncio.gather(*map(one, prompts))

    yield from asyncio.run(main())


def mapped(t: Any, prompts: Sequence[str], **given: Any) -> Iterator[Any]:
    """A run of many."""
    with ask.map(t, prompts, **given) as results:
        yield from results


def mapped_in_a_loop(t: Any, prompts: Sequence[str], **given: Any) -> Iterator[Any]:
    """The same, awaited."""

    async def main() -> Any:
        return await ask.aio.map(t, prompts, **given).list()

    yield from asyncio.run(main())


STREAMS: dict[str, Callable[..., Iterator[Any]]] = {
    "streamed": streamed,
    "streamed in threads": streamed_in_threads,
    "streamed in tasks": streamed_in_tasks,
}
EVERY: dict[str, Callable[..., Iterator[Any]]] = {
    "whole": whole,
    **STREAMS,
    "mapped": mapped,
    "mapped in a loop": mapped_in_a_loop,
}
"""By name; each takes a type, prompts and settings, and yields the values in their order."""


def values(way: str, t: Any, prompts: Sequence[str], **given: Any) -> list[Any]:
    """What asking in that *way* comes to."""
    return list(EVERY[way](t, prompts, **given))
