"""Recordings of asks that act: a replay runs no tool and asks nobody; a recording loses nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from cassette_kit import child, ended, names
from pydantic import Field
from turns import DONE, SPENT, WAYS, call, calling

from ingot import (
    Budget,
    Context,
    File,
    Policy,
    Retry,
    ToolError,
    Workspace,
    ask,
    consult,
    errors,
    tool,
)
from ingot.cassette.compare import compared
from ingot.cassette.errors import AmbiguousRepeatError, CassetteError, CassetteMissError
from ingot.cassette.reading import conversations
from ingot.cassette.recorder import Cassette
from ingot.cassette.store import dump, load
from ingot.provider import Attachment, Response
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot import Tool

every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "cassettes").mkdir()
    return tmp_path / "cassettes" / "a.json"


def image(content: bytes, name: str = "a.png", kind: str = "image/png") -> Attachment:
    """What is sent along."""
    digest = hashlib.sha256(content).hexdigest()
    return Attachment(media_type=kind, size=len(content), sha256=digest, name=name, content=content)


# One whole exchange


RAN: list[str] = []
BOMB = "something was done in a replay"


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


def tools(*, bombs: bool = False) -> list[Any]:
    """A tool for every kind of result, and a person; or what must not be run or asked."""

    def done(name: str) -> None:
        assert not bombs, BOMB
        RAN.append(name)

    @tool(effects=["external_write"])
    def draw(name: str, context: Context) -> File:
        """Draw an image."""
        done("draw")
        return context.workspace.write_bytes(name, b"\x89PNG\r\n\x1a\n" + bytes(99), wide=9)

    def weigh(of: File) -> dict[str, float]:
        """Weigh a file."""
        done("weigh")
        return {"grams": 1.10, "bytes": len(of.read_bytes())}

    async def fail(number: int) -> int:
        """Fail."""
        done("fail")
        raise LookupError(f"no {number}")

    def say() -> str:
        """Say something."""
        done("say")
        return "one\n\ntwo"

    def person(question: Any) -> str:
        done("person")
        return str(question.choices[-1])

    return [draw, weigh, fail, say, consult(person)]


def approve(_: Any) -> bool:
    RAN.append("approve")
    return True


def nobody(_: Any) -> bool:
    raise AssertionError(BOMB)


BUSY = errors.ProviderRateLimitError("slow down", provider="script", retry_after=0)


def model() -> Script:
    """A model that does everything there is."""
    return Script(
        [
            BUSY,
            calling(
                call("draw", name="a.png"),
                call("fail", number=7),
                call("say"),
                call("consult", question="Which one?", choices=["x", "y"]),
                call("gone"),
            ),
            calling(call("weigh", of={"path": "a.png"}), call("say"), call("fail", number="x")),
            Response(text='{"path": "a.png"}', stop_reason="stop", usage=SPENT, model="m"),
        ],
        dialect="openai",
    )


def exchange(way: str, folder: Path, *, bombs: bool = False, **given: Any) -> list[Any]:
    """The events of the whole exchange, and its answer."""
    events: list[Any] = []
    answer = WAYS[way](
        File,
        "Draw.",
        **{
            "model": Script([], dialect="openai") if bombs else model(),
            "tools": tools(bombs=bombs),
            "approve": nobody if bombs else approve,
            "policy": Policy(external_write="require_approval"),
            "workspace": Workspace(folder),
            "attach": [image(b"\x89PNG\r\n\x1a\nscan", "scan.png")],
            "retry": Retry(attempts=2),
            "on_event": events.append,
            "budget": Budget(tokens=10**6),
            **given,
        },
    )
    return [*events, answer.value.to_dict(), answer.usage, answer.attempts]


@every_way
def test_an_exchange_is_replayed_whole(way: str, path: Path, tmp_path: Path) -> None:
    """Tools, people and the provider would explode; the events and the answer are the same."""
    with Cassette(path, "record"):
        live = exchange(way, tmp_path)
    ran, before = list(RAN), path.read_bytes()
    (tmp_path / "a.png").unlink()
    for other in WAYS:
        for mode in ("replay", "record"):
            with Cassette(path, mode, unused="fail"):
                assert exchange(other, tmp_path, bombs=True) == live

    assert ran.count("say") == 2
    assert {"draw", "fail", "weigh", "person", "approve"} < set(ran)
    assert ran == RAN
    assert path.read_bytes() == before
    assert {event.kind for event in live[:-3]} >= {"retry_scheduled", "consultation_answered"}


def test_every_way_records_the_same_bytes(path: Path, tmp_path: Path) -> None:
    """There is no time, no id and no order of arrival in a file."""
    found = set()
    for way in [*WAYS, *WAYS]:
        path.unlink(missing_ok=True)
        with Cassette(path, "record"):
            exchange(way, tmp_path)
        found.add(re.sub(r'"site": ".*"', "", path.read_text()))

    assert len(found) == 1
    assert dump(load(path)) == path.read_bytes()


def test_an_exchange_is_read_in_order(path: Path, tmp_path: Path) -> None:
    """One conversation: each call is followed by what came of it, and nothing is told twice."""
    with Cassette(path, "record"):
        exchange("blocking", tmp_path)
    (told,) = conversations(load(path))
    labels = [block.label for block in told.blocks]
    start = labels.index("answer: calls")

    assert len(told.rows) == len(load(path).rows)
    assert labels[start:] == [
        "answer: calls",
        *("question to a person", "call draw", "answer of a person", "call draw", "result"),
        *("call fail", "error LookupError", "call say", "result"),
        *("question to a person", "answer of a person"),
        "result 5 (failed)",
        "answer: calls",
        *("call weigh", "result", "call say", "result"),
        "result 8 (failed)",
        "answer",
    ]
    assert "file" in labels[:start]


# Check 1: what counts and what does not


def find(city: str, limit: Annotated[int, Field(ge=1)] = 3) -> str:
    """
    Find a place.

    Args:
        city: Its name.
        limit: How many.
    """
    RAN.append(city)
    return f"{city}!"


def other() -> int:
    """Say a number."""
    return 3


def renamed() -> list[Any]:
    return [tool(find, name="find2"), other]


def reworded() -> list[Any]:
    return [tool(find, description="Find a place!"), other]


def altered(**changes: Any) -> list[Any]:
    """`find` with another parameter."""

    def make(city: Any, limit: Any, words: str = "Its name.", more: str = "") -> Tool:
        def find(city, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            raise AssertionError(BOMB)

        find.__annotations__ = {"city": city, "limit": limit, "return": str}
        find.__defaults__ = (changes.get("default", 3),)
        find.__doc__ = f"Find a place.\n\nArgs:\n    city: {words}\n    limit: How many."
        return tool(find)

    types = {"city": str, "limit": Annotated[int, Field(ge=1)], "words": "Its name."}
    return [make(**{**types, **{k: v for k, v in changes.items() if k != "default"}}), other]


IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


def agent(model: Any = None, *, prompt: str = "p", **given: Any) -> Any:
    """An ask with a tool and an image."""
    named = {"tools": [find, other], "attach": [image(IMAGE)]}
    return ask(str, prompt, model=model or Script([]), **{**named, **given})


def script(*calls: Any) -> Script:
    return Script([calling(*(calls or [call("find", city="Bonn")])), DONE])


COUNTS: dict[str, tuple[Callable[[], dict[str, Any]], set[str]]] = {
    "a tool's name": (lambda: {"tools": renamed()}, {"tools", "- find", "+ find2"}),
    "a tool's words": (lambda: {"tools": reworded()}, {"tools", "find.description"}),
    "a parameter's type": (lambda: {"tools": altered(city=int)}, {"tools", "find.parameters.city"}),
    "a parameter's bound": (
        lambda: {"tools": altered(limit=Annotated[int, Field(ge=2)])},
        {"tools", "find.parameters.limit"},
    ),
    "a parameter's default": (
        lambda: {"tools": altered(default=4)},
        {"tools", "find.parameters.limit"},
    ),
    "a parameter's words": (
        lambda: {"tools": altered(words="A name.")},
        {"tools", "find.parameters.city.description"},
    ),
    "a tool less": (lambda: {"tools": [find]}, {"tools", "- other"}),
    "the order of tools": (lambda: {"tools": [other, find]}, {"tools", "its order changed"}),
    "an attachment less": (lambda: {"attach": []}, {"files"}),
    "the type of an attachment": (
        lambda: {"attach": [image(IMAGE, "a.png", "image/gif")]},
        {"files"},
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_what_counts_is_missed_and_named(path: Path, name: str) -> None:
    """The report names it and nothing else, and its command repairs the test."""
    with Cassette(path, "record"):
        agent(script())
    given, says = COUNTS[name]
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        agent(**given())
    report = str(caught.value)
    heads = set(re.findall(r"^    (\w+)$", report, re.MULTILINE))

    assert heads == {part for part in says if part in ("tools", "files")}
    assert [part for part in says if part not in report] == []
    assert "not used" not in report
    assert "mode='refresh', only='agent'" in report
    with Cassette(path, "refresh", only="agent"):
        agent(Script([DONE]), **given())
    with Cassette(path, unused="fail"):
        agent(**given())


def test_every_byte_of_an_attachment_counts(path: Path) -> None:
    """One that differs is another question."""
    with Cassette(path, "record"):
        agent(script())
    for n in range(len(IMAGE)):
        changed = IMAGE[:n] + bytes([IMAGE[n] ^ 1]) + IMAGE[n + 1 :]
        with pytest.raises(CassetteMissError), Cassette(path):
            agent(attach=[image(changed)])


SAME: dict[str, Callable[[Path], dict[str, Any]]] = {
    "timeout of a tool": lambda _: {"tools": [tool(find, timeout=5), other]},
    "effects of a tool": lambda _: {"tools": [tool(find, effects=["network"]), other]},
    "body of a tool": lambda _: {"tools": altered()},
    "strictness": lambda _: {"tools": [tool(find, strict=False), other]},
    "budget": lambda _: {"budget": Budget(turns=5, tokens=10**6)},
    "policy": lambda _: {"policy": Policy(network="allow")},
    "workspace": lambda folder: {"workspace": Workspace(folder)},
    "deps": lambda _: {"deps": object()},
    "listener": lambda _: {"on_event": lambda _: None},
    "errors that end it": lambda _: {"raise_errors": (LookupError,)},
    "retries": lambda _: {"retry": 0},
    "repairs": lambda _: {"repair": 3},
    "name of a file": lambda _: {"attach": [image(IMAGE, "b.png")]},
}


@pytest.mark.parametrize("name", SAME)
def test_what_says_nothing_to_the_model_does_not_count(
    path: Path, tmp_path: Path, name: str
) -> None:
    """The recording is played as it is."""
    with Cassette(path, "record"):
        agent(script())
    RAN.clear()
    with Cassette(path, unused="fail"):
        assert agent(**SAME[name](tmp_path)) == "done"
    assert RAN == []


# Rows that are missing or changed


def edited(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of the file by hand."""
    tree = json.loads(path.read_text())
    change(tree["rows"])
    path.write_text(json.dumps(tree))


def without(kind: str) -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[:] = [row for row in rows if row["kind"] != kind]

    return change


@every_way
@pytest.mark.parametrize("kind", ["tool", "human"])
def test_what_is_not_recorded_is_not_done(way: str, kind: str, path: Path, tmp_path: Path) -> None:
    """A replay says what is missing; the command that it prints does that alone."""
    with Cassette(path, "record"):
        exchange(way, tmp_path)
    whole = load(path)
    edited(path, without(kind))
    with pytest.raises(CassetteMissError, match="mode='record'") as caught, Cassette(path):
        exchange(way, tmp_path, bombs=True)
    RAN.clear()
    with Cassette(path, "record"):
        exchange(way, tmp_path, model=Script([], dialect="openai"))

    assert ('draw(name="a.png")' if kind == "tool" else "May the tool `draw`") in str(caught.value)
    assert not compared(whole, load(path))
    assert set(RAN) == (
        {"draw", "weigh", "fail", "say"} if kind == "tool" else {"approve", "person"}
    )


@pytest.mark.parametrize(
    ("kind", "part", "value"),
    [
        ("tool", "args", {"city": "Rome"}),
        ("tool", "tool", "other"),
        ("human", "question", ["Who?"]),
        ("human", "choices", ["a", "b"]),
    ],
)
def test_an_edited_row_is_refused(path: Path, kind: str, part: str, value: Any) -> None:
    """Its key is that of what was asked."""
    given = {"tools": [find, consult(lambda _: "x")]}
    calls = call("find", city="Bonn"), call("consult", question="Which?", choices=["x", "y"])
    with Cassette(path, "record"):
        agent(script(*calls), **given)

    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["kind"] == kind)[part] = value

    edited(path, change)
    with pytest.raises(CassetteError, match="key"), Cassette(path):
        agent(**given)


def test_a_call_once_more_than_recorded_is_missed(path: Path) -> None:
    """No result is used twice."""
    with Cassette(path, "record"):
        agent(script())
    with pytest.raises(CassetteMissError, match="once more"), Cassette(path):
        agent()
        agent()


def test_a_secret_in_a_missing_call_is_not_shown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the report would tell of arguments goes through the same gate as a recording."""
    with Cassette(path, "record"):
        agent(script(call("find", city="Bonn-12345678")))
    edited(path, without("tool"))
    monkeypatch.setenv("CITY_API_KEY", "Bonn-12345678")
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        agent()

    assert "Bonn" not in str(caught.value)


# Check 8: refreshing


def down() -> Script:
    return Script([calling(call("find", city="Rome")), errors.ProviderAuthError("down")])


def ctrl_c(city: str, limit: Annotated[int, Field(ge=1)] = 3) -> str:
    raise KeyboardInterrupt


ctrl_c.__name__, ctrl_c.__doc__ = find.__name__, find.__doc__


def missing(city: str, limit: Annotated[int, Field(ge=1)] = 3) -> str:
    raise LookupError(city)


missing.__name__, missing.__doc__ = find.__name__, find.__doc__


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"model": down}, errors.ProviderAuthError),
        ({"model": script, "tools": [missing, other], "raise_errors": LookupError}, ToolError),
        ({"model": script, "tools": [ctrl_c, other]}, KeyboardInterrupt),
        (
            {
                "model": lambda: Script([calling(call("find", city="x"))] * 9),
                "budget": Budget(turns=2),
            },
            errors.TurnLimitError,
        ),
    ],
    ids=["provider down", "tool", "ctrl-c in a tool", "too many turns"],
)
def test_a_refresh_that_fails_leaves_the_old_bytes(path: Path, given: Any, wanted: Any) -> None:
    """Whatever ends the ask in the middle of its tools."""
    with Cassette(path, "record"):
        agent(script())
    before = path.read_bytes()
    with pytest.raises(wanted), Cassette(path, "refresh"):
        agent(**{**given, "model": given["model"]()})

    assert path.read_bytes() == before
    assert names(path.parent) == ["a.json"]


def first(model: Any = None, **given: Any) -> Any:
    return agent(model, **given)


def second(model: Any = None, **given: Any) -> Any:
    return ask(str, "second", model=model or Script([]), **given)


def test_a_partial_refresh_runs_its_tools_alone(path: Path) -> None:
    """Every row of the other ask keeps its bytes, and its tools do not run."""
    with Cassette(path, "record"):
        agent(script())
        second(script(call("find", city="Rome")), tools=[find])
    before = json.loads(path.read_text())["rows"]
    RAN.clear()
    with Cassette(path, "refresh", only="agent"):
        agent(script(call("find", city="Oslo")))
        second(tools=[find])
    after = json.loads(path.read_text())["rows"]

    def of_second(rows: list[dict[str, Any]]) -> list[str]:
        return [json.dumps(row) for row in rows if row["site"].endswith(":second")]

    assert RAN == ["Oslo"]
    assert of_second(before) == of_second(after)
    assert [row["args"] for row in after if row["kind"] == "tool"] == [
        {"city": "Oslo"},
        {"city": "Rome"},
    ]


def test_a_partial_refresh_runs_no_tool_of_what_it_leaves(path: Path) -> None:
    """What is missing there is missed, as in a replay."""
    with Cassette(path, "record"):
        agent(script())
        second(script(call("find", city="Rome")), tools=[find])
    edited(path, without("tool"))
    RAN.clear()
    with pytest.raises(CassetteMissError), Cassette(path, "refresh", only="agent"):
        second(tools=[find])
    assert RAN == []


@pytest.mark.parametrize("human", [False, True])
def test_people_are_asked_anew_on_demand_alone(path: Path, human: bool) -> None:
    """A refresh runs tools again, and keeps what people said."""
    said = iter("xyz")
    given = {"tools": [consult(lambda _: next(said))]}
    model = script(call("consult", question="Which?"))
    with Cassette(path, "record"):
        agent(model, **given)
    with Cassette(path, "refresh", human=human):
        agent(script(call("consult", question="Which?")), **given)
    with Cassette(path, unused="fail"):
        agent(**given)
    answers = [row.answers for row in load(path) if row.of == "human"]

    assert answers == [{0: {"value": "y" if human else "x"}}]


# Check 6: a recording that is killed


LOOP = """
    import os, signal, sys
    from pathlib import Path
    from turns import DONE, calling, call
    from ingot import Cassette, ask
    from ingot.provider import Provider
    path, log, kill = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    steps = 0

    def step(what):
        global steps
        steps += 1
        if steps == kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if what:
            with log.open("a") as file:
                file.write(what + "\\n")

    def work(n: int) -> int:
        step("")
        step(f"tool {n}")
        return n * n

    class Model(Provider):
        name, default_model = "script", "script"
        def send(self, request):
            step("")
            turn = len(request.messages) // 2
            step(f"turn {turn}")
            calls = [call("work", n=n) for n in (2 * turn, 2 * turn + 1)]
            return DONE if turn == 4 else calling(*calls)

    with Cassette(path, "record"):
        print(ask(str, "p", model=Model(), tools=[work], max_tokens=99))
"""


def killed_and_resumed(folder: Path, kill: int) -> None:
    """Kill a recording at its *kill*-th step, and run it again to the end."""
    path, log = folder / "a.json", folder.with_suffix(".log")
    process = child(LOOP, path, log, kill)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    before = log.read_text().split("\n")[:-1] if log.exists() else []
    assert ended(child(LOOP, path, log, 0)) == "done\n"
    after = log.read_text().split("\n")[:-1]
    # What was written down last may not have ended: a turn, or the tools that it called.
    last = max((n for n, step in enumerate(before) if step.startswith("turn")), default=0)
    assert {step for step in after if after.count(step) > 1} <= set(
        before[last + 1 :] or before[last:]
    )
    assert {step for step in after if step.startswith("turn")} == {f"turn {n}" for n in range(5)}
    assert ended(child(LOOP, path, log, 1)) == "done\n"  # a replay takes not one step


@pytest.mark.parametrize("count", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_recording_is_resumed(tmp_path: Path, count: int) -> None:
    """No finished tool runs again, and no turn is paid twice, wherever it was killed."""
    rng = random.Random(20261202)
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        killed_and_resumed(folder, rng.randrange(1, 27))


# Check 2 and 3: many at once


class Clerk(Script):
    """Calls a tool with the prompt, then answers with what the tool said."""

    def __init__(self) -> None:
        super().__init__([])

    def send(self, request: Any) -> Any:
        self.heard.append(request)
        if not request.messages:
            return calling(call("find", city=request.prompt))
        (result,) = request.messages[-1].tool_results
        return Response(text=json.dumps({"value": result.text}), stop_reason="stop", model="m")

    async def asend(self, request: Any) -> Any:
        await asyncio.sleep(0)
        return self.send(request)


PROMPTS = [f"city {n}" for n in range(50)]


def gathered(model: Any) -> list[str]:
    async def main() -> list[str]:
        asked = (ask.aio(str, p, model=model, tools=[find]) for p in PROMPTS)
        return await asyncio.gather(*asked)

    return asyncio.run(main())


def threaded(model: Any) -> list[str]:
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda p: ask(str, p, model=model, tools=[find]), PROMPTS))


@pytest.mark.parametrize("way", [gathered, threaded])
def test_many_at_once_get_each_its_own(path: Path, way: Callable[[Any], list[str]]) -> None:
    """Fifty asks with tools, recorded and replayed from tasks and from threads."""
    with Cassette(path, "record"):
        assert way(Clerk()) == [f"{p}!" for p in PROMPTS]
    RAN.clear()
    for replayed in (gathered, threaded):
        with Cassette(path, unused="fail"):
            assert replayed(Script([])) == [f"{p}!" for p in PROMPTS]
    assert RAN == []


def counted() -> Tool:
    """A tool whose result is another each time."""
    numbers = iter(range(99))

    def find(city: str) -> int:
        return next(numbers)

    return tool(find)


def equal(model: Any, tools: list[Any], *, sampled: bool = False) -> list[str]:
    """Ask the same of four threads, all begun before the first asks."""
    begun = threading.Barrier(4)

    def one(n: int) -> str:
        begun.wait()
        return ask(str, "p", model=model, tools=tools, **({"sample": n} if sampled else {}))

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, range(4)))


def test_different_results_of_equal_asks_have_no_order_in_threads(path: Path) -> None:
    """The order of their asks would hang on the scheduler; `sample=` tells them apart."""
    with pytest.raises(AmbiguousRepeatError, match="sample=0"), Cassette(path, "record"):
        equal(Clerk(), [counted()])
    path.unlink(missing_ok=True)
    with Cassette(path, "record"):
        said = equal(Clerk(), [counted()], sampled=True)
    with Cassette(path, unused="fail"):
        assert equal(Script([]), [counted()], sampled=True) == said


def test_equal_asks_of_one_lane_are_played_in_order(path: Path) -> None:
    """Each has the results that it had."""
    named = {"tools": [counted()]}
    with Cassette(path, "record"):
        live = [ask(str, "p", model=Clerk(), **named) for _ in range(3)]
    with Cassette(path, unused="fail"):
        assert [ask(str, "p", model=Script([]), **named) for _ in range(3)] == live
    assert live == ["0", "1", "2"]


# Tools that run in a replay


def test_tools_may_run_in_a_replay(path: Path) -> None:
    """Their calls are those that were recorded, and nothing is written."""
    with Cassette(path, "record"):
        agent(script())
    before = path.read_bytes()
    for mode in ("replay", "record"):
        RAN.clear()
        with Cassette(path, mode, tools="live", unused="fail"):
            assert agent() == "done"
        assert RAN == ["Bonn"]
    edited(path, without("tool"))
    RAN.clear()
    with pytest.raises(CassetteMissError, match="no recording for this call"):
        with Cassette(path, tools="live"):
            agent()

    assert RAN == []
    assert before != path.read_bytes()


def test_verifying_runs_no_tool_again(path: Path) -> None:
    """The model is asked, and compared; what tools said is taken from the recording."""
    with Cassette(path, "record"):
        agent(script())
    before = path.read_bytes()
    RAN.clear()
    with Cassette(path, "verify"):
        agent(script())
    with pytest.raises(CassetteError, match="the live answer differs"), Cassette(path, "verify"):
        agent(script(call("other")))

    assert RAN == []
    assert path.read_bytes() == before


def test_a_tool_that_runs_and_says_something_else_is_a_drift(path: Path) -> None:
    """The next turn has no recording; the report shows the result."""
    with Cassette(path, "record"):
        agent(script())

    def changed(city: str, limit: Annotated[int, Field(ge=1)] = 3) -> str:
        return "Changed!"

    changed.__name__, changed.__doc__ = find.__name__, find.__doc__
    with pytest.raises(CassetteMissError) as caught, Cassette(path, tools="live"):
        agent(tools=[changed, other])

    assert "- Bonn!" in str(caught.value)
    assert "+ Changed!" in str(caught.value)


def test_people_are_not_asked_where_tools_run(path: Path) -> None:
    """They are no tools."""
    calls = call("consult", question="Which?")
    with Cassette(path, "record"):
        agent(script(calls), tools=[consult(lambda _: "x")])
    with Cassette(path, tools="live", unused="fail"):
        agent(tools=[consult(nobody)])


# Dialects


def place(name: str, tags: dict[str, int], note: str | None = None) -> str:
    """Take what dialects write differently."""
    RAN.append(f"{name} {tags} {note}")
    return "ok"


WIRE = '{"name":"a","tags":[{"key":"k","value":1}],"note":null}'
PLAIN = '{"name":"a","tags":{"k":1}}'


def without_failures(rows: list[dict[str, Any]]) -> None:
    rows[:] = [row for row in rows if row["kind"] != "ask" or "error" not in row["answers"][0]]


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "open"])
def test_arguments_are_played_in_the_form_that_was_recorded(path: Path, dialect: str) -> None:
    """No provider says it in a replay; another provider can take the recording up."""
    told = Script([], dialect=dialect)
    given = {"tools": [place, find]}
    sent = PLAIN if dialect == "open" else WIRE
    replies = [calling(call("place", sent)), calling(call("find", city="Bonn"))]
    with pytest.raises(errors.ProviderAuthError), Cassette(path, "record"):
        ask(
            str,
            "p",
            model=Script([*replies[:1], errors.ProviderAuthError("x")], dialect=dialect),
            **given,
        )
    edited(path, without_failures)
    ran = list(RAN)
    for other in ("anthropic", "openai", "open"):
        copy = path.with_name(f"{other}.json")
        copy.write_bytes(path.read_bytes())
        with Cassette(copy, "record"):
            assert ask(str, "p", model=Script([replies[1], DONE], dialect=other), **given) == "done"
        with Cassette(copy, unused="fail"):
            assert ask(str, "p", model=told, **given) == "done"

    assert ran == ["a {'k': 1} None"]
    assert RAN == [*ran, *["Bonn"] * 3]


# Check 11: secrets


KEY = "sk-ant-" + "api03-Qx7Rk2Lm9Zp4Wt8Yb3Nc6Vd1Fg5Hj0Ks"


def shout(text: str) -> str:
    if text == "raise":
        raise ValueError(KEY)
    return KEY if text == "return" else "fine"


PLANTED: dict[str, Any] = {
    "an argument": [call("shout", text=KEY)],
    "a result": [call("shout", text="return")],
    "an error": [call("shout", text="raise")],
    "a question": [call("consult", question=KEY)],
    "a choice": [call("consult", question="Which?", choices=["x", KEY])],
    "an answer": [call("consult", question="Tell.")],
}


@pytest.mark.parametrize("place", PLANTED)
def test_a_secret_is_not_written(path: Path, place: str) -> None:
    """The ask goes on, the block fails, and no byte of it is on the disk."""
    person = consult(lambda asked: KEY if asked.question == "Tell." else "x")
    with pytest.raises(CassetteError, match="nothing was written") as caught:
        with Cassette(path, "record"):
            agent(script(*PLANTED[place]), tools=[shout, person])
            assert KEY not in b"".join(p.read_bytes() for p in path.parent.iterdir()).decode()

    assert KEY not in b"".join(p.read_bytes() for p in path.parent.iterdir()).decode()
    assert KEY not in str(caught.value)


def test_the_name_of_an_attachment_is_not_written(path: Path) -> None:
    """Its type, size and digest are."""
    with Cassette(path, "record"):
        agent(script(), attach=[image(IMAGE, KEY)])

    assert KEY not in path.read_text()


MAILS = {"ann@example.org", "bob@example.org"}
RULES = {"<MAIL>": r"\S+@\S+"}


@pytest.mark.parametrize("restored", [False, True])
@every_way
def test_what_is_redacted_is_hidden_and_replays(
    way: str, path: Path, restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools and people get the real thing; the file has placeholders, whatever the rule takes."""
    heard: list[str] = []

    def write(to: str, file: str = "") -> dict[str, Any]:
        """Write to somebody; bob@example.org is known."""
        heard.append(to)
        if to.startswith("bob"):
            raise ValueError(f"bounced: {to}")
        return {"sent": [to], "by": "cat@example.org"}

    def person(asked: Any) -> str:
        heard.append(asked.question)
        return "ann@example.org"

    replies = [
        calling(
            call("write", '{"to": "ann\\u0040example.org"}'),
            call("write", to="bob@example.org"),
            call(
                "consult", question="Is ann@example.org right?", choices=["ann@example.org", "no"]
            ),
        ),
        DONE,
    ]
    given = {"tools": [write, consult(person)]}
    rules: dict[str, Any] = {"redact": RULES}
    if restored:
        monkeypatch.setenv("MAIL", "ann@example.org")
        rules["restore"] = {"<MAIL>": "MAIL"}
    with Cassette(path, "record", **rules):
        WAYS[way](str, "Write to ann@example.org.", model=Script(replies), **given)
    assert MAILS < {*heard, "ann@example.org", "x"}
    assert "Is ann@example.org right?" in heard
    count = len(heard)
    with Cassette(path, unused="fail", **rules):
        WAYS[way](str, "Write to ann@example.org.", model=Script([]), **given)

    assert len(heard) == count
    assert not re.search(r"@example|u0040", path.read_text())


# Size


def test_an_attachment_adds_little(path: Path) -> None:
    """Five megabytes are a type, a size and a digest."""
    sizes = []
    for attach in ([], [image(os.urandom(5 * 2**20))]):
        path.unlink(missing_ok=True)
        with Cassette(path, "record"):
            ask(str, "p", model=Script([DONE]), attach=attach)
        sizes.append(path.stat().st_size)

    assert 0 < sizes[1] - sizes[0] <= 300


# Two recordings


def test_a_change_of_the_prompt_is_the_only_change(path: Path) -> None:
    """Calls and answers of people have other keys then, and say the same."""
    for name, prompt in (("a.json", "p"), ("b.json", "q")):
        with Cassette(path.with_name(name), "record"):
            agent(script(call("find", city="Bonn"), call("find", city="Rome")), prompt=prompt)
    found = compared(load(path), load(path.with_name("b.json")))

    assert [row.data["kind"] for pair in found.changed for row in pair] == ["ask"] * 4
    assert (found.same, found.added, found.dropped, found.answered) == (2, (), (), ())


def test_unused_calls_are_named(path: Path) -> None:
    """As they would stand in a program."""
    with Cassette(path, "record"):
        agent(script())
    with pytest.raises(CassetteError, match=re.escape("""'find(city="Bonn")'""")):
        with Cassette(path, unused="fail"):
            pass
