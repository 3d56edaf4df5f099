"""The conversation as a plan, driven by hand: what it asks for, and what it makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity
from turns import call, calling

from ingot import Budget, Retry, ask, errors
from ingot._effects import Send, Settle, Wait
from ingot._flow import converse
from ingot._response import Outcome
from ingot._shape.shape import shape_of
from ingot.provider import Message, Request, Response, ToolCall, Usage
from ingot.testing import Script

SHAPE = shape_of(int, "open")
ASKED = Request(
    provider="p",
    model="m",
    target=None,
    prompt="How many?",
    max_tokens=9,
    format=SHAPE.format(shown=False),
)
SPENT = Usage(input_tokens=7, output_tokens=5)
RETRY = Retry(wait=tenacity.wait_fixed(0.25))


def reply(text: str | None = '{"value": 1}', **facts: Any) -> Response:
    """A reply that says *text*."""
    return Response(
        **{"text": text, "stop_reason": "stop", "usage": SPENT, "model": "served", **facts}
    )


def play(*replies: Response | Exception, retry: Retry = RETRY, repair: int = 0) -> tuple[Any, Any]:
    """Run the plan against *replies*: what it yielded, and its answer or error."""
    flow = converse(ASKED, SHAPE, retry=retry, repair=repair)
    left, effects = list(replies), []
    result: Any
    try:
        effect = next(flow)
        while True:
            effects.append(effect)
            if not isinstance(effect, Send):
                effect = flow.send(None)
                continue
            effect.seconds = 2.0
            next_reply = left.pop(0)
            if isinstance(next_reply, Exception):
                effect = flow.throw(next_reply)
            else:
                effect = flow.send(next_reply)
    except StopIteration as stop:
        result = stop.value
    except errors.IngotError as error:
        result = error
    assert left == []
    return effects, result


def down(asked: float | None = None) -> errors.ProviderError:
    """An error that may pass."""
    return errors.ProviderUnavailableError("down", provider="p", retry_after=asked)


def names(effects: list[Any]) -> list[str]:
    """Kinds of the effects."""
    return [type(effect).__name__ for effect in effects]


def test_sends_and_settles() -> None:
    """One request, one reply, one word to the provider of what became of it."""
    effects, answer = play(reply(request_id="req_1"))

    assert effects == [
        Send(ASKED, 2.0),
        Settle(ASKED, Outcome(valid=True, usage=SPENT, seconds=2.0)),
    ]
    assert (answer.value, answer.model, answer.usage) == (1, "p/served", SPENT)
    assert (answer.request_id, answer.attempts, answer.repairs) == ("req_1", 1, 0)
    assert (answer.constrained, answer.note, answer.seconds) == (True, None, 2.0)


def test_an_unnamed_server_model_is_the_one_asked() -> None:
    """Where the reply names no model, it is the one of the request."""
    _, answer = play(reply(model=None, usage=None))

    assert (answer.model, answer.usage, answer.cost) == ("p/m", None, None)


def test_waits_and_sends_the_same_again() -> None:
    """A failure in passing is settled, waited for, and the same request sent once more."""
    error = down()
    effects, answer = play(error, error, reply())

    assert names(effects) == ["Send", "Settle", "Wait", "Send", "Settle", "Wait", "Send", "Settle"]
    assert effects[1] == Settle(ASKED, Outcome(valid=False, error=error, seconds=2.0))
    assert effects[2] == Wait(0.25)
    assert effects[3].request is ASKED
    assert (answer.attempts, answer.repairs, answer.seconds) == (3, 0, 6.5)


def test_gives_up_after_the_last_attempt() -> None:
    """The error says how often it was tried."""
    effects, error = play(down(), down(), down())

    assert names(effects)[-2:] == ["Send", "Settle"]
    assert type(error) is errors.ProviderUnavailableError
    assert (error.attempts, error.usage, error.model) == (3, None, "p/m")
    assert str(error) == "p: down; gave up after 3 attempts; more with retry=…"


def test_gives_up_at_once_when_asked_to_wait_too_long() -> None:
    """No wait, and the ceiling is named."""
    effects, error = play(down(3600.0))

    assert names(effects) == ["Send", "Settle"]
    assert "asked to wait 3600 s" in str(error)


@pytest.mark.parametrize("cls", [errors.ProviderAuthError, errors.ProviderProtocolError])
def test_what_cannot_pass_is_sent_once(cls: type[errors.ProviderError]) -> None:
    """No second request, and nothing about attempts."""
    effects, error = play(cls("no", provider="p", advice="do this"), repair=3)

    assert names(effects) == ["Send", "Settle"]
    assert str(error) == "p: no; do this"
    assert error.attempts == 1


def test_time_for_stop_strategies_is_that_of_requests_and_waits() -> None:
    """Two seconds a request and a quarter between: the fifth second falls in the third request."""
    retry = Retry(stop=tenacity.stop_after_delay(5), wait=tenacity.wait_fixed(0.25))
    effects, error = play(down(), down(), down(), retry=retry)

    assert names(effects).count("Send") == 3
    assert error.attempts == 3


NO_ANSWER: list[tuple[dict[str, Any], type[errors.IngotError]]] = [
    ({"empty_reason": "refusal", "text": None, "explanation": "no"}, errors.RefusedError),
    ({"empty_reason": "refusal"}, errors.RefusedError),
    ({"empty_reason": "content_filter"}, errors.ContentFilteredError),
    ({"empty_reason": "truncated", "stop_reason": "length"}, errors.TruncatedError),
    ({"tool_calls": (ToolCall(id="1", name="f", arguments="{}"),)}, errors.UnexpectedToolCallError),
    ({"empty_reason": "thinking_only", "text": None}, errors.EmptyAnswerError),
    ({"empty_reason": "no_content_blocks", "text": None}, errors.EmptyAnswerError),
    ({"empty_reason": "empty_body", "text": None}, errors.EmptyAnswerError),
    ({"empty_reason": "blank", "text": "  "}, errors.EmptyAnswerError),
    ({"text": None}, errors.EmptyAnswerError),
    ({"stop_reason": None}, errors.ProviderProtocolError),
]


@pytest.mark.parametrize(("facts", "expected"), NO_ANSWER)
def test_a_reply_that_is_no_answer(
    facts: dict[str, Any], expected: type[errors.IngotError]
) -> None:
    """Even where the text would parse; neither repaired nor sent again, and counted."""
    effects, error = play(reply(**facts, request_id="req_1"), repair=5)

    assert type(error) is expected
    assert names(effects) == ["Send", "Settle"]
    assert effects[1].outcome == Outcome(valid=False, error=error, usage=SPENT, seconds=2.0)
    assert (error.usage, error.attempts, error.model) == (SPENT, 1, "p/served")
    assert error.request_id == "req_1"


def test_a_cut_answer_names_its_bound() -> None:
    """What was cut is kept, and the setting to raise is named with its value."""
    _, error = play(reply('{"value": 1', empty_reason="truncated", stop_reason="length"))

    assert (error.limit, error.text) == (9, '{"value": 1')
    assert "max_tokens=9" in str(error)


@pytest.mark.parametrize(
    ("text", "expected", "problem"),
    [
        ('{"value": "x"}', errors.MismatchedAnswerError, "- in field `value`: expected `int`"),
        ("Sure! It is 1.", errors.UnreadableAnswerError, "- the reply is not one JSON value:"),
        ('{"value": 1} {}', errors.UnreadableAnswerError, "- the reply is not one JSON value:"),
    ],
)
def test_a_repair_turn(text: str, expected: type[errors.IngotError], problem: str) -> None:
    """The model is shown what it said, in the vendor's own form, and what is wrong with it."""
    block = {"type": "text", "text": text}
    broken = reply(text, blocks=(block,))
    effects, answer = play(broken, reply(), repair=1)

    assert names(effects) == ["Send", "Settle", "Send", "Settle"]
    assert type(effects[1].outcome.error) is expected
    assert effects[3].outcome == Outcome(valid=True, repaired=True, usage=SPENT, seconds=2.0)
    theirs, ours = effects[2].request.messages
    assert theirs == Message(role="assistant", text=text, blocks=(block,))
    assert ours.role == "user"
    assert problem.removeprefix("- in field `value`: ") in ours.text
    assert effects[2].request.prompt == ASKED.prompt
    assert (answer.value, answer.repairs, answer.attempts) == (1, 1, 2)
    assert answer.usage == Usage(input_tokens=14, output_tokens=10)
    assert answer.turns[0] == broken


def test_without_repair_there_is_none() -> None:
    """It is 0 unless asked for."""
    effects, error = play(reply('{"value": "x"}'))

    assert names(effects) == ["Send", "Settle"]
    assert type(error) is errors.MismatchedAnswerError


def test_repair_is_bounded_and_does_not_grow() -> None:
    """Each turn shows the last reply only; the error is the last one's and counts all."""
    effects, error = play(reply('"a"'), reply('"b"'), reply('"c"'), repair=2)
    sent = [effect.request for effect in effects if isinstance(effect, Send)]

    assert [[m.text for m in request.messages][:1] for request in sent] == [[], ['"a"'], ['"b"']]
    assert error.text == '"c"'
    assert error.usage == Usage(input_tokens=21, output_tokens=15)
    assert [e.outcome.repaired for e in effects if isinstance(e, Settle)] == [False, True, True]


def test_a_failure_between_repairs_stays_out_of_the_conversation() -> None:
    """The repair turn is sent again as it was; each turn has attempts of its own."""
    broken = reply('{"value": "x"}')
    effects, answer = play(down(), down(), broken, down(), down(), reply(), repair=1)
    sent = [effect.request for effect in effects if isinstance(effect, Send)]

    assert [len(request.messages) for request in sent] == [0, 0, 0, 2, 2, 2]
    assert sent[3] is sent[4] is sent[5]
    assert "down" not in str(sent[3].messages)
    assert (answer.attempts, answer.repairs) == (6, 1)


def test_a_failure_after_a_paid_turn_counts_it() -> None:
    """Usage and model of the turn that came are on the error of the one that did not."""
    _, error = play(reply('"a"'), errors.ProviderAuthError("no", provider="p"), repair=1)

    assert type(error) is errors.ProviderAuthError
    assert (error.usage, error.attempts, error.model) == (SPENT, 2, "p/served")


def test_a_turn_without_usage_adds_nothing() -> None:
    """What is known is summed."""
    _, answer = play(reply('"a"', usage=None), reply(), repair=1)

    assert answer.usage == SPENT


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), RuntimeError("bug")])
def test_what_is_not_ours_passes(error: BaseException) -> None:
    """An interrupt or a fault of the program goes straight through the plan."""
    flow = converse(ASKED, SHAPE, retry=RETRY, repair=1)
    next(flow)
    with pytest.raises(type(error)):
        flow.throw(error)


def test_prose_is_not_constrained() -> None:
    """A shown or absent schema is said on the answer."""
    shape = shape_of(int, "prompt")
    asked = Request(
        provider="p", model="m", target=None, prompt="p", format=shape.format(shown=False)
    )
    flow = converse(asked, shape, retry=RETRY, repair=0)
    next(flow)
    flow.send(reply("1" if not shape.format(shown=False).wrapped else '{"value": 1}'))
    with pytest.raises(StopIteration) as stopped:
        flow.send(None)

    assert stopped.value.value.constrained is False


# Tools


RAN: list[str] = []


def look() -> str:
    """Look."""
    RAN.append("look")
    return "seen"


def acted(*replies: Response | Exception, repair: int = 0, turns: int = 9) -> tuple[Script, Any]:
    """Ask with a tool: what was heard, and the answer or the error."""
    RAN.clear()
    script = Script(replies)
    given: dict[str, Any] = {"tools": [look], "retry": RETRY, "repair": repair}
    try:
        return script, ask.answer(int, "p", model=script, budget=Budget(turns=turns), **given)
    except errors.IngotError as error:
        return script, error


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


def test_calls_and_results_become_part_of_the_conversation() -> None:
    """The reply goes back as it came, and after it one result for each call."""
    block = {"type": "thinking", "signature": "x"}
    first = calling("look", "look", text="Hm.", blocks=(block,))
    script, answer = acted(first, calling("look"), reply())

    assert [len(request.messages) for request in script.heard] == [0, 2, 4]
    theirs, ours = script.heard[2].messages[:2]
    assert theirs == Message(
        role="assistant", text="Hm.", tool_calls=first.tool_calls, blocks=(block,)
    )
    assert [(each.id, each.text) for each in ours.tool_results] == [("c1", "seen"), ("c2", "seen")]
    assert [request.tools[0].name for request in script.heard] == ["look"] * 3
    assert RAN == ["look"] * 3
    assert (answer.value, answer.attempts, answer.repairs, len(answer.turns)) == (1, 3, 0, 3)
    assert answer.usage == Usage(input_tokens=21, output_tokens=15)
    assert [outcome.valid for outcome in script.outcomes] == [True, True, True]


CUT = [
    (calling("look", empty_reason="truncated", stop_reason="length"), errors.TruncatedError),
    (calling("look", stop_reason=None), errors.ProviderProtocolError),
    (calling("look", empty_reason="content_filter"), errors.ContentFilteredError),
    (calling("look", empty_reason="refusal"), errors.RefusedError),
]


@pytest.mark.parametrize(("cut", "expected"), CUT)
def test_a_call_in_a_reply_that_is_not_whole_does_not_run(
    cut: Response, expected: type[errors.IngotError]
) -> None:
    """It is an error, also where the arguments would parse; nothing is repaired or sent again."""
    script, error = acted(cut, repair=3)

    assert type(error) is expected
    assert RAN == []
    assert len(script.heard) == 1


def test_a_call_without_arguments_that_parse_does_not_run() -> None:
    """The model is told, and may call again."""
    script, answer = acted(calling(call("look", "{")), calling("look"), reply())

    assert answer.value == 1
    assert RAN == ["look"]
    assert script.heard[1].messages[-1].tool_results[0].failed


def test_a_failure_after_tools_does_not_run_them_again() -> None:
    """The same request, with their results, is sent once more."""
    script, answer = acted(down(), calling("look"), down(), down(), reply())

    assert answer.value == 1
    assert RAN == ["look"]
    assert script.heard[2] == script.heard[3] == script.heard[4]
    assert script.heard[4].messages[-1].tool_results[0].text == "seen"


def test_results_survive_a_failure_on_the_error() -> None:
    """What tools did is in its transcript, with what it has cost."""
    _, error = acted(calling("look"), errors.ProviderAuthError("no", provider="p"))

    assert type(error) is errors.ProviderAuthError
    assert [each.text for each in error.transcript[-1].tool_results] == ["seen"]
    assert (error.usage, error.attempts) == (SPENT, 2)


def test_turns_are_limited() -> None:
    """Tools of the last turn do not run, as nobody could be told; the transcript has its calls."""
    script, error = acted(*[calling("look")] * 3, turns=3)

    assert type(error) is errors.TurnLimitError
    assert (error.allowed, error.spent, len(script.heard)) == (3, 3, 3)
    assert RAN == ["look", "look"]
    assert [message.role for message in error.transcript] == ["assistant", "user"] * 2 + [
        "assistant"
    ]
    assert error.usage == Usage(input_tokens=21, output_tokens=15)


def test_turns_are_limited_where_nobody_says_so() -> None:
    """To sixteen, made-up tools included."""
    script = Script([calling("gone")] * 40)
    with pytest.raises(errors.TurnLimitError, match="the limit of 16 model turns"):
        ask(int, "p", model=script, tools=[look])

    assert len(script.heard) == 16


def test_an_answer_is_repaired_among_tools() -> None:
    """The tries are left out of what follows, results are kept; tools stay on offer."""
    script, answer = acted(
        calling("look"),
        reply('"a"'),
        reply('"b"'),
        calling("look"),
        reply('"c"'),
        reply(),
        repair=3,
    )
    said = [[m.text or len(m.tool_results) for m in each.messages] for each in script.heard]

    assert (answer.value, answer.repairs, len(answer.turns)) == (1, 3, 6)
    assert said[1] == [0, 1]
    assert said[2][:3] == [0, 1, '"a"']
    assert said[3][:3] == [0, 1, '"b"']
    assert (said[4][:3], said[4][4:]) == ([0, 1, '"b"'], [0, 1])
    assert (said[5][:3], said[5][4:7]) == ([0, 1, '"b"'], [0, 1, '"c"'])
    assert all(request.tools for request in script.heard)
    assert [outcome.repaired for outcome in script.outcomes] == [
        *(False, False, True, True, False, True)
    ]


@pytest.mark.parametrize("text", ["It is one.", '{"value": "x"}', "", " ", None])
def test_a_draft_gets_a_turn_without_tools(text: str | None) -> None:
    """A server that could not be held to the type is asked again when it can be; no repair."""
    empty = None if (text or "").strip() else "blank"
    draft = reply(text, draft=True, empty_reason=empty)
    script, answer = acted(calling("look"), draft, reply())
    last = script.heard[2]

    assert (answer.value, answer.repairs, RAN) == (1, 0, ["look"])
    assert (last.tools, last.format) == ((), script.heard[0].format)
    said = [(m.role, m.text) for m in last.messages[2:]]
    assert said[-1] == ("user", "Give the answer now, as JSON and nothing else.")
    assert said[:-1] == ([] if empty else [("assistant", text)])


def test_a_draft_that_fits_is_the_answer() -> None:
    """Nothing is asked twice."""
    script, answer = acted(calling("look"), reply(draft=True))

    assert (answer.value, len(script.heard)) == (1, 2)


def test_a_draft_that_is_refused_is_no_draft() -> None:
    """An error is an error."""
    _, error = acted(reply(None, draft=True, empty_reason="refusal"))

    assert type(error) is errors.RefusedError


def test_the_turn_after_a_draft_can_be_repaired() -> None:
    """And is not asked for tools any more: a call there is an error."""
    script, answer = acted(reply("hm", draft=True), reply('"x"'), reply(), repair=1)
    assert (answer.value, answer.repairs, [bool(r.tools) for r in script.heard]) == (
        *(1, 1, [True, False, False]),
    )

    _, error = acted(reply("hm", draft=True), calling("look"))
    assert type(error) is errors.UnexpectedToolCallError
    assert RAN == []
