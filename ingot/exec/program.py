"""A program and how it is run: one document in, one text out, or the error that says why not."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from errno import EAGAIN, EMFILE, ENFILE, ENOEXEC, ENOMEM
from typing import TYPE_CHECKING, Any, TypeVar

from ingot._json import Unreadable
from ingot._process import Finished, arun, run
from ingot._program import check_named
from ingot._record import record
from ingot.errors import NotConfiguredError
from ingot.exec.environment import environment_of, secrets_in
from ingot.exec.errors import (
    ExecError,
    ExecExitError,
    ExecOutputError,
    ExecStartError,
    ExecTimeoutError,
)
from ingot.exec.wire import trimmed
from ingot.exec.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot._program import Environment

__all__ = ["MAX_OUTPUT", "Program"]

E = TypeVar("E", bound=ExecError)
T = TypeVar("T")

MAX_OUTPUT = 64 * 2**20
"""Bytes that a program may write to stdout, unless it is told otherwise."""

_PASSING = (EAGAIN, EMFILE, ENFILE, ENOMEM)
"""Reasons why a program does not start that may be gone a moment later."""

_SHOWN = 1_000
"""Characters of stderr that a message shows, the last ones."""


@record
class Program:
    """
    A program, where it runs and what it may take.

    Attributes:
        argv: The program and its arguments.
        env: See `environment_of`.
        cwd: Its folder, which a relative path of the program starts from; None for this process's.
        timeout: Seconds from the start to the end; None for no limit.
        max_output: Bytes that it may write to stdout.
    """

    argv: tuple[str, ...]
    env: Environment = None
    cwd: str | os.PathLike[str] | None = None
    timeout: float | None = None
    max_output: int = MAX_OUTPUT

    def __post_init__(self) -> None:
        check_named(self.env)
        if self.timeout is not None and not _is_above_0(self.timeout):
            raise NotConfiguredError("timeout is a number of seconds above 0")
        if not _is_above_0(self.max_output):
            raise NotConfiguredError("max_output is a number of bytes above 0")

    def secrets(self) -> list[str]:
        """What is in its environment and must not be shown."""
        return secrets_in(environment_of(self.env))

    def run(self, document: str, read: Callable[[str], T]) -> T:
        """
        Send it *document* and return what *read* makes of what it writes.

        Args:
            document: What it finds on stdin.
            read: Reads what it wrote to stdout, or raises `Unreadable`.

        Raises:
            ExecError: It could not be run to a good end, or what it wrote cannot be read.
        """
        try:
            done = run(self.argv, document.encode(), **self._bounds())
        except OSError as error:
            raise self._not_started(error) from error
        return self._made(done, read)

    async def arun(self, document: str, read: Callable[[str], T]) -> T:
        """Like `run`, without blocking the event loop; when cancelled, the program is killed."""
        try:
            done = await arun(self.argv, document.encode(), **self._bounds())
        except OSError as error:
            raise self._not_started(error) from error
        return self._made(done, read)

    def _bounds(self) -> dict[str, Any]:
        """What holds for each run, as keyword arguments."""
        return {
            "env": environment_of(self.env),
            "cwd": self.cwd,
            "timeout": self.timeout,
            "max_output": self.max_output,
        }

    def _made(self, done: Finished, read: Callable[[str], T]) -> T:
        """Return what *read* makes of what the program wrote, or raise why it does not count."""
        stderr = done.stderr.decode(errors="replace").strip()
        if done.ended == "exit" and done.code == 0:
            written = done.stdout.decode(errors="replace")
            try:
                return read(written)
            except Unreadable as unreadable:
                error = self._malformed(written, unreadable.reason, self._shown(stderr))
            except ExecError as told:
                error = told
        else:
            error = self._ended(done, self._shown(stderr))
        error.stderr = stderr
        raise error

    def _malformed(self, written: str, reason: str, said: str) -> ExecError:
        """The error for a document that is not what the protocol says, for *reason*."""
        what = f"wrote what the protocol does not know ({reason})"
        if not trimmed(written):
            what = "wrote nothing to stdout"
        advice = "one JSON document goes to stdout, and all else to stderr"
        return self._failed(ExecOutputError, f"{what}{said}", advice)

    def _ended(self, done: Finished, said: str) -> ExecError:
        """The error for a bad end; *said* is what the program had to say of it."""
        if done.ended == "deadline":
            what = f"was not done after {self.timeout:g} s, and was killed{said}"
            return self._failed(ExecTimeoutError, what, "raise timeout, or see what it waits for")
        if done.ended == "bound":
            what = f"wrote more than {self.max_output:,} bytes to stdout, and was killed{said}"
            return self._failed(ExecOutputError, what, "raise max_output, or let it say less")
        if done.code < 0:
            name = _signal_name(-done.code)
            killed = self._failed(ExecExitError, f"was ended by {name}{said}")
            killed.signal = name
            return killed
        exited = self._failed(ExecExitError, f"exited with code {done.code}{said}")
        exited.exit_code = done.code
        return exited

    def _shown(self, stderr: str) -> str:
        """The end of *stderr* for a message, without what may be a key."""
        said = shown(stderr, self.secrets()) if stderr else ""
        if len(said) > _SHOWN:
            said = f"… {said[-_SHOWN:]}"
        return f": {said}" if said else ""

    def _not_started(self, error: OSError) -> ExecStartError:
        reason, advice = error.strerror or str(error), None
        if self.cwd is not None and not os.path.isdir(self.cwd):  # noqa: PTH112 (a text or a path)
            reason = "its cwd is no folder"
        elif isinstance(error, FileNotFoundError):
            advice = (
                "see whether it is there (./ leads to the folder) or on the PATH, "
                "and what its first line names"
            )
        elif isinstance(error, PermissionError):
            advice = "make it executable, or name what runs it first, such as python3"
        elif error.errno == ENOEXEC:
            advice = "begin it with what runs it, such as #!/bin/sh"
        failed = self._failed(ExecStartError, f"could not be started: {reason}", advice)
        failed.retryable = error.errno in _PASSING
        return failed

    def _failed(self, cls: type[E], what: str, advice: str | None = None) -> E:
        error = cls(f"{self.argv[0]} {what}", provider="exec", advice=advice)
        error.program = self.argv[0]
        return error


def _is_above_0(value: object) -> bool:
    return isinstance(value, int | float) and value > 0


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
