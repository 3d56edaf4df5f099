"""The acceptance checks of recordings: what a recorder must not get wrong, whatever happens."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cassette_kit import Bomb, Echo, child, ended, names
from ways import values

from ingot import Cassette, Failure, MapError, Retry, Text, ask, errors
from ingot.cassette.errors import (
    AmbiguousRepeatError,
    CassetteError,
    CassetteMissError,
)
from ingot.cassette.store import dump, load, recover
from ingot.testing import Script, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20261201


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


def recorded(path: Path, prompts: list[str], **settings: Any) -> bytes:
    """Record one answer for each prompt, and return the bytes."""
    with Cassette(path, "record"):
        for prompt in prompts:
            ask(str, prompt, model=Echo(), **settings)
    return path.read_bytes()


# Check 2: many questions at once


PROMPTS = [f"Question {n}?" for n in range(200)]


def shuffled(rng: random.Random) -> list[str]:
    return rng.sample(PROMPTS, len(PROMPTS))


def by_gather(prompts: list[str]) -> dict[str, str]:
    async def main() -> list[str]:
        return await asyncio.gather(*(ask.aio(str, p, model=Bomb()) for p in prompts))

    return dict(zip(prompts, asyncio.run(main()), strict=True))


def by_tasks(prompts: list[str]) -> dict[str, str]:
    async def one(prompt: str) -> str:
        await asyncio.sleep(0)
        return await asyncio.create_task(ask.aio(str, prompt, model=Bomb()))

    async def group(prompts: list[str]) -> list[str]:
        return await asyncio.gather(*(asyncio.create_task(one(p)) for p in prompts))

    async def main() -> list[str]:
        parts = await asyncio.gather(*(group(prompts[n::4]) for n in range(4)))
        return [a for part in parts for a in part]

    order = [p for n in range(4) for p in prompts[n::4]]
    return dict(zip(order, asyncio.run(main()), strict=True))


def by_threads(prompts: list[str]) -> dict[str, str]:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda p: ask(str, p, model=Bomb()), prompts))
    return dict(zip(prompts, answers, strict=True))


def by_executor(prompts: list[str]) -> dict[str, str]:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        calls = [functools.partial(ask, str, p, model=Bomb()) for p in prompts]
        return await asyncio.gather(*(loop.run_in_executor(None, call) for call in calls))

    return dict(zip(prompts, asyncio.run(main()), strict=True))


WAYS = (by_gather, by_tasks, by_threads, by_executor)


@pytest.mark.parametrize("count", [2, pytest.param(250, marks=pytest.mark.slow)])
def test_every_prompt_gets_its_own_answer_however_they_are_asked(path: Path, count: int) -> None:
    """The order of calls, threads and tasks decides nothing: of each way so many shufflings."""
    rng = random.Random(SEED)
    recorded(path, PROMPTS)
    for _ in range(count):
        for way in WAYS:
            with Cassette(path, unused="fail"):
                assert way(shuffled(rng)) == {p: p for p in PROMPTS}


ASKER = """
    import random, sys
    from cassette_kit import Bomb
    from ingot import Cassette, ask
    prompts = [f"Question {n}?" for n in range(200)]
    random.Random(int(sys.argv[2])).shuffle(prompts)
    with Cassette(sys.argv[1]):
        for p in prompts:
            assert ask(str, p, model=Bomb()) == p
"""


@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_child_processes_get_their_own_answers(path: Path, count: int) -> None:
    """So many processes replay from one file at once."""
    before = recorded(path, PROMPTS)
    for process in [child(ASKER, path, seed) for seed in range(count)]:
        ended(process)

    assert path.read_bytes() == before
    assert names(path.parent) == ["a.json"]


# Check 3: the same question again

ONE_BY_ONE = ["whole", "streamed", "streamed in tasks", "mapped", "mapped in a loop"]
"""Ways that can be told to ask one question here and now; those of threads have their own."""

one_by_one = pytest.mark.parametrize("way", ONE_BY_ONE)


def eight(path: Path) -> list[str]:
    """Record eight answers to one question."""
    answers = [f"answer {n}" for n in range(8)]
    replies = iter(answers)
    with Cassette(path, "record"):
        for _ in range(8):
            ask(Text, "Say something.", model=Echo(lambda _: next(replies)))
    return answers


def gathered(count: int) -> list[str]:
    async def main() -> list[str]:
        asked = [ask.aio(Text, "Say something.", model=Bomb()) for _ in range(count)]
        order = list(enumerate(asked))
        random.shuffle(order)  # awaited in another order than asked
        out = [""] * count

        async def one(n: int, pending: Any) -> None:
            out[n] = await pending

        await asyncio.gather(*(one(n, pending) for n, pending in order))
        return out

    return asyncio.run(main())


@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_equal_questions_are_numbered_in_the_order_of_their_calls(path: Path, count: int) -> None:
    """Eight different answers come in one order, whenever each is awaited."""
    answers = eight(path)
    for _ in range(count):
        with Cassette(path, unused="fail"):
            assert gathered(8) == answers


@pytest.mark.parametrize("way", ["whole", "streamed", "mapped", "mapped in a loop"])
def test_a_ninth_question_has_no_answer(path: Path, way: str) -> None:
    """No answer is used twice."""
    eight(path)
    once_more = "recorded 8 times, and asked for once more"
    with pytest.raises((CassetteMissError, MapError), match=once_more), Cassette(path):
        values(way, Text, ["Say something."] * 9, model=Bomb())


def in_threads(count: int, provider: Any, way: str = "whole", **settings: Any) -> list[Any]:
    """Ask from as many threads, all begun before the first ends; return answers and errors."""
    barrier = threading.Barrier(count)

    def one(n: int) -> Any:
        barrier.wait()
        named = {"sample": n} if settings.get("sampled") else {}
        try:
            return values(way, Text, ["Say something."], model=provider, **named)[0]
        except (CassetteError, MapError) as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@one_by_one
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_different_answers_to_equal_questions_of_threads_are_refused(
    path: Path, count: int, way: str
) -> None:
    """Which is whose would hang on the scheduler: at replay, and already while recording."""
    eight(path)
    for _ in range(count):
        with pytest.raises(AmbiguousRepeatError, match="sample=0"), Cassette(path):
            in_threads(8, Bomb(), way)
    fresh = path.with_name("b.json")
    replies = iter(range(8))
    with pytest.raises(AmbiguousRepeatError, match="sample=0"), Cassette(fresh, "record"):
        in_threads(8, Echo(lambda _: f"answer {next(replies)}"), way)


def test_threads_that_end_before_others_begin_are_several_too(path: Path) -> None:
    """The system gives the number of a thread that ended to the next one."""
    eight(path)
    with pytest.raises(AmbiguousRepeatError), Cassette(path):
        for _ in range(2):
            in_threads(1, Bomb())


def test_one_more_answer_from_another_thread_is_refused_if_it_differs(path: Path) -> None:
    """What is on disk counts like what was recorded just now."""
    with Cassette(path, "record"):
        ask(Text, "Say something.", model=Echo())
    before = path.read_bytes()
    with pytest.raises(AmbiguousRepeatError), Cassette(path, "record"):
        replies = iter(["other"])
        in_threads(2, Echo(lambda _: next(replies)))

    assert path.read_bytes() == before


def test_equal_answers_need_no_order(path: Path) -> None:
    """They are written once, with their count."""
    with Cassette(path, "record"):
        in_threads(4, Echo())
    with Cassette(path, unused="fail"):
        assert in_threads(4, Bomb()) == ["Say something."] * 4
    row = json.loads(path.read_text())["rows"][0]

    assert [a["times"] for a in row["answers"]] == [4]


@one_by_one
def test_samples_are_told_apart_in_threads(path: Path, way: str) -> None:
    """With `sample=` each question is one of its own."""

    class Numbered(Echo):
        def send(self, request: Any) -> Any:
            return Echo(lambda _: f"sample {request.sample}").send(request)

    wanted = [f"sample {n}" for n in range(8)]
    with Cassette(path, "record"):
        assert in_threads(8, Numbered(), way, sampled=True) == wanted
    with Cassette(path, unused="fail"):
        assert in_threads(8, Bomb(), way, sampled=True) == wanted


# Check 4: a miss that the program swallows


def by_exception() -> str:
    try:
        return ask(str, "new?", model=Bomb())
    except Exception:
        return "default"


def by_base_exception() -> str:
    try:
        return ask(str, "new?", model=Bomb())
    except BaseException:
        return "default"


def by_retrying() -> str:
    import tenacity

    again = tenacity.Retrying(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_none())
    try:
        return again(lambda: ask(str, "new?", model=Bomb()))
    except tenacity.RetryError:
        return "default"


def by_background_task() -> str:
    async def main() -> str:
        task = asyncio.create_task(ask.aio(str, "new?", model=Bomb()))  # type: ignore[arg-type]
        await asyncio.wait([task])
        task.exception()
        return "default"

    return asyncio.run(main())


def by_daemon() -> str:
    thread = threading.Thread(target=by_exception, daemon=True)
    thread.start()
    thread.join()
    return "default"


def by_listening() -> str:
    with suppress(CassetteMissError), ask.stream(str, "new?", model=Bomb()) as s:
        list(s)
    return "default"


def by_returning_failures() -> str:
    [failure] = ask.map(str, ["new?"], model=Bomb(), on_error="return")
    assert isinstance(failure, Failure)
    return "default"


SWALLOWERS = [
    by_exception,
    by_base_exception,
    by_retrying,
    by_background_task,
    by_daemon,
    by_listening,
    by_returning_failures,
]


@pytest.mark.parametrize("swallow", SWALLOWERS)
def test_a_miss_that_was_swallowed_comes_out_at_the_end(path: Path, swallow: Any) -> None:
    """Whatever the program did with it, the block fails with the report."""
    recorded(path, ["old?"])
    with pytest.raises(CassetteMissError, match="no recording for this request") as caught:
        with Cassette(path):
            assert swallow() == "default"

    assert "+ new?" in str(caught.value)
    assert "- old?" in str(caught.value)


def test_a_miss_is_told_beside_what_came_of_it() -> None:
    """A block that fails for another reason names the miss in a note."""
    with pytest.raises(ZeroDivisionError) as caught, Cassette("/nowhere/a.json"):
        by_exception()
        raise ZeroDivisionError

    assert "no such file" in "".join(caught.value.__notes__)


# Check 5: a sealed replay


SEALED = """
    import sys
    class Hook:
        def find_spec(self, name, path=None, target=None):
            roots = ("openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "vcr",
                     "ingot_openai", "ingot_anthropic", "ingot_local", "xllamacpp")
            if name.partition(".")[0] in roots:
                raise ImportError(f"{name} was imported")
    sys.meta_path.insert(0, Hook())
    import socket
    def refuse(*args, **named):
        raise AssertionError("a socket was opened")
    socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
    from ingot import Cassette, MapError, errors
    from ways import values
    for way in sys.argv[2:]:
        with Cassette(sys.argv[1], unused="fail"):
            print(*values(way, list[int], ["List."], model="openai/gpt-5", system="Be brief."))
            print(*values(way, str, ["Unnamed?"]))
            try:
                values(way, int, ["Down?"], model="anthropic/claude")
            except (errors.ProviderRateLimitError, MapError) as error:
                down = error.error if isinstance(error, MapError) else error
                print(type(down).__name__, down.retry_after)
"""


def test_a_replay_needs_nothing_but_the_file(path: Path) -> None:
    """No variable, no key, no socket, no SDK and no plugin of ours."""
    busy = errors.ProviderRateLimitError("slow down", provider="anthropic", retry_after=90)
    with Script([[1, 2], Value("yes"), busy]), Cassette(path, "record"):
        ask(list[int], "List.", model="openai/gpt-5", system="Be brief.")
        ask(str, "Unnamed?")
        with pytest.raises(errors.ProviderRateLimitError):
            ask(int, "Down?", model="anthropic/claude", retry=0)
    process = child(SEALED, path, *ONE_BY_ONE, env={"PYTHONPATH": str(Path(__file__).parent)})

    assert ended(process) == "[1, 2]\nyes\nProviderRateLimitError 90\n" * len(ONE_BY_ONE)


def test_nothing_is_asked_where_the_folder_is_gone(path: Path) -> None:
    """Without its recordings every test that asks fails, and says that there is no such file."""
    with pytest.raises(CassetteMissError, match="no such file"), Cassette(path):
        ask(str, "p", model=Bomb())


# Check 6: a recording that is killed


RECORDER = """
    import sys, time
    from cassette_kit import Echo
    from ingot import Cassette
    from ways import EVERY
    path, way, mode = sys.argv[1:]
    with Cassette(path, mode):
        for answer in EVERY[way](str, [f"Question {n}?" for n in range(50)], model=Echo()):
            print(answer, flush=True)
            time.sleep(0.002)
"""


def killed(path: Path, seconds: float, way: str = "whole", mode: str = "record") -> list[str]:
    """Record and kill; return the prompts whose answers were returned."""
    said = path.with_name("said")
    with said.open("w") as out:
        process = child(RECORDER, path, way, mode, stdout=out)
    while not said.stat().st_size and process.poll() is None:
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    lines = said.read_text().split("\n")[:-1]
    said.unlink()
    return lines


@pytest.mark.parametrize("way", ["whole", "streamed", "mapped"])
@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_no_paid_answer_is_lost_to_a_kill(tmp_path: Path, count: int, way: str) -> None:
    """The next run has every answer that was returned, and pays only for the rest."""
    rng = random.Random(SEED)
    for n in range(count):
        path = tmp_path / f"{n}.json"
        old = recorded(path, ["before"])
        returned = killed(path, rng.uniform(0, 0.35), way)
        now = path.read_bytes()
        if len(returned) < 50:
            assert now == old
        else:
            assert now == old or len(load(path)) == 51
        provider = Echo()
        with Cassette(path, "record") as cassette:
            for k in range(50):
                assert ask(str, f"Question {k}?", model=provider) == f"Question {k}?"
        assert 50 - cassette.ledger.count("replayed") == len(provider.heard)
        assert cassette.ledger.count("replayed") >= len(returned)
        assert len(load(path)) == 51
    assert names(tmp_path) == sorted(f"{n}.json" for n in range(count))


def test_a_refresh_that_is_killed_leaves_the_file_as_it_was(path: Path) -> None:
    """What it recorded is dropped, for the file is replaced as a whole or not at all."""
    with Cassette(path, "record"):
        ask(str, "Question 0?", model=Echo(lambda _: "old"))
    old = path.read_bytes()
    killed(path, 0.02, mode="refresh")
    with Cassette(path, "record"):
        assert ask(str, "Question 0?", model=Bomb()) == "old"

    assert path.read_bytes() == old
    assert names(path.parent) == ["a.json"]


FULL = """
    import resource, signal, sys
    from cassette_kit import Echo
    from ingot import Cassette, ask
    from ingot.cassette.errors import CassetteError
    ask(str, "warm", model=Echo())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    room, asked = int(sys.argv[2]), int(sys.argv[3])
    try:
        with Cassette(sys.argv[1], "record"):
            for n in range(50):
                if n == asked:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
                print(ask(str, f"Question {n}?", model=Echo()), flush=True)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    except CassetteError as error:
        print("failed:", error)
"""


@pytest.mark.parametrize(("room", "asked"), [(5000, 0), (5000, 9), (100, 50)])
def test_a_full_disk_loses_nothing(path: Path, room: int, asked: int) -> None:
    """
    What cannot be written fails, names the file and the way out; the rest is kept.

    The disk is full before the first answer, after some, or when the file is written at the end.
    """
    old = recorded(path, ["before"])
    out = ended(child(FULL, path, room, asked)).split("\n")
    returned = [line for line in out if line.startswith("Question")]
    failed = [line for line in out if line.startswith("failed:")]

    assert len(returned) > 3
    assert len(failed) == 1
    assert str(path) in failed[0]
    assert "make room" in failed[0]
    assert path.read_bytes() == old
    with Cassette(path, "record"):
        for prompt in returned:
            assert ask(str, prompt, model=Bomb()) == prompt


def test_a_folder_that_cannot_be_is_told_before_anything_is_paid(tmp_path: Path) -> None:
    """Where the folder of a cassette is a file, the provider is not asked."""
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "a.json"
    provider = Echo()
    with pytest.raises(CassetteError, match="cannot be written") as caught:
        with Cassette(path, "record"):
            ask(str, "p", model=provider)

    assert provider.heard == []
    assert str(path) in str(caught.value)
    assert (tmp_path / "file").read_text() == ""


@pytest.fixture
def sealed_folder() -> Iterator[Path]:
    """A folder in which there is a cassette, and nothing can be written, whoever runs the tests."""
    folder = Path(tempfile.mkdtemp())
    recorded(folder / "a.json", ["before"])
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_paid(
    sealed_folder: Path,
) -> None:
    """What is there can still be played, and stays as it is."""
    path = sealed_folder / "a.json"
    before = path.read_bytes()
    provider = Echo()
    with pytest.raises(CassetteError, match="cannot be written: Permission denied") as caught:
        with Cassette(path, "record"):
            ask(str, "new", model=provider)
    with Cassette(path):
        assert ask(str, "before", model=Bomb()) == "before"

    assert provider.heard == []
    assert str(path) in str(caught.value)
    assert "make room, or the folder writable" in str(caught.value)
    assert (path.read_bytes(), names(sealed_folder)) == (before, ["a.json"])


# Check 7: several processes


WORKER = """
    import os, random, signal, sys
    from cassette_kit import Echo
    from ingot import Cassette, ask
    path, name, kill = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with Cassette(path, "record"):
        for n in range(10):
            ask(str, f"{name} {n}", model=Echo())
            if n == kill:
                os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("count", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_share_a_file(path: Path, count: int) -> None:
    """Four write at once, half of them are killed: the union is exact, and nothing is left over."""
    rng = random.Random(SEED)
    wanted: set[str] = set()
    for number in range(count):
        kills = [-1, -1, rng.randrange(10), rng.randrange(10)]
        workers = [child(WORKER, path, f"{number}.{w}", kill) for w, kill in enumerate(kills)]
        for w, (worker, kill) in enumerate(zip(workers, kills, strict=True)):
            _, err = worker.communicate(timeout=120)
            assert worker.returncode == (0 if kill < 0 else -signal.SIGKILL), err
            last = 9 if kill < 0 else kill
            wanted |= {f"{number}.{w} {n}" for n in range(last + 1)}
        recover(path)
        found = [row.data["prompt"][0] for row in load(path)]
        assert sorted(found) == sorted(wanted)
        assert names(path.parent) == ["a.json"]


def test_what_a_fork_recorded_is_kept(path: Path) -> None:
    """A process that was forked inside the block has a journal of its own."""
    code = """
        import os, sys
        from cassette_kit import Echo
        from ingot import Cassette, ask
        with Cassette(sys.argv[1], "record"):
            ask(str, "parent", model=Echo())
            child = os.fork()
            if child == 0:
                ask(str, "child", model=Echo())
                os._exit(0)
            os.waitpid(child, 0)
    """
    ended(child(code, path))

    assert sorted(row.data["prompt"][0] for row in load(path)) == ["child", "parent"]
    assert names(path.parent) == ["a.json"]


# Check 8: a refresh that fails


def down(_: str) -> Any:
    return errors.ProviderUnavailableError("down", provider="echo")


@pytest.mark.parametrize(
    ("reply", "then", "wanted"),
    [
        (down, None, errors.ProviderUnavailableError),
        (lambda p: "no number", None, errors.MismatchedAnswerError),
        (lambda p: 7, ZeroDivisionError, ZeroDivisionError),
        (lambda p: 7, KeyboardInterrupt, KeyboardInterrupt),
        (lambda p: KeyboardInterrupt(), None, KeyboardInterrupt),
        (lambda p: 7, SystemExit, SystemExit),
    ],
    ids=["down", "invalid", "block", "ctrl-c", "ctrl-c inside", "exit"],
)
def test_a_refresh_that_fails_leaves_the_old_bytes(
    path: Path, reply: Any, then: Any, wanted: Any
) -> None:
    """Whatever ends the block badly, the file is as it was."""
    with Cassette(path, "record"):
        ask(int, "one", model=Echo(lambda _: 1))
    before = path.read_bytes()
    with pytest.raises(wanted), Cassette(path, "refresh"):
        ask(int, "other", model=Echo(lambda _: 5))
        ask(int, "one", model=Echo(reply), retry=0)
        if then is not None:
            raise then

    assert path.read_bytes() == before
    assert names(path.parent) == ["a.json"]


def test_a_refresh_that_ends_well_drops_what_was_not_asked(path: Path) -> None:
    """The file holds what the program asks now."""
    recorded(path, ["stale", "kept"])
    with Cassette(path, "refresh"):
        ask(str, "kept", model=Echo(lambda _: "new"))
    with Cassette(path, unused="fail"):
        assert ask(str, "kept", model=Bomb()) == "new"

    assert len(load(path)) == 1


def first_place(prompt: str, provider: Any) -> str:
    return ask(str, prompt, model=provider)


def second_place(prompt: str, provider: Any) -> str:
    return ask(str, prompt, model=provider)


def test_a_partial_refresh_asks_for_its_part_alone(path: Path) -> None:
    """Every other row keeps its bytes, and the provider is asked once."""
    with Cassette(path, "record"):
        first_place("a", Echo())
        second_place("b", Echo())
        second_place("c", Echo())
    before = path.read_text().split("\n")
    provider = Echo(lambda _: "new")
    with Cassette(path, "refresh", only="first_place"):
        assert first_place("a", provider) == "new"
        assert second_place("b", Bomb()) == "b"
        assert second_place("c", Bomb()) == "c"
    after = path.read_text().split("\n")
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]

    assert len(provider.heard) == 1
    assert [a.strip() for _, a in changed] == ['"value": "new",', '"output_tokens": 16']


def test_a_partial_refresh_takes_the_later_turns_along(path: Path) -> None:
    """A repair turn belongs to the ask that it repairs, and its old row goes."""
    with Cassette(path, "record"):
        replies = iter(["bad", 1])
        ask(int, "n", model=Echo(lambda _: next(replies)), repair=1)
        first_place("a", Echo())
    key = next(r.key for r in load(path) if "messages" not in r.data and r.data["prompt"] == ["n"])
    with Cassette(path, "refresh", only=key.removeprefix("k1:")[:12]):
        replies = iter(["worse", 2])
        assert ask(int, "n", model=Echo(lambda _: next(replies)), repair=1) == 2
        first_place("a", Bomb())
    with Cassette(path, unused="fail"):
        assert ask(int, "n", model=Bomb(), repair=1) == 2
        first_place("a", Bomb())


# Check 15: a file for people


def session(path: Path) -> bytes:
    """Record a program with everything there is so far."""
    path.unlink(missing_ok=True)
    busy = errors.ProviderRateLimitError("slow down", provider="echo", retry_after=2, status=429)
    with Cassette(path, "record"):
        replies = iter(["no number", 4])
        ask(int, "Repaired.", model=Echo(lambda _: next(replies)), repair=1)
        ask(Text, "Prose.\nIn lines.", model=Echo(lambda _: "One.\n\nTwo."), system="Be kind.")
        ask(dict[str, int], "Map.", model=Echo(lambda _: {"a": 1}), context={"doc": "x\ny"})
        with pytest.raises(errors.ProviderRateLimitError):
            ask(int, "Busy.", model=Echo(lambda _: busy), retry=0)
    return path.read_bytes()


def test_recording_twice_gives_the_same_bytes(path: Path) -> None:
    """There is no time, no id, no version and no order of arrival in a file."""
    assert session(path) == session(path)


def test_an_exchange_is_replayed_whole(path: Path) -> None:
    """A repair, prose, a map and an error come again, with nobody to ask and no wait."""
    session(path)
    began = time.perf_counter()
    with Cassette(path, unused="fail"):
        assert ask(int, "Repaired.", model=Bomb(), repair=1) == 4
        assert ask(Text, "Prose.\nIn lines.", model=Bomb(), system="Be kind.") == "One.\n\nTwo."
        assert ask(dict[str, int], "Map.", model=Bomb(), context={"doc": "x\ny"}) == {"a": 1}
        with pytest.raises(errors.ProviderRateLimitError, match="slow down") as caught:
            ask(int, "Busy.", model=Bomb(), retry=Retry(attempts=5))

    assert (caught.value.status, caught.value.retry_after, caught.value.attempts) == (429, 2, 1)
    assert time.perf_counter() - began < 1


def test_an_edited_line_of_a_prompt_is_a_small_diff(path: Path) -> None:
    """At most four lines change, and they are next to each other."""

    def lines(prompt: str) -> list[str]:
        path.unlink(missing_ok=True)
        with Cassette(path, "record"):
            for n in range(5):
                ask(Text, f"Question {n}.\nMore.", model=Echo(lambda _: "Fixed."))
            ask(Text, prompt, model=Echo(lambda _: "Fixed."))
        return path.read_text().split("\n")

    old, new = lines("Question 3b.\nIs it so?\nThanks."), lines("Question 3b.\nIs it?\nThanks.")
    changed = [n for n, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]

    assert 0 < len(changed) <= 4


def test_unknown_keys_survive_a_rewrite(path: Path) -> None:
    """What another version wrote at the head, in a row or in an answer stays."""
    recorded(path, ["p"])
    tree = json.loads(path.read_text())
    tree["later"] = {"a": 1}
    tree["rows"][0]["note"] = "mine"
    tree["rows"][0]["answers"][0]["score"] = 2
    tree["rows"][0]["answers"][0]["usage"]["thoughts"] = 3
    path.write_text(json.dumps(tree))
    with Cassette(path, "record"):
        ask(str, "p", model=Bomb())
        ask(str, "q", model=Echo())
    after = json.loads(path.read_text())

    assert after["later"] == {"a": 1}
    assert [row.get("note") for row in after["rows"]] == ["mine", None]
    assert after["rows"][0]["answers"] == tree["rows"][0]["answers"]
    assert dump(load(path)) == path.read_bytes()


def test_rows_that_this_version_does_not_know_stay(path: Path) -> None:
    """A kind of row from a later version is kept as it is."""
    recorded(path, ["p"])
    tree = json.loads(path.read_text())
    foreign = {"kind": "dream", "site": "a.py:f", "key": "k1:0", "answers": [{"value": 1}]}
    tree["rows"].append(foreign)
    path.write_text(json.dumps(tree))
    with Cassette(path, "record"):
        ask(str, "q", model=Echo())

    assert foreign in json.loads(path.read_text())["rows"]


# Cases E


def cases() -> dict[str, dict[str, Any]]:
    file = Path(__file__).parents[2] / "shared" / "cases" / "cases.jsonl"
    if not file.exists():
        return {}
    rows = map(json.loads, file.read_text().splitlines())
    return {row["id"]: row for row in rows if row["group"] == "E"}


def test_an_error_without_a_body_is_recorded(path: Path) -> None:
    """Case E15: an empty body is legal, and the error is the same when it is replayed."""
    broken = errors.ProviderUnavailableError("HTTP 500", provider="echo", status=500)
    told = []
    for model in (Echo(lambda _: broken), Bomb()):
        with Cassette(path, "record"):
            with pytest.raises(errors.ProviderUnavailableError) as caught:
                ask(int, "p", model=model, retry=0)
        told.append((caught.value.message, caught.value.status))

    assert told[0] == told[1]


def test_a_miss_says_what_is_nearest_and_reaches_nobody(path: Path) -> None:
    """Case E11: the key is the request's, whatever the test is called."""
    recorded(path, ["What is the capital of France?"])
    with pytest.raises(CassetteMissError, match="no recording") as caught, Cassette(path):
        ask(str, "What is the capital of Spain?", model=Bomb())

    assert "nearest: k1:" in str(caught.value)


def test_a_key_of_the_environment_is_not_recorded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case E03: the answer is returned, nothing is written, and the block fails."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET1234567890")
    with pytest.raises(CassetteError, match=r"nothing was written") as caught:
        with Cassette(path, "record"):
            assert ask(str, "my key is sk-SECRET1234567890", model=Echo(lambda _: "ok")) == "ok"
    left = b"".join(p.read_bytes() for p in path.parent.iterdir())

    assert b"SECRET" not in left
    assert "SECRET" not in str(caught.value)
