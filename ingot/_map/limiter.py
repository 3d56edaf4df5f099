"""One limiter for each vendor and key: how fast the asks of maps may be sent."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ingot._budget.estimate import reading
from ingot.errors import ProviderRateLimitError
from ingot.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot._allowance import Allowance
    from ingot._rate import Rate
    from ingot._request import Request
    from ingot._response import Outcome, Response
    from ingot.errors import IngotError

__all__ = ["LONGEST", "Limited", "Limiter", "Limits"]

_PAUSE = 1.0
"""Seconds that all wait after a 429 that does not say how long."""

LONGEST = 60.0
"""Seconds after which one request is tried however long a vendor asked to wait."""

_LOOK = 0.05
"""Seconds after which one that found too many in flight looks again."""


class Limiter:
    """
    Lets requests to one vendor with one key go, from any thread and loop.

    It never sleeps: it says how long to. A 429 pauses all; then one request goes, and with each
    that gets through one more may be in flight, up to half of what was; from there on, one more
    for each round. A reply that says that nothing is left spaces the next ones.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[Rate, _Bucket] = {}
        self._in_flight = 0
        self._window = self._threshold = float("inf")
        self._until = 0.0
        self._space = 0.0
        self._struck = float("-inf")

    def reserve(self, rate: Rate, tokens: float) -> float:
        """Take the next place of *rate* for a request of *tokens*; return the seconds to it."""
        with self._lock:
            bucket = self._buckets.get(rate)
            if bucket is None:
                bucket = self._buckets[rate] = _Bucket(rate)
            return bucket.take(self._clock(), tokens)

    def correct(self, rate: Rate, tokens: float) -> None:
        """Count *tokens* more, or fewer, than a request of *rate* was estimated to take."""
        with self._lock:
            self._buckets[rate].correct(tokens)

    def admit(self) -> float:
        """Count one request as in flight and return 0; or the seconds after which to ask again."""
        with self._lock:
            now = self._clock()
            if now < self._until:
                return self._until - now
            if self._in_flight + 1 > self._window:
                return _LOOK
            self._in_flight += 1
            if self._space:
                self._until = now + self._space
            return 0.0

    def failed(self, error: ProviderRateLimitError, began: float) -> None:
        """Learn from a 429 to a request that began at *began* by the clock."""
        with self._lock:
            now = self._clock()
            asked = _PAUSE if error.retry_after is None else error.retry_after
            self._until = max(self._until, now + min(asked, LONGEST))
            if began >= self._struck:  # not one of many that had been sent before the last
                self._struck = now
                self._threshold = max(1.0, min(self._window, self._in_flight) / 2)
                self._window = 1.0

    def succeeded(self, left: tuple[Allowance, ...], tokens: float) -> None:
        """Learn from a reply: what is *left* of limits, and the *tokens* that it took."""
        with self._lock:
            self._window += 1.0 if self._window < self._threshold else 1.0 / self._window
            waits = (one.wait(1 if one.of == "requests" else tokens) for one in left)
            self._space = min(max(waits, default=0.0), LONGEST)
            if self._space:
                self._until = max(self._until, self._clock() + self._space)

    def leave(self) -> None:
        """One request is in flight no more."""
        with self._lock:
            self._in_flight -= 1

    @property
    def now(self) -> float:
        """The clock."""
        return self._clock()


class _Bucket:
    """The places of one rate: each begins when what went before is paid off."""

    def __init__(self, rate: Rate) -> None:
        self._request = rate.spacing(rate.requests)
        self._token = rate.spacing(rate.tokens)
        self._requests = self._tokens = 0.0

    def take(self, now: float, tokens: float) -> float:
        """Take the next place; return the seconds to it."""
        self._requests, self._tokens = max(now, self._requests), max(now, self._tokens)
        begin = max(self._requests, self._tokens)
        self._requests = begin + self._request
        self._tokens += tokens * self._token
        return begin - now

    def correct(self, tokens: float) -> None:
        """Count *tokens* more, or fewer."""
        self._tokens += tokens * self._token


class Limited(Provider):
    """
    A provider whose awaited requests wait for a limiter.

    Args:
        inner: Who is asked.
        limiter: What the requests wait for.
        rate: How fast they may be sent; None for what the limiter learns.
    """

    def __init__(self, inner: Provider, limiter: Limiter, rate: Rate | None) -> None:
        self._inner, self._limiter, self._rate = inner, limiter, rate
        self.name = inner.name
        self.dialect = inner.dialect
        self.show_schema = inner.show_schema
        self.default_model = inner.default_model
        self.default_max_tokens = inner.default_max_tokens
        self.media_types = inner.media_types

    def send(self, request: Request) -> Response:
        """Send at once: only maps are held back, and they await."""
        return self._inner.send(request)

    async def asend(self, request: Request) -> Response:
        """Wait for the limiter, then send."""
        rate, limiter = self._rate, self._limiter
        estimate = 0 if rate is None or rate.tokens is None else reading(request)
        if rate is not None:
            await asyncio.sleep(limiter.reserve(rate, estimate))
        while (seconds := limiter.admit()) > 0:  # noqa: ASYNC110 (others may be in other loops)
            await asyncio.sleep(seconds)
        began = limiter.now
        try:
            response = await self._inner.asend(request)
        except ProviderRateLimitError as error:
            limiter.failed(error, began)
            raise
        finally:
            limiter.leave()
        used = estimate if response.usage is None else response.usage.total_tokens
        limiter.succeeded(response.allowances, used)
        if estimate and rate is not None:
            limiter.correct(rate, used - estimate)
        return response

    def settle(self, request: Request, outcome: Outcome) -> None:
        """Tell who was asked."""
        self._inner.settle(request, outcome)

    def finish(self, error: IngotError | None) -> None:
        """Tell who was asked."""
        self._inner.finish(error)


class Limits:
    """
    Puts a limiter before the providers of one run.

    Args:
        rate: How fast requests may be sent to each; None for what its limiter learns.
    """

    def __init__(self, rate: Rate | None) -> None:
        self._rate = rate
        self._last: tuple[Provider, Limited] | None = None

    def __call__(self, named: Provider, seen: Provider) -> Provider:
        """Return *seen*, which is what one ask sees of *named*, behind the limiter of *named*."""
        last = self._last
        if last is None or last[0] is not seen:
            last = self._last = seen, Limited(seen, _limiters.of(named), self._rate)
        return last[1]


class _Limiters:
    """The one limiter of each account."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew, as in a forked child: what its parent has in flight never ends there."""
        self._lock = threading.Lock()
        self._by_account: dict[Any, Limiter] = {}
        self._by_provider: WeakKeyDictionary[Provider, Limiter] = WeakKeyDictionary()

    def of(self, provider: Provider) -> Limiter:
        """Return the limiter of the account that *provider* asks with."""
        account = provider.account
        with self._lock:
            if account is not None:
                return self._by_account.setdefault(account, Limiter())
            return self._by_provider.setdefault(provider, Limiter())


_limiters = _Limiters()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limiters.forget)
