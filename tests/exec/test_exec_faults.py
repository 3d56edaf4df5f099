"""What a program may do wrong, as a table: each fault ends soon and in the right way."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ingot import _process
from ingot.errors import ProviderError
from ingot.exec import (
    Exec,
    ExecError,
    ExecExitError,
    ExecOutputError,
    ExecStartError,
    ExecTimeoutError,
)
from ingot.provider import Request, Response

LARGE = 10_000_000
PYTHON = sys.executable


@dataclass(frozen=True)
class Fault:
    """
    A program that does something odd.

    Attributes:
        what: What it does.
        command: The program.
        prompt: What it is asked.
        says: The text of the reply it gives nevertheless; None where it gives none.
        error: The error, where there is one.
        match: What the error says.
        retryable: Whether the error is worth a retry.
        options: How it is run.
        within: Seconds after which all must be over.
    """

    what: str
    command: list[str]
    prompt: str = "hi"
    says: str | None = None
    error: type[ProviderError] | None = None
    match: str | None = None
    retryable: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    within: float = 5.0


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def python(script: str) -> list[str]:
    return [PYTHON, "-S", "-c", script]


OK = """printf '{"output":"ok"}'"""
SHORT = {"timeout": 0.3}
WRITES_FIRST = (
    "import sys, json\n"
    f"sys.stdout.write(json.dumps({{'output': 'y' * {LARGE}}})); sys.stdout.flush()\n"
    f"assert len(sys.stdin.read()) > {LARGE}"
)

FAULTS = [
    Fault("never reads, and answers", sh(OK), prompt="x" * LARGE, says="ok"),
    Fault(
        "never reads, and hangs",
        sh("sleep 30"),
        prompt="x" * LARGE,
        error=ExecTimeoutError,
        match="not done after 0.3 s, and was killed",
        retryable=True,
        options=SHORT,
        within=1.5,
    ),
    Fault(
        "writes before it reads, 10 MB both ways",
        python(WRITES_FIRST),
        prompt="x" * LARGE,
        says="y" * LARGE,
    ),
    Fault(
        "closes stdout and hangs",
        sh(f"{OK}; exec >&-; sleep 30"),
        error=ExecTimeoutError,
        retryable=True,
        options=SHORT,
        within=1.5,
    ),
    Fault(
        "closes all its ends and hangs",
        sh("exec <&- >&- 2>&-; sleep 30"),
        error=ExecTimeoutError,
        retryable=True,
        options=SHORT,
        within=1.5,
    ),
    Fault("leaves the pipe to a grandchild", sh(f"sleep 30 & {OK}"), says="ok", within=2.0),
    Fault(
        "floods stderr, and answers",
        sh(f"head -c {LARGE} /dev/zero >&2; {OK}"),
        says="ok",
    ),
    Fault(
        "floods stderr for ever",
        sh("yes >&2"),
        error=ExecTimeoutError,
        retryable=True,
        options=SHORT,
        within=1.5,
    ),
    Fault(
        "floods stdout",
        sh("yes"),
        error=ExecOutputError,
        match="wrote more than 100,000 bytes to stdout, and was killed; raise max_output",
        options={"max_output": 100_000},
    ),
    Fault(
        "emits invalid UTF-8",
        sh(r"""printf '{"output":"a\377b"}'"""),
        says="a\N{REPLACEMENT CHARACTER}b",
    ),
    Fault(
        "emits two documents",
        sh(f"{OK}; echo; {OK}"),
        error=ExecOutputError,
        match=r"\(extra data at line 2, column 1\); one JSON document goes to stdout",
    ),
    Fault(
        "emits a byte-order mark",
        sh(rf"printf '\357\273\277'; {OK}"),
        error=ExecOutputError,
        match="UTF-8 BOM",
    ),
    Fault(
        "emits nothing, and says why",
        sh("echo no jq here >&2"),
        error=ExecOutputError,
        match="sh wrote nothing to stdout: no jq here; one JSON document",
    ),
    Fault(
        "colours its complaint",
        sh(r"printf '\033[1mno\007' >&2; exit 1"),
        error=ExecExitError,
        match=r"exited with code 1: \[1mno$",
    ),
    Fault("emits a log line first", sh(f"echo log; {OK}"), error=ExecOutputError),
    Fault("emits an array", sh("echo '[1]'"), error=ExecOutputError, match="expected an object"),
    Fault(
        "exits by a signal",
        sh("kill -SEGV $$"),
        error=ExecExitError,
        match="sh was ended by SIGSEGV",
    ),
    Fault(
        "answers and fails",
        sh(f"{OK}; echo why >&2; exit 7"),
        error=ExecExitError,
        match="sh exited with code 7: why",
    ),
    Fault(
        "ignores SIGTERM",
        sh("trap '' TERM INT HUP; while :; do sleep 0.1; done"),
        error=ExecTimeoutError,
        retryable=True,
        options=SHORT,
        within=1.5,
    ),
    Fault(
        "is not executable",
        [str(Path(__file__))],
        error=ExecStartError,
        match="could not be started: Permission denied; make it executable",
    ),
    Fault(
        "does not exist",
        ["./no-such-program"],
        error=ExecStartError,
        match="could not be started: No such file or directory; see whether it is there",
    ),
    Fault(
        "has no folder",
        sh(OK),
        error=ExecStartError,
        match="could not be started: its cwd is no folder",
        options={"cwd": "/no/such/folder"},
    ),
]


def reply_of(fault: Fault, *, awaiting: bool) -> Response:
    provider = Exec(fault.command, **fault.options)
    request = Request(provider="exec", model="m", target="text", prompt=fault.prompt)
    return asyncio.run(provider.asend(request)) if awaiting else provider.send(request)


@pytest.mark.parametrize("awaiting", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_program_that(fault: Fault, *, awaiting: bool) -> None:
    """It is over in time, nothing hangs, and the error says what happened."""
    began = time.monotonic()
    if fault.error is None:
        assert reply_of(fault, awaiting=awaiting).text == fault.says
    else:
        with pytest.raises(fault.error, match=fault.match) as caught:
            reply_of(fault, awaiting=awaiting)

        assert caught.value.retryable == fault.retryable
    assert time.monotonic() - began < fault.within


@pytest.mark.parametrize("awaiting", [False, True], ids=["sync", "async"])
def test_nothing_is_left_behind(awaiting: bool, tmp_path: Path) -> None:  # noqa: FBT001 (pytest)
    """No zombie, no descriptor, and nothing that runs on, whatever the program did."""
    mark = f"1{os.getpid()}.{int(awaiting)}"
    odd = [
        Fault("", sh(f"sleep {mark} & {OK}")),
        Fault("", sh(f"sleep {mark}"), options=SHORT),
        Fault("", sh(f"sleep {mark} & exec >&- 2>&-; sleep {mark}"), options=SHORT),
        Fault("", sh(f"sleep {mark} & yes"), options={"max_output": 1_000}),
        Fault("", sh("exit 3")),
        Fault("", ["./no-such-program"]),
        Fault("", sh(OK), prompt="x" * 1_000_000),
    ]
    reply_of(Fault("", sh(OK)), awaiting=awaiting)
    before = descriptors()
    for fault in odd:
        try:
            reply_of(fault, awaiting=awaiting)
        except ExecError:
            continue

    assert descriptors() == before
    assert running(mark) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 (its own descriptor is in it each time)


def running(mark: str) -> list[str]:
    """Command lines that hold *mark*, once what was killed had time to go."""
    for _ in range(20):
        listed = subprocess.run(
            ["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True
        )
        found = [
            line
            for line in listed.stdout.splitlines()
            if f"sleep {mark}" in line and line[0] != "Z"
        ]
        if not found:
            return []
        time.sleep(0.05)
    return found


async def test_cancelling_kills_the_program_at_once() -> None:
    """And what it started."""
    mark = f"2{os.getpid()}"
    request = Request(provider="exec", model="m", target="text", prompt="hi")
    task = asyncio.create_task(Exec(sh(f"sleep {mark} & sleep {mark}")).asend(request))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert time.monotonic() - began < 0.5
    assert running(mark) == []


def test_an_interrupt_kills_the_program_at_once() -> None:
    """Ctrl-C reaches whoever waits, and not the program, which has a session of its own."""
    mark = f"3{os.getpid()}"
    request = Request(provider="exec", model="m", target="text", prompt="hi")
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Exec(sh(f"trap '' INT; sleep {mark}")).send(request)

    assert time.monotonic() - began < 1.0
    assert running(mark) == []


def test_a_system_that_does_not_announce_an_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the program is looked at now and then, and all ends as elsewhere."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    for fault in (FAULTS[0], FAULTS[3], FAULTS[5]):
        test_a_program_that(fault, awaiting=False)
        test_a_program_that(fault, awaiting=True)


def test_a_system_without_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as Windows: it is said before anything is run."""
    monkeypatch.delattr(_process.select, "poll")
    with pytest.raises(ExecStartError, match="POSIX systems only"):
        reply_of(Fault("", sh(OK)), awaiting=False)


def test_a_shortage_of_the_system_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only such a failure to start is worth a retry."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors(), hard))
    try:
        with pytest.raises(ExecStartError) as caught:
            reply_of(Fault("", sh(OK)), awaiting=False)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert caught.value.retryable


def test_a_message_shows_the_end_of_stderr_and_no_key() -> None:
    """All of it is on the error, for the program."""
    script = 'yes noise | head -n 1000 >&2; echo "$MY_TOKEN $PLAIN sk-abc1234567" >&2; exit 1'
    provider = Exec(sh(script), env={"MY_TOKEN": "correct-horse", "PLAIN": "battery-staple"})
    request = Request(provider="exec", model="m", target="text", prompt="hi")
    with pytest.raises(ExecExitError) as caught:
        provider.send(request)
    error = caught.value

    assert error.message.endswith("noise\n[key] battery-staple [key]")
    assert len(error.message) < 1_100
    assert "correct-horse" in error.stderr
    assert (error.exit_code, error.signal, error.program) == (1, None, "sh")


def test_a_failure_that_is_told_shows_no_key() -> None:
    """Which the program may have been told by its vendor; stderr is on this error too."""
    told = """echo oh >&2; echo '{"output":null,"error":{"message":"no '$MY_AUTH'"}}'"""
    provider = Exec(sh(told), env={"MY_AUTH": "correct-horse"})
    with pytest.raises(ExecError) as caught:
        provider.send(Request(provider="exec", model="m", target="text", prompt="hi"))

    assert caught.value.message == "exec: sh: no [key]"
    assert caught.value.stderr == "oh"


def test_a_script_that_does_not_say_what_runs_it(tmp_path: Path) -> None:
    """Shells run it all the same, so its author may not know."""
    script = tmp_path / "bare.sh"
    script.write_text(OK)
    script.chmod(0o700)
    with pytest.raises(ExecStartError, match="Exec format error; begin it with what runs it"):
        reply_of(Fault("", [str(script)]), awaiting=False)


def test_no_argument_stands_in_a_message() -> None:
    """Some programs are handed their key so."""
    with pytest.raises(ExecExitError) as caught:
        reply_of(Fault("", sh("exit 1 # my-password")), awaiting=False)

    assert "my-password" not in str(caught.value)
