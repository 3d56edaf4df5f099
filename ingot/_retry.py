"""When to try again, as arithmetic: nobody sleeps here."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot._spelling import counted

if TYPE_CHECKING:
    from tenacity.stop import StopBaseT
    from tenacity.wait import WaitBaseT

    from ingot.errors import ProviderError

__all__ = ["Retry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """
    When a request that failed in passing is sent again.

    Auth and protocol errors, refusals and cut answers are never retried. A wait that the other end
    asks for (`retry-after-ms`, `retry-after` in seconds or as a date) is honoured; one longer than
    *ceiling* ends the ask.

    Attributes:
        attempts: Requests in all, the first one included.
        wait: A tenacity wait strategy; None for 0.5 s doubling up to 8 s, with jitter.
        stop: A tenacity stop strategy that replaces *attempts*; None for none. The time it sees is
            that spent in requests and waits so far.
        ceiling: Longest wait in seconds.
    """

    attempts: int = 3
    wait: WaitBaseT | None = None
    stop: StopBaseT | None = None
    ceiling: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("Retry(attempts=…) counts the first request, so it is at least 1")
        if not self.ceiling >= 0:
            raise ValueError("Retry(ceiling=…) is a number of seconds, 0 or more")

    def delay(self, attempt: int, error: ProviderError, elapsed: float) -> float | None:
        """
        Return the seconds to wait before the next request, or None to give up.

        Args:
            attempt: Requests that failed so far, this one included.
            error: Why this one failed.
            elapsed: Seconds since the first request began.
        """
        if error.overcome:
            return 0.0
        if (
            error.replayed
            or not error.retryable
            or (self.stop is None and attempt >= self.attempts)
        ):
            return None
        asked = error.retry_after
        if asked is not None and self.stop is None:
            return None if asked > self.ceiling else asked + random.uniform(0, 0.1)
        if self.stop is None and self.wait is None:
            return min(_backoff(attempt), self.ceiling)
        # Imported where a request has failed already: most asks never need it.
        import tenacity

        state = tenacity.RetryCallState(
            retry_object=tenacity.Retrying(), fn=None, args=(), kwargs={}
        )
        state.attempt_number = attempt
        state.start_time = 0.0
        state.set_exception((type(error), error, error.__traceback__))
        state.outcome_timestamp = elapsed
        if self.stop is not None and self.stop(state):
            return None
        if asked is not None:
            return None if asked > self.ceiling else asked + random.uniform(0, 0.1)
        wait = _backoff(attempt) if self.wait is None else float(self.wait(state))
        return max(0.0, min(wait, self.ceiling))

    def gave_up(self, attempt: int, error: ProviderError) -> str | None:
        """Why `delay` gave up on an error that could be retried; None when it could not."""
        if error.replayed or not error.retryable:
            return None
        if error.retry_after is not None and error.retry_after > self.ceiling:
            return (
                f"it asked to wait {error.retry_after:.0f} s, "
                f"more than the ceiling of {self.ceiling:.0f} s; "
                "raise it with retry=Retry(ceiling=…)"
            )
        return f"gave up after {counted(attempt, 'attempt')}; more with retry=…"


def _backoff(attempt: int) -> float:
    # Own arithmetic: tenacity renames the parameters of its strategy between versions.
    return 0.5 * 2.0 ** min(attempt - 1, 4) + random.uniform(0, 0.25)
