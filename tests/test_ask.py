"""`ask`: the surface that users meet, against the scripted double."""

from __future__ import annotations

import asyncio
import gc
import pickle
import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ingot import (
    Answer,
    InvalidAnswerError,
    Json,
    Markdown,
    MismatchedAnswerError,
    NotConfiguredError,
    PromptError,
    ProviderRateLimitError,
    ProviderUnavailableError,
    RefusedError,
    Response,
    Text,
    TruncatedError,
    UnsupportedTypeError,
    Usage,
    ask,
)
from ingot.testing import Script, ScriptEndedError, Value


class User(BaseModel):
    name: str


@dataclass
class Leg:
    km: float


def kind(value: object) -> str:
    """The id of a case: its type, since some reprs tell an address."""
    return type(value).__name__


def test_both_spellings_are_the_same_call() -> None:
    """`ask(T, …)` and `ask[T](…)`."""
    with Script([["a"], ["a"]]) as script:
        assert ask(list[str], "Name one.") == ask[list[str]]("Name one.")

    assert script.heard[0] == script.heard[1]


@pytest.mark.parametrize(
    ("t", "value"),
    [
        (int, 0),
        (bool, False),
        (list[int], []),
        (None, None),
        (dict[str, int], {"value": 5}),
        (Literal["a", "b"], "b"),
        (int | None, None),
        (User, User(name="x")),
        (Leg, Leg(1.5)),
        (Json, {"a": [None]}),
    ],
    ids=str,
)
def test_falsy_and_odd_answers_are_answers(t: Any, value: Any) -> None:
    """Nothing is lost for being empty, zero or null."""
    with Script([Value(value)]):
        assert ask(t, "p") == value


def test_prose_comes_as_it_was_written() -> None:
    """Text and Markdown are not JSON; a `str` is."""
    with Script(["# A title\n", '{"a": 1}', Value("x")]):
        assert ask(Markdown, "p") == "# A title\n"
        assert ask(Text, "p") == '{"a": 1}'
        assert ask(str, "p") == "x"


async def test_async_is_the_same() -> None:
    """Each form has its awaited twin."""
    with Script([["a"], ["b"], ["c"], ["d"], 1]):
        assert await ask.aio(list[str], "p") == ["a"]
        assert await ask[list[str]].aio("p") == ["b"]
        assert await ask.using(seed=1).aio(list[str], "p") == ["c"]
        assert (await ask.aio.answer(list[str], "p")).value == ["d"]
        assert await ask.aio.using(seed=1)[int]("p") == 1


async def test_what_is_awaited_is_a_coroutine_for_asyncio() -> None:
    """gather, tasks and time-outs take it."""
    with Script([1, 1, 1, 1]):
        first, second = await asyncio.gather(ask.aio(int, "p"), ask.aio(int, "p"))
        task = asyncio.create_task(ask.aio(int, "p"))
        third = await asyncio.wait_for(ask.aio(int, "p"), 5)

        assert [first, second, third, await task] == [1, 1, 1, 1]


async def test_it_is_awaited_once() -> None:
    """A second await would be a second ask."""
    with Script([1]):
        pending = ask.aio(int, "p")
        assert await pending == 1
        with pytest.raises(RuntimeError, match="awaited before"):
            await pending


def test_one_that_is_dropped_warns() -> None:
    """It has taken its place, and nobody will fill it."""
    with Script([]), pytest.warns(RuntimeWarning, match="never awaited"):
        ask.aio(int, "p")
        gc.collect()


async def test_faults_of_an_awaited_ask_are_raised_when_awaited() -> None:
    """So that one bad ask does not take the others of a gather with it."""
    with Script([1]):
        done = await asyncio.gather(ask.aio(int, ""), ask.aio(int, "p"), return_exceptions=True)

    assert isinstance(done[0], PromptError)
    assert done[1] == 1


async def test_blocking_works_inside_a_running_loop() -> None:
    """No loop is involved, so a notebook needs nothing special."""
    with Script([1]):
        assert ask(int, "p") == 1


def test_an_answer_knows_how_it_came_about() -> None:
    """Value, tokens, model, turns."""
    with Script([["a"]]):
        answer = ask.answer(list[str], "Name one.")

    assert answer.value == ["a"]
    assert answer.model == "script/script"
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
    assert (answer.attempts, answer.repairs, len(answer.turns)) == (1, 0, 1)
    assert answer.constrained
    assert repr(answer).startswith("Answer(['a'], model='script/script', usage=Usage(")
    assert pickle.loads(pickle.dumps(answer)) == answer


def test_an_answer_says_when_the_server_could_not_be_held_to_the_type() -> None:
    """And why."""
    with Script([{"value": 1, "children": []}, {"a": 1}], dialect="anthropic"):
        answer = ask.answer(Node, "p")

        assert not answer.constrained
        assert answer.note == "`Node` refers to itself"
        with pytest.raises(UnsupportedTypeError, match=r"refers to itself.*constrain=\"auto\""):
            ask(Node, "p", constrain="strict")
        assert ask(Json, "p", constrain="strict") == {"a": 1}


class Node(BaseModel):
    value: int
    children: list["Node"] = []


def test_the_schema_can_be_shown_instead() -> None:
    """For servers that ignore what they are sent."""
    with Script([1], dialect="openai") as script:
        assert ask(int, "p", constrain="prompt") == 1

    request = script.heard[0]
    assert request.format is not None
    assert not request.format.constrained
    assert '"integer"' in str(request.system_text())


def test_context_is_shown_by_name_and_in_order() -> None:
    """Text as it is, all else as JSON; before the prompt."""
    with Script([["a"]]) as script:
        ask(list[str], "Summarise.", context={"document": "One.", "user": User(name="x"), "n": 2})

    assert script.heard[0].user_text() == (
        "<document>\nOne.\n</document>\n\n"
        '<user>\n{\n  "name": "x"\n}\n</user>\n\n'
        "<n>\n2\n</n>\n\n"
        "Summarise."
    )


@pytest.mark.parametrize(
    "value", [b"x", bytearray(b"x"), open, object(), {"a": object()}], ids=kind
)
def test_what_cannot_be_said_is_refused_by_name(value: Any) -> None:
    """Before any request."""
    with Script([]), pytest.raises(PromptError, match="context value 'scan'"):
        ask(int, "p", context={"scan": value})


@pytest.mark.parametrize("prompt", ["", " \n", 5, None], ids=repr)
def test_an_empty_prompt_is_refused(prompt: Any) -> None:
    """Nothing was said."""
    with Script([]), pytest.raises(PromptError, match="the prompt"):
        ask(int, prompt)


def template(*parts: Any) -> Any:
    """A stand-in for a template string of Python 3.14: texts and (expression, value) by turns."""
    found = [p for p in parts if not isinstance(p, str)]
    return SimpleNamespace(
        strings=tuple(p for p in parts if isinstance(p, str)),
        interpolations=tuple(
            SimpleNamespace(expression=e, value=v, conversion=None, format_spec=spec)
            for e, v, *rest in found
            for spec in (rest[0] if rest else "",)
        ),
    )


def test_a_template_names_its_values() -> None:
    """Each interpolation becomes a context value, and its label stands in the text."""
    said = template("Compare ", ("document", "One."), " with ", ("a + b", 3.14159, ".2f"), ".")
    with Script([True]) as script:
        ask(bool, said)

    assert script.heard[0].prompt == "Compare <document> with <value_2>."
    assert script.heard[0].context == (("document", "One."), ("value_2", "3.14"))


def test_a_template_does_not_hide_a_context_value() -> None:
    """One name, one value."""
    with Script([]), pytest.raises(PromptError, match="both in the template and in context"):
        ask(int, template("x ", ("a", 1), ""), context={"a": 2})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"temprature": 0}, "did you mean 'temperature'"),
        ({"contxt": {}}, "did you mean 'context'"),
        ({"document": "x"}, r"context=\{'document': …\}"),
        ({"max_tokens": "many"}, "max_tokens must be a whole number of at least 1, not 'many'"),
        ({"max_tokens": 0}, "at least 1"),
        ({"max_tokens": True}, "max_tokens must be"),
        ({"temperature": -1}, "temperature must be a number of at least 0"),
        ({"timeout": float("inf")}, "timeout must be a number above 0"),
        ({"retry": -1}, "retry must be"),
        ({"constrain": "loose"}, "one of 'auto', 'strict', 'prompt'"),
        ({"params": [1]}, "params must be a mapping"),
        ({"model": 5}, "model must be"),
    ],
    ids=str,
)
def test_a_setting_that_is_none_is_a_type_error(given: dict[str, Any], message: str) -> None:
    """Never swallowed; in a call and in `using`."""
    with Script([]):
        with pytest.raises(TypeError, match=message):
            ask(int, "p", **given)
        if not given.keys() & {"contxt"}:
            with pytest.raises(TypeError, match=message):
                ask.using(**given)


def test_a_malformed_key_is_not_shown() -> None:
    """Not even in the error about it."""
    with Script([]), pytest.raises(TypeError) as caught:
        ask(int, "p", api_key=["sk-secret"])  # type: ignore[call-overload]

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("args", [(), (int,), ("prompt",), (int, "a", "b")], ids=repr)
def test_too_few_or_too_many_arguments_say_what_is_wanted(args: tuple[Any, ...]) -> None:
    """A type and a prompt."""
    with Script([]), pytest.raises(TypeError, match="a type"):
        ask(*args)


def test_a_configured_ask_is_a_value() -> None:
    """It overlays, compares, pickles without its key, and shows none."""
    one = ask.using(model="openai/a", api_key="sk-secret", params={"a": 1})
    two = one.using(model="openai/b", params={"b": 2})[list[str]]

    assert repr(two) == (
        "ask[list[str]].using(model='openai/b', api_key=…, params={'a': 1, 'b': 2})"
    )
    assert pickle.loads(pickle.dumps(two)) == ask[list[str]].using(
        model="openai/b", params={"a": 1, "b": 2}
    )
    assert b"secret" not in pickle.dumps(two)
    with pytest.raises(AttributeError, match=r"\.using\(model=…\)"):
        two.model = "x"  # type: ignore[attr-defined]


def test_settings_of_the_call_outweigh_those_of_using() -> None:
    """The nearer word counts; None leaves the other in force."""
    with Script([1, 1]) as script:
        cold = ask.using(temperature=0.0, system="Be brief.")
        cold(int, "p", temperature=1)
        cold(int, "p", temperature=None)

    assert [request.temperature for request in script.heard] == [1.0, 0.0]
    assert script.heard[0].system == "Be brief."


def test_forward_references_are_those_of_the_caller() -> None:
    """Also where the caller is a function."""

    class Item(BaseModel):
        n: int

    with Script([[{"n": 1}], [{"n": 2}]]):
        assert ask(list["Item"], "p") == [Item(n=1)]
        assert ask[list["Item"]]("p") == [Item(n=2)]
    with Script([]), pytest.raises(UnsupportedTypeError, match="`Nowhere` is not defined"):
        ask(list["Nowhere"], "p")  # type: ignore[name-defined]  # noqa: F821


def test_ingots_own_type_names() -> None:
    """For programs that speak of types as text."""
    types = {"hit": {"fields": [{"name": "title", "type": "string"}]}}
    with Script([["a"], [{"title": "t"}]]):
        assert ask("string[]", "p") == ["a"]
        assert ask("hit[]", "p", types=types) == [{"title": "t"}]
    with Script([]), pytest.raises(UnsupportedTypeError, match="not a known type"):
        ask("strings", "p")


def test_a_repair_turn_tells_the_model_what_is_wrong() -> None:
    """Only where it was asked for, and bounded."""
    bad = '{"value": ["a", 2]}'
    with Script([bad, ["a", "b"]]) as script:
        answer = ask.answer(list[str], "p", repair=1)

    assert answer.value == ["a", "b"]
    assert (answer.attempts, answer.repairs) == (2, 1)
    reply, told = script.heard[1].messages
    assert (reply.role, reply.text) == ("assistant", bad)
    assert "in field `value`: at index 1: expected `string`, found a number" in str(told.text)
    with Script([bad]), pytest.raises(MismatchedAnswerError):
        ask(list[str], "p")
    with Script([bad, bad, bad]) as script, pytest.raises(InvalidAnswerError) as caught:
        ask(list[str], "p", repair=2)
    assert len(script.heard[2].messages) == 2
    assert caught.value.attempts == 3


def test_an_outage_is_retried_and_counted() -> None:
    """What failed in passing is sent again; tokens of all attempts are added up."""
    busy = ProviderUnavailableError("busy", retry_after=0)
    with Script([busy, ["a"]]) as script:
        answer = ask.answer(list[str], "p")

    assert (answer.value, answer.attempts) == (["a"], 2)
    assert [outcome.valid for outcome in script.outcomes] == [False, True]


def test_it_gives_up_and_says_so() -> None:
    """After the attempts that were allowed, or at once where the wait is too long."""
    busy = [ProviderUnavailableError("busy", retry_after=0) for _ in range(2)]
    with Script(busy), pytest.raises(ProviderUnavailableError, match="gave up after 2 attempts"):
        ask(int, "p", retry=1)
    long = ProviderRateLimitError("slow down", retry_after=3600)
    with Script([long]), pytest.raises(ProviderRateLimitError, match="asked to wait 3600 s"):
        ask(int, "p")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Response(empty_reason="refusal", explanation="No.", stop_reason="stop"), RefusedError),
        (Response(text="[1", empty_reason="truncated", stop_reason="length"), TruncatedError),
    ],
    ids=["refusal", "truncation"],
)
def test_what_a_second_try_cannot_mend_is_not_tried_again(
    reply: Response, error: type[Exception]
) -> None:
    """Nor repaired."""
    with Script([reply]) as script, pytest.raises(error) as caught:
        ask(list[int], "p", repair=3, retry=3)

    assert len(script.heard) == 1
    assert "[1" not in str(caught.value)


def test_errors_cross_process_borders() -> None:
    """With all their facts."""
    with Script(['{"value": "x"}']), pytest.raises(MismatchedAnswerError) as caught:
        ask(int, "p")
    again = pickle.loads(pickle.dumps(caught.value))

    assert str(again) == str(caught.value)
    assert again.problems == caught.value.problems
    assert again.usage == caught.value.usage
    assert again.model == "script/script"


def test_a_script_is_a_model_too() -> None:
    """Without standing in for the others."""
    script = Script([1])

    assert ask(int, "p", model=script) == 1
    assert repr(script) == "<Script: 1 of 1 spoken>"


def test_a_script_that_is_not_spoken_to_its_end_is_an_error() -> None:
    """And so is one that is asked once more."""
    with pytest.raises(AssertionError, match="1 of 2 replies"), Script([1, 2]):
        ask(int, "p")
    with pytest.raises(ScriptEndedError, match="asked once more"), Script([1]):
        ask(int, "p")
        ask(int, "p")


def test_usage_adds_up() -> None:
    """By each counter."""
    one = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3)

    assert one + one == Usage(input_tokens=2, output_tokens=4, cache_read_tokens=6)
    assert repr(one) == "Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3)"


def test_the_cost_is_unknown_where_the_price_is() -> None:
    """Not zero."""
    answer = Answer(value=1, model="script/script", usage=Usage(input_tokens=1))
    known = Answer(value=1, model="openai/gpt-5-mini", usage=Usage(input_tokens=1_000_000))

    assert answer.cost is None
    assert known.cost is not None
    assert known.cost > 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-5", "does not name a model"),
        ("openai", "'openai/…'"),
        ("openai/", "does not name a model"),
        ("/x", "does not name a model"),
        ("opnai/x", "did you mean 'openai'"),
        ("nobody/x", "installed: anthropic, exec, local, openai, openai-chat"),
    ],
)
def test_a_model_string_that_leads_nowhere_lists_what_is_there(model: str, message: str) -> None:
    """Before any request."""
    with pytest.raises(NotConfiguredError, match=message):
        ask(int, "p", model=model)


def test_nothing_warns() -> None:
    """An ordinary ask is silent."""
    with warnings.catch_warnings(), Script([1]):
        warnings.simplefilter("error")
        assert ask(int, "p") == 1


@pytest.mark.parametrize(
    ("prompt", "context"),
    [("a\ud800", None), ("p", {"x": "\udfff"}), ("p", {"x": [{"y": "\ud800"}]})],
)
def test_half_of_a_surrogate_pair_cannot_be_said(prompt: str, context: Any) -> None:
    """It is told before any request, wherever it stands."""
    with Script([]), pytest.raises(PromptError, match="half of a surrogate pair"):
        ask(int, prompt, context=context)


def test_a_sample_of_the_wrong_kind() -> None:
    """It is to tell recordings apart, so it must have a text."""
    sample: Any = object()
    with Script([]), pytest.raises(TypeError, match="sample must be a text or a whole number"):
        ask(int, "p", sample=sample)


def test_one_that_was_closed_says_so() -> None:
    """As a coroutine would."""
    pending = ask.aio(int, "p", model=Script([5]))
    pending.close()

    with pytest.raises(RuntimeError, match="closed before"):
        pending.send(None)
