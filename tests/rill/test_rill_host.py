"""A runtime in a process of its own: what it answered for is kept, however it ends."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from runtime_kit import SERVE, counts, host, journal, pair

from ingot.errors import NotConfiguredError
from ingot.rill.client import Client
from ingot.rill.errors import (
    RillError,
    RillProcessError,
    RillStartError,
    RillTimeoutError,
)
from ingot.rill.host import Host

if TYPE_CHECKING:
    from ingot.rill.session import Restart


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


def said(script: str, **options: Any) -> Host:
    """A host of a program of Python's, which finds `json`, `sys` and `time` imported."""
    return Host([sys.executable, "-S", "-c", f"import json, sys, time\n{script}"], **options)


def test_it_is_asked_and_ends_by_itself(path: Path) -> None:
    """A handshake, a decision, its feedback; then it has made a snapshot."""
    with Client(host(path)) as client:
        pair(client)
        assert client.handshake().channel == "preview"
        assert client.health().healthy

    assert journal(path).read_bytes().count(b"\n") == 1
    assert counts(path) == {"decisions": 1, "feedback": 1}


class Killer(threading.Thread):
    """
    Kills whatever process a host has, at random points.

    Attributes:
        learned: Pairs so far, as whoever asks tells.
    """

    def __init__(self, running: Host, every: int) -> None:
        super().__init__()
        self.learned = 0
        self._running = running
        self._every = every
        self._over = threading.Event()

    def run(self) -> None:
        chance = random.Random(7)
        due = 0
        while not self._over.wait(chance.uniform(0, 0.003)):
            if self.learned < due or (pid := self._running.pid) is None:
                continue
            os.kill(pid, signal.SIGKILL)
            if chance.random() < 0.2:
                self._over.wait(chance.uniform(0, 0.3))  # and again, while it starts
            else:
                due = self.learned + chance.randint(1, 2 * self._every)

    def stop(self) -> None:
        self._over.set()
        self.join()


def survive(path: Path, pairs: int, every: int) -> int:
    """Teach *pairs* to a runtime that is killed in between; return how often it was."""
    kept: list[bool] = []
    lost: list[int] = []

    def look(restart: Restart) -> None:
        kept.append(counts(path)["feedback"] in (killer.learned, killer.learned + 1))
        lost.append(restart.lost)

    running = host(path)
    killer = Killer(running, every)
    with Client(running, restarts=50, on_restart=look) as client:
        killer.start()
        try:
            for _ in range(pairs):
                pair(client)
                killer.learned += 1
        finally:
            killer.stop()

    assert all(kept)
    assert sum(lost) == 0
    assert counts(path)["feedback"] == pairs
    return len(lost)


def test_no_feedback_is_lost_or_learned_twice_when_it_is_killed(path: Path) -> None:
    """Whenever it is, the files are valid, and what is not answered yet is made sure of."""
    assert survive(path, 200, every=30) > 2


@pytest.mark.slow
def test_no_feedback_is_lost_or_learned_twice_in_many_pairs(path: Path) -> None:
    """Also where the journal is replaced in between."""
    assert survive(path, 5_000, every=40) > 50


ECHO = "for line in sys.stdin: print(line.strip(), flush=True)"


def test_a_line_goes_out_and_a_line_comes_in() -> None:
    """As they are, however long, and from the same process."""
    long = json.dumps("x" * 1_000_000).encode()
    with said(ECHO) as running:
        assert running.answer(b"1") == b"1"
        first = running.pid
        assert running.answer(long) == long
        assert running.pid == first


def test_what_it_says_on_stderr_does_not_stop_it() -> None:
    """However much it is."""
    with said(f"sys.stderr.write('y' * 1_000_000)\n{ECHO}") as running:
        assert running.answer(b"1") == b"1"


FAULTS: dict[str, tuple[str, type[RillProcessError], str]] = {
    "ends": ("sys.exit('no state, key sk-abc12345678')", RillProcessError, r"code 1: no state"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", RillProcessError, "ended with code -9"),
    "closes its stdout": ("import os; os.close(1); time.sleep(60)", RillProcessError, "ended with"),
    "hangs": ("time.sleep(60)", RillTimeoutError, "did not answer within 0.5 s"),
    "answers half": ("print('{', end='', flush=True); time.sleep(60)", RillTimeoutError, "0.5 s"),
    "never ends its line": ("while True: print('x' * 99_999, end='')", RillProcessError, "a line"),
    "speaks unasked": (f"print(1, flush=True)\n{ECHO}", RillProcessError, "nobody had asked"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_program_that_does_not_answer_is_ended(what: str) -> None:
    """Soon, with a reason; what it said on stderr is told, and no key."""
    script, error, says = FAULTS[what]
    began = time.monotonic()
    with said(script, timeout=0.5 if error is RillTimeoutError else 20.0) as running:
        with pytest.raises(error, match=says) as raised:
            for _ in range(3):
                running.answer(b"1")
                time.sleep(0.1)
        assert running.pid is None

    assert "sk-abc12345678" not in str(raised.value)
    assert raised.value.program == sys.executable
    assert time.monotonic() - began < 10


def test_the_next_request_starts_it_anew(tmp_path: Path) -> None:
    """Each time that it fell."""
    mark = tmp_path / "mark"
    once = f"import os; os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w'), sys.exit(3))"
    with said(f"{once}\n{ECHO}") as running:
        with pytest.raises(RillProcessError, match="code 3"):
            running.answer(b"1")
        assert running.answer(b"2") == b"2"


def test_a_program_that_is_not_there_is_not_tried_again() -> None:
    """And the error says what to look at."""
    with Client(Host("no-such-runtime --state x")) as client:
        with pytest.raises(RillStartError, match=r"no-such-runtime could not be started: No such"):
            client.handshake()


def test_a_program_that_does_not_end_is_killed() -> None:
    """When nothing more is said to it, it has its time of grace."""
    running = said(f"{ECHO}\ntime.sleep(60)", grace=0.1)
    running.answer(b"1")
    pid = running.pid
    assert pid is not None
    running.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_was_closed_starts_nothing(path: Path) -> None:
    """A request that comes too late would leave a program behind."""
    running = host(path)
    client = Client(running)
    assert repr(client) == f"<Client of <Host of {sys.executable}, not running>>"
    pair(client)
    assert repr(client) == f"<Client of <Host of {sys.executable}, pid {running.pid}>>"
    client.close()

    with pytest.raises(RillError, match="was closed"):
        client.decide({})
    with pytest.raises(RillError, match="was closed"):
        asyncio.run(client.adecide({}))
    assert running.pid is None


def test_an_interrupted_request_ends_the_program() -> None:
    """Its answer would pass for that of the next one."""
    running = said("for line in sys.stdin: time.sleep(0.5); print(line, end='', flush=True)")
    main = threading.get_ident()
    threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        running.answer(b"1")
    assert running.pid is None

    assert running.answer(b"2") == b"2"
    running.close()


def test_after_an_interruption_a_handshake_comes_first(path: Path) -> None:
    """The program that is asked next is another one."""
    slow = SERVE.replace("serve(", "import time; time.sleep(0.3); serve(")
    running = Host([sys.executable, "-c", slow, str(path)])
    main = threading.get_ident()
    with Client(running) as client:
        threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            client.observe({})
        pair(client)

    assert counts(path) == {"decisions": 1, "feedback": 1}


def test_a_host_that_nobody_has_any_more_ends_its_program() -> None:
    """Also where it was not closed."""
    running = said(ECHO)
    running.answer(b"1")
    pid = running.pid
    assert pid is not None
    del running

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": math.inf}, {"grace": -1}, {"env": {"a=b": ""}}]
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    """Before anything is started."""
    with pytest.raises(NotConfiguredError):
        Host("program", **options)


def test_a_runtime_gets_no_key_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is named, and a minimum."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    tells = "import os\nfor _ in sys.stdin: print(json.dumps(sorted(os.environ)), flush=True)"
    with said(tells, env={"MINE": "1"}) as running:
        names = json.loads(running.answer(b"1"))

    assert "MINE" in names
    assert "OPENAI_API_KEY" not in names


def test_a_fork_does_not_speak_to_it() -> None:
    """It is the parent's."""
    running = said(ECHO)
    running.answer(b"1")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            running.answer(b"2")
        except RillError as error:
            code = 0 if "a fork" in str(error) else 2
        finally:
            running.close()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert code == 0
    assert running.answer(b"3") == b"3"
    running.close()


def test_threads_and_tasks_share_a_client(path: Path) -> None:
    """They take turns, and each gets the answer to what it asked."""

    async def asked(client: Client) -> None:
        decision = await client.adecide({})
        await client.afeedback(decision.id, 0, 1.0)

    async def tasks(client: Client) -> None:
        await asyncio.gather(*(asked(client) for _ in range(40)))

    with Client(host(path)) as client:
        threads = [
            threading.Thread(target=lambda: [pair(client) for _ in range(20)]) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        asyncio.run(tasks(client))
        for thread in threads:
            thread.join()

    assert counts(path) == {"decisions": 80, "feedback": 80}


def test_a_task_that_is_cancelled_leaves_the_stream_in_step(path: Path) -> None:
    """Its request is carried out, and the next one gets its own answer."""

    async def run() -> None:
        async with Client(host(path)) as client:
            await client.ahandshake()
            task = asyncio.create_task(client.aobserve({}))
            await asyncio.sleep(0)
            task.cancel()
            decision = await client.adecide({})
            await client.afeedback(decision.id, 0, 1.0)

    asyncio.run(run())

    assert counts(path) == {"decisions": 1, "feedback": 1}


def test_a_restart_is_warned_of(path: Path) -> None:
    """Whoever does not ask to be told is warned."""
    running = host(path)
    with Client(running) as client:
        pair(client)
        assert running.pid is not None
        os.kill(running.pid, signal.SIGKILL)
        with pytest.warns(
            RuntimeWarning, match=r"code -9; it was started again, and has lost nothing"
        ):
            pair(client)


def test_changes_that_a_runtime_forgot_are_told(path: Path) -> None:
    """A runtime that keeps less than it answers for does not go unnoticed."""
    running, told = host(path), list[int]()
    with Client(running, on_restart=lambda restart: told.append(restart.lost)) as client:
        pair(client)
        before = path.read_bytes(), journal(path).read_bytes()
        pair(client)
        assert running.pid is not None
        os.kill(running.pid, signal.SIGKILL)
        time.sleep(0.1)
        path.write_bytes(before[0])
        journal(path).write_bytes(before[1])
        pair(client)

    assert told == [2]


def test_a_runtime_that_cannot_start_says_why(path: Path) -> None:
    """After some tries, with what it said last."""
    path.write_bytes(b"no state")
    with Client(host(path), restarts=1) as client:
        with pytest.raises(RillProcessError, match="ingot rill reset --force"):
            client.handshake()
