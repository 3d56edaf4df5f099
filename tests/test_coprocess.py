"""Programs that go on: a line out, a line in, and an end that tells why."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from ingot._coprocess import Coprocess, Gone

ECHO = "for line in sys.stdin: print(line.strip().upper(), flush=True)"


def program(script: str) -> Coprocess:
    argv = [sys.executable, "-S", "-c", f"import os, sys, time\n{script}"]
    return Coprocess(argv, env={}, cwd=None, max_line=1_000)


def test_a_line_is_answered_by_a_line() -> None:
    """Without their ends, and as often as it is asked."""
    running = program(ECHO)
    answers = [running.exchange(text, 20) for text in (b"a", b"b", b"")]
    running.close(20)

    assert answers == [b"A", b"B", b""]


def test_a_long_line_goes_both_ways_at_once() -> None:
    """No order of reading and writing blocks."""
    writes_first = "sys.stdout.write('y' * 900); sys.stdout.flush(); sys.stdin.readline(); print()"
    running = program(writes_first)

    assert running.exchange(b"x" * 1_000_000, 20) == b"y" * 900
    running.close(20)


@pytest.mark.parametrize(
    ("script", "why", "code"),
    [
        ("sys.exit(7)", "exit", 7),
        ("sys.stdin.readline(); os.kill(os.getpid(), 9)", "exit", -9),
        ("time.sleep(60)", "deadline", -9),
        ("print('x' * 2_000, end='', flush=True); time.sleep(60)", "bound", -9),
        ("print('x\\ny', flush=True); time.sleep(60)", "unasked", -9),
    ],
)
def test_an_end_tells_why(script: str, why: str, code: int) -> None:
    """And nothing is left of the program."""
    running = program(f"print('said', file=sys.stderr, flush=True)\n{script}")
    with pytest.raises(Gone) as gone:
        for _ in range(2):
            running.exchange(b"a", 20 if why != "deadline" else 0.5)
            time.sleep(0.2)

    assert (gone.value.why, gone.value.code) == (why, code)
    assert gone.value.stderr == b"said\n"
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)


def test_closing_gives_it_time_to_end(tmp_path: Path) -> None:
    """It reads the end of its stdin, and does what it has to do."""
    running = program(f"{ECHO}\ntime.sleep(0.2); open({str(tmp_path)!r} + '/done', 'w')")
    running.exchange(b"a", 20)
    running.close(20)
    running.close(20)  # a second time does nothing

    assert (tmp_path / "done").exists()
