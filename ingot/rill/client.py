"""Asking a runtime, in this process or in another: in turn, from threads and from tasks."""

from __future__ import annotations

import secrets
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from ingot.rill.errors import RillProcessError
from ingot.rill.runtime import IDENTITY, Runtime, now_ms
from ingot.rill.session import Again, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from ingot.rill.session import Decision, Plan, Restart, Step
    from ingot.rill.wire_bodies import Greeting, Vitals
    from ingot.rill.wire_parts import Identity

__all__ = ["Client", "Link"]

T = TypeVar("T")


@runtime_checkable
class Link(Protocol):
    """What leads to a runtime: a `Runtime` of this process, or the `Host` of another."""

    @property
    def name(self) -> str:
        """What the runtime is called in messages."""
        ...

    @property
    def waits(self) -> bool:
        """Whether an answer may be long in coming."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds until an answer must be there; None: whenever."""
        ...

    def answer(self, line: bytes) -> bytes:
        """Answer one request; a `RillProcessError` says that there is no runtime any more."""
        ...

    def restart(self) -> None:
        """Be as at first, for the next request."""
        ...

    def close(self) -> None:
        """End."""
        ...


class Client:
    """
    Asks a runtime; see `Session` for what becomes of a request when the runtime falls.

    Each change of the state is made for the state before it, so requests go out one by one. Threads
    and tasks wait for their turn. A task that is cancelled leaves its request to be carried out.

    Args:
        link: What leads to the runtime. It belongs to the client, which closes it.
        identity: Who asks.
        restarts: How often in a row a runtime that fell is started anew before a request is given
            up; before each, there is a longer wait.
        on_restart: Is told of each time that it was, and what was lost; None warns of it.

    Raises:
        TypeError: *link* leads to no runtime.
    """

    def __init__(
        self,
        link: Link,
        *,
        identity: Identity = IDENTITY,
        restarts: int = 3,
        on_restart: Callable[[Restart], None] | None = None,
    ) -> None:
        _check(link)
        self._link = link
        # What runs in this process need not write its answers for us to read.
        self._answer = link.respond if isinstance(link, Runtime) else link.answer
        self._lock = threading.Lock()
        self._session = Session(
            identity,
            link.name,
            name=secrets.token_hex(8),
            clock=now_ms,
            timeout=link.timeout,
            restarts=restarts,
            told=on_restart or _warn,
        )
        self._threads = _one_thread() if link.waits else None

    def handshake(self) -> Greeting:
        """
        Ask who is there, what it offers, and where it stands.

        Raises:
            RillProcessError: There is no answer, as for all else that is asked.
            RillRefusedError: The answer is an error, as for all else that is asked.
        """
        return self._run(self._session.handshake())

    def health(self) -> Vitals:
        """Ask whether all is well."""
        return self._run(self._session.health())

    def observe(self, event: Any) -> Any:
        """
        Tell of an event that belongs to no decision.

        Args:
            event: Any JSON.

        Returns:
            What the runtime says of it; None where it took note and the answer is lost.
        """
        return self._run(self._session.observe(event))

    def decide(self, context: Any, *, seed: int | None = None) -> Decision:
        """
        Let it choose.

        Args:
            context: What the choice depends on, any JSON.
            seed: Fixes what is left to chance, 64 bits; None leaves it to the runtime.

        Raises:
            RillRequestError: It cannot be sent, as for all else that is asked: it is too large, or
                the runtime does not offer it.
        """
        return self._run(self._session.decide(context, seed))

    def feedback(self, decision: str, arm: int, reward: float) -> Any:
        """
        Tell what came of a decision.

        Args:
            decision: Its id.
            arm: What was done, as its number in `arms`, 32 bits; it need not be what was decided.
            reward: How good that was, finite.

        Returns:
            What the runtime says of it; None where it learned and the answer is lost.

        Raises:
            RillRefusedError: The decision is not known, or had its feedback; or there is no such
                arm.
        """
        return self._run(self._session.feedback(decision, arm, reward))

    def inspect(self) -> Any:
        """Ask what was learned: any JSON."""
        return self._run(self._session.inspect())

    def snapshot(self) -> bytes:
        """Ask for the state of what decides."""
        return self._run(self._session.snapshot())

    def reset(self) -> None:
        """Let it forget all that it learned, and all decisions."""
        self._run(self._session.reset())

    async def ahandshake(self) -> Greeting:
        """Like `handshake`, without blocking the event loop."""
        return await self._arun(self._session.handshake())

    async def ahealth(self) -> Vitals:
        """Like `health`, without blocking the event loop."""
        return await self._arun(self._session.health())

    async def aobserve(self, event: Any) -> Any:
        """Like `observe`, without blocking the event loop."""
        return await self._arun(self._session.observe(event))

    async def adecide(self, context: Any, *, seed: int | None = None) -> Decision:
        """Like `decide`, without blocking the event loop."""
        return await self._arun(self._session.decide(context, seed))

    async def afeedback(self, decision: str, arm: int, reward: float) -> Any:
        """Like `feedback`, without blocking the event loop."""
        return await self._arun(self._session.feedback(decision, arm, reward))

    async def ainspect(self) -> Any:
        """Like `inspect`, without blocking the event loop."""
        return await self._arun(self._session.inspect())

    async def asnapshot(self) -> bytes:
        """Like `snapshot`, without blocking the event loop."""
        return await self._arun(self._session.snapshot())

    async def areset(self) -> None:
        """Like `reset`, without blocking the event loop."""
        await self._arun(self._session.reset())

    def close(self) -> None:
        """End the runtime, once it has answered what was asked before."""
        with self._lock:
            self._link.close()
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    async def aclose(self) -> None:
        """Like `close`, without blocking the event loop."""
        import asyncio

        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"<Client of {self._link!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _run(self, plan: Plan[T]) -> T:
        """Carry out *plan*, when it is its turn."""
        with self._lock:
            try:
                step = next(plan)
                while True:
                    step = self._taken(step, plan)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]  # what a plan returns
            finally:
                plan.close()

    def _taken(self, step: Step, plan: Plan[T]) -> Step:
        """Take *step*, and return the next one of *plan*."""
        if isinstance(step, Again):
            self._link.restart()
            time.sleep(step.wait)
            return next(plan)
        try:
            answer = self._answer(step.line)
        except RillProcessError as error:
            return plan.throw(error)
        return plan.send(answer)

    async def _arun(self, plan: Plan[T]) -> T:
        """Carry out *plan* in a thread, if it may take a while."""
        if self._threads is None:
            return self._run(plan)
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, plan)


def _check(link: Any) -> None:
    if not isinstance(link, Link):
        raise TypeError(f"a Client asks a Runtime or a Host, not {link!r:.80}")


def _one_thread() -> Executor:
    """A thread for what tasks ask; there is one, as they take turns anyhow."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "ingot rill")


def _warn(restart: Restart) -> None:
    warnings.warn(str(restart), RuntimeWarning, stacklevel=2)
