"""A router as a model: what it chooses, what it learns, what it says of it, and what it refuses."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from router_kit import Told, router

from ingot import (
    InvalidAnswerError,
    NotConfiguredError,
    Objective,
    ProviderAuthError,
    ProviderRateLimitError,
    ProviderUnavailableError,
    RefusedError,
    Response,
    Retry,
    Router,
    Text,
    ToolError,
    Usage,
    ask,
)
from ingot.provider import Provider
from ingot.rill.client import Client
from ingot.rill.decider import Counters
from ingot.rill.deciders import MOST, decider_of
from ingot.rill.errors import RillError, RillLockedError
from ingot.rill.host import Host
from ingot.rill.learner_beliefs import ARMS
from ingot.rill.places import folder
from ingot.rill.runtime import Runtime
from ingot.rill.tally import COUNTS
from ingot.testing import Script, Value, calls

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.rill import wire
    from ingot.rill.wire_parts import Surface


def script(name: str, *replies: Any, **given: Any) -> Script:
    return Script(replies, model=name, **given)


ONCE = Retry(attempts=1)

# What is chosen and said


def test_asks_the_model_that_is_chosen() -> None:
    """The answer is the model's own, and says how it was chosen."""
    models = script("a", ["red"]), script("b")
    asked, told = router(models)

    answer = ask.answer(list[str], "Name a colour.", model=asked)

    assert answer.value == ["red"]
    assert answer.model == "script/a"
    assert answer.route is not None
    assert answer.route.arm == "script/a"
    assert answer.route.learner == "fallback"
    assert answer.route.attempts == (("script/a", None),)
    assert answer.route.features == told.contexts[0]["features"]
    assert answer.route.features["type_kind"] == "list"


def test_a_model_without_a_router_has_no_route() -> None:
    """Nobody chose."""
    answer = ask.answer(int, "p", model=script("a", 1))

    assert answer.route is None
    assert not answer.rate(1)


def test_the_learner_finds_the_model_that_answers() -> None:
    """One that never fits T is left alone after a while, though it stands first."""
    bad, good = Script(["no"] * 60, model="bad"), Script([1] * 60, model="good")
    asked = ask.using(model=Router([bad, good], state=None))

    for _ in range(60):
        try:
            asked(int, "p")
        except InvalidAnswerError:
            continue

    assert len(good.heard) > 50


def test_a_seed_makes_choices_repeatable() -> None:
    """The same seed and the same asks give the same choices; another seed, others."""

    def chosen(seed: int) -> list[str]:
        models = [Script([1] * 40, model=name) for name in "abc"]
        asked = ask.using(model=Router(models, learner="thompson", seed=seed, state=None))
        return [asked.answer(int, "p").model for _ in range(40)]

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)


def test_features_of_the_program_are_looked_at_too() -> None:
    """They are of the request, and stand beside those that are always there."""
    asked, told = router(
        [script("a", 1)], features=lambda request: {"long": len(request.prompt) > 3, "team": "x"}
    )

    ask(int, "longer", model=asked)

    assert (
        told.contexts[0]["features"] | {"long": True, "team": "x"} == told.contexts[0]["features"]
    )
    assert "language" in told.contexts[0]["features"]


def test_strategies_learn_nothing() -> None:
    """In turn, or by what it costs; a file is only kept where one is named."""
    turns = Router([Script([1, 1], model="a"), Script([2], model="b")], strategy="round_robin")
    prices = {"script/a": (2.0, 2.0), "script/b": (1.0, 1.0)}
    cheap = Router([script("a"), script("b", 2)], strategy="cheapest", prices=prices)

    assert [ask(int, "p", model=turns) for _ in range(3)] == [1, 2, 1]
    answer = ask.answer(int, "p", model=cheap)
    assert answer.value == 2
    assert answer.route is not None
    assert answer.route.scores["script/b"] > answer.route.scores["script/a"]  # type: ignore[operator]


def test_the_cheapest_needs_a_price() -> None:
    """Where none is known, none is the cheapest."""
    unknown = script("a")
    unknown.name = "elsewhere"

    with pytest.raises(NotConfiguredError, match="the price of none is known"):
        ask(int, "p", model=Router([unknown], strategy="cheapest"))


# Failures


def test_another_model_is_asked_where_one_fails() -> None:
    """Within the same ask, and without a wait; both are learned of."""
    asked, told = router([script("a", ProviderUnavailableError("down")), script("b", 2)])

    answer = ask.answer(int, "p", model=asked)

    assert answer.model == "script/b"
    assert answer.attempts == 1
    assert answer.route is not None
    assert answer.route.attempts == (
        ("script/a", "ProviderUnavailableError"),
        ("script/b", None),
    )
    assert [context["allowed"] for context in told.contexts] == [[0, 1], [1]]
    assert told.lessons[0] == (0, 0.0)
    assert told.lessons[1][1] > 0.9


def test_all_models_failed() -> None:
    """The last error is raised, and names what became of the others; each was learned of."""
    asked, told = router(
        [script("a", ProviderUnavailableError("down")), script("b", ProviderAuthError("no"))]
    )

    with pytest.raises(ProviderAuthError, match="no") as caught:
        ask(int, "p", model=asked)

    assert "script/a: ProviderUnavailableError" in caught.value.__notes__[0]
    assert told.lessons == [(0, 0.0), (1, 0.0)]


def test_a_retry_asks_all_models_again() -> None:
    """What failed in passing may answer a moment later."""
    busy = ProviderRateLimitError("busy", retry_after=0)
    asked, told = router([script("a", busy, 1), script("b", busy)])

    answer = ask.answer(int, "p", model=asked)

    assert answer.value == 1
    assert answer.attempts == 2
    assert answer.route is not None
    assert answer.route.attempts == (("script/a", None),)
    assert [arm for arm, _ in told.lessons] == [0, 1, 0]


def test_a_model_that_is_not_configured_in_the_end_is_passed_over() -> None:
    """What only shows when it is asked is no end of the ask."""
    asked, _ = router([script("a", NotConfiguredError("no weights")), script("b", 2)])

    answer = ask.answer(int, "p", model=asked)

    assert answer.value == 2
    assert answer.route is not None
    assert answer.route.attempts[0] == ("script/a", "NotConfiguredError")


def test_a_reply_of_another_dialect_is_translated() -> None:
    """The plan reads what it would have read from the model that was chosen first."""
    busy = ProviderRateLimitError("busy")
    for first, second in [("openai", "anthropic"), ("anthropic", "open"), ("open", "openai")]:
        one = script("a", busy, dialect=first)
        two = script("b", {"x": {"y": 1}}, dialect=second)
        asked, _ = router([one, two])

        assert ask(dict[str, dict[str, int]], "p", model=asked) == {"x": {"y": 1}}
        assert one.heard[0].model == "a"
        assert two.heard[0].model == "b"
        assert two.heard[0].format is not None


def test_a_bound_that_nobody_set_is_each_models_own() -> None:
    """What one vendor writes at the most says nothing of another."""
    one, two = script("a", ProviderRateLimitError("busy")), script("b", 1)
    two.default_max_tokens = 7
    asked, _ = router([one, two])

    ask(int, "p", model=asked)

    assert (one.heard[0].max_tokens, two.heard[0].max_tokens) == (1000, 7)


def test_a_bound_that_was_set_holds_for_all() -> None:
    """It is the caller's."""
    one, two = script("a", ProviderRateLimitError("busy")), script("b", 1)
    asked, _ = router([one, two])

    ask(int, "p", model=asked, max_tokens=1000)

    assert two.heard[0].max_tokens == 1000


# Turns


def test_a_repair_stays_with_the_model() -> None:
    """It knows what it said; that it took a repair is learned."""
    model, other = script("a", "no", 1), script("b")
    asked, told = router([model, other], objective=Objective(cost=0, latency=0))

    answer = ask.answer(int, "p", model=asked, repair=1)

    assert answer.value == 1
    assert len(model.heard) == 2
    assert told.lessons == [(0, 0.5)]


def test_calls_of_tools_stay_with_the_model() -> None:
    """An ask is one choice, however many turns it takes."""

    def price(item: str) -> float:
        """Return the price of *item*."""
        return 1.5

    model = script("a", calls(price={"item": "pen"}), 3.0)
    asked, told = router([model, script("b")], objective=Objective(cost=0, latency=0))

    assert ask(float, "What do two pens cost?", model=asked, tools=[price]) == 3.0
    assert model.heard[1].messages[-1].tool_results[0].text == "1.5"
    assert told.lessons == [(0, 1.0)]


def test_a_model_that_fails_in_a_later_turn_is_replaced() -> None:
    """The next one is told what was said in its own dialect, without the other vendor's blocks."""

    def price(items: dict[str, int]) -> float:
        """Return the price of *items*."""
        return float(len(items))

    call = calls(price={"items": {"pen": 1}})
    first = Response(
        tool_calls=call.tool_calls, stop_reason="tool_calls", blocks=({"type": "opaque"},)
    )
    one = script("a", first, ProviderUnavailableError("down"))
    two = script("b", 3.0, dialect="openai")
    asked, told = router([one, two])

    assert ask(float, "p", model=asked, tools=[price]) == 3.0
    said = two.heard[0].messages[0]
    assert said.blocks == ()
    assert one.heard[1].messages[0].blocks == ({"type": "opaque"},)
    assert said.tool_calls[0].arguments != call.tool_calls[0].arguments
    assert [arm for arm, _ in told.lessons] == [0, 1]


def test_a_refusal_earns_nothing() -> None:
    """What is no answer is learned, and no other model is asked: the ask failed, not the line."""
    model, other = script("a", Response(empty_reason="refusal", stop_reason="refusal")), script("b")
    asked, told = router([model, other])

    with pytest.raises(RefusedError) as caught:
        ask(int, "p", model=asked)

    assert caught.value.model == "script/a"
    assert told.lessons == [(0, 0.0)]
    assert other.heard == []


def test_what_is_not_the_models_doing_is_not_held_against_it() -> None:
    """A tool that fails ends the ask, and nothing is learned."""

    def broken() -> str:
        """Break."""
        raise RuntimeError("broken")

    asked, told = router([script("a", calls(broken={}))])

    with pytest.raises(ToolError):
        ask(int, "p", model=asked, tools=[broken], raise_errors=(RuntimeError,))

    assert told.lessons == []


def test_cost_and_time_are_of_the_model_alone() -> None:
    """What a reply cost comes from the reply, the prices given, or the table."""
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    reply = Response(text="1", stop_reason="stop", usage=usage)
    asked, told = router(
        [script("a", reply)],
        objective=Objective(validity=0, cost=1, latency=0, dear=4),
        prices={"script/a": (1.0, 3.0)},
    )

    ask(Text, "p", model=asked)

    assert told.lessons == [(0, 0.5)]


# Ratings


def test_a_rating_teaches_the_router() -> None:
    """It is one more feedback for the same model, with the score as its validity."""
    asked, told = router(
        [script("a", dialect="prompt"), script("b", 1)], objective=Objective(cost=0, latency=0)
    )
    answer = ask.answer(int, "p", model=asked, constrain="strict")

    assert answer.rate(0.25)
    assert told.lessons == [(1, 1.0), (1, 0.25)]
    assert told.contexts[1]["allowed"] == [1]
    assert told.contexts[1]["features"] == told.contexts[0]["features"]


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_score_is_from_0_to_1(score: float) -> None:
    """Anything else is a slip, whether or not there is a router."""
    with pytest.raises(ValueError, match="from 0 to 1"):
        ask.answer(int, "p", model=script("a", 1)).rate(score)


@pytest.mark.parametrize("score", ["good", None, [1]])
def test_a_score_is_a_number(score: Any) -> None:
    """It is a slip of another kind, told in the same words."""
    with pytest.raises(TypeError, match="a score is a number from 0 to 1, not "):
        ask.answer(int, "p", model=script("a", 1)).rate(score)


def test_good_or_not_is_a_score() -> None:
    """Whoever says no more than that it is good says 1; it is learned and counted like 1."""
    asked, told = router([script("a", 1)], objective=Objective(cost=0, latency=0))

    assert ask.answer(int, "p", model=asked).rate(True)

    assert told.lessons[1] == (0, 1.0)
    assert told.client.inspect()["handler"]["sums"]["0"][COUNTS.index("rating")] == 1.0


def test_an_answer_is_pickled_without_its_router() -> None:
    """It is told of, and there is nobody to teach."""
    answer = ask.answer(int, "p", model=router([script("a", 1)])[0])

    copy = pickle.loads(pickle.dumps(answer))

    assert copy.route == answer.route
    assert not copy.rate(1)


# What may not be asked


def test_models_that_cannot_be_asked_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The route says which and why."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    asked, told = router(["openai/gpt-5.4-mini", script("b", 1)])

    answer = ask.answer(int, "p", model=asked)

    assert answer.route is not None
    assert "OPENAI_API_KEY" in answer.route.skipped["openai/gpt-5.4-mini"]
    assert told.contexts[0]["allowed"] == [1]


def test_none_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One error says of each why."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    blind = script("blind")

    with pytest.raises(NotConfiguredError) as caught:
        ask(
            int,
            "p",
            model=router(["openai/gpt-5.4-mini", blind])[0],
            attach=[("p.png", b"\x89PNG\r\n\x1a\n")],
        )

    message = str(caught.value)
    assert "openai/gpt-5.4-mini: no key: OPENAI_API_KEY is not set" in message
    assert "script/blind: it takes no image/png" in message


def test_a_cost_that_must_not_be_exceeded() -> None:
    """A model that might cost more is not asked, nor is one whose price is not known."""
    unknown = script("c")
    unknown.name = "elsewhere"
    prices = {"script/dear": (1.0, 100.0), "script/cheap": (1.0, 1.0)}
    models = [script("dear"), script("cheap", 1), unknown]
    asked, _ = router(models, prices=prices, max_cost=0.01)

    answer = ask.answer(int, "p", model=asked)

    assert answer.model == "script/cheap"
    assert answer.route is not None
    assert answer.route.skipped["script/dear"].startswith("it may cost $0.1")
    assert "price is not known" in answer.route.skipped["elsewhere/c"]


def test_a_type_that_a_server_cannot_be_held_to() -> None:
    """Where it must be, only models whose server can are asked."""
    asked, _ = router([script("shown", dialect="prompt"), script("held", [1])])

    answer = ask.answer(list[int], "p", model=asked, constrain="strict")

    assert answer.model == "script/held"
    assert answer.route is not None
    assert "cannot hold it" in answer.route.skipped["script/shown"]


# How it is asked


async def test_awaits_like_it_blocks() -> None:
    """The same choices, lessons and errors."""
    asked, told = router([script("a", ProviderRateLimitError("busy"), 3), script("b", 2)])

    answers = [await ask.aio.answer(int, "p", model=asked) for _ in range(2)]

    assert [answer.model for answer in answers] == ["script/b", "script/a"]
    assert [arm for arm, _ in told.lessons] == [0, 1, 0]


def test_streams_like_it_replies() -> None:
    """Another model is asked as long as nothing was shown; one of another dialect comes whole."""
    busy = ProviderRateLimitError("busy")
    asked, told = router([script("a", busy), script("b", [1, 2], stream="words")])

    with ask.stream(list[int], "p", model=asked) as stream:
        shown = [list(snapshot) for snapshot in stream]

    assert stream.value == shown[-1] == [1, 2]
    assert [arm for arm, _ in told.lessons] == [0, 1]

    pairs = {"x": 1}
    other, _ = router([script("a", busy), script("b", pairs, dialect="openai", stream="words")])
    with ask.stream(dict[str, int], "p", model=other) as again:
        assert again.value == pairs


def test_a_stream_that_is_left_is_no_ask() -> None:
    """Nothing is known of its answer: nothing is learned of the model, and nothing counted."""
    asked, told = router([script("a", [1, 2, 3], stream="words")])

    with ask.stream(list[int], "p", model=asked) as stream:
        next(iter(stream))

    assert len(told.contexts) == 1
    assert told.lessons == told.of("observe") == []


async def test_streams_awaiting() -> None:
    """As it does blocking."""
    asked, _ = router([script("a", ProviderRateLimitError("busy")), script("b", [1])])

    async with ask.aio.stream(list[int], "p", model=asked) as stream:
        shown = [list(snapshot) async for snapshot in stream]

    assert shown[-1] == [1]


def test_the_time_of_whoever_reads_is_not_the_models() -> None:
    """A model is not slow because its pieces are read slowly."""
    quick = Objective(validity=0, cost=0, latency=1, slow=0.05)
    asked, told = router([script("a", [1, 2, 3], stream="words")], objective=quick)

    with ask.stream(list[int], "p", model=asked) as stream:
        for _ in stream:
            time.sleep(0.1)

    [(_, reward)] = told.lessons
    assert reward > 1 / 2


class _Torn(Provider):
    """Breaks off after a piece."""

    name, default_model = "torn", "t"

    def send(self, request: Any) -> Response:
        raise AssertionError

    def stream(self, request: Any) -> Any:
        yield "Once"
        raise ProviderUnavailableError("the line broke")


def test_no_other_model_goes_on_with_what_was_shown() -> None:
    """The pieces of two models are no answer."""
    other = script("b")
    asked, _ = router([_Torn(), other])

    with (
        pytest.raises(ProviderUnavailableError, match="the line broke"),
        ask.stream(Text, "p", model=asked, retry=ONCE) as stream,
    ):
        list(stream)

    assert other.heard == []


def test_threads_and_tasks_share_one_router() -> None:
    """Each ask is one decision and one lesson."""
    asked, told = router([Script([1] * 200, model="a")])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: ask(int, "p", model=asked), range(100))) == [1] * 100

    async def tasks() -> list[int]:
        return await asyncio.gather(*(ask.aio(int, "p", model=asked) for _ in range(100)))

    assert asyncio.run(tasks()) == [1] * 100
    assert len(told.lessons) == len(told.contexts) == 200
    assert sum(body["event"]["asks"] for body in told.of("observe")) == 200


@pytest.mark.parametrize("surface", ["v3", "preview"])
def test_as_many_asks_as_it_remembers_are_no_end(surface: Surface) -> None:
    """An ask that the runtime has no room for is asked all the same, and not learned of."""
    told = Told(surface=surface)
    asked = Router([Script([1], model="a"), script("b")], runtime=told)
    client = asked._lessons.client
    for _ in range(1024):
        client.decide({"arms": list(asked.arms), "allowed": [0], "features": {}})

    answer = ask.answer(int, "p", model=asked)

    assert answer.route is not None
    assert answer.route.learner == "none"
    assert told.lessons == []


class _Forgetful(Told):
    """Does not know the decisions that it made."""

    def respond(self, line: bytes) -> wire.Response:
        return super().respond(line.replace(b'"decisionId":"', b'"decisionId":"not-'))


class _Says(Counters):
    """Decides whatever it is made with."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self._output = output

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        return self._output


@pytest.mark.parametrize("output", [None, {}, {"arm": 2}, {"arm": True}, {"arm": "0"}])
def test_a_runtime_that_does_not_choose_among_the_models_is_refused(output: Any) -> None:
    """It is one of something else."""
    asked = Router([script("a", 1), script("b", 1)], runtime=Runtime(None, _Says(output)))

    with pytest.raises(RillError, match=r"one of the arms \[0, 1\].*started with a learner"):
        ask(int, "p", model=asked)


def test_of_what_a_runtime_says_only_scores_are_shown_as_scores() -> None:
    """It may be of any make."""
    output = {"arm": 1, "scores": ["much", 2.5]}
    asked = Router([script("a"), script("b", 1)], runtime=Runtime(None, _Says(output)))

    route = ask.answer(int, "p", model=asked).route

    assert route is not None
    assert route.scores == {"script/a": None, "script/b": 2.5}


def test_an_answer_is_not_lost_where_nothing_can_be_learned() -> None:
    """It was paid for; that it taught nothing is said."""
    asked = Router([script("a", 1)], runtime=_Forgetful())

    with pytest.warns(RuntimeWarning, match="the router did not learn"):
        assert ask(int, "p", model=asked) == 1


# State


def test_what_is_learned_is_kept_in_a_file(tmp_path: Path) -> None:
    """Routers of one file learn together, and the file has it as soon as the answer is there."""
    path = tmp_path / "routes.json"
    for _ in range(3):
        ask(int, "p", model=Router([Script([1], model="a")], state=path))

    kept = Client(Runtime.peek(path, decider_of("linucb"))).inspect()["handler"]
    assert kept["learned"]["rewards"] == 3


def test_no_test_writes_to_the_users_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests ask is no matter of whoever runs them."""
    assert folder().is_relative_to(tmp_path_factory.getbasetemp())


def test_unless_told_otherwise_the_file_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each list of models and each objective has its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for models in ("a", "ab", "a"):
        asked = Router([Script([1], model=name) for name in models])
        ask(int, "p", model=asked)

    assert len(list(tmp_path.rglob("*.json"))) == 2


def test_a_file_that_another_process_uses_is_copied_where_it_was_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs of one user do not stop each other; where a file was named, it is an error."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ask(int, "p", model=Router([Script([1], model="a")]))
    process = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process + 1)  # what is open here is not its own

    with pytest.warns(RuntimeWarning, match="another process"):
        ask(int, "p", model=Router([Script([1], model="a")]))
    file = next(tmp_path.rglob("*.json"))
    with pytest.raises(RillLockedError):
        ask(int, "p", model=Router([Script([1], model="a")], state=file))


def test_learned_of_other_models_is_not_taken_over(tmp_path: Path) -> None:
    """A file belongs to its models: their numbers would be mistaken for others'."""
    path = tmp_path / "routes.json"
    models = Script([1], model="a"), Script([1], model="b")
    ask(int, "p", model=Router(models, state=path))

    with pytest.raises(RillError) as caught:
        ask(int, "p", model=Router(models[::-1], state=path))

    assert "the state is of script/a, script/b" in caught.value.message
    assert caught.value.advice is not None
    assert caught.value.advice.startswith("this router is of script/b, script/a;")
    assert "name another file" in caught.value.advice


def test_another_process_may_learn(tmp_path: Path) -> None:
    """What it knows is shared by all who ask it."""
    path = tmp_path / "routes.json"
    command = [sys.executable, "-m", "ingot", "rill", "serve", "--state", str(path)]
    with Host(command) as elsewhere:
        asked = Router([Script([1], model="a")], runtime=elsewhere)
        answer = ask.answer(int, "p", model=asked)
        assert answer.rate(0.5)

    assert answer.route is not None
    assert answer.route.learner == "linucb"
    kept = Client(Runtime.peek(path, decider_of("linucb"))).inspect()["handler"]
    assert kept["learned"]["rewards"] == 2


# What it is made of


def test_a_repr_and_a_pickle_hold_no_keys() -> None:
    """Models and the objective are named; providers leave their keys behind."""
    from ingot_openai import OpenAI

    made = Router([OpenAI(api_key="sk-secret")], Objective(cost=2), state=None)

    assert repr(made) == (
        f"<Router: openai/{OpenAI.default_model} by "
        "validity 1, cost 2 (dear 0.01), latency 0.1 (slow 5)>"
    )
    assert b"sk-secret" not in pickle.dumps(made)
    assert pickle.loads(pickle.dumps(made)).default_model == made.default_model


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"models": "openai/x"}, TypeError, r"write Router\(\["),
        ({"models": []}, ValueError, "needs models"),
        ({"models": [None]}, TypeError, "a text or a provider, not None"),
        ({"models": [Script]}, TypeError, "a text or a provider"),
        ({"objective": "cheap"}, TypeError, "is an Objective or None, not 'cheap'"),
        ({"state": 5}, TypeError, "the state of a Router is the path of a file or None, not 5"),
        ({"models": ["local/x", "local/x"]}, ValueError, "'local/x' twice"),
        ({"models": [Router(["local/x"])]}, TypeError, "among routers"),
        ({"models": ["locl/x"]}, NotConfiguredError, "no provider 'locl'; did you mean 'local'"),
        ({"models": ["gpt-5.4-mini"]}, NotConfiguredError, "write provider/model"),
        ({"models": [f"local/{n}" for n in range(17)]}, ValueError, "16 models at the most"),
        ({"prices": {"c/d": (1, 1)}}, ValueError, "'c/d'"),
        ({"prices": {"local/x": (1,)}}, ValueError, "two numbers"),
        ({"prices": {"local/x": 1}}, ValueError, "two numbers"),
        ({"prices": {"local/x": ("1", "2")}}, ValueError, "two numbers"),
        ({"strategy": "fallbak"}, ValueError, "did you mean 'fallback'"),
        ({"learner": "magic"}, ValueError, "linucb, thompson"),
        ({"runtime": Told(), "state": None}, TypeError, "leave out"),
        ({"max_cost": -1}, ValueError, "max_cost"),
        ({"max_cost": "1"}, ValueError, "max_cost"),
    ],
)
def test_what_is_no_router(given: dict[str, Any], error: type[Exception], message: str) -> None:
    """It is refused when it is made."""
    with pytest.raises(error, match=message):
        Router(**{"models": ["local/x"], **given})


def test_features_that_are_none() -> None:
    """A slip in the program's own function is said when it is called."""
    asked, _ = router([script("a")], features=lambda _: {"x": [1]})

    with pytest.raises(TypeError, match="the feature 'x'"):
        ask(int, "p", model=asked)


def test_a_router_is_asked_through_ask() -> None:
    """A request alone does not say what the choice depends on."""
    asked, _ = router([script("a")])

    with pytest.raises(TypeError, match="through ask"):
        asked.send(script("a").send)  # type: ignore[arg-type]


def test_a_learner_tells_as_many_models_apart_as_is_said() -> None:
    """The number stands where no numpy is needed to read it."""
    assert MOST == ARMS


def test_values_travel_through_a_router() -> None:
    """A text as a value, as from any other model."""
    assert ask(str, "p", model=router([script("a", Value("x"))])[0]) == "x"
