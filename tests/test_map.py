"""`ask.map`: many prompts, results in order, one failure loses nothing, and nothing runs on."""

from __future__ import annotations

import asyncio
import gc
import inspect
import multiprocessing
import os
import pydoc
import re
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from doubles import Double

from ingot import (
    Cassette,
    Configured,
    Failure,
    MapError,
    NotConfiguredError,
    ProviderAuthError,
    ProviderProtocolError,
    ProviderRateLimitError,
    ProviderUnavailableError,
    Retry,
    Text,
    UnsupportedTypeError,
    Usage,
    ask,
)
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def prompts(count: int) -> list[str]:
    return [f"number {n}" for n in range(count)]


def failing(*places: int, error: Callable[[], Exception] | None = None) -> Callable[[str], Any]:
    """What replies with the number of a prompt, and fails at some."""

    def reply(prompt: str) -> Any:
        number = int(prompt.split()[-1])
        if number not in places:
            return number
        return ProviderProtocolError("no") if error is None else error()

    return reply


def later(*places: int, seconds: float = 0.03) -> Callable[[str], float]:
    """Some prompts take a while."""
    return lambda prompt: seconds if int(prompt.split()[-1]) in places else 0.0


def both(t: Any, given: Any, **said: Any) -> Iterator[list[Any]]:
    """All results, blocking and awaited."""

    async def awaited() -> list[Any]:
        return [one async for one in ask.aio.map(t, given, **said)]

    yield list(ask.map(t, given, **said))
    yield asyncio.run(awaited())
    yield ask.map(t, given, **said).list()


# What comes out


def test_results_come_in_the_order_of_the_prompts() -> None:
    """However long each takes."""
    for results in both(int, prompts(9), model=Double(seconds=later(0, 4)), concurrency=3):
        assert results == list(range(9))


def test_unordered_results_come_as_they_are_finished() -> None:
    """What takes longest comes last."""
    double = Double(seconds=later(0))
    for results in both(int, prompts(5), model=double, concurrency=5, ordered=False):
        assert results[-1] == 0
        assert sorted(results) == list(range(5))


def test_no_more_are_in_flight_than_said() -> None:
    """The cap is reached, and held."""
    double = Double(seconds=0.005)

    ask.map(int, prompts(20), model=double, concurrency=4).list()

    assert double.peak == 4


def test_no_prompts_give_no_results() -> None:
    """An empty run is over at once."""
    for results in both(int, [], model=Double()):
        assert results == []


def test_prompts_may_bring_context_of_their_own() -> None:
    """What a mapping says goes for its prompt, what the map was given for the others."""
    with Script(["a", "b"]) as script:
        items = [{"prompt": "one", "context": {"note": "own"}}, {"prompt": "two"}]
        ask.map(Text, items, concurrency=1, context={"note": "of all"}).list()

    assert [request.context for request in script.heard] == [
        (("note", "own"),),
        (("note", "of all"),),
    ]


def test_a_configured_ask_and_one_of_a_type_map_too() -> None:
    """Settings and type are theirs."""
    double = Double(failing())

    assert ask[int].map(prompts(2), model=double).list() == [0, 1]
    assert ask.using(model=double).map(int, prompts(2)).list() == [0, 1]
    assert ask.using(model=double)[Literal[0, 1]].map(prompts(2)).list() == [0, 1]


def test_forward_references_are_those_of_the_caller() -> None:
    """A class of a function may be named in a text."""

    @dataclass
    class Point:
        x: int

    with Script([[{"x": 1}], []]):
        assert ask.map(list["Point"], ["a", "b"], concurrency=1).list() == [[Point(1)], []]


def test_a_name_means_what_it_meant_when_the_run_began() -> None:
    """It is looked up once, not for each prompt."""

    @dataclass
    class Point:
        x: int

    with Script([[{"x": 1}]]):
        results = ask.map(list["Point"], ["a"])
        point, Point = Point, int  # type: ignore[assignment,misc]  # noqa: N806
        assert results.list() == [[point(1)]]


# Drawing


def test_prompts_are_drawn_as_results_are_taken() -> None:
    """At most twice the concurrency ahead of what was handed out."""
    drawn = []

    def source() -> Iterator[str]:
        for prompt in prompts(1000):
            drawn.append(prompt)
            yield prompt

    with ask.map(int, source(), model=Double(), concurrency=4) as results:
        assert drawn == []
        for count, _ in zip(range(1, 50), results, strict=False):
            assert len(drawn) <= count + 2 * 4

    assert len(drawn) < 100


def test_prompts_are_drawn_in_the_thread_that_takes_results() -> None:
    """A cursor of a database belongs to its thread."""
    threads = set()

    def source() -> Iterator[str]:
        for prompt in prompts(20):
            threads.add(threading.current_thread())
            yield prompt

    list(ask.map(int, source(), model=Double()))

    assert threads == {threading.current_thread()}


def test_a_slow_source_holds_back_no_result() -> None:
    """What was answered is handed out before the next prompt is there."""
    come = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        yield "number 1"
        await come.wait()
        yield "number 2"

    async def taken() -> list[int]:
        results = ask.aio.map(int, source(), model=Double())
        first = await anext(results)
        come.set()
        return [first, await anext(results)]

    assert asyncio.run(taken()) == [1, 2]


def test_a_source_that_fails_ends_the_run() -> None:
    """Nothing is left in flight, and what was done is not lost."""
    double = Double(seconds=later(2, seconds=60))
    done = threading.Event()

    def source() -> Iterator[str]:
        yield from prompts(3)
        while len(double.heard) < 3 or double.now > 1:
            done.wait(0.001)
        raise KeyError("gone")

    with pytest.raises(MapError, match=r"stopped at prompt 3 \(KeyError: 'gone'\)") as caught:
        ask.map(int, source(), model=double).list()

    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.prompt is None
    assert caught.value.completed == {0: 0, 1: 1}
    assert double.now == 0


async def test_an_awaited_source_that_fails_ends_the_run() -> None:
    """Likewise."""

    async def source() -> AsyncIterator[str]:
        yield "number 0"
        await asyncio.sleep(0.02)
        raise KeyError("gone")

    with pytest.raises(MapError, match="KeyError") as caught:
        await ask.aio.map(int, source(), model=Double()).list()

    assert caught.value.completed == {0: 0}


def test_list_is_not_held_back_by_a_straggler() -> None:
    """As it keeps all anyway, it draws on while the first result is still missing."""
    waiting = threading.Event()
    double = Double(seconds=lambda p: 0.05 if p == "number 0" else 0.0)

    def source() -> Iterator[str]:
        for prompt in prompts(50):
            if prompt == "number 49":
                waiting.set()
            yield prompt

    results = ask.map(int, source(), model=double, concurrency=2)

    assert results.list() == list(range(50))
    assert waiting.is_set()


# Failures


def test_a_failure_is_an_object_in_its_place() -> None:
    """It keeps place, prompt and error."""
    for results in both(int, prompts(4), model=Double(failing(2)), on_error="return"):
        failure = results.pop(2)

        assert results == [0, 1, 3]
        assert isinstance(failure, Failure)
        assert (failure.index, failure.prompt) == (2, "number 2")
        assert isinstance(failure.error, ProviderProtocolError)


def test_a_prompt_that_cannot_be_said_is_its_own_failure() -> None:
    """It is found before anything is sent, and loses no other."""
    one, two, three = ask.map(
        int, ["number 1", " ", "number 3"], model=Double(), on_error="return"
    ).list()

    assert (one, three) == (1, 3)
    assert isinstance(two, Failure)


def test_the_first_failure_ends_the_run() -> None:
    """What was completed is on the exception, and nothing more is asked."""
    double = Double(failing(3), seconds=later(*range(4, 100), seconds=60))

    with pytest.raises(MapError) as caught:
        ask.map(int, prompts(100), model=double, concurrency=4).list()

    assert (caught.value.index, caught.value.prompt) == (3, "number 3")
    assert isinstance(caught.value.__cause__, ProviderProtocolError)
    assert caught.value.completed == {0: 0, 1: 1, 2: 2}
    assert double.now == 0
    assert len(double.heard) <= 4 + 3


def test_what_is_done_before_a_failure_is_handed_out_first() -> None:
    """A loop over the results sees them, and then the error."""

    async def awaited(taken: list[int]) -> None:
        async for one in ask.aio.map(int, ["number 0", "", "number 2"], **given):
            taken.append(one)  # noqa: PERF401 (the error ends it)

    given: Any = {"model": Double(), "concurrency": 1}
    blocking: list[int] = []
    with pytest.raises(MapError, match="stopped at prompt 1"):
        blocking.extend(ask.map(int, ["number 0", "", "number 2"], **given))
    taken: list[int] = []
    with pytest.raises(MapError, match="stopped at prompt 1"):
        asyncio.run(awaited(taken))

    assert blocking == taken == [0]


def test_what_follows_a_prompt_that_cannot_be_asked_is_not_asked() -> None:
    """It ends the run when its turn comes, which is known when it is drawn."""
    double = Double()
    with pytest.raises(MapError, match="stopped at prompt 0"):
        ask.map(int, ["", *prompts(9)], model=double).list()

    assert double.heard == []


def test_a_failure_ends_the_run_though_an_earlier_result_is_missing() -> None:
    """Whoever waits for the first is told of the second at once."""
    double = Double(failing(1), seconds=later(0, seconds=60))

    with pytest.raises(MapError):
        next(ask.map(int, prompts(2), model=double))

    assert double.now == 0


@pytest.mark.parametrize("on_error", ["raise", "return"])
def test_what_no_prompt_can_mend_ends_the_run(on_error: Any) -> None:
    """A key that is turned down is turned down for all."""
    double = Double(failing(0, error=lambda: ProviderAuthError("no")), later(*range(1, 9)))

    with pytest.raises(MapError) as caught:
        ask.map(int, prompts(100), model=double, on_error=on_error, concurrency=2).list()

    assert isinstance(caught.value.__cause__, ProviderAuthError)
    assert len(double.heard) <= 3


def test_a_vendor_that_asks_for_a_long_wait_ends_the_run() -> None:
    """Nobody is kept waiting for hours in silence; the next run asks again."""
    double = Double(failing(2, error=lambda: ProviderRateLimitError("no", retry_after=3600)))

    with pytest.raises(MapError, match="it asked to wait 3600 s"):
        ask.map(int, prompts(9), model=double, on_error="return", concurrency=1).list()

    assert len(double.heard) == 3


def test_what_cannot_be_asked_for_is_refused_at_once() -> None:
    """Before a prompt is drawn."""
    with pytest.raises(UnsupportedTypeError):
        ask.map(bytes, iter(()), model=Double())


def test_an_exit_out_of_an_ask_is_one_of_the_caller() -> None:
    """It is raised where the results are taken, not lost in another thread."""
    with pytest.raises(SystemExit):
        ask.map(int, prompts(3), model=Double(lambda _: SystemExit(3))).list()


def test_retries_take_no_second_place() -> None:
    """What is tried again waits in its own."""
    left = [1, 1]

    def reply(prompt: str) -> Any:
        return ProviderUnavailableError("busy") if left and left.pop() else 7

    double = Double(reply, seconds=0.002)
    retry = Retry(attempts=3, wait=lambda _: 0.0)  # type: ignore[arg-type]

    assert ask.map(int, prompts(6), model=double, concurrency=2, retry=retry).list() == [7] * 6
    assert double.peak == 2


# Ending


def test_a_run_that_is_left_is_closed() -> None:
    """By its block, by hand, or when it is dropped."""
    double = Double(seconds=later(*range(1, 50), seconds=60))
    with ask.map(int, prompts(50), model=double) as results:
        assert next(results) == 0
    assert double.now == 0

    results = ask.map(int, prompts(50), model=double)
    assert next(results) == 0
    del results
    gc.collect()
    until = time.monotonic() + 5
    while double.now and time.monotonic() < until:
        time.sleep(0.005)
    assert double.now == 0


def test_a_closed_run_is_over() -> None:
    """What it had finished can still be had."""
    results = ask.map(int, prompts(2), model=Double(seconds=later(0)), concurrency=1)
    assert next(results) == 0  # the second was drawn meanwhile
    while not results.completed:
        results._woken.wait(5)  # noqa: SLF001 (the second is on its way)

    results.close()

    assert list(results) == []
    assert results.completed == {1: 1}


def test_a_run_does_not_outlive_the_function_that_began_it() -> None:
    """It holds nothing that holds it, so no garbage collection is waited for."""
    double = Double(seconds=later(*range(1, 50), seconds=60))

    def first() -> int:
        results = ask.map(int, prompts(50), model=double)
        return next(results)

    async def awaited() -> int:
        results = ask.aio.map(int, prompts(50), model=double)
        return await anext(results)

    async def begun() -> int:
        assert await awaited() == 0
        await asyncio.sleep(0.01)
        return double.now

    gc.disable()
    try:
        assert first() == 0
        until = time.monotonic() + 5
        while double.now and time.monotonic() < until:
            time.sleep(0.005)
        assert double.now == 0
        assert asyncio.run(begun()) == 0
    finally:
        gc.enable()


def test_a_run_can_be_closed_by_another_thread() -> None:
    """As by a button to stop: whoever waits is told that it is over, or that a list is cut."""
    one, two = (ask.map(int, prompts(3), model=Double(seconds=60)) for _ in range(2))
    for results in (one, two):
        threading.Timer(0.02, results.close).start()

    assert list(one) == []
    with pytest.raises(RuntimeError, match="closed before its end"):
        two.list()


async def test_an_awaited_run_can_be_closed_by_another_task() -> None:
    """Likewise."""
    results = ask.aio.map(int, prompts(3), model=Double(seconds=60))

    async def close() -> None:
        await asyncio.sleep(0.02)
        await results.aclose()

    closing = asyncio.create_task(close())

    with pytest.raises(RuntimeError, match="closed before its end"):
        await results.list()
    await closing


def test_several_threads_may_take_from_one_run() -> None:
    """Each result goes to one of them."""
    results = ask.map(int, iter(prompts(200)), model=Double(seconds=0.0005))
    taken: list[int] = []
    threads = [threading.Thread(target=lambda: taken.extend(results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(taken) == list(range(200))


async def test_several_tasks_may_take_from_one_run() -> None:
    """Also while a prompt is waited for."""

    async def source() -> AsyncIterator[str]:
        for prompt in prompts(50):
            await asyncio.sleep(0)
            yield prompt

    results = ask.aio.map(int, source(), model=Double(seconds=0.0005))
    taken: list[int] = []

    async def take() -> None:
        taken.extend([one async for one in results])

    await asyncio.gather(take(), take(), take())

    assert sorted(taken) == list(range(50))


def test_an_async_source_may_fail_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for it any more, and nothing is complained of."""

    async def source() -> AsyncIterator[str]:
        yield "number 1"
        try:
            await asyncio.sleep(60)
        finally:
            raise KeyError("gone")

    async def taken() -> int:
        async with ask.aio.map(int, source(), model=Double()) as results:
            return await anext(results)

    assert asyncio.run(taken()) == 1
    gc.collect()
    assert caplog.records == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_fork_is_not_left_waiting() -> None:
    """The loop of a run stays with the process that began it."""
    results = ask.map(int, prompts(50), model=Double(seconds=later(*range(1, 50))))
    next(results)
    child = os.fork()
    if child == 0:
        with suppress(RuntimeError):
            results.list()
            os._exit(0)
        os._exit(7)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert results.list() == list(range(1, 50))


def test_leaving_an_awaited_run_cancels_it() -> None:
    """Also by the cancellation of whoever waits; no task is left."""
    double = Double(seconds=60)

    async def left() -> int:
        async with ask.aio.map(int, prompts(50), model=double) as results:
            with suppress(TimeoutError):
                await asyncio.wait_for(anext(results), 0.02)
        return len(asyncio.all_tasks())

    assert asyncio.run(left()) == 1
    assert double.now == 0


def test_an_awaited_run_that_is_dropped_stops() -> None:
    """Nobody takes its results, so nobody should pay for them."""
    double = Double(seconds=later(*range(1, 50), seconds=60))

    async def dropped() -> int:
        results = ask.aio.map(int, prompts(50), model=double)
        assert await anext(results) == 0
        del results
        gc.collect()
        await asyncio.sleep(0.01)
        return double.now

    assert asyncio.run(dropped()) == 0


INTERRUPTED = """
    import signal, sys, threading, time
    sys.path.insert(0, {tests!r})
    from doubles import Double
    from ingot import ask

    double = Double(seconds=lambda p: 60 if p == "number 0" else 0.0)
    results = ask.map(int, [f"number {{n}}" for n in range(9)], model=double)
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    try:
        results.list()
    except KeyboardInterrupt:
        print(results.completed, double.now)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_the_run_and_keeps_what_is_done() -> None:
    """Ctrl-C reaches the caller, and nothing goes on behind its back."""
    code = textwrap.dedent(INTERRUPTED).format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == f"{ {n: n for n in range(1, 9)} } 0\n"
    assert done.stderr == ""


# Where it runs


def test_a_loop_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where too many files are open; nobody waits for it."""

    def none() -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("asyncio.events.new_event_loop", none)

    with pytest.raises(OSError, match="Too many open files"):
        ask.map(int, prompts(1), model=Double()).list()


def test_a_map_blocks_beside_a_running_loop() -> None:
    """As in a notebook."""

    async def cell() -> list[int]:
        return ask.map(int, prompts(3), model=Double()).list()

    assert asyncio.run(cell()) == [0, 1, 2]


def test_a_script_of_the_caller_replies_in_the_order_of_the_prompts() -> None:
    """It is found though another thread asks."""
    with Script([1, 2, 3]) as script:
        assert ask.map(int, ["a", "b", "c"], concurrency=1).list() == [1, 2, 3]

    assert [request.prompt for request in script.heard] == ["a", "b", "c"]


def test_equal_prompts_are_recorded_in_their_order(tmp_path: Path) -> None:
    """And are played so, whichever is finished first."""
    path = tmp_path / "answers.json"
    count = iter(range(10))
    double = Double(lambda _: next(count))
    with Cassette(path, "record", in_ci=True):
        recorded = ask.map(int, ["same"] * 5, model=double, concurrency=1).list()

    def played(concurrency: int) -> list[int]:
        with Cassette(path, "replay"):
            return ask.map(int, ["same"] * 5, model=double, concurrency=concurrency).list()

    assert recorded == [0, 1, 2, 3, 4]
    assert played(1) == recorded
    assert played(5) == recorded
    assert len(double.heard) == 5


def mapped(asked: Configured[int]) -> list[int]:
    """Is run in a process of a pool."""
    return asked.map(prompts(3), model=Double()).list()


def test_a_pool_of_processes_can_run_asks() -> None:
    """Settings travel; clients and keys do not."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        asked = ask[int].using(api_key="sk-secret", temperature=0.5)

        assert pool.submit(repr, asked).result() == "ask[int].using(temperature=0.5)"
        assert pool.submit(mapped, asked).result() == [0, 1, 2]
        assert pool.submit(repr, ask).result() == repr(ask)


# What is refused


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"concurrency": 0}, "concurrency must be a whole number"),
        ({"concurrency": True}, "concurrency must be a whole number"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'return'"),
        ({"rate": "fast"}, "rate='fast': write it as '500/min'"),
        ({"rate": 5}, "rate=5: write it as '500/min'"),
        ({"rate": "0/min"}, "above 0"),
        ({"ordered": "yes"}, "ordered must be True or False, not 'yes'"),
        ({"progress": 1}, "progress must be False or True"),
        ({"store": 5}, "store must be the path of a file, not 5"),
        ({"max_workers": 3}, "map takes no 'max_workers'; did you mean 'concurrency'"),
        ({"concurency": 3}, "map takes no 'concurency'; did you mean 'concurrency'"),
        ({"temprature": 3}, "map takes no 'temprature'; did you mean 'temperature'"),
        ({"temperature": "hot"}, "temperature must be"),
    ],
)
def test_what_is_meant_otherwise_is_told(given: dict[str, Any], told: str) -> None:
    """Before anything is asked."""
    with pytest.raises(TypeError, match=told):
        ask.map(int, prompts(1), model=Double(), **given)


def test_map_says_how_it_is_called() -> None:
    """In its own words."""
    with pytest.raises(TypeError, match=r"map takes a type and prompts.* write ask\.map\("):
        ask.map(int)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["concurrency", "on_error", "store"])
def test_what_belongs_to_a_map_is_told_elsewhere(name: str) -> None:
    """It would be no value for a prompt."""
    calls: list[Any] = [ask[int], ask[int].answer, ask[int].stream]
    for call in calls:
        with pytest.raises(
            TypeError, match=rf"{name} belongs to map: ask\.map\(T, prompts, {name}"
        ):
            call("p", **{name: 3})
    with pytest.raises(TypeError, match=f"{name} belongs to map"):
        ask.using(**{name: 3})  # type: ignore[call-arg]


async def test_the_other_form_is_refused_with_a_hint() -> None:
    """Whoever mixes the two up is told what to write."""
    awaited: Any = ask.aio.map(int, prompts(1), model=Double())
    blocking: Any = ask.map(int, prompts(1), model=Double())

    with pytest.raises(TypeError, match=r"async code; write .*`async for … in ask\.aio\.map"):
        list(awaited)
    with pytest.raises(TypeError, match=r"async code; write .*`async with ask\.aio\.map"), awaited:
        pass
    with pytest.raises(TypeError, match=r"async code; .* `await ask\.aio\.map\(…\)\.list\(\)`"):
        await awaited
    with pytest.raises(TypeError, match=r"blocks; write `for … in ask\.map"):
        [one async for one in blocking]
    with pytest.raises(TypeError, match=r"blocks; write .*`with ask\.map"):
        async with blocking:
            pass


async def test_results_may_be_the_prompts_of_another_run() -> None:
    """Blocking ones of an awaited run, too."""
    texts = ask.map(str, ["p"], model=Double(lambda _: "number 7"))

    assert await ask.aio.map(int, texts, model=Double()).list() == [7]


# What is told of a run


def test_a_run_tells_what_it_took() -> None:
    """While it runs, and after."""
    results = ask.map(int, prompts(4), model=Double(failing(2)), on_error="return", concurrency=1)
    taken = [next(results)]
    assert results.done >= 1

    taken += results

    assert (results.done, results.failed, results.stored) == (4, 1, 0)
    assert results.usage == Usage(input_tokens=9, output_tokens=6)
    assert results.cost is None  # nobody knows what a double takes
    assert repr(results) == "<map: 4 prompts drawn, 4 done, 1 failed; closed>"


def test_a_run_tells_its_cost() -> None:
    """Each ask by itself, as prices have steps; what failed is paid for as well."""
    model = Double(lambda prompt: "no" if prompt == "number 1" else 1)
    model.name, model.default_model = "openai", "gpt-4o"  # type: ignore[misc]

    results = ask.map(int, prompts(3), model=model, on_error="return")
    one = ask.aio.answer(int, "p", model=model)

    assert [type(result) for result in results] == [int, Failure, int]
    assert results.cost == 3 * asyncio.run(one).cost > 0


def test_a_failure_shows_the_first_line_of_its_error() -> None:
    """And that there is more."""
    long, lines, short = (
        repr(Failure(index=1, prompt="p", error=ValueError(text)))
        for text in ("x" * 999, "one\ntwo", "short")
    )

    assert long == f"Failure(index=1, error=ValueError({'x' * 200}…))"
    assert lines == "Failure(index=1, error=ValueError(one…))"
    assert short == "Failure(index=1, error=ValueError(short))"


def test_help_shows_what_a_map_takes() -> None:
    """Of the object, as `help(ask.map)` looks at it."""
    for mapper in (ask.map, ask.aio.map, ask[int].map):
        shown = inspect.signature(mapper)

        assert list(shown.parameters)[:2] == ["t", "prompts"]
        assert {"concurrency", "on_error", "store", "model"} <= shown.parameters.keys()
        assert "prompts, /, *" in pydoc.render_doc(mapper)


class Template:
    """As Python 3.14 has them: it iterates over its parts."""

    strings = ("a", "")
    interpolations = ("n",)

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)


@pytest.mark.parametrize("given", ["one text", b"one text", {"prompt": "p"}, Template(), 7])
def test_prompts_are_several(given: Any) -> None:
    """A single text would be asked letter by letter."""
    with pytest.raises(TypeError, match="not one"):
        ask.map(int, given, model=Double())


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"promt": "p"}, "prompt 0 has 'promt'; did you mean 'prompt'"),
        ({"context": {}}, "prompt 0 has no 'prompt'"),
        (None, "prompt 0 must be text, not NoneType; each prompt is a text, or a mapping"),
        ({"prompt": 3}, "prompt 0 must be text, not int"),
    ],
)
def test_what_is_no_prompt_is_told(item: Any, told: str) -> None:
    """It is a row of the data, which costs no other."""
    failure, one = ask.map(int, [item, "number 1"], model=Double(), on_error="return").list()

    assert one == 1
    assert isinstance(failure, Failure)
    assert re.search(told, str(failure.error))


def test_prompts_that_are_awaited_are_for_async_code() -> None:
    """The error says what is."""

    async def source() -> AsyncIterator[str]:
        yield "p"

    with pytest.raises(TypeError, match=r"ask\.aio\.map"):
        ask.map(int, source(), model=Double())  # type: ignore[call-overload]


def test_nothing_to_ask_with_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it ends an ask, with the ways out."""
    monkeypatch.delenv("INGOT_MODEL", raising=False)
    with pytest.raises(NotConfiguredError, match="installed:"):
        ask.map(int, prompts(3), model="nowhere/x", on_error="return").list()
