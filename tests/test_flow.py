"""The conversation as a plan, driven by hand: what it asks for, and what it makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity

from ingot import Retry, errors
from ingot._flow import Outcome, Send, Settle, Wait, converse
from ingot._shape.shape import shape_of
from ingot.provider import Message, Request, Response, ToolCall, Usage

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
