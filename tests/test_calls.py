"""One turn of tool calls: what is refused, what a person decides, what is run."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator
from turns import DONE, WAYS, call, calling, told

from ingot import (
    Approval,
    Consultation,
    NotConfiguredError,
    Policy,
    PolicyError,
    ToolError,
    ask,
    consult,
    tool,
)
from ingot._budget.meter import meter_for
from ingot._calls import Toolbox
from ingot._effects import Call, Consult, Emit, Returned
from ingot._handles import Handles
from ingot._people import Consultant
from ingot._telling import Teller
from ingot._workspace import Workspace
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.provider import ToolCall

every_way = pytest.mark.parametrize("way", WAYS)

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    RAN.append((a, b))
    return a + b


def listed(name: str) -> str:
    RAN.append(name)
    return name


@tool(effects=["external_write"])
def send(text: str) -> str:
    """Send a text."""
    RAN.append(text)
    return "sent"


def results(*calls: Any, way: str = "blocking", **given: Any) -> list[tuple[str, bool]]:
    """What the model is told of *calls*, and whether it is told as an error."""
    script = Script([calling(*calls), DONE])
    WAYS[way](str, "p", model=script, **given)
    return [(each.text, each.failed) for each in told(script)]


# What does not run


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (call("subtract", a=1), "there is no tool 'subtract'; there is: add, listed"),
        (call("add", '{"a": 1'), "the arguments of `add` are not JSON"),
        (call("add", '{"a": "1"}'), "the arguments of `add` do not fit: in field `a`: expected"),
        (call("add", '{"a": 1, "c": 2}'), "the arguments of `add` do not fit"),
        (call("add", ""), "the arguments of `add` do not fit: missing field `a`"),
        (call("add", "[1]"), "the arguments of `add` do not fit"),
        (call("add", "[" * 100_000), "the arguments of `add` are not JSON"),
        (call("x" * 5000), "there is no tool 'xxx"),
    ],
)
@every_way
def test_a_call_that_cannot_be_made_is_told(way: str, made: ToolCall, words: str) -> None:
    """The others of its turn run, and each has its result."""
    said = results(call("add", a=1), made, call("add", a=2), way=way, tools=[add, listed])

    assert [said[0], said[2]] == [("1", False), ("2", False)]
    assert said[1][0].startswith(words)
    assert said[1][1] is True
    assert len(said[1][0]) < 2100
    assert sorted(RAN) == [(1, 0), (2, 0)]


def test_a_fault_in_a_validator_is_told_as_an_error_of_the_tool() -> None:
    """It is the caller's, and no reason to leave a call without its result."""

    def even(value: int) -> int:
        return {2: 2}[value]

    def halve(n: Annotated[int, AfterValidator(even)]) -> int:
        return n // 2

    calls = [call("halve", n=2), call("halve", n=3)]

    assert results(*calls, tools=[halve]) == [("1", False), ("KeyError: 3", True)]
    with pytest.raises(ToolError, match="KeyError"):
        results(*calls, tools=[halve], raise_errors=True)


def test_a_vendor_without_a_flag_is_told_in_words() -> None:
    """Once."""
    script = Script([calling("subtract"), DONE])
    ask(str, "p", model=script, tools=[add])

    assert told(script)[0].told() == "Error: there is no tool 'subtract'; there is: add"


# The plan


def boxed(*tools: Any, **given: Any) -> Toolbox:
    """A toolbox without a conversation."""
    return Toolbox(
        tools={each.name: each for each in map(_tool, tools)},
        handles=Handles(Workspace()),
        meter=meter_for(None),
        tell=Teller(given.pop("listener", None)),
        **given,
    )


def _tool(item: Any) -> Any:
    return item if hasattr(item, "effects") else tool(item)


def driven(box: Toolbox, *calls: Any, answers: list[Any]) -> tuple[list[Any], Any]:
    """Drive a turn by hand: its effects, and its results or error."""
    plan, effects, left = box.answered(calling(*calls).tool_calls, 3), [], list(answers)
    try:
        effect = next(plan)
        while True:
            effects.append(effect)
            effect = plan.send(None if isinstance(effect, Emit) else left.pop(0))
    except StopIteration as stop:
        return effects, stop.value


def test_what_is_to_run_runs_at_once() -> None:
    """One effect for the whole turn, with the number of each call in the ask."""
    box = boxed(add)
    texts = tuple(Returned(text=text) for text in "123")
    same = [call("add", a=1), call("add", '{ "b":0,"a":1}'), call("add", '{"a":1}')]
    effects, said = driven(box, *same, answers=[texts])

    assert [type(each) for each in effects] == [Call]
    assert [each.number for each in effects[0].batch] == [1, 2, 3]
    assert [each.context.turn for each in effects[0].batch] == [3, 3, 3]
    assert [each.tree for each in effects[0].batch][:2] == [{"a": 1}, {"a": 1, "b": 0}]
    assert [(each.id, each.text) for each in said] == [("c1", "1"), ("c2", "2"), ("c3", "3")]

    effects, _ = driven(box, same[0], answers=[texts[:1]])
    assert [each.number for each in effects[0].batch] == [4]


def test_a_turn_in_which_nothing_can_run_has_no_effect() -> None:
    """The results are there at once."""
    effects, said = driven(boxed(add), "gone", answers=[])

    assert (effects, [each.failed for each in said]) == ([], [True])


def test_a_call_may_take_what_is_left_of_its_time() -> None:
    """The tool's own, or what the budget leaves, whichever is less."""
    from ingot import Budget

    box = boxed(tool(add, timeout=5), listed)
    calls = [call("add", a=1), call("listed", name="x")]
    effects, _ = driven(box, *calls, answers=[(Returned(text=""),) * 2])
    assert [each.seconds for each in effects[0].batch] == [5, None]

    box.meter = meter_for(Budget(seconds=2), clock=lambda: 10.0)
    effects, _ = driven(box, *calls, answers=[(Returned(text=""),) * 2])
    assert [each.seconds for each in effects[0].batch] == [2, 2]


def test_handles_of_a_recording_become_known_in_order() -> None:
    """Whoever performed the calls says which files came of them."""
    box = boxed(add)
    one, two = (Returned(text="", files=({"path": name, "n": 1},)) for name in ("b.txt", "a.txt"))
    driven(box, call("add", a=1), call("add", a=2), answers=[(one, two)])

    assert box.handles.known == ("b.txt", "a.txt")


# Policies and approvals


ASKED = Approval(tool="send", arguments={"text": "hi"}, effects=("external_write",))
NEEDED = Policy(external_write="require_approval", network="allow")


def approving(answer: Any, seen: list[Any]) -> list[Callable[[Approval], Any]]:
    """People who answer so, in each of the ways that there are."""

    def plain(asked: Approval) -> Any:
        seen.append(asked)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def awaited(asked: Approval) -> Any:
        await asyncio.sleep(0)
        return plain(asked)

    class Person:
        async def __call__(self, asked: Approval) -> Any:
            return await awaited(asked)

    return [plain, awaited, Person(), partial(awaited)]


@every_way
@pytest.mark.parametrize("allowed", [True, False])
def test_a_person_decides(way: str, allowed: bool) -> None:
    """What is declined does not run, and the model is told; the rest of the turn runs."""
    seen: list[Any] = []
    calls = [call("add", a=1), call("send", text="hi")]
    people = approving(allowed, seen)
    for person in people:
        said = results(*calls, way=way, tools=[add, send], policy=NEEDED, approve=person)
        declined = ("a person was asked, and declined this call", True)
        assert said == [("1", False), ("sent", False) if allowed else declined]

    assert seen == [ASKED] * len(people)
    assert RAN.count("hi") == (len(people) if allowed else 0)


@every_way
@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ("no", TypeError, "approve must return True or False, not str"),
        (None, TypeError, "approve must return True or False, not NoneType"),
        (LookupError("who?"), LookupError, "who?"),
        (StopIteration(), RuntimeError, "StopIteration"),
        (NotConfiguredError("nobody is there"), NotConfiguredError, "nobody is there"),
    ],
)
def test_an_approval_that_fails_ends_the_ask(
    way: str, answer: Any, error: type[Exception], words: str
) -> None:
    """It is no answer, so nothing of the turn runs."""
    for person in approving(answer, []):
        with pytest.raises(error, match=words):
            results(
                call("add", a=1),
                call("send", text="hi"),
                way=way,
                tools=[add, send],
                policy=NEEDED,
                approve=person,
            )
    assert RAN == []


def test_an_async_person_is_asked_in_the_loop_of_the_ask() -> None:
    """What belongs to the loop can be awaited there."""

    async def main() -> str:
        decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.01, decided.set_result, True)

        async def person(asked: Approval) -> bool:
            return await decided

        script = Script([calling(call("send", text="hi")), DONE])
        asked = ask.using(tools=[send], policy=NEEDED, approve=person)
        return await asked.aio(str, "p", model=script)

    assert asyncio.run(main()) == "done"


async def test_a_person_who_takes_long_holds_up_no_loop() -> None:
    """They are asked in a thread."""
    import threading

    ticked = threading.Event()
    asyncio.get_running_loop().call_later(0.01, ticked.set)
    script = Script([calling(call("send", text="hi")), DONE])
    asked = ask.using(tools=[send], policy=NEEDED, approve=lambda _: ticked.wait(5))

    assert await asked.aio(str, "p", model=script) == "done"


def test_what_a_policy_denies_is_refused_before_any_request() -> None:
    """Tools with effects need a rule for each, and somebody to ask."""
    script = Script([])
    with pytest.raises(PolicyError, match="'send' has the effect 'external_write'"):
        ask(str, "p", model=script, tools=[send], policy=Policy(network="allow"))
    with pytest.raises(NotConfiguredError, match="approve=approve_in_terminal"):
        ask(str, "p", model=script, tools=[send], policy=NEEDED)

    assert script.heard == []


def test_without_a_policy_everything_is_allowed() -> None:
    """And nobody is asked."""
    said = results(call("send", text="hi"), tools=[send], approve=lambda _: pytest.fail("asked"))

    assert said == [("sent", False)]


def test_each_call_is_approved_by_itself() -> None:
    """In order, before any runs; a yes to one is none to its equal."""
    box = boxed(send, policy=NEEDED, approve=lambda _: True)
    hi, ho = call("send", text="hi"), call("send", text="ho")
    effects, _ = driven(
        box, hi, ho, hi, answers=[False, True, True, (Returned(text="1"), Returned(text="2"))]
    )

    assert [type(each) for each in effects] == [Consult, Consult, Consult, Call]
    assert [each.tree["text"] for each in effects[3].batch] == ["ho", "hi"]


# Consultations


@every_way
def test_the_model_may_ask_a_person(way: str) -> None:
    """A question with choices; the answer is the result."""
    seen: list[Consultation] = []

    def plain(asked: Consultation) -> str:
        seen.append(asked)
        return "blue"

    async def awaited(asked: Consultation) -> str:
        await asyncio.sleep(0)
        return plain(asked)

    calls = [call("consult", question="Which?", choices=["red", "blue"]), call("add", a=1)]
    for person in (plain, awaited):
        said = results(*calls, way=way, tools=[consult(person), add])
        assert said == [("blue", False), ("1", False)]

    assert seen == [Consultation(question="Which?", choices=("red", "blue"))] * 2


@every_way
def test_an_answer_that_is_no_choice_ends_the_ask(way: str) -> None:
    """A person who is a function cannot be asked again."""
    calls = [call("consult", question="Which?", choices=["red", "blue"]), call("add", a=1)]
    with pytest.raises(ValueError, match="none of the choices: red, blue"):
        results(*calls, way=way, tools=[consult(lambda _: "green"), add])

    assert RAN == []


def test_a_question_that_does_not_fit_is_put_to_nobody() -> None:
    """The model is told, as of any tool."""
    (said,) = results(call("consult", choices=[]), tools=[consult(lambda _: pytest.fail("asked"))])

    assert said[1]
    assert "missing field `question`" in said[0]


def test_one_question_is_asked_as_often_as_it_is_put() -> None:
    """Each is an effect of its own, before anything runs."""
    asks = boxed(tool(Consultant(lambda _: "x"), name="consult"), add)
    question = call("consult", question="Which?")
    effects, said = driven(
        asks, call("add", a=1), question, question, answers=["x", "y", (Returned(text="1"),)]
    )

    assert [type(each) for each in effects] == [Consult, Consult, Call]
    assert [each.text for each in said] == ["1", "x", "y"]


def test_arguments_are_those_of_the_vendors_form() -> None:
    """Whatever the dialect of the provider makes of a type, the tool gets its own."""

    def count(words: dict[str, int]) -> str:
        RAN.append(words)
        return "ok"

    for dialect in ("open", "openai", "anthropic", "prompt"):
        form = tool(count).rewritten(json.dumps({"words": {"a": 1}}), "open", dialect)
        script = Script([calling(call("count", form)), DONE], dialect=dialect)
        ask(str, "p", model=script, tools=[count])

    assert RAN == [{"a": 1}] * 4
