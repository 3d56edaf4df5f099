"""Streams of an ask: what is shown, what it comes to, and what becomes of one that is left."""

from __future__ import annotations

import asyncio
import copy
import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from annotated_types import MinLen
from pydantic import BaseModel, field_validator
from turns import DONE, call, calling

from ingot import (
    Budget,
    BudgetExceededError,
    File,
    Json,
    MismatchedAnswerError,
    NotConfiguredError,
    ProviderUnavailableError,
    RefusedError,
    Response,
    Retry,
    Text,
    UnreadableAnswerError,
    ask,
)
from ingot.events import Event, RetryScheduled, TurnEnded, TurnStarted
from ingot.provider import Provider, Request
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

COLOURS = '{"value": ["red", "green", "blue"]}'
LETTERS = [1] * 200


class Row(BaseModel):
    name: str
    count: int


class Torn(Provider):
    """Says each line in pieces of three letters; an exception in it is raised there."""

    name = "torn"

    def __init__(self, *lines: list[str | BaseException] | str) -> None:
        self.lines = list(lines)
        self.heard: list[Request] = []
        self.closed = 0

    def send(self, request: Request) -> Response:
        raise AssertionError("it is streamed")

    def stream(self, request: Request) -> Generator[str | Response]:
        self.heard.append(request)
        line = self.lines.pop(0)
        parts = [line] if isinstance(line, str) else line
        try:
            for part in parts:
                if isinstance(part, BaseException):
                    raise part
                yield from (part[at : at + 3] for at in range(0, len(part), 3))
            text = "".join(part for part in parts if isinstance(part, str))
            yield Response(text=text, stop_reason="stop", model="m")
        finally:
            self.closed += 1

    async def astream(self, request: Request) -> AsyncIterator[str | Response]:  # type: ignore[override]
        for piece in self.stream(request):
            await asyncio.sleep(0)
            yield piece


def down() -> ProviderUnavailableError:
    return ProviderUnavailableError("down", provider="torn")


def blocking(use: Callable[[Any], Iterator[Any]], t: Any, **given: Any) -> tuple[list[Any], Any]:
    """What *use* gives of a stream, each copied as it was, and the answer or the error."""
    seen: list[Any] = []
    with ask.stream(t, "p", **given) as s:
        try:
            for each in use(s):
                seen.append(copy.deepcopy(each))
            return seen, s.answer
        except Exception as error:
            with pytest.raises(type(error)) as again:
                _ = s.value
            assert again.value is error
            return seen, error


def awaiting(use: Callable[[Any], Any], t: Any, **given: Any) -> tuple[list[Any], Any]:
    """The same for async code."""

    async def listen() -> tuple[list[Any], Any]:
        seen: list[Any] = []
        async with ask.aio.stream(t, "p", **given) as s:
            try:
                async for each in use(s):
                    seen.append(copy.deepcopy(each))
                return seen, s.answer
            except Exception as error:
                with pytest.raises(type(error)) as again:
                    await s.finish()
                assert again.value is error
                return seen, error

    return asyncio.run(listen())


both = pytest.mark.parametrize("way", [blocking, awaiting])


def snapshots(s: Any) -> Any:
    return s


def items(s: Any) -> Any:
    return s.items()


# What is shown


@both
def test_shows_what_is_certain(way: Any) -> None:
    """In the form of the type, growing; then the value, with what it took."""
    seen, answer = way(snapshots, Row, model=Torn('{"name": "pen", "count": 12}'))

    assert seen == [{}, {"name": "pe"}, {"name": "pen"}, {"name": "pen", "count": 12}]
    assert (answer.value, answer.model) == (Row(name="pen", count=12), "torn/m")
    assert [turn.text for turn in answer.turns] == ['{"name": "pen", "count": 12}']


def test_a_snapshot_is_one_value_that_grows() -> None:
    """A copy for each piece would cost more with each."""
    with ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
        first = next(s)
        *_, last = s

    assert first is last
    assert s.snapshot is last
    assert last == ["red", "green", "blue"]


@both
def test_prose_comes_as_pieces_of_text(way: Any) -> None:
    """As the model wrote them."""
    seen, answer = way(snapshots, Text, model=Torn("The end."))

    assert seen == ["The", " en", "d."]
    assert answer.value == Text("The end.")


def test_what_is_shown_stays() -> None:
    """Also of prose, and where the answer fails."""
    with ask.stream(Text, "p", model=Torn(["The en", down()])) as s:
        assert s.snapshot == ""
        with pytest.raises(ProviderUnavailableError):
            list(s)

        assert s.snapshot == "The en"


@both
def test_free_json_is_shown(way: Any) -> None:
    """It is read as it comes, like a type's."""
    seen, answer = way(snapshots, Json, model=Torn('{"a": [1, true]}'))

    assert seen[-1] == answer.value == {"a": [1, True]}


@both
def test_an_answer_in_one_piece_is_shown_once(way: Any) -> None:
    """What does not stream, as a program, comes whole."""

    class Whole(Provider):
        def send(self, request: Request) -> Response:
            return Response(text=COLOURS, stop_reason="stop")

    seen, answer = way(snapshots, list[str], model=Whole())

    assert seen == [["red", "green", "blue"]] == [answer.value]


@both
def test_a_script_streams_as_it_is_told(way: Any) -> None:
    """Whole, in words, or in given sizes."""
    for stream, pieces in (
        ("whole", ["a bc  d"]),
        ("words", ["a", " bc", "  d"]),
        ([1, 4], ["a", " bc ", " d"]),
    ):
        seen, _ = way(snapshots, Text, model=Script(["a bc  d"], stream=stream))

        assert seen == pieces
    with pytest.raises(ValueError, match="whole, in words or in given sizes, not 'letters'"):
        Script([], stream="letters")  # type: ignore[arg-type]


# Elements


@both
def test_elements_come_as_soon_as_they_are_whole(way: Any) -> None:
    """Validated, each once."""
    text = '{"value": [{"name": "pen", "count": 1}, {"name": "ink", "count": 2}]}'
    seen, answer = way(items, list[Row], model=Torn(text))

    assert seen == answer.value == [Row(name="pen", count=1), Row(name="ink", count=2)]


def test_an_element_does_not_wait_for_the_next() -> None:
    """What follows has not been heard yet."""
    with ask.stream(list[int], "p", model=Torn(['{"value": [1, 2, ', down()])) as s:
        found = s.items()

        assert [next(found), next(found)] == [1, 2]
        with pytest.raises(ProviderUnavailableError):
            next(found)


@both
def test_a_failure_comes_after_what_was_whole(way: Any) -> None:
    """Nothing is asked again: elements cannot be taken back."""
    model = Torn(['{"value": ["red", "gre', down()])
    seen, error = way(items, list[str], model=model, repair=2, retry=5)

    assert (seen, type(error)) == (["red"], ProviderUnavailableError)
    assert "not sent again, as pieces of the reply were handed on" in str(error)
    assert len(model.heard) == 1


@both
def test_an_element_that_does_not_fit_ends_them(way: Any) -> None:
    """The error is that of the whole answer, and there is no repair of what was given."""
    model = Torn('{"value": [1, "x", 3]}')
    seen, error = way(items, list[int], model=model, repair=2)

    assert (seen, type(error)) == ([1], MismatchedAnswerError)
    assert "at index 1" in str(error)
    assert (error.attempts, len(model.heard)) == (1, 1)


@both
def test_what_was_not_given_is_repaired(way: Any) -> None:
    """The first element does not fit, so nothing was given yet."""
    model = Torn('{"value": ["x", 2]}', '{"value": [1, 2]}')
    seen, answer = way(items, list[int], model=model, repair=1)

    assert (seen, answer.value, answer.repairs) == ([1, 2], [1, 2], 1)


@both
def test_a_whole_list_is_judged_too(way: Any) -> None:
    """Elements that fit may be too few."""
    t = Annotated[list[int], MinLen(3)]
    seen, error = way(items, t, model=Torn('{"value": [1, 2]}'))

    assert (seen, type(error)) == ([1, 2], MismatchedAnswerError)


@pytest.mark.parametrize("t", [Row, Text, int, dict[str, int]])
def test_only_lists_have_items(t: Any) -> None:
    """It is said before anything is sent."""
    model = Torn()
    with ask.stream(t, "p", model=model) as s, pytest.raises(TypeError, match="items"):
        next(s.items())

    assert model.heard == []


def test_validators_run_once_for_an_element_and_once_for_the_list() -> None:
    """And never on what is not whole."""
    seen: list[str] = []

    class Named(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def note(cls, name: str) -> str:
            seen.append(name)
            return name

    with ask.stream(list[Named], "p", model=Torn('{"value": [{"name": "pencil"}]}')) as s:
        list(s.items())

    assert seen == ["pencil", "pencil"]


# What it comes to


@both
def test_an_answer_that_does_not_fit_is_an_error(way: Any) -> None:
    """After all was shown."""
    seen, error = way(snapshots, Row, model=Torn('{"name": "pen"}'))

    assert seen[-1] == {"name": "pen"}
    assert isinstance(error, MismatchedAnswerError)
    assert error.attempts == 1


@both
def test_a_repair_shows_anew(way: Any) -> None:
    """What was shown is forgotten when the next turn begins."""
    model = Torn('{"name": "pen"}', '{"name": "ink", "count": 1}')
    seen, answer = way(snapshots, Row, model=model, repair=1)

    assert seen == [
        {},
        {"name": "pe"},
        {"name": "pen"},
        {},
        {"name": "in"},
        {"name": "ink"},
        {"name": "ink", "count": 1},
    ]
    assert answer.repairs == 1


@both
def test_only_what_was_not_shown_is_sent_again(way: Any) -> None:
    """A request that failed before the first piece."""
    model = Torn([down()], [down()], COLOURS)
    seen, answer = way(snapshots, list[str], model=model, retry=Retry(ceiling=0))

    assert (seen[-1], answer.attempts) == (["red", "green", "blue"], 3)


@both
def test_what_was_said_in_prose_is_not_repaired(way: Any) -> None:
    """It cannot be unsaid."""
    model = Torn("The end.", "unheard")
    seen, error = way(snapshots, Annotated[Text, MinLen(99)], model=model, repair=1)

    assert ("".join(seen), type(error)) == ("The end.", MismatchedAnswerError)
    assert len(model.heard) == 1


@both
def test_a_refusal_is_an_error(way: Any) -> None:
    """As of a whole reply."""
    reply = Response(empty_reason="refusal", explanation="no", stop_reason="stop")
    seen, error = way(snapshots, int, model=Script([reply]))

    assert (seen, type(error)) == ([], RefusedError)


@both
def test_prose_where_json_was_asked_for_shows_nothing(way: Any) -> None:
    """And is an error."""
    seen, error = way(snapshots, list[str], model=Torn("Red, green."))

    assert (seen, type(error)) == ([], UnreadableAnswerError)


@both
def test_a_fault_of_a_provider_is_raised(way: Any) -> None:
    """One that never says what its whole reply is, too."""

    class Half(Torn):
        def stream(self, request: Request) -> Generator[str | Response]:
            yield "x"

    _, error = way(snapshots, int, model=Half())

    assert isinstance(error, TypeError)
    assert "must stream a Response last, not str" in str(error)


def test_the_value_waits_for_the_rest() -> None:
    """Whatever was looked at before."""
    with ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
        next(s)

        assert s.value == ["red", "green", "blue"]
        assert list(s) == []
    assert s.value == ["red", "green", "blue"]


async def test_the_value_is_there_at_the_end() -> None:
    """Async code waits for it by name, as a property cannot."""
    async with ask.aio.stream(list[str], "p", model=Torn(COLOURS)) as s:
        await anext(s)
        with pytest.raises(RuntimeError, match=r"await s\.finish\(\) waits for it"):
            _ = s.value

        assert await s.finish() == ["red", "green", "blue"]
    assert s.value == ["red", "green", "blue"]
    assert s.answer.attempts == 1


# The block


def test_a_stream_lives_in_its_block() -> None:
    """Before it, and after it, it says so; it is entered once."""
    model = Torn(COLOURS)
    s = ask.stream(list[str], "p", model=model)
    for use in (lambda: next(s), lambda: s.value, lambda: list(s.items())):
        with pytest.raises(RuntimeError, match=r"with ask\.stream\(…\) as s"):
            use()
    with s:
        next(s)
    for use in (lambda: next(s), lambda: s.value, lambda: s.answer, lambda: list(s.items())):
        with pytest.raises(RuntimeError, match="left before its end"):
            use()
    with pytest.raises(RuntimeError, match="was entered before"):
        s.__enter__()

    assert (len(model.heard), model.closed) == (1, 1)


async def test_an_async_stream_lives_in_its_block() -> None:
    """Likewise."""
    model = Torn(COLOURS)
    s = ask.aio.stream(list[str], "p", model=model)
    with pytest.raises(RuntimeError, match=r"async with ask\.aio\.stream\(…\) as s"):
        await anext(s)
    async with s:
        await anext(s)
    for use in (s.finish, s.__anext__):
        with pytest.raises(RuntimeError, match="left before its end"):
            await use()

    assert model.closed == 1


def test_an_exception_in_the_block_closes_and_passes() -> None:
    """It is the caller's own."""
    model = Torn(COLOURS)
    with pytest.raises(ZeroDivisionError):
        with ask.stream(list[str], "p", model=model) as s:
            next(s)
            raise ZeroDivisionError

    assert model.closed == 1


async def test_cancelling_closes_and_passes() -> None:
    """Nothing of it is swallowed."""
    model = Torn(COLOURS)
    began = asyncio.Event()

    async def listen() -> None:
        async with ask.aio.stream(list[str], "p", model=model) as s:
            await anext(s)
            began.set()
            await asyncio.sleep(60)

    task = asyncio.ensure_future(listen())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert model.closed == 1


def test_an_interrupt_is_no_answer() -> None:
    """It passes; what was asked has no value, and no error of its own."""
    model = Torn(['{"value": ["red', KeyboardInterrupt()])
    with ask.stream(list[str], "p", model=model) as s:
        with pytest.raises(KeyboardInterrupt):
            list(s)
        with pytest.raises(RuntimeError, match="left before its end"):
            _ = s.value

    assert model.closed == 1


def test_it_says_how_far_it_is() -> None:
    """Type and state; never what was said."""
    s = ask.stream(list[str], "p", model=Torn(COLOURS))
    assert repr(s) == "<stream of list[str], not entered>"
    with s:
        next(s)
        assert repr(s) == "<stream of list[str], open>"
    assert repr(s) == "<stream of list[str], left>"
    with ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
        list(s)
        assert repr(s) == "<stream of list[str], at its end>"
    with ask.stream(list[str], "p", model=Torn([down()]), retry=0) as s:
        with pytest.raises(ProviderUnavailableError):
            list(s)
        assert repr(s) == "<stream of list[str], failed with ProviderUnavailableError>"


def test_faults_of_the_call_are_raised_by_the_call() -> None:
    """Both ways: nothing has to be entered to hear of a typo."""
    for stream in (ask.stream, ask.aio.stream):
        with pytest.raises(TypeError, match="temprature"):
            stream(int, "p", temprature=1)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="a type and a prompt"):
            stream("p")  # type: ignore[call-overload]
        with pytest.raises(NotConfiguredError):
            stream(int, "p", model="nobody/x")


# Asks that act


PEN = call("price", item="pen")


def price(item: str) -> int:
    """The price of an item."""
    return len(item)


@both
def test_tools_are_called_between_turns(way: Any) -> None:
    """Events tell of each; what is shown is the turn that answers."""
    told: list[Event] = []
    script = Script([calling(PEN), calling(PEN), DONE], stream=LETTERS)
    seen, answer = way(snapshots, str, model=script, tools=[price], on_event=told.append)

    assert seen[-1] == answer.value == "done"
    assert len(answer.turns) == 3
    assert [e.turn for e in told if isinstance(e, TurnStarted)] == [1, 2, 3]
    assert [e.turn for e in told if isinstance(e, TurnEnded)] == [1, 2, 3]


@both
def test_what_is_said_along_the_way_is_no_part_of_the_answer(way: Any) -> None:
    """A text beside calls may look like one."""
    aside = calling(PEN, text='{"value": "wait', empty_reason=None)
    seen, answer = way(snapshots, str, model=Script([aside, DONE], stream=LETTERS), tools=[price])

    assert seen == ["", "w", "wa", "wai", "wait", "", "d", "do", "don", "done"]
    assert answer.value == "done"


def test_a_retry_is_told_of() -> None:
    """As of a whole ask."""
    told: list[Event] = []
    model = Torn([down()], COLOURS)
    given: dict[str, Any] = {"retry": Retry(ceiling=0), "on_event": told.append}
    with ask.stream(list[str], "p", model=model, **given) as s:
        list(s)

    assert [type(e) for e in told if isinstance(e, RetryScheduled)] == [RetryScheduled]


def test_whoever_leaves_gives_back_what_was_reserved() -> None:
    """Of a budget that is shared, the next ask has all but what came."""
    model = Torn(COLOURS, COLOURS)
    with Budget(tokens=10_000):
        with ask.stream(list[str], "p", model=model, max_tokens=6000) as s:
            next(s)
        with ask.stream(list[str], "p", model=model, max_tokens=6000) as s:
            assert s.value == ["red", "green", "blue"]

    assert [request.max_tokens for request in model.heard] == [6000, 6000]


@both
def test_a_budget_ends_with_streams_that_are_left(way: Any) -> None:
    """What came of each was paid for."""

    async def leave(model: Provider) -> None:
        async with ask.aio.stream(list[str], "p", model=model, max_tokens=1000) as s:
            await anext(s)

    model = Torn(*[COLOURS] * 99)
    with Budget(tokens=1500) as ledger, pytest.raises(BudgetExceededError):
        while True:
            if way is awaiting:
                asyncio.run(leave(model))
            else:
                with ask.stream(list[str], "p", model=model, max_tokens=1000) as s:
                    next(s)

    assert 1 < ledger.spent.turns == len(model.heard) < 99


@both
def test_a_stream_ends_with_its_seconds(way: Any) -> None:
    """However steadily it comes."""

    class Endless(Torn):
        def stream(self, request: Request) -> Generator[str | Response]:
            while True:
                time.sleep(0.01)
                yield "and "

    seen, error = way(snapshots, Text, model=Endless(), budget=Budget(seconds=0.2), retry=5)

    assert (set(seen), type(error)) == ({"and "}, BudgetExceededError)
    assert error.limit == "seconds"


def test_the_time_of_whoever_reads_is_not_the_models() -> None:
    """It is left out of what the answer took."""
    with ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
        began = time.perf_counter()
        for _ in s:
            time.sleep(0.02)
        waited = time.perf_counter() - began

    assert 0 < s.answer.seconds < waited / 2


class Slow(Torn):
    """Says more when it is told to."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.asked, self.more = threading.Event(), threading.Event()

    def stream(self, request: Request) -> Generator[str | Response]:
        for piece in super().stream(request):
            yield piece
            self.asked.set()
            self.more.wait(10)


def test_one_thread_reads_at_a_time() -> None:
    """Another one is refused, and does no harm."""
    model = Slow(COLOURS)
    with ThreadPoolExecutor(1) as pool, ask.stream(list[str], "p", model=model) as s:
        reading = pool.submit(lambda: s.value)
        assert model.asked.wait(10)
        with pytest.raises(RuntimeError, match="another thread or task"):
            next(s)
        model.more.set()

        assert reading.result() == ["red", "green", "blue"]


def test_another_thread_may_close_a_stream() -> None:
    """The one that reads finds it left, and the connection is closed."""
    model = Slow(COLOURS)
    with ThreadPoolExecutor(1) as pool, ask.stream(list[str], "p", model=model) as s:
        reading = pool.submit(lambda: s.value)
        assert model.asked.wait(10)
        s.close()
        model.more.set()
        with pytest.raises(RuntimeError, match="left before its end"):
            reading.result()

        assert model.closed == 1


async def test_one_task_reads_at_a_time() -> None:
    """Likewise; and another one may close it."""
    model = Torn(COLOURS, COLOURS)
    async with ask.aio.stream(list[str], "p", model=model) as s:
        value, refused = await asyncio.gather(s.finish(), anext(s), return_exceptions=True)
    async with ask.aio.stream(list[str], "p", model=model) as s:
        left, _ = await asyncio.gather(s.finish(), s.close(), return_exceptions=True)
        assert model.closed == 2

    assert value == ["red", "green", "blue"]
    assert "another thread or task" in str(refused)
    assert "left before its end" in str(left)


@both
def test_elements_of_a_quoted_list_come_too(way: Any) -> None:
    """Some models quote an array once too often; the value has it, and so have the items."""
    seen, answer = way(items, list[int], model=Torn('{"value": "[1, 2]"}'))

    assert seen == answer.value == [1, 2]


def test_handles_in_elements_are_checked(tmp_path: Any) -> None:
    """A file that no tool made is not handed out, whole list or not."""

    def draw() -> File:
        """Draw."""
        path = tmp_path / "a.png"
        path.write_bytes(b"x")
        return File(path)

    other = Response(text='{"value": [{"path": "b.png"}]}', stop_reason="stop")
    with ask.stream(
        list[File], "p", model=Script([calling("draw"), other]), tools=[draw], workspace=tmp_path
    ) as s:
        found: list[Any] = []
        with pytest.raises(MismatchedAnswerError):
            found += s.items()

    assert found == []


# The surface


def test_every_way_to_ask_streams() -> None:
    """Bound or not, with the type first or in brackets."""
    configured = ask.using(model=Script([1, 1, 1, 1]))
    for s in (
        configured.stream(int, "p"),
        configured[int].stream("p"),
        ask[int].using(model=Script([1])).stream("p"),
        ask[int].stream("p", model=Script([1])),
    ):
        with s:
            assert s.value == 1


async def test_every_way_to_ask_streams_async() -> None:
    """Likewise."""
    model = Script([1, 1, 1, 1])
    for s in (
        ask.aio.stream(int, "p", model=model),
        ask[int].aio.stream("p", model=model),
        ask.aio[int].stream("p", model=model),
        ask.using(model=model).aio.stream(int, "p"),
    ):
        async with s:
            assert await s.finish() == 1


def test_signatures_name_the_settings() -> None:
    """For `help` and completers."""
    for method, returns in (
        (ask.stream, "Stream[T]"),
        (ask[int].stream, "Stream[T]"),
        (ask.aio.stream, "AsyncStream[T]"),
    ):
        signature = inspect.signature(method)

        assert signature.return_annotation == returns
        assert {"model", "context", "repair"} <= signature.parameters.keys()
