"""Asking a runtime: the same questions for threads and for tasks."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from runtime_kit import opened

from ingot.rill.client import Client
from ingot.rill.decider import Counters
from ingot.rill.errors import RillProcessError, RillRefusedError
from ingot.rill.learner import find_learner
from ingot.rill.runtime import Runtime

if TYPE_CHECKING:
    from ingot.rill.wire import Response


def test_each_question_can_be_awaited() -> None:
    """With the same answers as where it is not."""

    async def awaited() -> list[object]:
        async with opened(None) as client:
            decision = await client.adecide({}, seed=1)
            return [
                (await client.ahandshake()).capabilities,
                (await client.ahealth()).healthy,
                decision.output,
                await client.afeedback(decision.id, 0, 1.0),
                await client.aobserve({}),
                (await client.ainspect())["completedDecisions"],
                await client.areset(),
                await client.asnapshot(),
            ]

    with opened(None) as client:
        decision = client.decide({}, seed=1)
        plain = [
            client.handshake().capabilities,
            client.health().healthy,
            decision.output,
            client.feedback(decision.id, 0, 1.0),
            client.observe({}),
            client.inspect()["completedDecisions"],
            client.reset(),
            client.snapshot(),
        ]

    assert asyncio.run(awaited()) == plain
    assert json.loads(plain[-1])["feedback"] == 0


def test_many_tasks_share_a_client() -> None:
    """Each gets what it asked for."""

    async def asked(client: Client) -> None:
        decision = await client.adecide({})
        await client.afeedback(decision.id, 0, 1.0)
        with pytest.raises(RillRefusedError):
            await client.afeedback(decision.id, 0, 1.0)

    async def all_of_them() -> int:
        async with opened(None) as client:
            await asyncio.gather(*(asked(client) for _ in range(50)))
            completed: int = (await client.ainspect())["completedDecisions"]
            return completed

    assert asyncio.run(all_of_them()) == 50


def test_what_a_runtime_of_this_process_says_is_the_callers() -> None:
    """Whatever becomes of it, what decides does not notice."""
    with opened(None) as client:
        client.observe({})["stateCounters"].clear()

        assert client.observe({})["stateCounters"]["observations"] == 2


@pytest.mark.parametrize("given", ["x", None, Runtime])
def test_what_leads_to_no_runtime(given: Any) -> None:
    """It is refused at once, and what is wanted is said."""
    with pytest.raises(TypeError, match="a Client asks a Runtime or a Host, not "):
        Client(given)


@pytest.mark.parametrize("given", ["linucb", None])
def test_what_decides_nothing(given: Any) -> None:
    """Such as the name of a learner; how one is got is said."""
    with pytest.raises(TypeError, match=r"such as find_learner\('linucb'\), not "):
        Runtime(None, given)


def test_what_a_learner_does_not_take_is_said() -> None:
    """In the words of the learner, whose runtime is as it was."""
    with Client(Runtime(None, find_learner("linucb"))) as client:
        with pytest.raises(RillRefusedError, match="did you mean 'features'") as caught:
            client.decide({"arms": ["a"], "feature": {}})
        decision = client.decide({"arms": ["a", "b"]})
        with pytest.raises(RillRefusedError, match="there is no arm 5; there are 2, from 0 on"):
            client.feedback(decision.id, 5, 1.0)
        client.feedback(decision.id, 1, 1.0)

    assert caught.value.word == "invalidEnvelope"


class Falling(Runtime):
    """A runtime whose next answers are lost, as many as are told."""

    falls = 0

    def respond(self, line: bytes) -> Response:
        response = super().respond(line)
        if self.falls:
            self.falls -= 1
            raise RillProcessError(self.name, "fell")
        return response


def test_whoever_wants_to_be_told_of_restarts_is() -> None:
    """And is not warned as well."""
    runtime, told = Falling(None, Counters()), list[str]()
    with Client(runtime, on_restart=lambda restart: told.append(str(restart))) as client:
        client.observe({})
        runtime.falls = 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert client.observe({}) is None  # it was taken note of

    assert told == ["the runtime fell; it was started again, and has lost nothing"]


def test_a_runtime_that_falls_each_time_is_given_up() -> None:
    """After as many starts as are wished for."""
    runtime = Falling(None, Counters())
    with Client(runtime, restarts=1) as client:
        runtime.falls = 2
        with pytest.raises(RillProcessError, match="fell"):
            client.health()
        assert runtime.falls == 0
