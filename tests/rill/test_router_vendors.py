"""Routers among vendors' real SDKs, against a real server on this machine."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Heard, Loopback, Reply
from router_kit import router
from test_providers_loopback import APIS, KEY, PATHS, body, refused
from test_providers_tools import call, calling, sent_turns

from ingot import Cassette, ask
from ingot._shape.shape import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAIRS = list(itertools.permutations(APIS, 2))

Counts = dict[str, int]


@pytest.fixture(autouse=True)
def recording_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the tests run in CI."""
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def models(first: str, second: str, server: Loopback) -> list[Any]:
    return [APIS[api](base_url=server.url, api_key=KEY) for api in (first, second)]


def answering(first: str, second: str, dialect: str, *replies: Any) -> Callable[[Heard], Reply]:
    """A server where *first* gives *replies*, then is overloaded, and *second* answers."""
    left = list(replies)

    def reply(heard: Heard) -> Reply:
        if heard.path == PATHS[first]:
            return Reply(left.pop(0)) if left else refused(first, 503, "overloaded")
        text = shape_of(Counts, dialect).encode({"pens": 2})
        return Reply(body(second, text))

    return reply


@pytest.mark.parametrize("way", ["blocking", "awaiting"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_one_vendor_stands_in_for_another(
    first: str, second: str, way: str, server: Loopback, tmp_path: Path
) -> None:
    """Within one ask, in its own dialect; what is recorded plays without either."""
    one, other = models(first, second, server)
    asked, told = router([one, other])

    def answer() -> Any:
        if way == "blocking":
            return ask.answer(Counts, "Count.", model=asked)
        return asyncio.run(awaited())

    async def awaited() -> Any:
        return await ask.aio.answer(Counts, "Count.", model=asked)

    with (
        server.play(answering(first, second, other.dialect)),
        Cassette(tmp_path / "c.json", "record"),
    ):
        live = answer()
    with Cassette(tmp_path / "c.json", "replay"):
        played = answer()

    assert live.value == played.value == {"pens": 2}
    assert live.model == played.model == f"{APIS[second].name}/m"
    assert [arm for arm, _ in told.lessons] == [0, 1]
    assert [heard.path for heard in server.heard] == [PATHS[first], PATHS[second]]
    assert KEY not in (tmp_path / "c.json").read_text()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_one_vendor_goes_on_where_another_ended(first: str, second: str, server: Loopback) -> None:
    """It is told of the calls and their results in its own form, without the other's thoughts."""

    def look_up(id: int) -> str:
        """Look up."""
        return f"row {id}"

    one, other = models(first, second, server)
    asked, told = router([one, other])
    calls = calling(first, call("a1", '{"id": 7}'))
    with server.play(answering(first, second, other.dialect, calls)):
        answer = ask.answer(Counts, "Count.", model=asked, tools=[look_up])

    assert answer.value == {"pens": 2}
    assert [arm for arm, _ in told.lessons] == [0, 1]
    *_, last = server.heard
    turns = json.dumps(sent_turns(last))
    assert "row 7" in turns
    assert "a1" in turns
    assert "look_up" in turns
    assert "thinking" not in turns
    assert "encrypted_content" not in turns
