"""The drivers: blocking and awaiting perform the same plan in the same way."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import tenacity

from ingot import Retry, errors
from ingot._drive import arun, run
from ingot._flow import converse
from ingot._shape.shape import shape_of
from ingot.provider import Outcome, Provider, Request, Response

SHAPE = shape_of(int, "open")
ASKED = Request(provider="p", model="m", target=None, prompt="p", format=SHAPE.format(shown=False))


class Told(Provider):
    """A provider that replies from a list, the same either way."""

    def __init__(self, replies: list[Response | BaseException]) -> None:
        self.left = list(replies)
        self.did: list[Any] = []

    def send(self, request: Request) -> Response:
        self.did.append(("send", len(request.messages)))
        reply = self.left.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    async def asend(self, request: Request) -> Response:
        await asyncio.sleep(0)
        return self.send(request)

    def settle(self, request: Request, outcome: Outcome) -> None:
        self.did.append((outcome.valid, outcome.repaired, type(outcome.error).__name__))


def good(text: str = '{"value": 1}') -> Response:
    """A reply."""
    return Response(text=text, stop_reason="stop")


def down() -> errors.ProviderError:
    """An error that may pass."""
    return errors.ProviderUnavailableError("down", provider="p")


SCRIPTS: dict[str, list[Any]] = {
    "an answer": [good()],
    "a retry": [down(), good()],
    "too many failures": [down(), down(), down()],
    "a repair": [good("x"), down(), good()],
    "a repair that does not help": [good("x"), good("y")],
    "a refusal": [Response(empty_reason="refusal", stop_reason="stop")],
    "a bug": [ZeroDivisionError("bug")],
}


def outcome(driver: Any, replies: list[Any]) -> Any:
    """What *driver* did and came to."""
    provider = Told(replies)
    flow = converse(ASKED, SHAPE, retry=Retry(wait=tenacity.wait_none()), repair=1)
    try:
        came: Any = driver(flow, provider)
    except Exception as error:
        came = (type(error), str(error), getattr(error, "attempts", None))
    return provider.did, came


@pytest.mark.parametrize("name", SCRIPTS)
def test_both_ways_are_the_same(name: str) -> None:
    """Requests, words to the provider, answer or error: equal."""
    # Errors keep what was said of them, so each way gets its own.
    import copy

    blocking = outcome(run, copy.deepcopy(SCRIPTS[name]))
    awaiting = outcome(lambda f, p: asyncio.run(arun(f, p)), copy.deepcopy(SCRIPTS[name]))

    assert blocking == awaiting


def test_time_is_told() -> None:
    """The answer knows how long requests and waits took."""

    class Slow(Told):
        def send(self, request: Request) -> Response:
            time.sleep(0.02)
            return super().send(request)

    flow = converse(ASKED, SHAPE, retry=Retry(wait=tenacity.wait_fixed(0.03)), repair=0)
    began = time.perf_counter()
    answer = run(flow, Slow([down(), good()]))
    took = time.perf_counter() - began

    assert 0.065 <= answer.seconds <= took + 0.01


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_failure(error: type[BaseException]) -> None:
    """It passes at once: nothing is settled, waited for or sent again."""
    provider = Told([error()])
    with pytest.raises(error):
        run(converse(ASKED, SHAPE, retry=Retry(), repair=1), provider)

    assert provider.did == [("send", 0)]


async def test_a_cancelled_wait_ends_the_ask() -> None:
    """Cancelling passes at once, also while waiting to try again."""
    provider = Told([down(), good()])
    flow = converse(ASKED, SHAPE, retry=Retry(wait=tenacity.wait_fixed(30)), repair=0)
    task = asyncio.ensure_future(arun(flow, provider))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert provider.did == [("send", 0), (False, False, "ProviderUnavailableError")]


def test_a_provider_that_cannot_learn_is_a_fault() -> None:
    """What `settle` raises is not swallowed."""

    class Stubborn(Told):
        def settle(self, request: Request, outcome: Outcome) -> None:
            raise LookupError("no")

    with pytest.raises(LookupError):
        run(converse(ASKED, SHAPE, retry=Retry(), repair=0), Stubborn([good()]))
