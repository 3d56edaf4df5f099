"""A cassette in front of a router: it records what was chosen, and plays it without the router."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from router_kit import Told, router

from ingot import (
    Budget,
    Cassette,
    MismatchedAnswerError,
    ProviderRateLimitError,
    ProviderUnavailableError,
    Response,
    Retry,
    Router,
    Usage,
    ask,
)
from ingot.cassette.errors import CassetteMissError
from ingot.cassette.reading import conversations
from ingot.testing import Script, calls

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.rill import wire


@pytest.fixture(autouse=True)
def recording_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the tests run in CI."""
    monkeypatch.delenv("CI", raising=False)


class _Untouched(Told):
    """A runtime that must not be asked."""

    def respond(self, line: bytes) -> wire.Response:
        raise AssertionError("the router was asked")


def untouched(asked: Router) -> Router:
    """A router of the same models and objective that must be neither asked nor taught."""
    return Router(asked._given["models"], runtime=_Untouched())


def rows(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["rows"]


def test_a_replay_neither_asks_nor_teaches(tmp_path: Path) -> None:
    """The answer and its route are as they were, and there is nobody to teach."""
    path = tmp_path / "c.json"
    busy = ProviderRateLimitError("busy")
    asked, told = router([Script([busy], model="a"), Script([[1]], model="b", dialect="openai")])
    with Cassette(path, "record"):
        recorded = ask.answer(list[int], "p", model=asked)
    taught = len(told.requests)

    with Cassette(path, "replay"):
        played = ask.answer(list[int], "p", model=untouched(asked))

    assert recorded.model == played.model == "script/b"
    assert played.value == [1]
    assert played.route == recorded.route
    assert played.route is not None
    assert played.route.attempts == (
        ("script/a", "ProviderRateLimitError"),
        ("script/b", None),
    )
    assert recorded.rate(1)
    assert not played.rate(1)
    assert taught == len(told.requests) - 3  # which are the rating


def test_the_key_holds_the_models_and_the_objective(tmp_path: Path) -> None:
    """Never the arm: another choice plays the same, other models do not."""
    path = tmp_path / "c.json"
    asked, _ = router([Script([1], model="a"), Script([], model="b")])
    with Cassette(path, "record"):
        ask(int, "p", model=asked)

    (row,) = rows(path)
    assert row["model"] == f"router/{asked.default_model}"
    assert row["model"].startswith("router/script/a | script/b by validity 1")
    (answer,) = row["answers"]
    assert answer["served"] == "a"
    assert answer["route"]["arm"] == "script/a"
    assert answer["route"]["attempts"] == [["script/a", None]]


def test_turns_and_repairs_are_played(tmp_path: Path) -> None:
    """Each is a row of its own, with its route."""

    def price(item: str) -> float:
        """Return the price of *item*."""
        return 1.5

    path = tmp_path / "c.json"
    replies = [calls(price={"item": "pen"}), '{"value": "no"}', 3.0]
    for dialect in ("open", "openai", "anthropic"):
        asked, told = router([Script(replies, model="a", dialect=dialect)])
        with Cassette(path, "refresh"):
            recorded = ask.answer(float, "p", model=asked, tools=[price], repair=1)
        with Cassette(path, "replay"):
            played = ask.answer(float, "p", model=untouched(asked), tools=[price], repair=1)

        assert (played.value, played.repairs) == (3.0, 1)
        assert [turn.route for turn in played.turns] == [turn.route for turn in recorded.turns]
        assert len(rows(path)) == 4  # three turns and the call
        assert len(told.lessons) == 1


def test_a_stream_is_recorded_and_played(tmp_path: Path) -> None:
    """With the route of the model that streamed."""
    path = tmp_path / "c.json"
    busy = ProviderRateLimitError("busy")
    two = Script([[1, 2]], model="b", dialect="openai", stream="words")
    asked, told = router([Script([busy], model="a"), two])
    with Cassette(path, "record"), ask.stream(list[int], "p", model=asked) as live:
        assert live.value == [1, 2]
    with Cassette(path, "replay"), ask.stream(list[int], "p", model=untouched(asked)) as played:
        assert played.value == [1, 2]

    assert played.answer.route == live.answer.route
    assert played.answer.model == "script/b"
    assert [arm for arm, _ in told.lessons] == [0, 1]


def test_an_ask_that_failed_is_played(tmp_path: Path) -> None:
    """With the error that it ended with; the router learned of it once."""
    path = tmp_path / "c.json"
    down = ProviderUnavailableError("down")
    asked, told = router([Script([down], model="a"), Script(["[]"], model="b")])
    for _ in range(2):
        with Cassette(path), pytest.raises(MismatchedAnswerError):
            with Cassette(path, "record"):
                ask(int, "p", model=asked)

    assert told.lessons == [(0, 0.0), (1, 0.0)]


def test_all_models_failed_and_it_is_played(tmp_path: Path) -> None:
    """The last error is."""
    path = tmp_path / "c.json"
    down = ProviderUnavailableError("down")
    asked, _ = router([Script([down], model="a"), Script([down], model="b")])
    for mode in ("record", "replay"):
        with Cassette(path, mode), pytest.raises(ProviderUnavailableError, match="down"):
            ask(int, "p", model=asked, retry=Retry(attempts=1))


def test_equal_answers_are_equal_however_they_were_routed(tmp_path: Path) -> None:
    """What is asked at the same time needs no order where only the router's mind differed."""
    path = tmp_path / "c.json"
    models = [Script([1, 1, 1], model="a")]
    asked = Router(models, learner="thompson", state=None)
    with Cassette(path, "record"):
        routes = [ask.answer(int, "p", model=asked).route for _ in range(3)]
    assert routes[0] != routes[2]

    (row,) = rows(path)
    assert [answer["times"] for answer in row["answers"]] == [3]


def test_cost_is_that_of_the_model_that_answered(tmp_path: Path) -> None:
    """Live, played, and of the cassette as a whole; a budget of a cost is kept meanwhile."""
    path = tmp_path / "c.json"
    model = Script([_reply(), _reply()], model="gpt-5.4-mini")
    model.name = "openai"
    asked, _ = router([model])
    costs: list[Decimal | None] = []
    for mode in ("record", "replay"):
        with Cassette(path, mode) as cassette:
            answer = ask.answer(int, "p", model=asked, budget=Budget(cost=1))
        costs += [answer.cost, cassette.cost]

    assert len(set(costs)) == 1
    assert costs[0]


def _reply() -> Response:
    usage = Usage(input_tokens=1000, output_tokens=100)
    return Response(text='{"value": 1}', stop_reason="stop", model="gpt-5.4-mini", usage=usage)


def test_a_tests_own_cassette_records_a_router_of_named_models(tmp_path: Path) -> None:
    """As it does a model string; a provider that the test made is asked as it is."""
    made = Router([Script([1], model="a")], state=None)
    named = Router(["exec/./nobody.py"], state=None)
    with (
        pytest.raises(CassetteMissError),
        Cassette(tmp_path / "c.json", "replay") as cassette,
    ):
        cassette.automatic = True
        assert ask(int, "p", model=made) == 1
        ask(int, "p", model=named)


def test_readers_of_a_cassette_are_told(tmp_path: Path) -> None:
    """That a router chose stands beside who served."""
    path = tmp_path / "c.json"
    asked, _ = router([Script([1], model="a")])
    with Cassette(path, "record"):
        ask(int, "p", model=asked)

    with Cassette(path, "replay") as cassette:
        facts = [block.facts for talk in conversations(cassette.tape) for block in talk.blocks]
    assert any("chosen by a router" in each for each in facts)
