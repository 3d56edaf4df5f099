"""How fast asks of maps are sent: rates, pauses after a 429, and what headers tell."""

from __future__ import annotations

import asyncio
import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from doubles import Double
from hypothesis import given
from hypothesis import strategies as st

from ingot import Cassette, ProviderRateLimitError, Rate, ask
from ingot._allowance import Allowance, allowances
from ingot._map.limiter import LONGEST, Limiter, Limits
from ingot._rate import rate_of
from ingot.testing import Script
from ingot_anthropic import Anthropic
from ingot_openai import OpenAI

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.provider import Provider


class Clock:
    """Seconds that pass when it is said so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> Limiter:
    return Limiter(clock)


def throttled(seconds: float | None = None) -> ProviderRateLimitError:
    return ProviderRateLimitError("slower", retry_after=seconds)


def let_through(limiter: Limiter) -> int:
    """How many may go at once, none coming back; ten at the most."""
    return next((count for count in range(10) if limiter.admit() > 0), 10)


# Rates


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("500/min", Rate(requests=500)),
        (" 2.5 / s ", Rate(requests=2.5, per="s")),
        ("9/h", Rate(requests=9, per="h")),
        (Rate(tokens=5), Rate(tokens=5)),
    ],
)
def test_a_rate_is_said_in_short(said: Any, meant: Rate) -> None:
    """Requests in a time."""
    assert rate_of(said) == meant
    assert pickle.loads(pickle.dumps(meant)) == meant


@pytest.mark.parametrize("said", ["", "500", "500/week", "-1/s", "0/min", "many/min"])
def test_what_is_no_rate_is_refused(said: str) -> None:
    """The error says what is one."""
    with pytest.raises(ValueError, match=r"500/min|above 0"):
        rate_of(said)


@pytest.mark.parametrize("bad", [{}, {"requests": 0}, {"tokens": float("inf")}])
def test_a_rate_bounds_something(bad: dict[str, float]) -> None:
    """A bound of nothing, or of none, is a mistake."""
    with pytest.raises(ValueError, match="above 0"):
        Rate(**bad)  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 30), min_size=1, max_size=60), st.integers(1, 100))
def test_requests_keep_their_rate(gaps: list[float], many: int) -> None:
    """Whenever they come, no minute has more than were said, give or take its two ends."""
    clock = Clock()
    limiter, rate = Limiter(clock), Rate(requests=many)
    sent = []
    for gap in gaps:
        clock.now += gap
        sent.append(clock.now + limiter.reserve(rate, 0))

    assert sent == sorted(sent)
    assert all(sum(at <= one < at + 60 for one in sent) <= many + 1 for at in sent)


def test_tokens_keep_their_rate(clock: Clock, limiter: Limiter) -> None:
    """A request begins when what those before took is paid off."""
    rate = Rate(tokens=60, per="min")

    assert limiter.reserve(rate, 30) == 0
    assert limiter.reserve(rate, 30) == 30
    limiter.correct(rate, -20)  # both took less than was estimated
    assert limiter.reserve(rate, 1) == 40
    clock.now += 1000
    assert limiter.reserve(rate, 1) == 0


def test_a_rate_is_shared_by_those_who_say_it(limiter: Limiter) -> None:
    """Two runs with one key have one rate between them."""
    assert limiter.reserve(Rate(requests=60), 0) == 0
    assert limiter.reserve(Rate(requests=60), 0) == 1
    assert limiter.reserve(Rate(requests=6), 0) == 0


# 429


def test_a_429_pauses_all(clock: Clock, limiter: Limiter) -> None:
    """For as long as it says."""
    assert limiter.admit() == 0

    limiter.failed(throttled(7), clock.now)

    assert limiter.admit() == pytest.approx(7)
    clock.now += 7
    assert limiter.admit() == 0 or limiter.admit() > 0


def test_a_pause_has_an_end(clock: Clock, limiter: Limiter) -> None:
    """However long a vendor asks to wait, or says that it has nothing left."""
    limiter.failed(throttled(86_400), clock.now)
    assert limiter.admit() == LONGEST

    clock.now += LONGEST
    limiter.succeeded((Allowance("requests", 1, 0, 86_400),), 0)
    assert limiter.admit() == LONGEST


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_forked_child_has_limiters_of_its_own() -> None:
    """What its parent has in flight never ends there."""
    script = Script([])
    mine = held(script)
    child = os.fork()
    if child == 0:
        os._exit(7 if held(script) is not mine else 0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert held(script) is mine


def test_after_a_pause_requests_start_slowly(clock: Clock, limiter: Limiter) -> None:
    """One, then two, then four; from half of what was too many on, one more each round."""
    assert let_through(limiter) == 10
    limiter.failed(throttled(1), clock.now)
    for _ in range(10):
        limiter.leave()
    clock.now += 1

    rounds = []
    for _ in range(5):
        count = let_through(limiter)
        rounds.append(count)
        for _ in range(count):
            limiter.leave()
            limiter.succeeded((), 0)

    assert rounds == [1, 2, 4, 5, 6]


def test_what_was_in_flight_does_not_count_twice(clock: Clock, limiter: Limiter) -> None:
    """Many that were sent before the first 429 get one as well."""
    began = clock.now
    for _ in range(8):
        limiter.admit()
    clock.now += 1
    limiter.failed(throttled(1), began)
    for _ in range(8):
        limiter.leave()
    clock.now += 1
    limiter.admit()
    limiter.leave()
    limiter.succeeded((), 0)

    limiter.failed(throttled(0), began)

    assert let_through(limiter) == 2


# Headers

OPENAI = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "6m0s",
}
ANTHROPIC = {
    "date": "Tue, 01 Dec 2026 10:00:00 GMT",
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2026-12-01T10:00:50Z",
}


def test_headers_of_both_vendors_are_read() -> None:
    """In durations, and in moments by the vendor's own clock."""
    assert allowances(OPENAI) == (
        Allowance("requests", 60, 59, 1),
        Allowance("tokens", 150_000, 0, 360),
    )
    assert allowances(ANTHROPIC) == (Allowance("requests", 50, 0, 50),)


@pytest.mark.parametrize(
    ("text", "seconds"), [("20ms", 0.02), ("1.5s", 1.5), ("6m0s", 360), ("1h2m3s", 3723)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """As Go writes them."""
    (requests, _) = allowances({**OPENAI, "x-ratelimit-reset-requests": text})

    assert requests.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-remaining-requests": "many"},
        {**ANTHROPIC, "date": "today"},
        {**ANTHROPIC, "anthropic-ratelimit-requests-reset": "2026-12-01T10:00:50"},
    ],
)
def test_headers_that_say_nothing_are_nothing(headers: dict[str, str]) -> None:
    """A reply is not lost for them."""
    assert allowances(headers) == ()


def test_an_allowance_says_when_there_is_enough() -> None:
    """It fills evenly, and never holds more than its limit."""
    left = Allowance("tokens", 100, 20, 40)

    assert left.wait(20) == 0
    assert left.wait(60) == 20
    assert left.wait(1000) == 40
    assert Allowance("tokens", 100, 100, 0).wait(1000) == 0


def test_nothing_left_spaces_what_follows(clock: Clock, limiter: Limiter) -> None:
    """Until a reply says that there is something again."""
    limiter.succeeded((Allowance("requests", 60, 0, 60),), 0)

    assert limiter.admit() == 1
    clock.now += 1
    assert limiter.admit() == 0
    assert limiter.admit() == 1
    limiter.succeeded((Allowance("requests", 60, 1, 59),), 0)
    clock.now += 1
    assert let_through(limiter) == 10


# Whose it is


def held(provider: Provider) -> Any:
    """The limiter of *provider*, as it stands before it."""
    return Limits(None)(provider, provider)._limiter  # type: ignore[attr-defined] # noqa: SLF001


def test_one_vendor_and_key_have_one_limiter() -> None:
    """Whoever made the provider; another key, address or vendor has another."""
    assert held(OpenAI(api_key="a")) is held(OpenAI(api_key="a"))
    assert held(OpenAI(api_key="a")) is not held(OpenAI(api_key="b"))
    assert held(OpenAI(api_key="a")) is not held(Anthropic(api_key="a"))
    assert held(OpenAI(api_key="a")) is not held(OpenAI(api_key="a", base_url="http://x/v1"))

    one, two = Script([]), Script([])
    assert held(one) is held(one)
    assert held(one) is not held(two)


def test_a_429_to_one_run_holds_back_another() -> None:
    """Both ask with the same key."""
    left = [throttled(0.05)]
    double = Double(lambda _: left.pop() if left else 1)

    async def both() -> list[list[int]]:
        runs = (ask.aio.map(int, ["a"] * 4, model=double, concurrency=2) for _ in range(2))
        return await asyncio.gather(*(run.list() for run in runs))

    assert asyncio.run(both()) == [[1] * 4] * 2
    assert double.peak == 4
    assert len(double.heard) == 9


def test_a_map_keeps_its_rate() -> None:
    """Four places of 20 ms: the last is sent 60 ms after the first."""
    times: list[float] = []

    def reply(_: str) -> int:
        times.append(asyncio.get_running_loop().time())
        return 1

    ask.map(int, ["a"] * 4, model=Double(reply), rate="50/s").list()

    assert times[-1] - times[0] >= 0.059


def test_a_played_answer_waits_for_nothing(tmp_path: Path) -> None:
    """A limiter stands before providers, not before recordings."""
    asked = ask.using(model=Double(lambda _: 1)).map
    with Cassette(tmp_path / "answers.json", "record", in_ci=True):
        asked(int, ["a"] * 3).list()

    with Cassette(tmp_path / "answers.json", "replay"):
        assert asked(int, ["a"] * 3, rate="1/h").list() == [1, 1, 1]


def test_a_script_waits_for_nothing() -> None:
    """A program with a rate is tested in no time."""
    with Script([1, 1, 1]):
        assert ask.map(int, ["a"] * 3, rate="1/h").list() == [1, 1, 1]
