"""A run of many asks: what is drawn, done and due, whoever waits for it and however."""

from __future__ import annotations

import builtins
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ingot._drive import arun
from ingot._map.crew import Crew, Done, Job
from ingot._map.durable import Durable
from ingot._map.limiter import LONGEST, Limits
from ingot._map.progress import bar_of
from ingot._map.store import Store
from ingot._map_errors import Failure, MapError, StoreError
from ingot._question import question
from ingot.errors import (
    NotConfiguredError,
    ProviderAuthError,
    ProviderRateLimitError,
    UnsupportedTypeError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ingot._answer import Answer
    from ingot._map.surface import Plan

__all__ = ["Run"]

R_co = TypeVar("R_co", covariant=True)

_STOPS = (NotConfiguredError, ProviderAuthError, StoreError, UnsupportedTypeError)
"""What no other prompt of the run would fare better with."""


class Run(Generic[R_co]):
    """
    What blocking and awaited runs share.

    Prompts are drawn, and their asks made, by whoever takes the results: so equal ones are numbered
    in their order, and what the prompts come from is used in the thread that it belongs to.

    Args:
        plan: What is to be done.
        prompts: What it is to be done for; counted where it has a length.
        tell: Is called in the loop of the workers when something was done or put off.
    """

    def __init__(self, plan: Plan, prompts: Any, tell: Callable[[], None]) -> None:
        self._plan = plan
        self._bar = bar_of(prompts) if plan.progress else None
        self._store = self._durable = None
        if plan.store is not None:
            self._store = Store(plan.store)
            self._durable = Durable(self._store)
            weakref.finalize(self, self._store.end).atexit = False
        # What works for this run must not hold it, or it would never be dropped.
        self._crew = Crew(plan.concurrency, partial(_stops, raises=plan.raises), tell)
        self._limits = Limits(plan.rate)
        self._drawn = self._done = self._handed = self._next = 0
        self._ready: dict[int, Any] = {}
        self._stop: Done | None = None
        self._exhausted = self._closed = self._gathers = False
        self._lock = threading.RLock()  # again, for a signal handler that closes the run

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<map: {self._drawn} prompts drawn, {self._done} done; {state}>"

    @property
    def completed(self) -> dict[int, R_co]:
        """What is finished and was not handed out yet, by the place of its prompt, from 0."""
        self._collect()
        ready = self._ready.copy()
        return {n: ready[n] for n in sorted(ready) if not isinstance(ready[n], Failure)}

    # Prompts

    @property
    def _has_room(self) -> bool:
        """
        Whether another prompt may be drawn: as many may wait, or be ready, as are asked.

        What another run is about to pay for is not counted, so that runs that share a store share
        the work.
        """
        left = self._drawn - (self._done if self._gathers else self._handed) - self._crew.held
        return not self._exhausted and left < 2 * self._plan.concurrency

    def _draw(self, item: Any) -> bool:
        """Make the ask of *item*; return whether a worker is to be set to work for it."""
        index = self._drawn
        prompt, given = self._plan.given_for(index, item)
        self._drawn += 1
        try:
            perform = self._made(prompt, given)
        except Exception as error:  # noqa: BLE001 (it is the failure of this prompt)
            self._crew.fail(Job(index, item, _nothing), error)
            return False
        self._crew.jobs.append(Job(index, item, perform))
        return self._crew.running < self._plan.concurrency

    def _made(
        self, prompt: Any, given: dict[str, Any]
    ) -> Callable[[], Awaitable[Answer[Any] | None]]:
        plan = self._plan
        asked = question(
            plan.t, prompt, bound=plan.bound, given=given, caller=plan.caller, limit=self._limits
        )
        if self._durable is None:
            return partial(arun, asked.flow, asked.provider)
        return partial(self._durable.perform, asked, self._durable.place(asked))

    # Results

    def _collect(self) -> None:
        """Take over what was done; in any thread, as `completed` and `close()` may be used so."""
        with self._lock:
            while self._crew.done:
                self._take_over(self._crew.done.popleft())

    def _take_over(self, done: Done) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.add(done.answer)
        index, prompt, _ = done.job
        if done.stops:
            self._stop = self._stop or done
        elif done.answer is not None:
            self._ready[index] = done.answer.value
        elif isinstance(done.error, Exception):
            self._ready[index] = Failure(index=index, prompt=prompt, error=done.error)

    @property
    def _is_over(self) -> bool:
        """Whether nothing more will be done."""
        all_done = self._exhausted and self._done == self._drawn
        return self._closed or self._stop is not None or all_done

    @property
    def _due(self) -> int | None:
        """The place of the result that is handed out next; None while it is not there."""
        if self._gathers or self._closed or self._stop is not None:
            return None
        if not self._plan.ordered:
            return next(iter(self._ready), None)
        return self._next if self._next in self._ready else None

    def _hand_out(self, index: int) -> Any:
        self._handed += 1
        self._next = index + 1
        return self._ready.pop(index)

    def _gathered(self) -> builtins.list[Any]:
        """
        All that is ready, in the order in which it is handed out.

        Raises:
            RuntimeError: There would be more, had the run not been closed.
        """
        if not self._exhausted or self._done < self._drawn:
            raise RuntimeError("the run was closed before its end; `completed` has what is done")
        ready, self._ready = self._ready, {}
        if self._plan.ordered:
            return [ready[index] for index in sorted(ready)]
        return [*ready.values()]

    def _ended(self) -> None:
        """Take over the last of what was done, now that nothing is in flight."""
        self._collect()
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _check(self) -> None:
        """
        Raise what the run stopped for.

        Raises:
            MapError: An ask failed that ends the run.
        """
        if self._stop is None:
            return
        job, error = self._stop.job, self._stop.error
        if isinstance(error, Exception):
            raise MapError(job.place, job.prompt, error, self.completed) from error
        assert error is not None, "what stops a run is an error"
        raise error


def _stops(error: BaseException, *, raises: bool) -> bool:
    """Whether *error* ends the run."""
    if raises or isinstance(error, _STOPS) or not isinstance(error, Exception):
        return True
    return isinstance(error, ProviderRateLimitError) and (error.retry_after or 0) > LONGEST


async def _nothing() -> None:
    """Stands in the job of an ask that could not be made."""
