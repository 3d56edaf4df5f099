"""Faults of neighbouring libraries with tools and files: each ends as it should, end to end."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Heard, Loopback, Reply
from test_cases import CASES, CLASSES
from test_providers_loopback import APIS, KEY

from ingot import Context, FileAccessError, Workspace, ask, attachment, errors
from ingot.testing import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingot.provider import SDKProvider


def load(group: str) -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    rows = map(json.loads, CASES.read_text().strip().split("\n"))
    return [row for row in rows if row["group"] == group]


needs_cases = pytest.mark.skipif(
    not CASES.is_file(), reason="the cases of shared/ are not beside this checkout"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def model_of(api: str, server: Loopback) -> SDKProvider:
    return APIS[api](base_url=server.url, api_key=KEY)


# G: tools


UNOFFERED = {"G16": "UnexpectedToolCallError"}
"""Cases of an answer that travels as a call of a hidden tool, which is none of our ways."""


def declared(row: dict[str, Any]) -> dict[str, Any]:
    """The names that the case declares."""
    module = types.ModuleType("case_" + row["id"])
    sys.modules[module.__name__] = module
    for source in (row["setup"], row.get("tools", "")):
        exec(compile(source, row["id"], "exec", dont_inherit=True), vars(module))  # noqa: S102
    return vars(module)


def results_in(heard: Heard) -> dict[str, str]:
    """The results of calls that a request of Chat Completions brings, by their ids."""
    turns = heard.json["messages"]
    return {turn["tool_call_id"]: turn["content"] for turn in turns if turn["role"] == "tool"}


@needs_cases
@pytest.mark.parametrize("way", ["blocking", "awaiting"])
@pytest.mark.parametrize("row", load("G"), ids=lambda row: row["id"])
def test_a_conversation_ends_as_it_should(row: dict[str, Any], way: str, server: Loopback) -> None:
    """The value or the error of the case; tools have run, and were told, as it says."""
    expect, names = row["expect"], declared(row)
    tools = [
        value
        for value in names.values()
        if isinstance(value, types.FunctionType) and value.__module__ == f"case_{row['id']}"
    ]
    given: dict[str, Any] = {"model": model_of(row["api"], server), "tools": tools}
    t = eval(row["type"], names)  # noqa: S307
    wanted = UNOFFERED.get(row["id"]) or expect.get("error")
    with server.play([Reply(turn) for turn in row["turns"]]):
        if wanted:
            with pytest.raises(CLASSES[wanted]):
                asked(way, t, given)
        else:
            assert asked(way, t, given) == expect["value"]
    check(expect, names, server.heard)
    if "request_check" in row:
        assert "oneOf" not in json.dumps([heard.json["tools"] for heard in server.heard])
    if wanted == "ToolLoopError":
        assert len(server.heard) == 16
    if row["id"] in UNOFFERED:
        assert len(server.heard) == 1


def asked(way: str, t: Any, given: dict[str, Any]) -> Any:
    if way == "blocking":
        return ask(t, "p", **given)

    async def main() -> Any:
        return await ask.aio(t, "p", **given)

    return asyncio.run(main())


def check(expect: dict[str, Any], names: dict[str, Any], heard: list[Heard]) -> None:
    """See that tools have run, and were told, as the case says."""
    told = results_in(heard[-1]) if "messages" in heard[-1].json else {}
    assert {its_id: told.get(its_id) for its_id in expect.get("tool_results", {})} == expect.get(
        "tool_results", {}
    )
    assert [
        i for i in expect.get("tool_result_is_error", ()) if not told[i].startswith("Error: ")
    ] == []
    for its_id, words in expect.get("tool_result_contains", {}).items():
        assert words in told[its_id]
    if "ran" in expect:
        assert len(names["RAN"]) == expect["ran"]
    if "got" in expect:
        assert json.loads(json.dumps(names["GOT"])) == expect["got"]
    assert expect.get("second_request_contains", "") in heard[-1].body.decode()


# F: files


def untrusted_url(tmp_path: Path, server: Loopback) -> None:
    script = Script([])
    with pytest.raises(FileAccessError, match="file://"):
        ask(str, "p", model=script, attach=["file:///etc/hostname"])  # type: ignore[list-item]
    assert script.heard == []


def traversal(tmp_path: Path, server: Loopback) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "ok.txt").write_text("ok")
    (tmp_path / "secret.txt").write_text("SECRET")
    (data / "link").symlink_to("../secret.txt")

    def read(path: str, context: Context) -> str:
        return context.workspace.read_text(path)

    def calls(heard: Heard) -> Reply:
        paths = ["data/../secret.txt", "../secret.txt", "/etc/hostname", "link", "ok.txt"]
        made = [
            {
                "id": path,
                "type": "function",
                "function": {"name": "read", "arguments": json.dumps({"path": path})},
            }
            for path in paths
        ]
        first = len(heard.json["messages"]) < 3
        message = {"role": "assistant", "content": None if first else '{"value": "done"}'}
        message |= {"tool_calls": made} if first else {}
        choice = {"index": 0, "finish_reason": "tool_calls" if first else "stop"}
        whole = {"id": "c", "object": "chat.completion", "model": "m"}
        return Reply({**whole, "choices": [{**choice, "message": message}]})

    with server.play(calls):
        model = model_of("openai.chat", server)
        ask(str, "p", model=model, tools=[read], workspace=Workspace(data))

    told = results_in(server.heard[-1])
    assert told.pop("ok.txt") == "ok"
    assert len(told) == 4
    assert [text for text in told.values() if not text.startswith("Error: FileAccessError")] == []
    assert b"SECRET" not in server.heard[-1].body


def empty_type(tmp_path: Path, server: Loopback) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"")
    with pytest.raises(FileAccessError, match="clip.mp4"):
        ask(str, "p", model=Script([]), attach=[clip])


def directory(tmp_path: Path, server: Loopback) -> None:
    script = Script([])
    with pytest.raises(FileAccessError, match="directory"):
        ask(str, "p", model=script, attach=[tmp_path])
    assert script.heard == []


def bytes_in_logs(tmp_path: Path, server: Loopback) -> None:
    (row,) = [row for row in load("F") if row["id"] == "F12"]
    content = bytes.fromhex(row["files"]["p.png"]["hex"])
    (tmp_path / "p.png").write_bytes(content)
    payload = base64.b64encode(content).decode()
    records: list[str] = []
    keeper = logging.Handler()
    keeper.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(keeper)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        for api in APIS:
            said = json.dumps(row["http"][0]["body"]).replace("{payload}", payload)
            with server.play([Reply(said, status=400)]):
                with pytest.raises(errors.ProviderError) as caught:
                    ask(str, "p", model=model_of(api, server), attach=[tmp_path / "p.png"])
            shown = "".join(traceback.format_exception(caught.value))
            texts = [str(caught.value), repr(caught.value), shown, *records]
            runs = {payload[at : at + 40] for at in range(len(payload) - 40)}
            assert [run for run in runs if any(run in text for text in texts)] == []
            assert len(str(caught.value)) < 2000
    finally:
        logging.getLogger().removeHandler(keeper)
        logging.getLogger().setLevel(before)
    assert records


def windows_name(tmp_path: Path, server: Loopback) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    reply = {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"value": "done"}'},
            }
        ],
    }
    with server.play([Reply(reply)]):
        model = model_of("openai.chat", server)
        for content in (png, b"text"):
            name = "C:\\Users\\me\\a.png" if content is png else "C:\\Users\\me\\a.txt"
            ask(str, "p", model=model, attach=[attachment(content, name=name)])
    assert [b"Users" in heard.body for heard in server.heard] == [False, False]
    assert b"a.txt" in server.heard[1].body


FILES: dict[str, Callable[[Path, Loopback], None]] = {
    "F02": untrusted_url,
    "F03": traversal,
    "F07": empty_type,
    "F10": directory,
    "F12": bytes_in_logs,
    "F14": windows_name,
}


@needs_cases
@pytest.mark.parametrize("its_id", FILES)
def test_a_file_is_handled_as_it_should(its_id: str, tmp_path: Path, server: Loopback) -> None:
    """Nothing outside is read, nothing is sent unsaid, and content is shown nowhere."""
    FILES[its_id](tmp_path, server)


@needs_cases
def test_each_case_of_files_is_played() -> None:
    """The table has all there are."""
    assert {row["id"] for row in load("F")} == set(FILES)
