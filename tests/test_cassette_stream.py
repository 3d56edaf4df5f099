"""Streams and recordings: a row does not tell how its answer came."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from cassette_kit import Bomb
from test_stream import COLOURS, Torn, down
from turns import DONE, call, calling

from ingot import Cassette, ProviderUnavailableError, Response, Retry, Text, ask
from ingot.cassette.errors import CassetteError, CassetteMissError
from ingot.provider import Provider, Request
from ingot.testing import Script

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is not there yet; no setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)
    return tmp_path / "a.json"


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return found


def streamed(t: Any, model: Any, **given: Any) -> tuple[list[Any], Any]:
    """What is shown, and the value."""
    with ask.stream(t, "p", model=model, **given) as s:
        return [copy.deepcopy(each) for each in s], s.value


def astreamed(t: Any, model: Any, **given: Any) -> tuple[list[Any], Any]:
    """The same, async."""

    async def listen() -> tuple[list[Any], Any]:
        async with ask.aio.stream(t, "p", model=model, **given) as s:
            return [copy.deepcopy(each) async for each in s], s.value

    return asyncio.run(listen())


both = pytest.mark.parametrize("way", [streamed, astreamed])


class Dialect(Torn):
    """One that is spoken to in the dialect of a vendor."""

    dialect = "openai"


@both
def test_streamed_and_whole_asks_write_the_same_rows(path: Path, way: Any) -> None:
    """Byte for byte, and what is shown is shown while it is recorded."""
    with Cassette(path, "record"):
        seen, _ = way(list[str], Torn(COLOURS))
    other = path.with_name("b.json")
    with Cassette(other, "record"):
        ask(list[str], "p", model=Script([COLOURS]))
    one, two = ([{**row, "site": "", "model": ""} for row in rows(each)] for each in (path, other))
    for row in (one[0], two[0]):
        row["key"] = row["answers"][0]["served"] = ""
        row["answers"][0].pop("usage", None)

    assert len(seen) > 3
    assert one == two


@both
def test_they_play_each_others_recordings(path: Path, way: Any) -> None:
    """Streaming or not is no part of the key."""
    with Cassette(path, "record"):
        way(list[str], Torn(COLOURS))
    with Cassette(path, unused="fail"):
        assert ask(list[str], "p", model=Named()) == ["red", "green", "blue"]
    path.unlink()
    with Cassette(path, "record"):
        ask(list[str], "p", model=Whole())
    with Cassette(path, unused="fail"):
        assert way(list[str], Named())[1] == ["red", "green", "blue"]


class Named(Bomb):
    """Has the name of the others, and must not be asked."""

    name = "torn"
    default_model = "default"


class Whole(Provider):
    name = "torn"

    def send(self, request: Request) -> Response:
        return Response(text=COLOURS, stop_reason="stop", model="m")


PIECES = {
    "whole": ["Tell it  in\nwords."],
    "words": ["Tell", " it", "  in", "\nwords."],
    "recorded": ["Tel", "l i", "t  ", "in\n", "wor", "ds."],
}


@both
@pytest.mark.parametrize("stream", PIECES)
def test_a_recording_is_played_in_pieces(path: Path, way: Any, stream: Any) -> None:
    """Whole, by words, or as it came; together they are the text."""
    with Cassette(path, "record", stream="recorded"):
        way(Text, Torn("Tell it  in\nwords."))
    with Cassette(path, stream=stream):
        seen, value = way(Text, Named())

    assert (seen, value) == (PIECES[stream], "Tell it  in\nwords.")


@both
def test_sizes_are_written_only_where_they_are_wanted(path: Path, way: Any) -> None:
    """They make a file long, and few tests need them."""
    with Cassette(path, "record"):
        way(Text, Torn("one two"))
    [plain] = rows(path)[0]["answers"]
    path.unlink()
    with Cassette(path, "record", stream="recorded"):
        way(Text, Torn("one two"))
    [sized] = rows(path)[0]["answers"]

    assert sized == {**plain, "cuts": "3 3 1"}


@both
def test_a_value_is_cut_where_it_was(path: Path, way: Any) -> None:
    """Though the model wrote it with other white space."""
    with Cassette(path, "record", stream="recorded"):
        live, _ = way(list[str], Torn(['{\n  "value" : [ "red",\n"gre', 'en" ]\n}']))
    with Cassette(path, stream="recorded"):
        played, _ = way(list[str], Named())

    assert played == live
    assert ["red", "gre"] in played


def test_sizes_do_not_make_answers_different(path: Path) -> None:
    """Two equal answers in other pieces stand in the file as one."""
    with Cassette(path, "record", stream="recorded"):
        streamed(Text, Torn(["ab", "cd"]))
        streamed(Text, Torn(["abcd"]))
    [answer] = rows(path)[0]["answers"]

    assert answer["times"] == 2


def test_a_recording_without_sizes_is_played_whole(path: Path) -> None:
    """An ask that came whole has none."""
    with Cassette(path, "record"):
        ask(list[str], "p", model=Whole())
    with Cassette(path, stream="recorded"):
        seen, _ = streamed(list[str], Named())

    assert seen == [["red", "green", "blue"]]


@both
def test_elements_are_played(path: Path, way: Any) -> None:
    """From a recording as from a model."""
    with Cassette(path, "record"):
        way(list[str], Torn(COLOURS))
    with Cassette(path, stream="words"):
        with ask.stream(list[str], "p", model=Named()) as s:
            assert list(s.items()) == ["red", "green", "blue"]


# What is not an answer


@both
def test_an_answer_that_nobody_waited_for_is_not_recorded(path: Path, way: Any) -> None:
    """Half of it is none."""

    async def leave() -> None:
        async with ask.aio.stream(list[str], "p", model=Torn(COLOURS)) as s:
            await anext(s)

    with pytest.warns(UserWarning, match="left before its end"), Cassette(path, "record") as made:
        if way is astreamed:
            asyncio.run(leave())
        else:
            with ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
                next(s)

    assert not path.exists()
    assert "1 left before the end" in repr(made)


def test_a_program_is_told_at_its_end_of_what_was_left(tmp_path: Path) -> None:
    """Where no block of a cassette ends before."""
    code = """
        from ingot import Text, ask
        from ingot.testing import Script

        asked = ask.using(model=Script(["one two"], stream="words"), cassette="a.json")
        with asked.stream(Text, "p") as s:
            next(s)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env={**os.environ, "INGOT_CASSETTE_MODE": "record"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "UserWarning: <string>:<module>: an answer was left before its end" in done.stderr


def test_an_answer_that_was_whole_is_not_left(path: Path) -> None:
    """It is recorded, though nobody took its value."""
    with Cassette(path, "record") as made, ask.stream(list[str], "p", model=Torn(COLOURS)) as s:
        assert list(s)

    assert repr(made) == "<Cassette a.json: record; 0 replayed, 1 recorded, 0 missed, 0 drifted>"


@both
def test_a_stream_that_fails_is_recorded_as_its_error(path: Path, way: Any) -> None:
    """It is raised again, with nothing shown before it: what was half said is not kept."""
    with Cassette(path, "record"), pytest.raises(ProviderUnavailableError):
        way(list[str], Torn(['{"value": ["red"', down()]))
    with Cassette(path, stream="words"):
        with ask.stream(list[str], "p", model=Named()) as s:
            seen: list[Any] = []
            with pytest.raises(ProviderUnavailableError, match="pieces of the reply were handed"):
                seen += s

    assert seen == []


@both
def test_what_failed_before_is_told_of_again(path: Path, way: Any) -> None:
    """A request that was sent again, as of a whole ask."""
    with Cassette(path, "record"):
        way(list[str], Torn([down()], COLOURS), retry=Retry(ceiling=0))
    told: list[Any] = []
    with Cassette(path):
        way(list[str], Named(), on_event=told.append)

    assert "RetryScheduled" in [type(event).__name__ for event in told]


@both
def test_what_is_not_recorded_is_a_miss(path: Path, way: Any) -> None:
    """Raised where it is listened to."""
    with pytest.raises(CassetteMissError, match="left before its end"), Cassette(path):
        way(list[str], Named())


# Modes and turns


@both
@pytest.mark.parametrize("model", [Torn, Dialect])
def test_refresh_streams_anew(path: Path, way: Any, model: type[Torn]) -> None:
    """In whatever dialect the provider speaks."""
    with Cassette(path, "record"):
        way(list[str], model('{"value": ["old"]}'))
    with Cassette(path, "refresh"):
        seen, _ = way(list[str], model(COLOURS))

    assert len(seen) > 3
    assert rows(path)[0]["answers"][0]["value"] == ["red", "green", "blue"]


@both
def test_verify_compares_what_streams(path: Path, way: Any) -> None:
    """Equal answers pass in whatever pieces they come."""
    with Cassette(path, "record", stream="recorded"):
        way(list[str], Torn(COLOURS))
    with Cassette(path, "verify"):
        way(list[str], Torn([COLOURS[:5], COLOURS[5:]]))
    with pytest.raises(CassetteError, match="differs from the recording"):
        with Cassette(path, "verify"):
            way(list[str], Torn('{"value": ["grey"]}'))


PEN = call("price", item="pen")


def price(item: str) -> int:
    """The price of an item."""
    return len(item)


@both
def test_turns_with_tools_are_recorded_and_played(path: Path, way: Any) -> None:
    """Each is a row, and tools are not run again."""
    with Cassette(path, "record"):
        live = way(str, Script([calling(PEN), DONE], stream=[3] * 9), tools=[price])
    with Cassette(path, unused="fail", stream="words"):
        played = way(str, "script/script", tools=[price])

    assert live[1] == played[1] == "done"
    assert sorted(row["kind"] for row in rows(path)) == ["ask", "ask", "tool"]


def test_a_turn_in_another_dialect_is_shown_once_it_is_whole(path: Path) -> None:
    """The first turn is played as one provider wrote it; the next comes from one of another."""
    down_then = [calling(PEN), down()]
    with Cassette(path, "record"), pytest.raises(ProviderUnavailableError):
        streamed(dict[str, int], Script(down_then), tools=[price], retry=0)
    file = json.loads(path.read_text())
    file["rows"] = [row for row in file["rows"] if "messages" not in row]
    path.write_text(json.dumps(file))
    pairs = '{"value": [{"key": "a", "value": 1}]}'  # the form of a map in the other dialect
    model = Script([pairs], dialect="openai", stream=[4] * 20)
    with Cassette(path, "record"):
        seen, value = streamed(dict[str, int], model, tools=[price])

    assert (seen, value) == ([{"a": 1}], {"a": 1})
