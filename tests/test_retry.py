"""When to try again: attempts, waits, tenacity's strategies, and words for giving up."""

from __future__ import annotations

import pytest
import tenacity

from ingot import Retry
from ingot.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderProtocolError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)

JITTER = 0.1
"""Most that is added to a wait that was asked for, so that many do not come back at once."""


RAISE = "raise it with retry=Retry(ceiling=…)"


def failed(
    cls: type[ProviderError] = ProviderUnavailableError, asked: float | None = None
) -> ProviderError:
    """An error of *cls* that asks to wait."""
    return cls("no", provider="p", retry_after=asked)


@pytest.mark.parametrize(
    ("cls", "again"),
    [
        (ProviderAuthError, False),
        (ProviderProtocolError, False),
        (ProviderError, False),
        (ProviderRateLimitError, True),
        (ProviderTimeoutError, True),
        (ProviderUnavailableError, True),
    ],
)
def test_only_what_may_pass_is_tried_again(cls: type[ProviderError], again: bool) -> None:
    """An error that no waiting mends ends the ask, whatever it and the strategies say."""
    assert (Retry().delay(1, failed(cls), 0.0) is not None) == again
    assert (Retry().delay(1, failed(cls, 0.0), 0.0) is not None) == again
    forever = Retry(stop=tenacity.stop_never, wait=tenacity.wait_none())
    assert (forever.delay(99, failed(cls), 0.0) is not None) == again


@pytest.mark.parametrize(
    ("attempts", "attempt", "again"),
    [(1, 1, False), (2, 1, True), (2, 2, False), (3, 2, True), (3, 3, False), (3, 4, False)],
)
def test_counts_attempts(attempts: int, attempt: int, again: bool) -> None:
    """*attempts* are requests in all, the first one included."""
    retry = Retry(attempts=attempts)

    assert (retry.delay(attempt, failed(), 0.0) is not None) == again
    assert (retry.delay(attempt, failed(asked=0.0), 0.0) is not None) == again


@pytest.mark.parametrize(
    ("attempt", "least"), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (6, 8.0), (50, 8.0)]
)
def test_waits_twice_as_long_each_time(attempt: int, least: float) -> None:
    """Half a second, doubling up to eight, with a little jitter."""
    waits = [Retry(attempts=99).delay(attempt, failed(), 0.0) for _ in range(50)]

    assert all(wait is not None and least <= wait <= least + 0.25 for wait in waits)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(0.0, 0.0), (0.02, 0.02), (1.0, 1.0), (59.9, 59.9), (60.0, 60.0), (60.1, None), (1e9, None)],
)
def test_waits_as_long_as_asked(asked: float, expected: float | None) -> None:
    """The other end knows best, up to the ceiling; beyond it the ask ends at once."""
    for retry in (Retry(), Retry(wait=tenacity.wait_fixed(7)), Retry(stop=tenacity.stop_never)):
        wait = retry.delay(1, failed(asked=asked), 0.0)

        if expected is None:
            assert wait is None
        else:
            assert wait is not None
            assert expected <= wait <= expected + JITTER


@pytest.mark.parametrize(
    ("wait", "attempt", "expected"),
    [
        (tenacity.wait_none(), 1, 0.0),
        (tenacity.wait_fixed(3), 2, 3.0),
        (tenacity.wait_incrementing(start=1, increment=2), 3, 5.0),
        (tenacity.wait_exponential(multiplier=1, max=10), 5, 10.0),
        (tenacity.wait_chain(tenacity.wait_fixed(1), tenacity.wait_fixed(9)), 2, 9.0),
        (tenacity.wait_fixed(1) + tenacity.wait_fixed(2), 1, 3.0),
        (tenacity.wait_fixed(3600), 1, 60.0),
    ],
)
def test_speaks_tenacity_for_waits(
    wait: tenacity.wait.wait_base, attempt: int, expected: float
) -> None:
    """Any of its wait strategies will do; none waits longer than the ceiling."""
    assert Retry(attempts=9, wait=wait).delay(attempt, failed(), 0.0) == expected


@pytest.mark.parametrize(
    ("stop", "attempt", "elapsed", "again"),
    [
        (tenacity.stop_after_attempt(5), 4, 0.0, True),
        (tenacity.stop_after_attempt(5), 5, 0.0, False),
        (tenacity.stop_after_delay(10), 99, 9.9, True),
        (tenacity.stop_after_delay(10), 1, 10.0, False),
        (
            tenacity.stop_any(tenacity.stop_after_attempt(2), tenacity.stop_after_delay(5)),
            1,
            6.0,
            False,
        ),
        (tenacity.stop_after_attempt(2) | tenacity.stop_after_delay(5), 1, 1.0, True),
        (tenacity.stop_never, 1000, 1e6, True),
    ],
)
def test_speaks_tenacity_for_stops(
    stop: tenacity.stop.stop_base, attempt: int, elapsed: float, again: bool
) -> None:
    """A stop strategy replaces the count; the time it sees is that of requests and waits so far."""
    retry = Retry(attempts=1, stop=stop, wait=tenacity.wait_fixed(1))

    assert (retry.delay(attempt, failed(), elapsed) is not None) == again
    assert (retry.delay(attempt, failed(asked=0.0), elapsed) is not None) == again


def test_a_strategy_sees_the_error() -> None:
    """Strategies of a user's own may look at what went wrong."""
    seen = []

    def wait(state: tenacity.RetryCallState) -> float:
        assert state.outcome is not None
        seen.append(state.outcome.exception())
        return 2.0

    error = failed()

    assert Retry(wait=wait).delay(1, error, 0.0) == 2.0
    assert seen == [error]


@pytest.mark.parametrize(
    ("retry", "attempt", "error", "expected"),
    [
        (Retry(), 1, failed(ProviderAuthError), None),
        (Retry(), 1, failed(ProviderProtocolError, 999.0), None),
        (Retry(), 3, failed(), "gave up after 3 attempts; more with retry=…"),
        (Retry(attempts=1), 1, failed(), "gave up after 1 attempt; more with retry=…"),
        (
            Retry(),
            1,
            failed(ProviderRateLimitError, 3600.0),
            "it asked to wait 3600 s, more than the ceiling of 60 s; " + RAISE,
        ),
        (
            Retry(ceiling=5),
            1,
            failed(ProviderRateLimitError, 6.0),
            "it asked to wait 6 s, more than the ceiling of 5 s; " + RAISE,
        ),
    ],
)
def test_says_why_it_gave_up(
    retry: Retry, attempt: int, error: ProviderError, expected: str | None
) -> None:
    """In words that name the setting; nothing for an error that is never tried again."""
    assert retry.gave_up(attempt, error) == expected


@pytest.mark.parametrize("attempts", [0, -1])
def test_the_first_request_counts(attempts: int) -> None:
    """There is no retry of no requests."""
    with pytest.raises(ValueError, match="at least 1"):
        Retry(attempts=attempts)


def test_is_a_value() -> None:
    """Equal settings are equal, and cannot be changed."""
    retry = Retry(attempts=5)

    assert retry == Retry(attempts=5)
    with pytest.raises(AttributeError):
        retry.attempts = 6  # type: ignore[misc]  # that is the point
