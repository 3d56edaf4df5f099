"""
What goes wrong with a program, as against what it says went wrong.

    ProviderError
    └── ExecError                 the program, or a failure that it told in a word of its own
        ├── ExecStartError        it could not be started
        ├── ExecTimeoutError      it was not done in time (also a ProviderTimeoutError)
        ├── ExecExitError         it ended with a code that is not 0, or by a signal
        └── ExecOutputError       what it wrote is not what the protocol says

A program that knows what went wrong says so in its document: `provider_auth` and the other words
of the protocol become the errors of `ingot.errors`. No argument of a program, and no value of its
environment, stands in a message.
"""

from __future__ import annotations

from ingot.errors import ProviderError, ProviderTimeoutError

__all__ = [
    "ExecError",
    "ExecExitError",
    "ExecOutputError",
    "ExecStartError",
    "ExecTimeoutError",
]


class ExecError(ProviderError):
    """
    A program could not do what it was asked.

    Attributes:
        program: The program, as it was named, without its arguments.
        stderr: The last 64 KiB of what it said on stderr, for the program to use; a message shows
            less of it, and no key.
    """

    code = "exec_failed"
    program: str = ""
    stderr: str = ""


class ExecStartError(ExecError):
    """The program could not be started; only a shortage of the system's is worth a retry."""

    is_reply = False
    """Nobody was asked, so a cassette does not record it."""


class ExecTimeoutError(ExecError, ProviderTimeoutError):
    """The program was not done in time, and was killed with all that it had started."""

    code = "exec_failed"
    retryable = True


class ExecExitError(ExecError):
    """
    The program ended with a code that is not 0, or by a signal; what it wrote does not count.

    Attributes:
        exit_code: The code; None when a signal ended it.
        signal: Name of the signal, such as `SIGKILL`; None when none did.
    """

    exit_code: int | None = None
    signal: str | None = None


class ExecOutputError(ExecError):
    """What the program wrote to stdout is not one document of the protocol, or too much."""
