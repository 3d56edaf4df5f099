"""The acceptance checks of recordings for streams and runs: one way to ask is like another."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from cassette_kit import Bomb, Echo, child
from pydantic import Field
from test_cassette_acceptance import PROMPTS, SEED, eight, shuffled
from test_cassette_acting import COUNTS, IMAGE, exchange, find, image, other
from test_cassette_drift import BASE, KIND, ONE, answer, label, provider_of
from ways import EVERY, values

from ingot import Cassette, MapError, Retry, Text, ask
from ingot.cassette.errors import CassetteMissError
from ingot.cassette.store import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

every_way = pytest.mark.parametrize("way", EVERY)
many_at_once = pytest.mark.parametrize("way", [way for way in EVERY if way != "whole"])


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


def without_sites(path: Path) -> str:
    """The file, but for the places in the program."""
    return re.sub(r'"site": ".*"', "", path.read_text())


# Check 1: what counts and what does not

WHOLE: dict[str, Any] = {**BASE, "tools": [find, other], "attach": [image(IMAGE)]}
"""A question with everything that there is in one."""

MUTATIONS: dict[str, dict[str, Any]] = {
    **{name: parts for name, (parts, _, _) in ONE.items()},
    **{name: make() for name, (make, _) in COUNTS.items()},
    "another type of a field": {"t": label(KIND, str)},
    "a description": {"t": label(KIND, Annotated[int, Field(description="How soon.")])},
    "a default": {"t": label(KIND, Annotated[int, Field(default=3)])},
    "a byte of a file": {"attach": [image(b"\x88" + IMAGE[1:])]},
}

SAME: dict[str, dict[str, Any]] = {
    "nothing": {},
    "timeout": {"timeout": 3},
    "retries": {"retry": Retry(attempts=5)},
    "repairs": {"repair": 2},
    "address": {"base_url": "http://127.0.0.1:1"},
    "key": {"api_key": "another"},
    "listener": {"on_event": lambda _: None},
}


def put(way: str, provider: Any, **parts: Any) -> Any:
    """Ask what *WHOLE* and *parts* say, in that way."""
    given = {name: part for name, part in {**WHOLE, **parts}.items() if part is not None}
    with provider_of(provider):
        [value] = values(way, given.pop("t"), [given.pop("prompt")], **given)
    return value


class Seeing(Echo):
    """Takes images."""

    media_types = frozenset({"image/png", "image/gif"})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The question, asked whole."""
    path = tmp_path_factory.mktemp("whole") / "a.json"
    with Cassette(path, "record", in_ci=True):
        put("whole", Seeing(answer))
    return path


@every_way
def test_every_way_records_the_same(recorded: Path, path: Path, way: str) -> None:
    """To the byte."""
    with Cassette(path, "record"):
        put(way, Seeing(answer))

    assert without_sites(path) == without_sites(recorded)


@every_way
@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count_is_played(recorded: Path, way: str, name: str) -> None:
    """However it was asked when it was recorded."""
    with Cassette(recorded, unused="fail"):
        assert put(way, Bomb(), **SAME[name]).urgency == 1


@every_way
@pytest.mark.parametrize("name", MUTATIONS)
def test_what_counts_is_missed(recorded: Path, way: str, name: str) -> None:
    """With the report of what changed; of a run, as the reason why it stopped."""
    with pytest.raises((CassetteMissError, MapError)) as caught, Cassette(recorded):
        put(way, Bomb(), **MUTATIONS[name])
    error = caught.value.error if isinstance(caught.value, MapError) else caught.value

    assert isinstance(error, CassetteMissError)
    assert "unchanged: " in str(error)
    assert not hasattr(caught.value, "__notes__"), "it is told once"


# Check 2: many questions at once


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An answer to each of two hundred prompts."""
    path = tmp_path_factory.mktemp("many") / "a.json"
    with Cassette(path, "record", in_ci=True):
        values("whole", str, PROMPTS, model=Echo())
    return path


@many_at_once
@pytest.mark.parametrize("count", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_every_prompt_gets_its_own_answer(many: Path, way: str, count: int) -> None:
    """The order of prompts, threads and tasks decides nothing."""
    rng = random.Random(SEED)
    for _ in range(count):
        prompts = shuffled(rng)
        with Cassette(many, unused="fail", stream="words"):
            assert values(way, str, prompts, model=Bomb()) == prompts


@many_at_once
def test_every_prompt_is_recorded_once(path: Path, way: str) -> None:
    """Though many are recorded at once, in any order."""
    provider = Echo()
    prompts = shuffled(random.Random(SEED))[:50]
    with Cassette(path, "record"):
        values(way, str, prompts, model=provider)

    assert sorted(request.prompt for request in provider.heard) == sorted(prompts)
    assert sorted(row.data["prompt"][0] for row in load(path)) == sorted(prompts)


# Check 3: the same question again


def side_by_side() -> list[str]:
    """Eight streams, a piece of each in turn."""
    with ExitStack() as stack:
        asked = [ask.stream(Text, "Say something.", model=Bomb()) for _ in range(8)]
        for s in reversed(asked):
            stack.enter_context(s)
        return ["".join(pieces) for pieces in zip(*zip(*asked, strict=True), strict=True)]


def later() -> list[str]:
    """Eight streams that are listened to in tasks, in another order than they were asked."""

    async def listen(s: Any) -> str:
        async with s:
            return "".join([piece async for piece in s])

    async def main() -> list[str]:
        asked = [ask.aio.stream(Text, "Say something.", model=Bomb()) for _ in range(8)]
        order = random.sample(range(8), 8)
        said = await asyncio.gather(*(listen(asked[n]) for n in order))
        return [text for _, text in sorted(zip(order, said, strict=True))]

    return asyncio.run(main())


def mapped() -> list[str]:
    return values("mapped", Text, ["Say something."] * 8, model=Bomb(), concurrency=8)


def mapped_in_a_loop() -> list[str]:
    return values("mapped in a loop", Text, ["Say something."] * 8, model=Bomb(), concurrency=8)


@pytest.mark.parametrize("way", [side_by_side, later, mapped, mapped_in_a_loop])
@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_equal_questions_are_numbered_in_their_order(
    path: Path, way: Callable[[], list[str]], count: int
) -> None:
    """Eight different answers come in one order, whichever is listened to first."""
    answers = eight(path)
    for _ in range(count):
        with Cassette(path, unused="fail", stream="words"):
            assert way() == answers


class Hurried(Echo):
    """Answers with a number of its own, the later ones sooner."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    async def asend(self, request: Any) -> Any:
        number = len(self.heard)
        self.heard.append(request)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        return Echo(lambda _: f"answer {number}").send(request)


@pytest.mark.parametrize("way", ["mapped", "mapped in a loop"])
def test_equal_prompts_of_a_run_are_recorded_in_their_order(path: Path, way: str) -> None:
    """Not in that of their answers."""
    prompts = ["Say something."] * 8
    with Cassette(path, "record"):
        live = values(way, Text, prompts, model=Hurried(), concurrency=8)
    with Cassette(path, unused="fail"):
        assert values("whole", Text, prompts, model=Bomb()) == live

    assert live == [f"answer {n}" for n in range(8)]


# Check 6: a recording that is killed

REST = (1, 2, 3, 4, 5, 7, 9, 10, 11, 12)
PIECES = 4
"""Of an answer that repeats a question below, by three letters."""

LISTENER = """
    import os, signal, sys
    from cassette_kit import Echo
    from ingot import Cassette, Text, ask
    path, left = sys.argv[1], int(sys.argv[2])
    with Cassette(path, "record"):
        for n in range(3):
            with ask.stream(Text, f"Question {n}?", model=Echo()) as s:
                for piece in s:
                    left -= 1
                    if not left:
                        os.kill(os.getpid(), signal.SIGKILL)
            print(s.value, flush=True)
"""


@pytest.mark.parametrize("kill", [6, 8, *(pytest.param(n, marks=pytest.mark.slow) for n in REST)])
def test_a_streamed_answer_is_kept_from_its_end_on(path: Path, kill: int) -> None:
    """Killed in the midst of a stream: what ended before is there, the rest is paid for anew."""
    process = child(LISTENER, path, kill)
    said, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    provider = Echo()
    prompts = [f"Question {n}?" for n in range(3)]
    with Cassette(path, "record"):
        assert values("whole", Text, prompts, model=provider) == prompts

    assert said.splitlines() == prompts[: (kill - 1) // PIECES]
    assert [request.prompt for request in provider.heard] == prompts[len(said.splitlines()) :]


# Check 15: a whole exchange


def program(path: Path, folder: Path, *, bombs: bool = False, **given: Any) -> list[Any]:
    """Ask, listen, run many, and have an agent do everything there is; say what came of it."""
    model = Bomb() if bombs else Echo()
    with Cassette(path, **given):
        number = ask(int, "7", model=Bomb() if bombs else Echo(int))
        with ask.stream(Text, "Tell it  in\nwords.", model=model) as s:
            pieces = list(s)
        told = ask.map(str, ["one", "two"], model=model).list()
        agent = exchange("streaming", folder, bombs=bombs)
    assert "".join(pieces) == s.value
    return [number, s.value, told, agent]


@pytest.mark.parametrize("stream", ["whole", "words", "recorded"])
def test_a_program_is_replayed_whole(path: Path, tmp_path: Path, stream: Any) -> None:
    """Provider, tools and people would explode; pieces make up the value, however they are cut."""
    live = program(path, tmp_path, mode="record", stream=stream)
    before = path.read_bytes()

    assert program(path, tmp_path, bombs=True, unused="fail", stream=stream) == live
    assert path.read_bytes() == before


def test_a_program_is_recorded_twice_alike(path: Path, tmp_path: Path) -> None:
    """To the byte."""
    found = set()
    for _ in range(2):
        path.unlink(missing_ok=True)
        program(path, tmp_path, mode="record")
        found.add(path.read_bytes())

    assert len(found) == 1
