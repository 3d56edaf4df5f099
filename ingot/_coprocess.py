"""
A program that goes on: one line in, one line out, and nothing left behind.

It reads and writes while it is read and written, so a long line blocks neither side. Once a line
does not come as it should, what the program would say next answers no question: then it is ended.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from ingot._process import STDERR_KEPT, kill, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import Popen

__all__ = ["Coprocess", "Gone"]

_CHUNK = 65_536

_GRACE = 0.25
"""Seconds in which a program that closed one of its ends may exit."""


_HOUR = 3600.0
"""Seconds of the longest single wait, as polls count milliseconds in 32 bits."""

Why: TypeAlias = Literal["exit", "deadline", "bound", "unasked"]


class Gone(Exception):  # noqa: N818 (turned into an error with more to say)
    """
    The program is no longer there.

    Attributes:
        why: `exit` by itself; or it was ended, as it did not answer by the `deadline`, wrote a line
            over its `bound`, or had said something `unasked`.
        code: Its exit code, negative for a signal; of one that was ended, it says nothing.
        stderr: The last 64 KiB of what it said.
    """

    def __init__(self, why: Why, code: int, stderr: bytes) -> None:
        self.why = why
        self.code = code
        self.stderr = stderr
        super().__init__(why)


class Coprocess:
    """
    A program that runs, for one caller at a time.

    Args:
        argv: The program and its arguments; see `ingot._process.run`, as for *env* and *cwd*.
        env: Its whole environment.
        cwd: Its folder; None for this process's.
        max_line: Bytes that a line of it may have.

    Attributes:
        pid: Its id.

    Raises:
        OSError: It could not be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
        max_line: int,
    ) -> None:
        self._process, self._pipes = start(argv, env=env, cwd=cwd)
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes)
        self._bound = max_line
        self._said = bytearray()
        self._complaint = b""
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self.pid = self._process.pid
        self._end = weakref.finalize(self, _end, self._process, self._pipes, _GRACE)

    def exchange(self, line: bytes, timeout: float) -> bytes:
        """
        Send *line* and return the line that answers it, both without their ends.

        Args:
            line: What is sent.
            timeout: Seconds until the answer must be there.

        Raises:
            Gone: There is no answer, and no program any more.
        """
        try:
            return self._exchange(memoryview(line + b"\n"), time.monotonic() + timeout)
        except BaseException:
            self._end()  # whoever was interrupted does not know what the next line answers
            raise

    def close(self, grace: float) -> None:
        """Tell it that nothing more comes, and wait for its end; kill it after *grace* seconds."""
        if self._end.detach() is not None:
            _end(self._process, self._pipes, grace)

    def _exchange(self, left: memoryview, deadline: float) -> bytes:
        self._serve(0)
        if self._said:
            raise self._gone("unasked")
        left = self._write(left)
        if left:
            self._poll.register(self._in, select.POLLOUT)
        while left or b"\n" not in self._said:
            wait = deadline - time.monotonic()
            if wait <= 0:
                raise self._gone("deadline")
            if self._serve(wait):
                left = self._write(left)
                if not left:
                    self._poll.unregister(self._in)
            if len(self._said) > self._bound:
                raise self._gone("bound")
        answer, _, self._said = self._said.partition(b"\n")
        return bytes(answer)

    def _serve(self, wait: float) -> bool:
        """Wait for the program, *wait* seconds at most, and read; return whether it reads, too."""
        reads = False
        for fd, _ in self._poll.poll(min(wait, _HOUR) * 1000):
            if fd == self._in:
                reads = True
                continue
            chunk = os.read(fd, _CHUNK)
            if fd == self._err:
                self._complaint = (self._complaint + chunk)[-STDERR_KEPT:]
                if not chunk:
                    self._poll.unregister(fd)
            elif chunk:
                self._said += chunk
            else:
                raise self._gone("exit")
        return reads

    def _write(self, left: memoryview) -> memoryview:
        """Send what it takes; return what is left."""
        try:
            return left[os.write(self._in, left[:_CHUNK]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            raise self._gone("exit") from None

    def _gone(self, why: Why) -> Gone:
        """End it, and say why; by then it has said all that it had to say of its exit."""
        _end(self._process, self._pipes[:1], _GRACE if why == "exit" else 0)
        with suppress(BlockingIOError):
            while chunk := os.read(self._err, _CHUNK):
                self._complaint = (self._complaint + chunk)[-STDERR_KEPT:]
        self._end()
        return Gone(why, self._process.returncode, self._complaint)


def _end(process: Popen[bytes], pipes: Sequence[IO[bytes]], grace: float) -> None:
    """Close *pipes*, the first of which it reads, and see to it that it ends."""
    pipes[0].close()
    try:
        process.wait(grace)
    except TimeoutExpired:
        kill(process)
        process.wait()
    for pipe in pipes:
        pipe.close()
