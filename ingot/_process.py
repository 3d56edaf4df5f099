"""
Running one program to its end: one input, bounded output, one deadline, and nothing left behind.

Input is written while output is read, so no order of the program's own can block both sides. The
program leads a session of its own, hence a process group, which is killed as a whole when the
deadline passes, a bound is broken, or whoever waits is interrupted or cancelled. It is over when
it has exited and both its outputs have ended; something it started that still holds one of them
is given a moment, and then killed with its group.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from errno import ENOSYS
from typing import IO, TYPE_CHECKING, Literal, Self, cast

from ingot._record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["STDERR_KEPT", "Finished", "arun", "kill", "run", "start"]

_CHUNK = 65_536
_GRACE = 0.25
"""Seconds that an output may stay open when the program itself has exited."""

_LOOK = 0.01
"""Seconds between two looks at a program whose exit the system does not announce."""

_AGES = 1e9
"""Seconds that nothing outlasts, for a program without a deadline."""

_HOUR = 3600.0
"""Seconds of the longest single wait, as polls count milliseconds in 32 bits."""

STDERR_KEPT = 65_536
"""Bytes of what a program says on stderr that are kept, the last ones."""


@record
class Finished:
    """
    How a program ended.

    Attributes:
        ended: `exit` by itself; or killed at its `deadline`, or for an output over its `bound`.
        code: Its exit code, negative for a signal; of one that was killed, it says nothing.
        stdout: All it wrote, up to the bound.
        stderr: The last 64 KiB of what it said.
    """

    ended: Literal["exit", "deadline", "bound"]
    code: int
    stdout: bytes
    stderr: bytes


def run(
    argv: Sequence[str],
    sent: bytes,
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    timeout: float | None,
    max_output: int,
) -> Finished:
    """
    Run *argv*, which is looked for on the PATH of *env*, and wait for its end.

    Args:
        argv: The program and its arguments; no shell reads them.
        sent: What it finds on stdin, which is then closed; it need not read it.
        env: Its whole environment.
        cwd: Its folder, which a relative program is looked for in too; None for this process's.
        timeout: Seconds it may take, from the start of the call; None for no limit.
        max_output: Bytes that it may write to stdout.

    Raises:
        OSError: It could not be started.
    """
    with _Child(argv, sent, env, cwd, timeout, max_output) as child:
        poll = select.poll()
        for fd, events in child.watched.items():
            poll.register(fd, events)
        while (wait := child.patience()) is not None:
            for fd, _ in poll.poll(wait * 1000):
                if not child.serve(fd):
                    poll.unregister(fd)
                    child.drop(fd)
    return child.finished()


async def arun(
    argv: Sequence[str],
    sent: bytes,
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None,
    timeout: float | None,  # noqa: ASYNC109 (of the program; the caller's own cancels)
    max_output: int,
) -> Finished:
    """Like `run`, without blocking the event loop; a cancelled one has killed the program."""
    import asyncio

    loop = asyncio.get_running_loop()
    stirred = asyncio.Event()

    with _Child(argv, sent, env, cwd, timeout, max_output) as child:

        def serve(fd: int, forget: Callable[[int], object]) -> None:
            if not child.serve(fd):
                forget(fd)
                child.drop(fd)
            stirred.set()

        try:
            for fd, events in child.watched.items():
                if events == select.POLLOUT:
                    loop.add_writer(fd, serve, fd, loop.remove_writer)
                else:
                    loop.add_reader(fd, serve, fd, loop.remove_reader)
            while (wait := child.patience()) is not None:
                timer = loop.call_later(wait, stirred.set)
                await stirred.wait()
                stirred.clear()
                timer.cancel()
        finally:
            for fd in child.watched:
                loop.remove_reader(fd)
                loop.remove_writer(fd)
    return child.finished()


class _Child:
    """
    A program that runs: what it is sent and has said so far, and whether it is over.

    Nobody waits in here. Whoever drives it has `watched` descriptors polled, and calls `serve` for
    each that is ready, until `patience` is None.

    Attributes:
        watched: Descriptors, and the events of `select.poll` that are waited for on each.
    """

    def __init__(
        self,
        argv: Sequence[str],
        sent: bytes,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
        timeout: float | None,
        max_output: int,
    ) -> None:
        self._deadline = time.monotonic() + (_AGES if timeout is None else timeout)
        self._bound = max_output
        self._left = memoryview(sent)
        self._said: list[bytes] = []
        self._size = 0
        self._complaint = b""
        self._exited: float | None = None
        self._ended: Literal["exit", "deadline", "bound"] = "exit"
        self._process, pipes = start(argv, env=env, cwd=cwd)
        self._pipes = {pipe.fileno(): pipe for pipe in pipes}
        self._in, self._out, self._err = self._pipes
        self.watched = dict.fromkeys((self._out, self._err), select.POLLIN)
        self.watched[self._in] = select.POLLOUT
        self._exit = _announcer(self._process.pid)
        if self._exit is not None:
            self.watched[self._exit] = select.POLLIN
        if not self._write():
            self.drop(self._in)  # most inputs fit into the pipe at once

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of everything; kill the group unless all of it that matters is over."""
        if self._exited is None or self._speaking():
            kill(self._process)
        for fd in list(self.watched):
            self.drop(fd)
        self._process.wait()

    def patience(self) -> float | None:
        """Seconds after which to ask again, if nothing is ready before; None when it is over."""
        now = time.monotonic()
        if self._exited is None and self._exit is None and self._process.poll() is not None:
            self._exited = now
        if self._ended == "bound" or (self._exited is not None and not self._speaking()):
            return None
        end = self._deadline if self._exited is None else self._exited + _GRACE
        if now >= end:
            if self._exited is None:
                self._ended = "deadline"
            return None
        longest = _LOOK if self._exit is None and self._exited is None else _HOUR
        return min(end - now, longest)

    def serve(self, fd: int) -> bool:
        """Write to or read from *fd*, which is ready; return whether to go on watching it."""
        if fd == self._in:
            return self._write()
        if fd == self._exit:
            self._exited = time.monotonic()
            return False
        chunk = os.read(fd, _CHUNK)
        if fd == self._err:
            self._complaint = (self._complaint + chunk)[-STDERR_KEPT:]
        else:
            self._size += len(chunk)
            if self._size > self._bound:
                self._ended = "bound"
                return False
            self._said.append(chunk)
        return bool(chunk)

    def drop(self, fd: int) -> None:
        """Close *fd*, which nobody watches any more."""
        del self.watched[fd]
        if fd == self._exit:
            os.close(fd)
        else:
            self._pipes[fd].close()

    def finished(self) -> Finished:
        """How it ended."""
        return Finished(
            ended=self._ended,
            code=self._process.returncode,
            stdout=b"".join(self._said),
            stderr=self._complaint,
        )

    def _speaking(self) -> bool:
        """Whether one of its outputs is still open."""
        return self._out in self.watched or self._err in self.watched

    def _write(self) -> bool:
        """Send what its stdin takes; return whether there is more."""
        try:
            self._left = self._left[os.write(self._in, self._left[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False  # it does not read, which is its right
        return len(self._left) > 0


def start(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | os.PathLike[str] | None
) -> tuple[subprocess.Popen[bytes], tuple[IO[bytes], IO[bytes], IO[bytes]]]:
    """
    Start a program at the head of a session of its own; see `run`.

    Returns:
        It, and its stdin, stdout and stderr, on which nobody waits.

    Raises:
        OSError: It could not be started.
    """
    if not hasattr(select, "poll"):
        raise OSError(ENOSYS, "programs are run on POSIX systems only")
    process = subprocess.Popen(  # noqa: S603 (to run a program is what this is for)
        argv,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    # Pipes that are all there, which only subprocess knows for sure.
    pipes = cast("tuple[IO[bytes], ...]", (process.stdin, process.stdout, process.stderr))
    for pipe in pipes:
        os.set_blocking(pipe.fileno(), False)
    return process, (pipes[0], pipes[1], pipes[2])


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of *process*, which nobody has waited for: until then, its id is its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _announcer(pid: int) -> int | None:
    """Return a descriptor that is readable once *pid* has exited; None where there are none."""
    opener = getattr(os, "pidfd_open", None)
    try:
        return None if opener is None else opener(pid)
    except OSError:
        return None  # an old kernel, or one that keeps this call from us
