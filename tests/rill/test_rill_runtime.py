"""A runtime in this process: what it answered for outlives it, whatever else goes wrong."""

from __future__ import annotations

import gc
import json
import os
import resource
import threading
from pathlib import Path
from typing import Any

import pytest
from runtime_kit import counts, journal, opened, pair

from ingot.rill.client import Client
from ingot.rill.decider import Counters, DeciderError
from ingot.rill.deciders import decider_of
from ingot.rill.errors import RillError, RillLockedError, RillRefusedError, RillStateError
from ingot.rill.limits import Limits
from ingot.rill.runtime import Runtime
from ingot.rill.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_without_a_file_nothing_outlives_it() -> None:
    """Each begins from nothing."""
    with opened(None) as client:
        first = client.snapshot()
        pair(client)
    with opened(None) as client:
        assert client.snapshot() == first


def test_what_it_knew_is_there_after_a_start(path: Path) -> None:
    """State, decisions and generation, by the snapshot of a clean end."""
    with opened(path) as client:
        waiting = client.decide({"a": 1}).id
        pair(client)
    assert journal(path).read_bytes().count(b"\n") == 1

    with opened(path) as client:
        client.feedback(waiting, 0, 1.0)
        summary = client.inspect()

    assert summary["stateGeneration"] == 5
    assert summary["completedDecisions"] == 2
    assert summary["restartCount"] == 1


def test_what_it_answered_for_is_there_though_it_never_ended(path: Path) -> None:
    """The journal has each change before its answer is out."""
    client = opened(path)
    for number in range(1, 4):
        pair(client)
        assert counts(path) == {"decisions": number, "feedback": number}
    client.close()


@pytest.mark.parametrize("name", ["linucb", "thompson", "round_robin"])
def test_the_journal_is_repeated_to_the_same_state(path: Path, name: str) -> None:
    """Byte for byte, also where chance decides."""
    left = path.with_name("left")
    runtime = Runtime(path, decider_of(name), clock=lambda: 1_000)
    client = Client(runtime)
    for number in range(30):
        features = {"size": number * 0.1, "kind": "xyz"[number % 3]}
        decision = client.decide(
            {"arms": ["a", "b"], "features": features}, seed=number % 2 or None
        )
        if number % 3:
            client.feedback(decision.id, decision.output["arm"], number % 7 / 7)
    client.inspect()
    client.observe({"arm": 0, "day": 1, "asks": 1})
    left.write_bytes(path.read_bytes())
    journal(left).write_bytes(journal(path).read_bytes())
    client.close()
    Runtime(left, decider_of(name)).close()

    assert left.read_bytes() == path.read_bytes()
    assert path.stat().st_size > 2_000


def test_decisions_expire_by_the_times_in_the_journal(path: Path) -> None:
    """Not by that of the start, and also where the clock went back in between."""
    times = iter([*range(10_000_000, 10_000_400, 100), *range(5_000_000, 5_000_400, 100)])
    client = Client(Runtime(path, Counters(), pending_ms=50, clock=lambda: next(times)))
    for _ in range(5):
        client.decide({})
    looking = Client(Runtime.peek(path, Counters(), pending_ms=50))
    waiting = looking.inspect()["pendingDecisions"]

    assert 0 < waiting < 5
    assert client.inspect()["pendingDecisions"] == waiting
    client.close()


def test_what_was_accepted_on_other_terms_is_accepted_on_those_again(path: Path) -> None:
    """A runtime that died may be started for another model, or with less patience."""
    client = opened(path, feature_schema_hash="cd" * 32, model_generation=7)
    pair(client)
    waiting = client.decide({}).id

    terms: dict[str, Any] = {"model_generation": 8, "pending_ms": 0, "eviction": "never"}
    looking = Client(Runtime.peek(path, Counters(), **terms))
    assert looking.inspect()["completedDecisions"] == 1
    with pytest.raises(RillRefusedError, match="not pending"):
        looking.feedback(waiting, 0, 1.0)
    client.close()


def test_terms_that_are_not_known_are_refused(path: Path) -> None:
    """As those of a later version may be."""
    opened(path).close()
    store = Store(path)
    store.checkpoint(path.read_bytes(), {"patience": 3})
    store.append(1, b"{}")
    store.close()

    with pytest.raises(RillStateError, match="on terms that are not known here"):
        opened(path)


class Strange(Counters):
    """Takes no state for one of its own."""

    def load(self, state: Any) -> None:
        raise DeciderError("invalidState")


def test_the_state_of_another_decider_is_refused(path: Path) -> None:
    """It is left as it is."""
    opened(path).close()
    left = path.read_bytes()
    with pytest.raises(RillStateError, match="none of this decider"):
        Runtime(path, Strange())

    assert path.read_bytes() == left
    opened(path).close()


def test_any_byte_of_a_snapshot_counts(path: Path) -> None:
    """One that is changed or cut is refused; the journal is not needed to find that out."""
    with opened(path) as client:
        pair(client)
        client.decide({})
    journal(path).unlink()
    whole = path.read_bytes()
    changed = [
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 5)
    ]
    cut = [whole[:at] for at in range(0, len(whole), 50)]

    for damaged in changed + cut:
        path.write_bytes(damaged)
        with pytest.raises(RillStateError, match="ingot rill reset --force"):
            Runtime.peek(path, Counters())


def test_a_request_that_is_not_accepted_again_is_damage(path: Path) -> None:
    """A journal that leads elsewhere than it led before is not followed."""
    client = opened(path)
    client.decide({})
    client.observe({})
    with pytest.raises(RillStateError, match="request 2 of its journal is not accepted again"):
        Runtime.peek(path, Unobserving())
    client.close()


class Unobserving(Counters):
    """Takes note of nothing."""

    def observe(self, event: Any) -> Any:
        raise DeciderError("invalidEvent")


def test_there_is_nothing_to_look_at_where_there_is_no_state(path: Path) -> None:
    """And looking makes none."""
    with pytest.raises(RillStateError, match="there is no state"):
        Runtime.peek(path, Counters())

    assert list(path.parent.iterdir()) == []


def test_looking_changes_nothing(path: Path) -> None:
    """Whoever looks may ask for all, and the runtime goes on as before."""
    client = opened(path)
    waiting = client.decide({}).id
    looking = Client(Runtime.peek(path, Counters()))
    looking.feedback(waiting, 0, 1.0)
    looking.reset()
    client.feedback(waiting, 0, 1.0)

    assert counts(path) == {"decisions": 1, "feedback": 1}
    client.close()


def test_a_request_on_several_lines_is_one_line_of_the_journal(path: Path) -> None:
    """Within JSON, a line break is white space."""
    runtime = Runtime(path, Counters())
    asked: list[bytes] = []

    class Spread:
        name, waits, timeout = "spread", False, None
        restart, close = runtime.restart, runtime.close

        def answer(self, line: bytes) -> bytes:
            asked.append(json.dumps(json.loads(line), indent=1).encode())
            return runtime.answer(asked[-1])

    client = Client(Spread())
    pair(client)

    assert asked[-1].count(b"\n") > 9
    assert counts(path) == {"decisions": 1, "feedback": 1}
    client.close()


def test_a_state_that_cannot_be_written_is_not_served_until_it_can(path: Path) -> None:
    """No answer is given that a start would forget; what was answered before is kept."""
    client = opened(path)
    pair(client)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal(path).stat().st_size + 50, limits[1]))
    try:
        for _ in range(3):
            with pytest.raises(RillStateError, match="cannot be read or written"):
                client.decide({})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert counts(path) == {"decisions": 1, "feedback": 1}
    pair(client)
    client.close()

    assert counts(path)["feedback"] == 2


def test_a_fork_has_no_part_in_it(path: Path) -> None:
    """Two processes that write to one journal would spoil it."""
    client = opened(path)
    pair(client)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            client.decide({})
        except RillError as error:
            code = 0 if "a fork" in str(error) else 2
        finally:
            client.close()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    pair(client)
    client.close()

    assert code == 0
    assert counts(path) == {"decisions": 2, "feedback": 2}


def test_what_is_closed_answers_no_more(path: Path) -> None:
    """An answer would not be kept."""
    client = opened(path)
    client.close()
    with pytest.raises(RillError, match="was closed"):
        client.decide({})


def test_two_runtimes_do_not_share_a_state(path: Path) -> None:
    """The second is refused; when the first is closed, it is not."""
    with opened(path):
        with pytest.raises(RillLockedError):
            opened(path)
    opened(path).close()


def test_it_says_where_its_state_is(path: Path) -> None:
    """Until it is closed."""
    runtime = Runtime(path, Counters())
    assert repr(runtime) == f"<Runtime {path}>"
    runtime.close()

    assert repr(runtime) == "<Runtime closed>"
    assert repr(Runtime(None, Counters())) == "<Runtime in memory>"


def test_a_link_leads_to_the_state(path: Path) -> None:
    """With its journal and its lock; the link stays one."""
    link = path.with_name("link")
    link.symlink_to(path)
    client = opened(path)
    pair(client)
    with pytest.raises(RillLockedError):
        opened(link)
    assert counts(link) == {"decisions": 1, "feedback": 1}
    client.close()
    with opened(link) as again:
        pair(again)

    assert link.is_symlink()
    assert counts(path) == {"decisions": 2, "feedback": 2}


def test_threads_take_turns(path: Path) -> None:
    """Whether they share a client or have one each."""
    runtime = Runtime(path, Counters())
    shared = Client(runtime)
    clients = [shared, shared, Client(runtime), Client(runtime)]
    threads = [
        threading.Thread(target=lambda client=client: [pair(client) for _ in range(25)])
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts(path) == {"decisions": 100, "feedback": 100}
    runtime.close()


def test_files_and_ledger_stay_small(path: Path) -> None:
    """Whether decisions get their feedback or not, and whatever the state takes."""
    limits = Limits(pending=8, completed=16, state_bytes=2**23, snapshot_bytes=2**26)
    now = iter(range(1_000, 10**9, 1_000))
    runtime = Runtime(path, Counters(), limits=limits, pending_ms=7_000, clock=lambda: next(now))
    client = Client(runtime)
    for number in range(200):
        decision = client.decide({"long": "x" * 50_000})
        if number % 2:
            client.feedback(decision.id, 0, 1.0)
        assert journal(path).stat().st_size < 2**22 + 2**20

    summary = client.inspect()
    assert summary["pendingDecisions"] <= 8
    assert summary["completedDecisions"] == 16
    assert path.stat().st_size < 10_000
    client.close()


@pytest.mark.slow
def test_memory_is_bounded(path: Path) -> None:
    """After the ledger is full for the first time, it takes no more."""

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    client = opened(path)
    for number in range(100_000):
        decision = client.decide({"a": number})
        client.feedback(decision.id, 0, 1.0)
        if number == 20_000:
            before = resident()

    assert resident() - before < 2**23
    client.close()
