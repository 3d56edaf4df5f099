"""A run of many asks: what is drawn, done and due, whoever waits for it and however."""

from __future__ import annotations

import builtins
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ingot._drive import arun
from ingot._map.crew import Crew, Done, Job
from ingot._map.durable import Durable
from ingot._map.limiter import LONGEST, Limits
from ingot._map.progress import bar_of
from ingot._map.store import Store
from ingot._map.tally import Tally
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
    from decimal import Decimal

    from ingot._answer import Answer
    from ingot._map.surface import Plan
    from ingot._response import Usage

__all__ = ["WRITTEN", "Run"]

R_co = TypeVar("R_co", covariant=True)

WRITTEN = (
    "write `for … in ask.map(…)`, `with ask.map(…) as …` or `ask.map(…).list()`, and in async code "
    "`async for … in ask.aio.map(…)`, `async with ask.aio.map(…) as …` or "
    "`await ask.aio.map(…).list()`"
)
"""How each form is used."""

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
        self._tally = Tally()
        self._bar = bar_of(prompts, self._tally) if plan.progress else None
        self._store = self._durable = None
        if plan.store is not None:
            self._store = Store(plan.store)
            self._durable = Durable(self._store)
            weakref.finalize(self, self._store.end).atexit = False
        # What works for this run must not hold it, or it would never be dropped.
        self._crew = Crew(plan.concurrency, partial(_stops, raises=plan.raises), tell)
        self._limits = Limits(plan.rate)
        self._drawn = self._handed = self._next = 0
        self._ready: dict[int, Any] = {}
        self._stop: Done | None = None
        self._exhausted = self._closed = self._gathers = False
        self._lock = threading.RLock()  # again, for a signal handler that closes the run

    def __repr__(self) -> str:
        tally = self._tally
        counts = [f"{self._drawn} prompts drawn", f"{tally.done} done"]
        counts += [f"{tally.stored} from the store"] if tally.stored else []
        counts += [f"{tally.failed} failed"] if tally.failed else []
        return f"<map: {', '.join(counts)}; {'closed' if self._closed else 'open'}>"

    @property
    def completed(self) -> dict[int, R_co]:
        """What is finished and was not handed out yet, by the place of its prompt, from 0."""
        self._collect()
        ready = self._ready.copy()
        return {n: ready[n] for n in sorted(ready) if not isinstance(ready[n], Failure)}

    @property
    def done(self) -> int:
        """How many asks are done, failed ones included."""
        return self._counted.done

    @property
    def failed(self) -> int:
        """How many asks failed."""
        return self._counted.failed

    @property
    def stored(self) -> int:
        """How many answers came out of the store; they cost nothing now."""
        return self._counted.stored

    @property
    def usage(self) -> Usage:
        """Tokens of the asks that are done, failed ones included, as far as they are known."""
        return self._counted.usage

    @property
    def cost(self) -> Decimal | None:
        """US dollars of the asks that are done; None where the cost of one is not known."""
        return self._counted.cost

    @property
    def _counted(self) -> Tally:
        self._collect()
        return self._tally

    # Prompts

    @property
    def _has_room(self) -> bool:
        """
        Whether another prompt may be drawn: as many may wait, or be ready, as are asked.

        What another run is about to pay for is not counted, so that runs that share a store share
        the work.
        """
        left = self._drawn - (self._tally.done if self._gathers else self._handed) - self._crew.held
        return not self._exhausted and left < 2 * self._plan.concurrency

    def _draw(self, item: Any) -> bool:
        """Make the ask of *item*; return whether a worker is to be set to work for it."""
        index = self._drawn
        self._drawn += 1
        try:
            perform = self._made(*self._plan.given_for(index, item))
        except Exception as error:  # noqa: BLE001 (it is the failure of this prompt, in its turn)
            perform = partial(_raise, error)
            self._exhausted = _stops(error, raises=self._plan.raises)  # what follows is not asked
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
        self._tally.add(done.answer, done.error)
        if self._bar is not None:
            self._bar.step()
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
        all_done = self._exhausted and self._tally.done == self._drawn
        return self._closed or self._stop is not None or all_done

    @property
    def _due(self) -> int | None:
        """The place of the result that is handed out next; None while it is not there."""
        if self._gathers or self._closed:
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
        if not self._exhausted or self._tally.done < self._drawn:
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
            NotConfiguredError: There is nothing to ask with; as of one ask, where none had an
                answer.
        """
        if self._stop is None:
            return
        job, error = self._stop.job, self._stop.error
        assert error is not None, "what stops a run is an error"
        is_unset = isinstance(error, NotConfiguredError) and self.done == self.failed
        if is_unset or not isinstance(error, Exception):
            raise error
        raise MapError(job.place, job.prompt, error, self.completed) from error

    def _cut_off(self, error: Exception) -> MapError:
        """Say that no prompt comes any more, for *error*."""
        return MapError(self._drawn, None, error, self.completed)


def _stops(error: BaseException, *, raises: bool) -> bool:
    """Whether *error* ends the run."""
    if raises or isinstance(error, _STOPS) or not isinstance(error, Exception):
        return True
    return isinstance(error, ProviderRateLimitError) and (error.retry_after or 0) > LONGEST


async def _raise(error: Exception) -> NoReturn:
    """Perform an ask that could not be made."""
    raise error
