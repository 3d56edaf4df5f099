"""A runtime in a process of its own: started when it is asked, ended when it does not answer."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Self

from ingot._coprocess import Coprocess, Gone
from ingot._program import argv_of, check_named, environment_of
from ingot._redact import redact
from ingot.errors import NotConfiguredError
from ingot.rill.errors import RillError, RillProcessError, RillStartError, RillTimeoutError
from ingot.rill.wire_parts import MAX_MESSAGE

if TYPE_CHECKING:
    from ingot._program import Command, Environment

__all__ = ["Host"]

_MAX_ANSWER = 2 * MAX_MESSAGE
"""Bytes of an answer; a runtime may wrap up to 1 MiB that is answered in some more."""

_LONGEST = 1_000_000_000
"""Seconds that there may be to wait, as a request tells its deadline in whole milliseconds."""

_SHOWN = 1_000
"""Characters of stderr that a message shows, the last ones."""


class Host:
    """
    Drives a program that speaks Rill Runtime IPC v3 on its stdin and stdout, one line a message.

    It is asked through a `Client`, which starts it anew when it falls.

    Args:
        command: The program and its arguments; a text is split as a shell does it.
        env: Variables that it gets beside `PATH`, `HOME` and the like; None for none; `inherit`
            for all of this process's.
        cwd: Its folder; None for this process's.
        timeout: Seconds until an answer must be there; then the program is ended, and started anew
            for the next request.
        grace: Seconds that it may take to end, once nothing more is said to it.

    Raises:
        NotConfiguredError: An argument cannot be used.
    """

    def __init__(
        self,
        command: Command,
        *,
        env: Environment = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = 10.0,
        grace: float = 5.0,
    ) -> None:
        check_named(env)
        if not 0 < timeout <= _LONGEST or not 0 <= grace <= _LONGEST:
            raise NotConfiguredError(
                f"timeout and grace are seconds, timeout above 0 and both at most {_LONGEST:,}"
            )
        self._argv = argv_of(command)
        self._env: Environment = env
        self._cwd = cwd
        self._grace = grace
        self._process: Coprocess | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self._owner = os.getpid()
        self.name = self._argv[0]
        self.waits = True
        self.timeout = timeout

    @property
    def pid(self) -> int | None:
        """The id of the process; None where there is none now."""
        process = self._process
        return None if process is None else process.pid

    def answer(self, line: bytes) -> bytes:
        """
        Send one request, and return its answer; start the program if it does not run.

        Raises:
            RillStartError: The program cannot be started.
            RillTimeoutError: There is no answer in time.
            RillProcessError: There is none for another reason.
            RillError: It was closed, or by another process started, of which this one is a fork.
        """
        if os.getpid() != self._owner:
            raise RillError(
                f"{self.name} was started by another process, of which this one is a fork",
                advice="make the host after the fork",
            )
        with self._lock:
            if self._is_closed:
                raise RillError(f"the host of {self.name} was closed")
            if self._process is None:
                self._process = self._started()
            try:
                return self._process.exchange(line, self.timeout)
            except BaseException as error:
                self._process = None  # also when interrupted, it was ended
                if isinstance(error, Gone):
                    raise self._fallen(error) from error
                raise

    def restart(self) -> None:
        """End what is left of the program; the next request starts it."""
        process, self._process = self._process, None
        if process is not None:
            process.close(0)

    def close(self) -> None:
        """Let the program end by itself, as there is nothing more to answer."""
        self._is_closed = True
        process, self._process = self._process, None
        if process is not None and os.getpid() == self._owner:
            process.close(self._grace)

    def __repr__(self) -> str:
        return f"<Host of {self.name}, {'not running' if self.pid is None else f'pid {self.pid}'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> Coprocess:
        env = environment_of(self._env)
        try:
            return Coprocess(self._argv, env=env, cwd=self._cwd, max_line=_MAX_ANSWER)
        except OSError as error:
            raise RillStartError(
                self.name,
                error.strerror or str(error),
                advice="see whether it is there, on the PATH, and executable",
            ) from error

    def _fallen(self, gone: Gone) -> RillProcessError:
        """The error for a program that is no longer there."""
        stderr = gone.stderr.decode(errors="replace").strip()
        said = redact(stderr)[-_SHOWN:]
        said = f": {said}" if said else ""
        if gone.why == "deadline":
            what = f"did not answer within {self.timeout:g} s, and was ended{said}"
            return RillTimeoutError(self.name, what, stderr=stderr, advice="raise timeout")
        what = {
            "exit": f"ended with code {gone.code}{said}",
            "bound": f"wrote a line of more than {_MAX_ANSWER:,} bytes, and was ended{said}",
            "unasked": f"wrote what nobody had asked for, and was ended{said}",
        }[gone.why]
        return RillProcessError(self.name, what, stderr=stderr)
