"""
What goes wrong with a runtime and its state.

    IngotError
    └── RillError
        ├── RillStateError        the files of its state cannot be used
        │   └── RillLockedError   another runtime uses them
        ├── RillRequestError      nothing was sent: too large, or not offered by the runtime
        ├── RillRefusedError      the runtime answered with an error
        ├── RillStartError        its program cannot be started
        └── RillProcessError      its process ended, or broke the protocol
            └── RillTimeoutError  no answer in time

None of them is an answer of a model, or the failure of one.
"""

from __future__ import annotations

from ingot.errors import IngotError

__all__ = [
    "RillError",
    "RillLockedError",
    "RillProcessError",
    "RillRefusedError",
    "RillRequestError",
    "RillStartError",
    "RillStateError",
    "RillTimeoutError",
]


class RillError(IngotError):
    """A runtime or its state cannot be used."""

    code = "rill"


class RillStateError(RillError):
    """
    The files of a state cannot be used.

    Attributes:
        path: The file of the state, also where it is the journal beside it that is meant.
        reason: What is wrong.
    """

    code = "rill_state"

    def __init__(self, reason: str, *, path: str, advice: str | None = None) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}", advice=advice)


class RillLockedError(RillStateError):
    """Another runtime uses the state; two would forget what the other one learns."""

    code = "rill_locked"

    def __init__(self, path: str) -> None:
        super().__init__(
            "another runtime uses this state",
            path=path,
            advice="end that one, share it with its caller, or name another file",
        )


class RillRequestError(RillError):
    """A request that is not sent, as the runtime would not take it."""

    code = "rill_request"


class RillRefusedError(RillError):
    """
    The runtime answered with an error.

    Attributes:
        word: The code of the protocol, such as `unknownDecision`.
        said: What the runtime says of it.
        retryable: Whether the same request may be taken later. It is not for a decision that is a
            duplicate or unknown, whatever the runtime says of these.
    """

    code = "rill_refused"

    def __init__(self, word: str, said: str, *, retryable: bool, advice: str | None = None) -> None:
        self.word = word
        self.said = said
        self.retryable = retryable
        super().__init__(f"the runtime refused ({word}): {said}", advice=advice)


class RillStartError(RillError):
    """
    The program of a runtime cannot be started.

    Attributes:
        program: The program, without its arguments.
    """

    code = "rill_start"

    def __init__(self, program: str, reason: str, *, advice: str | None = None) -> None:
        self.program = program
        super().__init__(f"{program} could not be started: {reason}", advice=advice)


class RillProcessError(RillError):
    """
    The process of a runtime has ended, or does not speak the protocol.

    Attributes:
        program: The program, without its arguments.
        stderr: The end of what it said on stderr.
    """

    code = "rill_process"

    def __init__(
        self, program: str, what: str, *, stderr: str = "", advice: str | None = None
    ) -> None:
        self.program = program
        self.stderr = stderr
        super().__init__(f"{program} {what}", advice=advice)


class RillTimeoutError(RillProcessError):
    """No answer came in time; the process was ended, as a late answer would pass for another."""

    code = "rill_timeout"
