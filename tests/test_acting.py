"""Asks that act: what tools are told of the run, what they may spend, and which files there are."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import BaseModel, Field
from turns import DONE, SPENT, WAYS, call, calling, told

from ingot import (
    Answer,
    Budget,
    BudgetExceededError,
    Context,
    File,
    FileAccessError,
    MismatchedAnswerError,
    NotConfiguredError,
    Text,
    UnsupportedTypeError,
    Workspace,
    ask,
    attachment,
    tool,
)
from ingot.provider import Response
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable

every_way = pytest.mark.parametrize("way", WAYS)


def saying(value: Any) -> Response:
    """The end of a conversation: *value* as JSON."""
    return Response(text=json.dumps(value), stop_reason="stop", usage=SPENT, model="m")


# What tools are told


@dataclass
class Database:
    rows: list[str]


@every_way
def test_a_tool_is_told_of_the_run(way: str, tmp_path: Path) -> None:
    """By a parameter that the model does not see."""
    seen: list[Context[Database]] = []
    spent: list[Any] = []

    def find(q: str, context: Context[Database]) -> int:
        seen.append(context)
        assert context.ledger is not None
        spent.append((context.ledger.spent.tokens, context.ledger.remaining.tokens))
        return context.deps.rows.index(q)

    async def afind(context: Context[Database], q: str) -> int:
        return find(q, context)

    deps, workspace = Database(["a", "b"]), Workspace(tmp_path)
    script = Script([calling(call("find", q="b")), calling(call("afind", q="a")), DONE])
    given = {"deps": deps, "workspace": workspace, "budget": Budget(tokens=5000)}
    WAYS[way](str, "p", model=script, tools=[find, afind], **given)

    assert [each.deps is deps and each.workspace is workspace for each in seen] == [True, True]
    assert [(each.tool, each.call_id, each.turn, each.cancelled) for each in seen] == [
        ("find", "c1", 1, False),
        ("afind", "c1", 2, False),
    ]
    assert spent == [(12, 4988), (24, 4976)]
    shown = json.dumps([dict(each.parameters) for each in script.heard[0].tools])
    assert "context" not in shown.casefold()


def test_without_deps_there_are_none() -> None:
    """The workspace is the working directory."""
    seen: list[Context] = []

    def look(context: Context) -> None:
        seen.append(context)

    ask(str, "p", model=Script([calling("look"), DONE]), tools=[look])

    assert (seen[0].deps, seen[0].workspace.root) == (None, Path.cwd().resolve())


def test_what_is_handed_to_tools_is_in_no_repr() -> None:
    """It may hold anything."""
    shown = repr(ask.using(deps={"password": "hunter2"}, tools=[saying]))

    assert "hunter2" not in shown
    assert "tools=(<tool saying(value)>,)" in shown


# What an ask may spend


@every_way
@pytest.mark.parametrize(
    ("budget", "limit", "requests"),
    [
        (Budget(turns=2), "turns", 2),
        (Budget(tokens=4000), "tokens", 4),
        (Budget(turns=0), "turns", 0),
    ],
)
def test_a_budget_ends_an_ask(way: str, budget: Budget, limit: str, requests: int) -> None:
    """Before the request that it does not cover, with what was spent and said."""

    def look() -> str:
        return "x" * 2000

    script = Script([calling("look")] * 9)
    with pytest.raises(BudgetExceededError) as caught:
        WAYS[way](str, "p", model=script, tools=[look], budget=budget, max_tokens=500)

    assert (caught.value.limit, len(script.heard)) == (limit, requests)
    assert len(caught.value.transcript) >= 2 * requests - 1
    assert caught.value.attempts == requests


@every_way
def test_seconds_end_a_tool_and_then_the_ask(way: str) -> None:
    """The model hears nothing more, as there is no time to tell it."""

    async def slow() -> None:
        await asyncio.sleep(10)

    script = Script([calling("slow"), DONE])
    with pytest.raises(BudgetExceededError) as caught:
        WAYS[way](str, "p", model=script, tools=[slow], budget=Budget(seconds=0.1))

    assert (caught.value.limit, len(script.heard)) == ("seconds", 1)
    assert "TimeoutError" in caught.value.transcript[-1].tool_results[0].text


@every_way
def test_asks_in_tools_share_a_budget_that_is_open(way: str) -> None:
    """Wherever the tool runs."""

    def plain() -> str:
        return ask(str, "p", model=Script([DONE]))

    async def awaited() -> str:
        return await ask.aio(str, "p", model=Script([DONE]))

    script = Script([calling("plain", "awaited"), calling("plain"), calling("awaited"), DONE])
    with Budget(turns=50) as ledger:
        WAYS[way](str, "p", model=script, tools=[plain, awaited])

    assert (ledger.spent.turns, ledger.spent.tokens) == (8, 96)


def test_a_cost_needs_a_price() -> None:
    """It is said before anything is sent."""
    script = Script([DONE])
    script.name = "nobody"
    with pytest.raises(NotConfiguredError, match="price of nobody/script is not known"):
        ask(str, "p", model=script, budget=Budget(cost="0.10"))

    assert script.heard == []


def test_a_bound_that_a_budget_lowers_is_not_what_was_asked() -> None:
    """The key of a recording has the caller's own."""
    free, bound = Script([DONE]), Script([DONE])
    ask(str, "p", model=free, max_tokens=5000)
    ask(str, "p", model=bound, max_tokens=5000, budget=Budget(tokens=1000))

    assert (bound.heard[0].max_tokens or 0) < 1000
    assert bound.heard[0].digest() == free.heard[0].digest()


# Files


class Report(BaseModel):
    title: str
    source: File
    more: list[File] = Field(default=[])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def fetch(name: str, context: Context) -> File:
    """Fetch a file."""
    return context.workspace.write_text(name, f"content of {name}", media_type="text/plain")


async def fetch_all(names: list[str], context: Context) -> dict[str, list[File]]:
    """Fetch files."""
    return {"files": [fetch(name, context) for name in names]}


def size(file: File) -> int:
    """Return the size of a file."""
    return file.stat().st_size


@every_way
@pytest.mark.parametrize("dialect", ["open", "openai", "anthropic", "prompt"])
def test_a_file_is_asked_for_by_its_handle(way: str, dialect: str, workspace: Workspace) -> None:
    """It comes back with all that its producer said of it, and can be opened."""
    script = Script(
        [calling(call("fetch", name="a.txt")), saying({"path": "a.txt"})], dialect=dialect
    )
    file = WAYS[way](File, "p", model=script, tools=[fetch], workspace=workspace).value

    assert file == File("a.txt", media_type="text/plain")
    assert file.read_text() == "content of a.txt"
    (result,) = told(script)
    assert json.loads(result.text) == {"path": "a.txt", "media_type": "text/plain"}


@every_way
def test_files_stand_in_fields_and_arguments(way: str, workspace: Workspace) -> None:
    """As deep as types go."""
    script = Script(
        [
            calling(call("fetch_all", names=["a.txt", "b.txt"]), call("fetch", name="c.txt")),
            calling(call("size", file={"path": "b.txt"}), call("size", file={"path": "./c.txt"})),
            saying(
                {"title": "T", "source": {"path": "b.txt"}, "more": [{"path": "c.txt"}]},
            ),
        ]
    )
    tools = [fetch, fetch_all, size]
    report = WAYS[way](Report, "p", model=script, tools=tools, workspace=workspace).value

    assert [each.text for each in told(script)] == ["16", "16"]
    assert report.source.read_text() == "content of b.txt"
    assert report.more[0]["media_type"] == "text/plain"
    assert "content of" not in str([request.messages for request in script.heard])


@every_way
def test_a_made_up_path_is_refused_and_can_be_corrected(way: str, workspace: Workspace) -> None:
    """As an argument and in the answer; the model is told which handles there are."""
    (workspace.root / "secret.txt").write_text("SECRET")
    wrong = {"title": "T", "source": {"path": "secret.txt"}}
    right = {"title": "T", "source": {"path": "a.txt"}}
    script = Script(
        [
            calling(call("size", file={"path": "secret.txt"})),
            calling(call("fetch", name="a.txt")),
            saying(wrong),
            saying(right),
        ]
    )
    given = {"tools": [fetch, size], "workspace": workspace, "repair": 1}
    report = WAYS[way](Report, "p", model=script, **given).value

    assert report.source == File("a.txt", media_type="text/plain")
    (refused,) = told(script, 1)
    assert refused.failed
    assert "no tool returned the file 'secret.txt'; no tool has returned a file yet" in refused.text
    corrected = script.heard[3].messages[-1].text or ""
    assert "no tool returned the file 'secret.txt'; known: 'a.txt'" in corrected

    with pytest.raises(MismatchedAnswerError, match="known: 'a.txt'"):
        ask(
            Report,
            "p",
            model=Script([calling(call("fetch", name="a.txt")), saying(wrong)]),
            **{**given, "repair": 0},
        )


def test_handles_of_another_ask_are_not_known(workspace: Workspace) -> None:
    """Each ask knows its own, unless the caller hands them on."""
    asked = ask.using(tools=[fetch, size], workspace=workspace)
    file = asked(File, "p", model=Script([calling(call("fetch", name="a")), saying({"path": "a"})]))

    script = Script([calling(call("size", file={"path": "a"})), DONE])
    asked(str, "p", model=script)
    assert told(script)[0].failed

    script = Script([calling(call("size", file={"path": "a"})), DONE])
    asked(str, "p", model=script, context={"input": {"deep": [file]}})
    assert told(script)[0].text == "12"
    assert json.loads(json.dumps(script.heard[0].context[0][1])) == {"deep": [file.to_dict()]}


@pytest.mark.parametrize("how", ["attach", "context"])
def test_the_caller_brings_handles(how: str, workspace: Workspace) -> None:
    """What is attached or shown may be named, in arguments and in the answer."""
    file = workspace.write_text("a.txt", "hello")
    given: dict[str, Any] = {"attach": [file]} if how == "attach" else {"context": {"a": file}}
    script = Script([calling(call("size", file={"path": "a.txt"})), saying({"path": "a.txt"})])
    answer = ask(File, "p", model=script, tools=[size], workspace=workspace, **given)

    assert (answer, told(script)[0].text) == (file, "5")
    assert [each.name for each in script.heard[0].attachments] == ["a.txt"][: how == "attach"]
    assert ("hello" in script.heard[0].user_text()) is (how == "attach")


def test_a_file_of_another_folder_is_attached_and_no_handle(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its content is sent on purpose; tools cannot reach it."""
    other = Workspace(tmp_path_factory.mktemp("other")).write_text("b.txt", "hello")
    script = Script([calling(call("size", file={"path": "b.txt"})), DONE])
    ask(str, "p", model=script, tools=[size], workspace=workspace, attach=[other])

    assert "hello" in script.heard[0].user_text()
    assert told(script)[0].failed
    with pytest.raises(FileAccessError):
        ask(str, "p", model=Script([]), tools=[size], workspace=workspace, context={"b": other})


def test_attachments_are_read_before_any_request(tmp_path: Path) -> None:
    """Whatever cannot be sent is told then."""
    script = Script([DONE])
    for item, words in [
        ("file:///etc/hostname", "file://"),
        (tmp_path, "directory"),
        (tmp_path / "gone.png", "gone.png"),
    ]:
        with pytest.raises(FileAccessError, match=words):
            ask(str, "p", model=script, attach=[item])

    assert script.heard == []
    ask(str, "p", model=script, attach=[attachment(b"hi", name="C:\\Users\\me\\a.txt")])
    assert [each.name for each in script.heard[0].attachments] == ["a.txt"]


@pytest.mark.parametrize("t", [File, list[File], Report, File | None, Annotated[File, "x"]])
def test_files_are_asked_for_only_where_there_can_be_any(t: Any, workspace: Workspace) -> None:
    """A tool returns them, or the caller brings them."""
    with pytest.raises(UnsupportedTypeError, match="let a tool write the file"):
        ask(t, "p", model=Script([]), tools=[size], workspace=workspace)


def test_prose_and_tools_go_together() -> None:
    """The end of the conversation is text."""
    script = Script([calling(call("saying", value=1)), "It is one."])

    assert ask(Text, "p", model=script, tools=[saying_one]) == "It is one."


@tool(name="saying")
def saying_one(value: int) -> str:
    return str(value)


# Where a large file goes: into the workspace, and nowhere else


def test_a_file_of_a_tool_is_in_the_workspace_and_nowhere_else(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in requests, answers, events, errors or logs."""
    heard: list[Any] = []

    def produce(context: Context) -> File:
        return context.workspace.write_bytes("big.bin", b"SECRET" * 1000)

    def fail(file: File) -> None:
        file.read_bytes()
        raise ValueError(f"{file!r} is odd")

    script = Script(
        [calling("produce"), calling(call("fail", file={"path": "big.bin"})), saying({"path": "x"})]
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(MismatchedAnswerError) as caught:
        ask(
            File,
            "p",
            model=script,
            tools=[produce, fail],
            workspace=workspace,
            on_event=heard.append,
        )

    told_of = [script.heard, heard, caught.value.transcript, str(caught.value), caplog.text]
    assert "big.bin" in str(told_of)
    assert "SECRET" not in str(told_of)


def test_an_answer_tells_of_all_its_turns() -> None:
    """And counts no call of a tool as a repair."""
    script = Script([calling(call("saying", value=1)), DONE])
    answer: Answer[str] = ask.answer(str, "p", model=script, tools=[saying_one])

    assert (answer.repairs, len(answer.turns), answer.attempts) == (0, 2, 2)
    assert "repairs" not in repr(answer)


def test_a_function_is_offered_as_it_is() -> None:
    """Plain functions, methods and tools alike; each once."""

    class Shop:
        def price(self, item: str) -> int:
            return len(item)

        @tool
        async def order(self, item: str) -> str:
            return item

    shop = Shop()
    offered: list[Callable[..., Any]] = [shop.price, shop.order, len_of]
    script = Script(
        [calling(call("price", item="tea"), call("order", item="tea"), call("len_of", s="x")), DONE]
    )
    ask(str, "p", model=script, tools=offered)

    assert [each.text for each in told(script)] == ["3", "tea", "1"]


def len_of(s: str) -> int:
    return len(s)
