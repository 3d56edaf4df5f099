"""Events of an ask: the same sequence however it is asked, made of what the plan knows."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tenacity
from turns import DONE, SPENT, WAYS, call, calling

from ingot import Budget, Policy, Retry, TurnLimitError, ask, consult, errors, events, tool
from ingot.provider import Response
from ingot.testing import Script

every_way = pytest.mark.parametrize("way", WAYS)


def add(a: int, b: int) -> int:
    return a + b


async def fail() -> None:
    raise ValueError("no")


@tool(effects=["external_write"])
def send(text: str) -> str:
    return "sent"


def everything() -> tuple[Script, dict[str, Any]]:
    """A conversation in which all happens that can be told."""
    first = calling(
        call("add", a=1, b=2),
        call("send", text="hi"),
        call("consult", question="Which?", choices=["a", "b"]),
        "gone",
        "fail",
    )
    down = errors.ProviderUnavailableError("down", provider="script")
    wrong = Response(text='{"value": "x"}', stop_reason="stop", usage=SPENT, model="m")
    right = Response(text='{"value": 3}', stop_reason="stop", usage=SPENT, model="m")
    given = {
        "tools": [add, fail, send, consult(lambda _: "b")],
        "policy": Policy(external_write="require_approval"),
        "approve": lambda _: False,
        "retry": Retry(wait=tenacity.wait_none()),
        "repair": 1,
    }
    return Script([first, down, wrong, right]), given


EVERYTHING: list[events.Event] = [
    events.TurnStarted(turn=1),
    events.TurnEnded(
        turn=1,
        usage=SPENT,
        stop_reason="tool_use",
        calls=("add", "send", "consult", "gone", "fail"),
    ),
    events.BudgetSpent(turn=1, turns=1, tokens=12),
    events.ApprovalAsked(
        turn=1, tool="send", call=2, arguments={"text": "hi"}, effects=("external_write",)
    ),
    events.ApprovalDecided(turn=1, tool="send", call=2, allowed=False),
    events.ConsultationAsked(turn=1, call=3, question="Which?", choices=("a", "b")),
    events.ConsultationAnswered(turn=1, call=3, answer="b"),
    events.ToolCalled(turn=1, tool="add", call=1, arguments={"a": 1, "b": 2}),
    events.ToolCalled(turn=1, tool="fail", call=5, arguments={}),
    events.ToolReturned(turn=1, tool="add", call=1, text="3"),
    events.ToolReturned(
        turn=1, tool="send", call=2, text="a person was asked, and declined this call", failed=True
    ),
    events.ToolReturned(turn=1, tool="consult", call=3, text="b"),
    events.ToolReturned(
        turn=1,
        tool="gone",
        call=4,
        text="there is no tool 'gone'; there is: add, fail, send, consult",
        failed=True,
    ),
    events.ToolReturned(turn=1, tool="fail", call=5, text="ValueError: no", failed=True),
    events.TurnStarted(turn=2),
    events.RetryScheduled(turn=2, attempt=1, code="provider_unavailable", delay=0),
    events.TurnEnded(turn=2, usage=SPENT, stop_reason="stop"),
    events.BudgetSpent(turn=2, turns=2, tokens=24),
    events.RepairStarted(turn=2, code="invalid_answer", problems=1),
    events.TurnStarted(turn=3),
    events.TurnEnded(turn=3, usage=SPENT, stop_reason="stop"),
    events.BudgetSpent(turn=3, turns=3, tokens=36),
    events.Answered(turn=3, model="script/m", usage=SPENT + SPENT + SPENT),
]


@every_way
def test_the_sequence_is_the_same_however_it_is_asked(way: str) -> None:
    """Each event is told once, in the order of the conversation and not of the clock."""
    heard: list[events.Event] = []
    script, given = everything()
    answer = WAYS[way](int, "p", model=script, on_event=heard.append, **given)

    assert answer.value == 3
    assert heard == EVERYTHING
    assert json.loads(json.dumps([each.to_dict() for each in heard]))


@every_way
def test_a_budget_is_told_as_it_is_spent(way: str) -> None:
    """Turns and tokens; a cost where one is limited."""
    heard: list[events.Event] = []
    budget = Budget(tokens=10_000, cost="1")
    script = Script([calling(call("add", a=1, b=2)), DONE])
    WAYS[way](str, "p", model=script, tools=[add], budget=budget, on_event=heard.append)

    told = [each for each in heard if isinstance(each, events.BudgetSpent)]
    assert [(each.turn, each.turns, each.tokens, each.cost) for each in told] == [
        (1, 1, 12, 0),
        (2, 2, 24, 0),
    ]


@every_way
def test_an_ask_that_fails_is_told_last(way: str) -> None:
    """With the code and the message of the error."""
    heard: list[events.Event] = []
    with pytest.raises(TurnLimitError) as caught:
        WAYS[way](
            str,
            "p",
            model=Script([calling(call("add", a=1, b=2))] * 2),
            tools=[add],
            budget=Budget(turns=2),
            on_event=heard.append,
        )

    assert heard[-1] == events.Failed(turn=2, code="budget", message=caught.value.message)
    assert [each.kind for each in heard].count("tool_called") == 1


def test_a_plain_ask_tells_of_its_turn() -> None:
    """Without tools too."""
    heard: list[events.Event] = []
    ask(str, "p", model=Script([DONE]), on_event=heard.append)

    kinds = ["turn_started", "turn_ended", "budget_spent", "answered"]
    assert [each.kind for each in heard] == kinds


@every_way
def test_a_listener_that_fails_ends_the_ask(way: str) -> None:
    """A fault of the caller's is not swallowed."""

    def listener(event: events.Event) -> None:
        if event.kind == "tool_called":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        WAYS[way](
            str,
            "p",
            model=Script([calling(call("add", a=1, b=2))]),
            tools=[add],
            on_event=listener,
        )
