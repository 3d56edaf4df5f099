"""The workers of a map: they perform asks in one event loop, so many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ingot._answer import Answer

__all__ = ["Crew", "Done", "Job"]

_LOOK = 0.2
"""Seconds until a job is tried again that had to wait, such as for what another run pays for."""


class Job(NamedTuple):
    """
    One ask of a map.

    Attributes:
        place: Where it stands among the prompts, from 0.
        prompt: What was given for it.
        perform: Performs it; None in the place of an answer says that it is to be tried again.
    """

    place: int
    prompt: Any
    perform: Callable[[], Awaitable[Answer[Any] | None]]


class Done(NamedTuple):
    """
    What came of one ask.

    Attributes:
        job: The ask.
        answer: Its answer; None where it has none.
        error: Why not.
        stops: Whether it ends the run.
    """

    job: Job
    answer: Answer[Any] | None = None
    error: BaseException | None = None
    stops: bool = False


class Crew:
    """
    Workers that take jobs from one queue.

    A worker is a task that ends when the queue is empty. `jobs` may be filled, and `done` emptied,
    in another thread than that of the loop; all else is the loop's.

    Args:
        size: Asks at a time.
        stops: Says whether an error ends the run.
        tell: Is called when something was done, or put off.

    Attributes:
        jobs: What is to be done.
        done: What was done.
        running: Workers at work.
        held: Jobs that wait to be tried again.
    """

    def __init__(
        self,
        size: int,
        stops: Callable[[BaseException], bool],
        tell: Callable[[], None],
    ) -> None:
        self._stops = stops
        self._tell = tell
        self._tasks: set[asyncio.Task[None]] = set()
        self.size = size
        self.jobs: deque[Job] = deque()
        self.done: deque[Done] = deque()
        self.running = self.held = 0
        self._stopped = False

    def start(self) -> None:
        """Set as many to work as there is work for; none once the run was stopped."""
        for _ in range(0 if self._stopped else min(self.size - self.running, len(self.jobs))):
            self.running += 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel what is at work, and wait until it has let go of everything."""
        self.halt()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def halt(self) -> None:
        """Cancel what is at work, but for the worker that says so, and begin nothing more."""
        self._stopped = True
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def _work(self) -> None:
        try:
            while self.jobs and not self._stopped:
                job = self.jobs.popleft()
                done = await self._performed(job)
                if done is None:
                    self._put_off(job)
                    continue
                if done.stops:
                    self.halt()
                self.done.append(done)
                self._tell()
        finally:
            self.running -= 1
        if self.jobs:  # one came after the last look, from a thread that saw this one at work
            self.start()

    def _put_off(self, job: Job) -> None:
        """Try *job* again after a while; no worker waits for it."""
        self.held += 1
        self._tell()  # there is room for another
        asyncio.get_running_loop().call_later(_LOOK, self._try_again, job)

    def _try_again(self, job: Job) -> None:
        self.held -= 1
        self.jobs.append(job)
        self.start()

    async def _performed(self, job: Job) -> Done | None:
        try:
            answer = await job.perform()
        except BaseException as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Done(job, error=error, stops=self._stops(error))
        return None if answer is None else Done(job, answer)
