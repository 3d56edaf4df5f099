"""The pipes of a child: one request on stdin, one document on stdout, all else on stderr."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, NoReturn

from ingot._json import Unreadable
from ingot._stdout import taken
from ingot.errors import IngotError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAILED", "UNANSWERABLE", "answer_on_stdout"]

FAILED = 1
"""Exit code: the handler failed, or the host is gone."""

UNANSWERABLE = 2
"""Exit code: the request cannot be answered."""

_INTERRUPTED = 130


def answer_on_stdout(answer: Callable[[str], str]) -> None:
    """
    Write what *answer* makes of the request on stdin on stdout.

    Stdout is taken away from the rest of the program for good: what is printed goes to stderr.

    Raises:
        SystemExit: There is no answer.
    """
    out = taken()
    try:
        with redirect_stdout(sys.stderr):
            document = answer(_request())
    except Unreadable as error:
        _end(UNANSWERABLE, f"error: {error}")
    except IngotError as error:
        _end(FAILED, f"error: {error}")
    except KeyboardInterrupt:
        _end(_INTERRUPTED)
    except Exception:  # noqa: BLE001 (whatever the handler raised)
        _end(FAILED, traceback.format_exc().rstrip())
    try:
        out.write(document.encode() + b"\n")
        out.flush()
    except BrokenPipeError:
        _end(FAILED)


def _request() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"the request is not UTF-8 (at byte {error.start})") from None


def _end(code: int, said: str | None = None) -> NoReturn:
    if said is not None:
        sys.stderr.write(f"{said}\n")
    raise SystemExit(code)
