"""Durable runs: what was paid for is on disk, and nobody pays twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from doubles import Double
from pydantic import AfterValidator

from ingot import (
    Cassette,
    Failure,
    File,
    MapError,
    ProviderProtocolError,
    StoreError,
    Text,
    Usage,
    Workspace,
    ask,
)
from ingot._map.store import HELD, Store
from ingot.testing import Script, calls

if TYPE_CHECKING:
    from collections.abc import Iterable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "numbers.sqlite"


def prompts(count: int) -> list[str]:
    return [f"number {n}" for n in range(count)]


def rows(path: Path) -> list[tuple[Any, ...]]:
    """What stands in the store."""
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT key, n, answer, owner FROM answers ORDER BY key, n").fetchall()
    finally:
        db.close()


# What is kept


def test_a_second_run_pays_for_nothing(path: Path) -> None:
    """Nor does one of async code."""
    double = Double()
    first = ask.map(int, prompts(5), model=double, store=path).list()

    async def again() -> list[int]:
        return await ask.aio.map(int, prompts(5), model=double, store=path).list()

    assert first == asyncio.run(again()) == [0, 1, 2, 3, 4]
    assert len(double.heard) == 5


def test_a_run_tells_what_came_from_the_store(path: Path) -> None:
    """It costs nothing again."""
    ask.map(int, prompts(3), model=Double(), store=path).list()

    results = ask.map(int, prompts(4), model=Double(), store=path)
    results.list()

    assert (results.done, results.stored) == (4, 3)
    assert results.usage == Usage(input_tokens=3, output_tokens=2)
    assert repr(results) == "<map: 4 prompts drawn, 4 done, 3 from the store; closed>"


def test_a_longer_run_pays_for_the_rest(path: Path) -> None:
    """An answer is found by what was asked, wherever its prompt stands."""
    double = Double()
    ask.map(int, prompts(3), model=double, store=path).list()

    assert ask.map(int, prompts(6)[::-1], model=double, store=path).list() == [5, 4, 3, 2, 1, 0]
    assert len(double.heard) == 6


def test_equal_prompts_have_an_answer_each(path: Path) -> None:
    """By their number, in the order of the prompts."""
    count = iter(range(10))
    double = Double(lambda _: next(count))
    first = ask.map(int, ["same"] * 4, model=double, concurrency=1, store=path).list()

    assert first == [0, 1, 2, 3]
    assert ask.map(int, ["same"] * 5, model=double, store=path).list() == [0, 1, 2, 3, 4]
    assert [n for _, n, _, _ in rows(path)] == [0, 1, 2, 3, 4]


def test_what_decides_the_answer_decides_which_is_found(path: Path) -> None:
    """Another type, or another setting that the caller chose, is another question."""
    double = Double()

    ask.map(int, prompts(1), model=double, store=path).list()
    ask.map(float, prompts(1), model=double, store=path).list()
    ask.map(int, prompts(1), model=double, store=path, temperature=1).list()
    ask.map(int, prompts(1), model=double, store=path, timeout=3).list()

    assert len(double.heard) == 3


def test_an_answer_is_read_as_its_type_again(path: Path) -> None:
    """In whatever form the provider of the second run would have written it."""
    t = dict[str, tuple[int, Text]]
    value = {"a": (1, Text("x"))}
    for dialect in ("anthropic", "openai"):
        with Script([value] if dialect == "anthropic" else [], dialect=dialect):
            assert ask.map(t, ["p"], store=path).list() == [value]


def test_prose_is_kept_as_it_was_said(path: Path) -> None:
    """Lines and odd characters too."""
    said = 'a\n"b" \ud800 ü'
    with Script([said]):
        assert ask.map(Text, ["p"], store=path).list() == [said]
    with Script([]):
        assert ask.map(Text, ["p"], store=path).list() == [said]


def test_files_that_a_tool_made_are_known_again(path: Path, tmp_path: Path) -> None:
    """A handle that was kept is one of the run."""
    (tmp_path / "a.txt").write_text("content")

    def make() -> File:
        """Make a file."""
        return File("a.txt", size=7)

    asked = ask[list[File]].using(tools=[make], workspace=Workspace(tmp_path))
    with Script([calls(make={}), [{"path": "a.txt"}]]):
        first = asked.map(["p"], store=path).list()
    with Script([]):
        again = asked.map(["p"], store=path).list()

    assert first == again == [[File("a.txt", size=7)]]
    assert "content" not in rows(path)[0][2]


def test_what_its_type_has_learned_to_refuse_is_asked_again(path: Path) -> None:
    """A kept answer that is none any more would fail in every run."""
    least = 0

    def check(value: int) -> int:
        if value < least:
            raise ValueError("too small")
        return value

    count = iter((3, 8))
    asked = ask[Annotated[int, AfterValidator(check)]].using(model=Double(lambda _: next(count)))
    assert asked.map(["p"], store=path).list() == [3]

    least = 5

    assert asked.map(["p"], store=path).list() == [8]
    assert asked.map(["p"], store=path).list() == [8]


def test_failures_are_not_kept(path: Path) -> None:
    """They are asked again, and whoever is first may."""
    failed = [ProviderProtocolError("no")]
    double = Double(lambda _: failed.pop() if failed else 1)
    first = ask.map(int, ["p"], model=double, store=path, on_error="return").list()

    assert isinstance(first[0], Failure)
    assert rows(path) == []
    assert ask.map(int, ["p"], model=double, store=path).list() == [1]


def test_a_secret_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is handed out all the same, and the caller is told."""
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery-0815")
    double = Double(lambda _: "it is correct-horse-battery-0815")
    with pytest.warns(UserWarning, match="is not kept in its store.* MY_API_KEY") as told:
        results = ask.map(str, ["p"], model=double, store=path).list()

    assert results == ["it is correct-horse-battery-0815"]
    assert "horse" not in str(told[0].message)
    assert rows(path) == []
    assert b"horse" not in path.read_bytes()


def test_what_is_asked_is_not_kept(path: Path) -> None:
    """Only its key is; prompts may be anybody's."""
    ask.map(int, ["my diary 1"], model=Double(), store=path, api_key="sk-secret-0123").list()

    assert b"diary" not in path.read_bytes()
    assert b"sk-secret" not in path.read_bytes()


def test_a_recording_answers_and_the_store_keeps(path: Path, tmp_path: Path) -> None:
    """A cassette stands where the provider does."""
    asked = ask[int].using(model=Double())
    with Cassette(tmp_path / "answers.json", "record", in_ci=True):
        asked.map(prompts(2)).list()

    with Cassette(tmp_path / "answers.json", "replay") as cassette:
        assert asked.map(prompts(2), store=path).list() == [0, 1]
        assert asked.map(prompts(2), store=path).list() == [0, 1]
    assert [entry.what for entry in cassette.asked] == ["replayed"] * 2


# Several at once


def test_two_runs_share_the_work(path: Path) -> None:
    """What one has claimed the other waits for."""
    double = Double(seconds=0.01)

    async def both() -> list[list[int]]:
        runs = [
            ask.aio.map(int, prompts(20), model=double, store=path, concurrency=4) for _ in range(2)
        ]
        return await asyncio.gather(*(run.list() for run in runs))

    assert asyncio.run(both()) == [list(range(20))] * 2
    assert sorted(double.heard) == sorted(prompts(20))


async def test_what_another_run_pays_for_holds_back_nothing_else(path: Path) -> None:
    """It takes no worker, and is paid for here if the other gives up."""
    double = Double(seconds=60)
    one = ask.aio.map(int, prompts(1), model=double, store=path)
    waiting = asyncio.ensure_future(anext(one))
    while not double.now:  # noqa: ASYNC110 (the double counts, and tells nobody)
        await asyncio.sleep(0.001)

    given: Any = {"store": path, "concurrency": 1, "ordered": False}
    async with ask.aio.map(int, prompts(5), model=Double(), **given) as two:
        assert [await anext(two) for _ in range(4)] == [1, 2, 3, 4]
        waiting.cancel()
        assert await anext(two) == 0


async def test_a_claim_is_held_until_it_is_let_go(path: Path) -> None:
    """By an answer, by hand, or at the end of the run that has it."""
    one, two = Store(path), Store(path)
    try:
        assert await one.claim("k", 0) is None
        assert await two.claim("k", 0) is HELD
        assert await two.claim("k", 1) is None
        await one.release("k", 0)
        assert await two.claim("k", 0) is None
        await two.keep("k", 0, {"value": 1})
        await one.keep("k", 0, {"value": 2})
        assert await one.claim("k", 0) == {"value": 1}
        await asyncio.to_thread(two.close)
        assert await one.claim("k", 1) is None
    finally:
        await asyncio.to_thread(one.close)


async def test_a_lease_is_renewed_while_the_run_lives(path: Path) -> None:
    """An ask may take longer than its lease."""
    one, two = Store(path, lease=0.2), Store(path)
    try:
        assert await one.claim("k", 0) is None
        await asyncio.sleep(0.5)
        assert await two.claim("k", 0) is HELD
    finally:
        await asyncio.to_thread(one.close)
        await asyncio.to_thread(two.close)


def test_an_expired_lease_is_taken_over(path: Path) -> None:
    """Of another machine, whose processes cannot be looked for."""
    ask.map(int, ["number 7"], model=Double(), store=path).list()
    db = sqlite3.connect(path)
    db.execute(
        "UPDATE answers SET answer = NULL, owner = 'elsewhere:1:x', lease = ?",
        (time.time() + 0.3,),
    )
    db.commit()
    db.close()
    double = Double()

    assert ask.map(int, ["number 7"], model=double, store=path).list() == [7]
    assert len(double.heard) == 1


# Files that are something else


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    """With its name and the way out, and it stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes " * 200)

    with pytest.raises(StoreError, match=r"notes\.txt: it is damaged, or no store.* name another"):
        ask.map(int, prompts(1), model=Double(), store=path)

    assert path.read_text() == "my notes " * 200


def test_a_database_of_something_else_is_told(tmp_path: Path) -> None:
    """Nothing is written into it."""
    path = tmp_path / "shop.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE orders (n)")
    db.close()

    with pytest.raises(StoreError, match="something else"):
        ask.map(int, prompts(1), model=Double(), store=path)


def test_a_store_of_a_later_version_is_told(path: Path) -> None:
    """It is not read by guess."""
    ask.map(int, [], model=Double(), store=path).list()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 9")
    db.close()

    with pytest.raises(StoreError, match="version 9, .* reads version 1; pip install"):
        ask.map(int, prompts(1), model=Double(), store=path)


def test_a_store_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A folder is no file."""
    with pytest.raises(StoreError, match="cannot be"):
        ask.map(int, prompts(1), model=Double(), store=tmp_path)


def test_a_store_that_is_lost_ends_the_run(path: Path) -> None:
    """What cannot be kept must not be paid for, prompt after prompt."""
    double = Double()
    results = ask.map(int, prompts(99), model=double, store=path, on_error="return")
    db = sqlite3.connect(path)
    db.execute("DROP TABLE answers")
    db.close()

    with pytest.raises(MapError) as caught:
        results.list()

    assert isinstance(caught.value.error, StoreError)
    assert double.heard == []


def test_a_store_is_a_file_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To SQLite some names mean its memory."""
    monkeypatch.chdir(tmp_path)

    ask.map(int, prompts(1), model=Double(), store=":memory:").list()

    assert len(rows(tmp_path / ":memory:")) == 1


def test_a_locked_store_holds_nobody_back(path: Path) -> None:
    """A run that is left ends though another program does not let go of the file."""
    ask.map(int, prompts(1), model=Double(), store=path).list()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    results = ask.map(int, prompts(9), model=Double(), store=path)
    threading.Timer(0.02, results.close).start()

    assert list(results) == []
    db.execute("ROLLBACK")
    db.close()


# Kills

RUN = """
    import os, sys
    sys.path.insert(0, {tests!r})
    from doubles import Double
    from ingot import ask

    log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def seconds(prompt):
        os.write(log, prompt.encode() + b"\\n")
        return 0.01

    prompts = [f"number {{n}}" for n in range({count})]
    asked = ask.using(model=Double(seconds=seconds))
    print(asked.map(int, prompts, store={store!r}, concurrency=4).list())
"""


class Killed:
    """
    A run in processes of its own that are killed.

    Args:
        folder: Where its files are.
        count: How many prompts it has.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.log = folder / "log"
        self.store = folder / "run.sqlite"
        self.log.touch()
        code = textwrap.dedent(RUN)
        tests = str(Path(__file__).parent)
        self._code = code.format(tests=tests, log=str(self.log), store=str(self.store), count=count)

    def start(self) -> subprocess.Popen[str]:
        """Begin the run, or go on with it."""
        return subprocess.Popen(
            [sys.executable, "-c", self._code], stdout=subprocess.PIPE, text=True
        )

    @property
    def calls(self) -> int:
        """How many requests the other end has seen."""
        return self.log.read_bytes().count(b"\n")

    def kill_after(self, calls: int, running: Iterable[subprocess.Popen[str]]) -> None:
        """Kill *running* once so many requests were seen, or when they have ended."""
        running = list(running)
        while self.calls < calls and any(one.poll() is None for one in running):
            time.sleep(0.002)
        for one in running:
            one.kill()
            one.communicate()

    def check(self, count: int, kills: int) -> None:
        """Every prompt has its one answer, and no more was paid for than was lost."""
        kept = rows(self.store)
        assert len(kept) == count
        assert all(answer is not None and owner is None for _, _, answer, owner in kept)
        assert self.calls <= count + 4 * kills


def killed(folder: Path, *, kills: int, processes: int = 1, seed: int = 0) -> None:
    """Kill a run so often, at points by chance; then let it end."""
    count = 40 * kills
    run, chance = Killed(folder, count), random.Random(seed)
    for _ in range(kills):
        run.kill_after(run.calls + chance.randint(0, 40), [run.start() for _ in range(processes)])
    last = [run.start() for _ in range(processes)]
    for one in last:
        said, _ = one.communicate(timeout=60)
        assert json.loads(said) == list(range(count))
    run.check(count, kills * processes)


needs_kills = pytest.mark.skipif(os.name != "posix", reason="only POSIX tells who is dead")


@needs_kills
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    """With SIGKILL, which nothing can prepare for."""
    killed(tmp_path, kills=2)


@needs_kills
@pytest.mark.slow
def test_a_run_that_is_killed_often_goes_on(tmp_path: Path) -> None:
    """At twenty points by chance."""
    killed(tmp_path, kills=20, seed=1)


@needs_kills
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_several_processes_that_are_killed_go_on(tmp_path: Path, seed: int) -> None:
    """Four with one store, all killed, and begun again."""
    killed(tmp_path, kills=5, processes=4, seed=seed)


@needs_kills
@pytest.mark.slow
def test_who_lives_takes_over_from_who_was_killed(tmp_path: Path) -> None:
    """At once, without waiting for a lease to expire."""
    run = Killed(tmp_path, 200)
    living, dying = run.start(), run.start()
    run.kill_after(60, [dying])

    said, _ = living.communicate(timeout=30)
    assert json.loads(said) == list(range(200))
    run.check(200, 1)
