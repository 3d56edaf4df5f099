"""Faults of neighbouring libraries with many asks: each ends as it should, over real HTTP."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import threading
import types
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Heard, Loopback, Reply
from test_cases_acting import load, model_of, needs_cases
from test_providers_loopback import body, every_api, said

from ingot import Failure, MapError, RefusedError, Retry, ask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CASES = {row["id"]: row for row in load("H")}


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def prompts(case: str) -> list[str]:
    return [f"number {n}" for n in range(CASES[case]["batch"]["n"])]


def number(heard: Heard) -> int:
    """Which prompt a request is for."""
    return int(json.dumps(heard.json).partition("number ")[2].partition('"')[0])


class Busy:
    """Counts what is in flight at a server."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._lock = threading.Lock()

    def __call__(self, change: int) -> None:
        with self._lock:
            self.now += change
            self.peak = max(self.peak, self.now)


@needs_cases
def test_every_case_is_here() -> None:
    """None is left out."""
    assert set(CASES) == {"H02", "H04", "H06", "H07", "H09"}


@needs_cases
def test_a_failure_is_never_none(server: Loopback) -> None:
    """H02: None is an answer of an optional type, and a failure is a failure."""

    def reply(heard: Heard) -> Reply:
        if number(heard) == 1:
            refusal = {"role": "assistant", "content": None, "refusal": "no"}
            choice = {"index": 0, "finish_reason": "stop", "message": refusal}
            return Reply(body("openai.chat", None, choices=[choice]))
        return said("openai.chat", None)

    with server.play(reply):
        model = model_of("openai.chat", server)
        results = ask.map(int | None, prompts("H02"), model=model, on_error="return").list()

    failure = results[1]
    assert results[0] is results[2] is None
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, RefusedError)


@needs_cases
@every_api
@pytest.mark.parametrize("ordered", [True, False])
def test_no_more_are_in_flight_than_said(api: str, ordered: bool, server: Loopback) -> None:  # noqa: FBT001
    """H04: requests that are tried again and repairs are counted with the others."""
    busy, asked = Busy(), count()
    limit = CASES["H04"]["batch"]["limit"]

    def reply(heard: Heard) -> Reply:
        busy(1)
        try:
            server.pause(0.004)
            turn = next(asked)
            if turn % 7 == 3:
                return Reply({}, 503)
            return said(api, "no number") if turn % 5 == 2 else said(api, 1)
        finally:
            busy(-1)

    with server.play(reply):
        results = ask.map(
            int,
            prompts("H04"),
            model=model_of(api, server),
            concurrency=limit,
            ordered=ordered,
            repair=9,
            retry=Retry(attempts=9, wait=lambda _: 0.0),  # type: ignore[arg-type]
        ).list()

    assert results == [1] * 40
    assert len(server.heard) > 50
    assert busy.peak == limit


@needs_cases
def test_nothing_is_sent_twice_because_it_is_slow(server: Loopback) -> None:
    """H06: there is no hidden timeout."""

    def reply(heard: Heard) -> Reply:
        slow = 0.3 if number(heard) == 2 else 0.1
        return Reply(said("openai.chat", number(heard)).body, delay=slow)

    with server.play(reply):
        model = model_of("openai.chat", server)
        results = ask.map(int, prompts("H06"), model=model, concurrency=2).list()

    assert results == [0, 1, 2, 3]
    assert len(server.heard) == 4


@needs_cases
@pytest.mark.parametrize("awaited", [False, True])
def test_nothing_runs_on_after_the_first_failure(awaited: bool, server: Loopback) -> None:  # noqa: FBT001
    """H07: what is in flight is cancelled and awaited before the error is raised."""
    bad = CASES["H07"]["batch"]["fail"][0]

    def reply(heard: Heard) -> Reply:
        at = number(heard)
        if at == bad:
            return Reply({"error": {"message": "no", "type": "x"}}, 400)
        return Reply(said("openai.chat", at).body, delay=60 if at > bad else 0)

    asked = ask[int].using(model=model_of("openai.chat", server))
    given: Any = {"concurrency": CASES["H07"]["batch"]["limit"]}

    async def run() -> int:
        with pytest.raises(MapError):
            await asked.aio.map(prompts("H07"), **given).list()
        return len(asyncio.all_tasks())

    with server.play(reply):
        if awaited:
            assert asyncio.run(run()) == 1
        else:
            with pytest.raises(MapError):
                asked.map(prompts("H07"), **given).list()
        server.pause(0.1)  # what was sent before may be heard only now

        assert len(server.heard) <= 5 + 2


@needs_cases
def test_a_bar_never_costs_a_result(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """H09: in a notebook without widgets it is plain text, and no warning."""
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as if it were not installed
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)

    with server.play(lambda heard: said("openai.chat", number(heard))):
        model = model_of("openai.chat", server)
        results = ask.map(int, prompts("H09"), model=model, progress=True).list()

    assert results == [0, 1, 2]
    assert "3/3" in shown.getvalue()
    assert "tokens=36" in shown.getvalue()


@needs_cases
async def test_prompts_may_come_while_others_are_asked(server: Loopback) -> None:
    """H04, awaited: an async source is drawn as results are taken."""

    async def source() -> AsyncIterator[str]:
        for prompt in prompts("H04"):
            await asyncio.sleep(0)
            yield prompt

    with server.play(lambda heard: said("openai.chat", number(heard))):
        model = model_of("openai.chat", server)
        results = [one async for one in ask.aio.map(int, source(), model=model, concurrency=3)]

    assert results == list(range(40))
