"""Running tools: at the same time, within their time, and always to a result."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest
from turns import DONE, WAYS, call, calling, told

from ingot import Context, File, ToolError, ask, tool
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

every_way = pytest.mark.parametrize("way", WAYS)


def results(way: str, *calls: Any, **given: Any) -> list[str]:
    """What the model is told of *calls*, which it makes in one turn."""
    script = Script([calling(*calls), DONE])
    assert WAYS[way](str, "p", model=script, **given).value == "done"
    assert [each.id for each in told(script)] == [f"c{n}" for n, _ in enumerate(calls, 1)]
    return [each.told() for each in told(script)]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Ends the tools that would take long."""
    event = threading.Event()
    yield event
    event.set()


# Whatever a tool does


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


FAULTS: dict[str, tuple[Callable[[], BaseException], str]] = {
    "an exception": (lambda: ValueError("no such row"), "ValueError: no such row"),
    "one of several lines": (lambda: OSError("a\nb"), "OSError: a\nb"),
    "one without words": (LookupError, "LookupError"),
    "one that fails itself": (Mute, "Mute"),
    "half of a character": (lambda: OSError("\ud83d"), r"OSError: \?"),
    "an exit": (lambda: SystemExit(3), "SystemExit: 3"),
    "a cancellation of its own": (lambda: asyncio.CancelledError("x"), "CancelledError: x"),
    "the end of an iterator": (StopIteration, "RuntimeError: [a-z]+ raised StopIteration"),
}


@every_way
@pytest.mark.parametrize("fault", FAULTS)
def test_a_tool_that_fails_is_told_to_the_model(way: str, fault: str) -> None:
    """By type and message, with no traceback; alone and beside others, plain and async."""
    make, expected = FAULTS[fault]

    def plain() -> str:
        raise make()

    async def awaited() -> str:
        await asyncio.sleep(0)
        raise make()

    async def other() -> str:
        return "fine"

    tools = [plain, awaited, other]
    first, second = (results(way, name, tools=tools) for name in ("plain", "awaited"))
    third, fine, fourth = results(way, "plain", "other", "awaited", tools=tools)

    assert fine == "fine"
    assert [
        t for t in (*first, *second, third, fourth) if not re.fullmatch(f"Error: {expected}", t)
    ] == []


@every_way
def test_a_result_that_cannot_be_told_is_an_error(way: str) -> None:
    """It names the tool and the way out."""

    def scan() -> Any:
        return b"\x89PNG"

    async def peek() -> Any:
        return object()

    first, second = results(way, "scan", "peek", tools=[scan, peek])

    assert first.startswith("Error: ToolResultError: the result of the tool 'scan' cannot be told")
    assert second.startswith("Error: ToolResultError: the result of the tool 'peek' cannot be told")
    assert "PNG" not in first


@every_way
@pytest.mark.parametrize("names", [["plain"], ["awaited"], ["plain", "awaited"]])
def test_a_bug_in_a_tool_is_logged(
    way: str, names: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Once, by its place; what the error says may be secret."""

    def plain() -> str:
        raise AttributeError("secret")

    async def awaited() -> int:
        return "secret"  # type: ignore[return-value]

    results(way, *names, tools=[plain, awaited])

    code = {"plain": plain.__code__, "awaited": awaited.__code__}
    where = {"plain": ("AttributeError", 1), "awaited": ("ToolResultError", 0)}
    records = [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "ingot"]
    assert sorted(records) == sorted(
        (
            "WARNING",
            "the tool {!r} raised {} at {}:{}".format(
                name, where[name][0], __file__, code[name].co_firstlineno + where[name][1]
            ),
        )
        for name in names
    )


def test_other_errors_of_tools_are_logged_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    """They are for the model."""

    def row() -> None:
        raise KeyError("secret")

    caplog.set_level("DEBUG", "ingot")
    results("blocking", "row", tools=[row])

    (record,) = caplog.records
    assert (record.levelname, "secret" in record.getMessage()) == ("DEBUG", False)


@every_way
def test_iterators_are_read_in_the_time_and_thread_of_the_tool(way: str) -> None:
    """And what they raise is raised by the tool."""
    threads: list[threading.Thread] = []

    def numbers(*, fails: bool) -> Iterator[int]:
        threads.append(threading.current_thread())
        yield 1
        if fails:
            raise ValueError("no more")

    @tool(timeout=0.05)
    def late() -> Any:
        return (time.sleep(0.2) for _ in range(1))

    def plain() -> Any:
        return numbers(fails=False)

    def nested() -> Any:
        return {"a": [numbers(fails=False)], "keys": {"k": 1}.keys()}

    def fails() -> Any:
        return numbers(fails=True)

    async def awaited() -> Any:
        return numbers(fails=True)

    names = ["plain", "nested", "fails", "awaited", "late"]
    assert results(way, *names, tools=[plain, nested, fails, awaited, late]) == [
        "[1]",
        '{"a":[[1]],"keys":["k"]}',
        "Error: ValueError: no more",
        "Error: ValueError: no more",
        "Error: TimeoutError: the tool did not end within 0.05 seconds",
    ]
    assert {thread.name for thread in threads} == {"ingot tool"}


def test_what_an_error_says_is_bounded() -> None:
    """The rest is counted."""

    def shout() -> str:
        raise ValueError("x" * 50_000)

    (text,) = results("blocking", "shout", tools=[shout])

    assert len(text) < 2100
    assert text.endswith("x … (48,012 more characters)")


@every_way
def test_an_interrupt_of_a_test_is_none_of_the_models_business(way: str) -> None:
    """What is no error, exit or cancellation passes through, as `pytest.fail` does."""

    def plain() -> str:
        pytest.fail("seen")

    async def awaited() -> str:
        pytest.fail("seen")

    for calls in (["plain"], ["awaited"], ["plain", "awaited"]):
        with pytest.raises(pytest.fail.Exception, match="seen"):
            WAYS[way](str, "p", model=Script([calling(*calls)]), tools=[plain, awaited])


# At the same time


@every_way
def test_calls_of_one_turn_run_at_the_same_time(way: str) -> None:
    """Plain ones and async ones together: each waits for all the others."""
    met = threading.Barrier(5)

    def plain(n: int) -> int:
        met.wait(5)
        return n

    async def awaited(n: int) -> int:
        await asyncio.to_thread(met.wait, 5)
        return n

    mixed = [call(("plain", "awaited")[n % 2], n=n) for n in range(5)]

    assert results(way, *mixed, tools=[plain, awaited]) == ["0", "1", "2", "3", "4"]


@every_way
def test_not_more_than_eight_run_at_the_same_time(way: str) -> None:
    """The others wait; results stay in order."""
    lock, running, most = threading.Lock(), 0, 0

    def enter(change: int) -> None:
        nonlocal running, most
        with lock:
            running += change
            most = max(most, running)

    def plain(n: int) -> int:
        enter(1)
        time.sleep(0.01)
        enter(-1)
        return n

    async def awaited(n: int) -> int:
        enter(1)
        await asyncio.sleep(0.01)
        enter(-1)
        return n

    mixed = [call(("plain", "awaited")[n % 2], n=n) for n in range(24)]

    assert results(way, *mixed, tools=[plain, awaited]) == [str(n) for n in range(24)]
    assert most == 8


WHO: ContextVar[str] = ContextVar("who", default="nobody")


@every_way
def test_tools_see_the_callers_context_and_leave_it_alone(way: str) -> None:
    """Also in threads; what one sets, no other sees."""

    def plain() -> str:
        seen = WHO.get()
        WHO.set("plain")
        return seen

    async def awaited() -> str:
        seen = WHO.get()
        WHO.set("awaited")
        return seen

    token = WHO.set("caller")
    try:
        for calls in (["plain"], ["awaited"], ["plain", "awaited", "plain"]):
            assert set(results(way, *calls, tools=[plain, awaited])) == {"caller"}
            assert WHO.get() == "caller"
    finally:
        WHO.reset(token)


def test_a_lone_plain_tool_runs_where_the_ask_does() -> None:
    """Ctrl-C and debuggers reach it, and what belongs to a thread can be used."""

    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert results("blocking", "where", tools=[where]) == ["true"]


# Within their time


@every_way
@pytest.mark.parametrize("beside", [0, 2])
def test_a_tool_that_is_late_is_given_up(way: str, beside: int, release: threading.Event) -> None:
    """Async ones are cancelled; plain ones are told, and not waited for."""
    seen: list[Context] = []
    cleaned: list[str] = []

    @tool(timeout=0.05)
    def plain(context: Context) -> str:
        seen.append(context)
        release.wait(10)
        return "late"

    @tool(timeout=0.05)
    async def awaited(context: Context) -> str:
        seen.append(context)
        try:
            await asyncio.sleep(10)
        finally:
            cleaned.append("awaited")
        return "late"

    def quick() -> str:
        return "quick"

    began = time.monotonic()
    tools = [plain, awaited, quick]
    for name in ("plain", "awaited"):
        said = results(way, name, *["quick"] * beside, tools=tools)
        late = "Error: TimeoutError: the tool did not end within 0.05 seconds"
        assert said == [late, *["quick"] * beside]

    assert time.monotonic() - began < 2
    assert [context.cancelled for context in seen] == [True, True]
    assert cleaned == ["awaited"]


@every_way
def test_a_timeout_error_of_the_tools_own_is_told_as_it_is(way: str) -> None:
    """It is not that of ingot."""

    @tool(timeout=5)
    async def awaited() -> str:
        raise TimeoutError("the database is slow")

    @tool(timeout=5)
    def plain() -> str:
        raise TimeoutError("the database is slow")

    said = results(way, "awaited", "plain", tools=[awaited, plain])
    assert said == ["Error: TimeoutError: the database is slow"] * 2


@every_way
def test_a_file_that_comes_late_is_no_handle(
    way: str, tmp_path: Path, release: threading.Event
) -> None:
    """The model was told that there is none."""
    (tmp_path / "a.txt").write_text("a")
    ended = threading.Event()

    @tool(timeout=0.05)
    def late(context: Context) -> File:
        release.wait(10)
        try:
            return context.workspace.file("a.txt")
        finally:
            ended.set()

    def wait_for_it(context: Context) -> list[str]:
        release.set()
        ended.wait(5)
        time.sleep(0.02)
        return list(context.handles.known)

    script = Script([calling("late"), calling("wait_for_it"), DONE])
    WAYS[way](str, "p", model=script, tools=[late, wait_for_it], workspace=tmp_path)

    assert [each.text for each in told(script)] == ["[]"]


# Giving up on an ask


async def test_cancelling_an_ask_cancels_its_tools(
    release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits for async ones to clean up, tells plain ones, and leaves no warning behind."""
    begun: asyncio.Queue[str] = asyncio.Queue()
    loop, did = asyncio.get_running_loop(), list[str]()
    contexts: list[Context] = []

    async def awaited() -> None:
        await begun.put("awaited")
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.02)
            did.append("cleaned up")

    def plain(context: Context) -> None:
        contexts.append(context)
        loop.call_soon_threadsafe(begun.put_nowait, "plain")
        release.wait(10)
        raise ValueError("nobody hears this")

    script = Script([calling("awaited", "plain")])
    asked = asyncio.ensure_future(ask.aio(str, "p", model=script, tools=[awaited, plain]))
    assert {await begun.get(), await begun.get()} == {"awaited", "plain"}
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    assert did == ["cleaned up"]
    assert [context.cancelled for context in contexts] == [True]
    release.set()
    await asyncio.sleep(0.05)
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


async def test_a_timeout_around_an_ask_is_a_cancellation() -> None:
    """And not the tool's own."""

    async def slow() -> None:
        await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ask.aio(str, "p", model=Script([calling("slow")]), tools=[slow])


async def test_a_tool_that_cancels_its_own_task_cancels_no_ask() -> None:
    """The model is told."""

    async def giddy() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    script = Script([calling("giddy"), DONE])
    assert await ask.aio(str, "p", model=script, tools=[giddy]) == "done"
    assert [each.told() for each in told(script)] == ["Error: CancelledError"]


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("calls", [["awaited"], ["plain", "awaited"], ["plain", "plain"], ["own"]])
def test_ctrl_c_ends_an_ask(calls: list[str], release: threading.Event) -> None:
    """Async tools clean up first, plain ones are told."""
    did: list[str] = []
    contexts: list[Context] = []
    begun = threading.Semaphore(0)

    def interrupt() -> None:
        for _ in calls:
            begun.acquire(timeout=5)
        time.sleep(0.1)  # nobody is as quick as to hit the moment before all wait
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    async def awaited() -> None:
        begun.release()
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)
            did.append("cleaned up")

    def plain(context: Context) -> None:
        contexts.append(context)
        begun.release()
        release.wait(10)

    def own() -> None:
        begun.release()
        time.sleep(10)

    threading.Thread(target=interrupt).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(str, "p", model=Script([calling(*calls)]), tools=[awaited, plain, own])

    assert time.monotonic() - began < 5
    assert did == ["cleaned up"] * calls.count("awaited")
    assert [context.cancelled for context in contexts] == [True] * calls.count("plain")


# Where async tools of a blocking ask run


def test_what_async_tools_keep_belongs_to_one_loop() -> None:
    """From turn to turn and from ask to ask, so that a client can be shared."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def connect() -> None:
        loops.append(asyncio.get_running_loop())

    for way in ("blocking", "blocking", "notebook"):
        script = Script([calling("connect"), calling("connect", "connect"), DONE])
        WAYS[way](str, "p", model=script, tools=[connect])

    assert len(loops) == 9
    assert len(set(loops)) == 1
    assert loops[0].is_running()


def test_each_thread_has_its_loop() -> None:
    """It ends with the thread, and what was left running in it is cancelled."""
    loops: list[asyncio.AbstractEventLoop] = []
    left: list[asyncio.Task[Any]] = []

    async def connect() -> None:
        loops.append(asyncio.get_running_loop())
        left.append(asyncio.create_task(asyncio.sleep(60)))

    for _ in range(2):
        thread = threading.Thread(
            target=results, args=("blocking", "connect"), kwargs={"tools": [connect]}
        )
        thread.start()
        thread.join()
    deadline = time.monotonic() + 5
    while not all(loop.is_closed() for loop in loops) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)

    assert [loop.is_closed() for loop in loops] == [True, True]
    assert [task.cancelled() for task in left] == [True, True]


FORKED = """
import os, sys, warnings
from ingot import ask
from ingot.testing import Script
from turns import DONE, calling

warnings.simplefilter("ignore")

async def look() -> str:
    return "seen"

def asked():
    return ask(str, "p", model=Script([calling("look"), DONE]), tools=[look])

assert asked() == "done"
child = os.fork()
if child == 0:
    os._exit(0 if asked() == "done" else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_has_its_loop() -> None:
    """That of its parent does not run there."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", FORKED], env={**os.environ, "PYTHONPATH": path}, timeout=30
    )

    assert done.returncode == 0


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_of_a_task_of_a_tools_ends_the_ask(interrupt: type[BaseException]) -> None:
    """As itself; and the next ask has a loop again."""

    async def task() -> None:
        raise interrupt("stop")

    async def awaited() -> None:
        await asyncio.gather(asyncio.create_task(task()))

    async def fine() -> str:
        return "fine"

    with pytest.raises(interrupt, match="stop"):
        ask(str, "p", model=Script([calling("awaited")]), tools=[awaited])

    assert results("blocking", "fine", tools=[fine]) == ["fine"]


FORKING = """
import asyncio, os, sys, warnings
from ingot import ask
from ingot.testing import Script
from ingot import Workspace
from turns import DONE, calling

warnings.simplefilter("ignore")
said = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)

def plain() -> str:
    child = os.fork()
    if child == 0:
        sys.exit(3)
    _, status = os.waitpid(child, 0)
    return f"it left with {os.waitstatus_to_exitcode(status)}"

async def awaited() -> str:
    return plain()

def asked(way: str, names: str) -> None:
    workspace = Workspace()
    script = Script([calling(*names.split()), DONE])
    settings = {"model": script, "tools": [plain, awaited], "workspace": workspace}
    if way == "blocking":
        ask(str, "p", **settings)
    else:
        asyncio.run(ask.aio(str, "p", **settings))
    os.write(said, f"{way}: {names}\\n".encode())
    results = script.heard[-1].messages[-1].tool_results
    assert {result.text for result in results} == {"it left with 3"}, results
    assert workspace.root.is_dir()

for names in sys.argv[2:]:
    asked("blocking", names)
    asked("awaiting", names)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_that_a_tool_forks_and_ends_goes_on_with_no_ask(tmp_path: Path) -> None:
    """Nor does its end remove the folder of the ask."""
    calls = ["plain", "awaited", "plain awaited"]
    said = tmp_path / "said"
    said.touch()
    path = os.pathsep.join(sys.path)
    subprocess.run(
        [sys.executable, "-c", FORKING, str(said), *calls],
        env={**os.environ, "PYTHONPATH": path},
        timeout=30,
        check=True,
        capture_output=True,
    )

    answered = [f"{way}: {names}" for names in calls for way in ("blocking", "awaiting")]
    assert said.read_text().splitlines() == answered


# Asks in tools


@every_way
def test_a_tool_may_ask(way: str) -> None:
    """Blocking in plain ones, awaiting or blocking in async ones, each with tools of its own."""

    def look() -> str:
        return "seen"

    async def alook() -> str:
        return "seen"

    inner: dict[str, Any] = {"tools": [look, alook]}

    def model() -> Script:
        return Script([calling("look", "alook"), DONE])

    def plain() -> str:
        return ask(str, "inner", model=model(), **inner)

    async def awaited() -> str:
        return await ask.aio(str, "inner", model=model(), **inner)

    async def blocking() -> str:
        return ask(str, "inner", model=model(), **inner)

    tools = [plain, awaited, blocking]
    for calls in (["plain"], ["awaited"], ["blocking"], ["plain", "awaited", "blocking"]):
        assert set(results(way, *calls, tools=tools)) == {"done"}


# Errors that end the ask


@every_way
@pytest.mark.parametrize("raising", [True, KeyError, (OSError, LookupError)])
def test_errors_can_be_raised_instead_of_told(way: str, raising: Any) -> None:
    """The first in order, once all have ended; the tool's own exception is the cause."""
    ended: list[str] = []

    async def slow() -> None:
        await asyncio.sleep(0.02)
        ended.append("slow")

    def early() -> None:
        raise ValueError("told" if raising is not True else "raised")

    async def row(n: int) -> None:
        await asyncio.sleep(0.01 / n)
        raise KeyError(n)

    calls = [
        "slow",
        *(["early"] if raising is not True else []),
        call("row", n=1),
        call("row", n=2),
    ]
    with pytest.raises(ToolError, match="the tool 'row' failed: KeyError: 1") as caught:
        WAYS[way](
            str,
            "p",
            model=Script([calling(*calls)]),
            tools=[slow, early, row],
            raise_errors=raising,
        )

    assert ended == ["slow"]
    assert repr(caught.value.__cause__) == "KeyError(1)"
    assert (caught.value.attempts, len(caught.value.transcript)) == (1, 1)


@every_way
def test_errors_of_other_classes_are_told(way: str) -> None:
    """As without the setting; what was not called for is no error of a tool."""

    def row() -> None:
        raise KeyError(1)

    said = results(way, "row", "gone", call("row", '{"x": 1}'), tools=[row], raise_errors=OSError)
    assert said[0] == "Error: KeyError: 1"
    assert results(way, "gone", call("row", "{"), tools=[row], raise_errors=True)


def test_an_error_without_words_can_be_raised() -> None:
    """What cannot be said is left out."""

    def mute() -> None:
        raise Mute

    with pytest.raises(ToolError, match="the tool 'mute' failed: Mute$"):
        ask(str, "p", model=Script([calling("mute")]), tools=[mute], raise_errors=True)
