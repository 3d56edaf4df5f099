"""The drivers: blocking and awaiting perform the same plan in the same way."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, Any

import pytest
import tenacity

from ingot import Retry, errors
from ingot._drive import arun, astream, run, stream
from ingot._effects import Send
from ingot._flow import converse
from ingot._shape.shape import shape_of
from ingot.provider import Outcome, Provider, Request, Response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from ingot._effects import Flow

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


async def last(flow: Flow, provider: Provider) -> Any:
    """The last step of a stream."""
    return [step async for step in astream(flow, provider)][-1]


DRIVERS: dict[str, Any] = {
    "arun": lambda flow, provider: asyncio.run(arun(flow, provider)),
    "stream": lambda flow, provider: [*stream(flow, provider)][-1],
    "astream": lambda flow, provider: asyncio.run(last(flow, provider)),
}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("driver", DRIVERS)
def test_all_ways_are_the_same(driver: str, name: str) -> None:
    """Requests, words to the provider, answer or error: equal."""
    # Errors keep what was said of them, so each way gets its own.
    blocking = outcome(run, copy.deepcopy(SCRIPTS[name]))
    other = outcome(DRIVERS[driver], copy.deepcopy(SCRIPTS[name]))

    assert other == blocking


class Pieces(Told):
    """A provider whose replies come in two pieces; what is no reply is raised between them."""

    def stream(self, request: Request) -> Generator[str | Response]:
        try:
            first, reply = self.left.pop(0), None
            if isinstance(first, Response):
                first, reply = (first.text or "")[:3], first
            yield first
            if reply is None:
                raise self.left.pop(0)
            yield (reply.text or "")[3:]
            yield reply
        finally:
            self.did.append("closed")

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        for piece in self.stream(request):
            yield piece


def steps(provider: Provider) -> list[Any]:
    """What a stream hands on."""
    return [*stream(converse(ASKED, SHAPE, retry=Retry(), repair=1), provider)]


def test_a_stream_hands_on_turns_pieces_and_the_answer() -> None:
    """A turn is told of by what is sent, which tells that something was shown."""
    first, x, *between, second, one, two, answer = steps(Pieces([good("xyz "), good()]))

    assert [type(first), type(second)] == [Send, Send]
    assert (x, between, one, two) == ("xyz", [" "], '{"v', 'alue": 1}')
    assert (first.told, second.told) == (4, 12)
    assert (answer.value, answer.repairs) == (1, 1)
    assert 0 < first.seconds < answer.seconds


def test_what_was_told_is_not_sent_again() -> None:
    """The error says why, where it might have been."""
    provider = Pieces(["x", down(), good()])
    with pytest.raises(errors.ProviderUnavailableError, match="pieces of the reply were handed on"):
        steps(provider)
    refused = errors.ProviderProtocolError("no", provider="p")
    with pytest.raises(errors.ProviderProtocolError, match="no$"):
        steps(Pieces(["x", refused]))

    assert provider.did == ["closed", (False, False, "ProviderUnavailableError")]


def test_closing_a_stream_closes_all_of_it() -> None:
    """The reply under way and the plan, at once; the provider is told of nothing."""
    provider = Pieces([good()])
    flow = converse(ASKED, SHAPE, retry=Retry(), repair=0)
    shown = stream(flow, provider)
    assert [next(shown), next(shown)][1] == '{"v'
    shown.close()

    assert provider.did == ["closed"]
    assert flow.gi_frame is None


async def test_closing_an_async_stream_closes_all_of_it() -> None:
    """Likewise."""
    provider = Pieces([good()])
    flow = converse(ASKED, SHAPE, retry=Retry(), repair=0)
    shown = astream(flow, provider)
    assert [await anext(shown), await anext(shown)][1] == '{"v'
    await shown.aclose()

    assert provider.did == ["closed"]
    assert flow.gi_frame is None


def test_what_was_kept_is_not_repaired() -> None:
    """Whoever took a part of the reply says so, and is not given another."""
    flow = converse(ASKED, SHAPE, retry=Retry(), repair=1)
    with pytest.raises(errors.UnreadableAnswerError):
        for step in stream(flow, Pieces([good("xyz "), good()])):
            if isinstance(step, Send):
                step.kept = True


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
