"""The state of a runtime on the command line: served, shown, copied, reset."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ingot._disk import replace
from ingot._stdout import taken
from ingot.cli import show
from ingot.cli.exits import MisuseError
from ingot.errors import NotConfiguredError
from ingot.rill.client import Client
from ingot.rill.decider import Counters
from ingot.rill.deciders import decider_of
from ingot.rill.errors import RillLockedError, RillStateError
from ingot.rill.learner import learners
from ingot.rill.runtime import Runtime
from ingot.rill.serving import serve
from ingot.rill.store import set_aside
from ingot.rill.strategies import STRATEGIES

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from ingot.errors import IngotError
    from ingot.rill.decider import Decider
    from ingot.rill.runtime import Options

__all__ = ["reset", "run", "show_state", "snapshot"]

_COUNTERS = "counters"


def run(path: Path, learner: str, *, durable: bool = False, **options: Unpack[Options]) -> None:
    """Answer what comes on stdin on stdout; what *learner* prints goes to stderr."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        raise MisuseError("a runtime needs stdin, stdout and stderr, and one of them is closed")
    try:
        runtime = Runtime(path, _decider(learner), durable=durable, **options)
    except ValueError as error:
        raise MisuseError(str(error)) from None
    with runtime:
        out = taken()
        try:
            serve(runtime, sys.stdin.buffer, out)
        except OSError as error:
            with suppress(OSError):
                out.close()  # at exit Python would write the rest once more, and complain
            left = isinstance(error, BrokenPipeError)
            raise show.UnwritableError(None if left else error.strerror) from None


def show_state(path: Path, learner: str | None, *, whole: bool) -> None:
    """Print what the state at *path* holds."""
    _, runtime = _looked_at(path, learner)
    summary = Client(runtime).inspect()
    summary["stateGeneration"] -= 1  # which asking moved
    if whole:
        show.tree(summary)
        return
    used = summary["resourceUtilization"]
    told = {
        "health": summary["health"],
        "last error": summary["lastError"] or "–",
        "generation": summary["stateGeneration"],
        "decisions that wait for feedback": used["pendingDecisions"],
        "decisions that had it": used["completedDecisions"],
        "state": f"{used['stateBytes']:,} bytes",
    }
    show.table(str(path), [], [[name, _cell(value)] for name, value in told.items()])
    learned = [[name, _cell(value)] for name, value in sorted(summary["handler"].items())]
    show.table("learned", [], learned)


def snapshot(path: Path, learner: str | None, out: Path | None) -> None:
    """Print the state of what decides, or write all of the state to *out*."""
    _, runtime = _looked_at(path, learner)
    if out is None:
        show.tree(json.loads(Client(runtime).snapshot()))
        return
    if out.exists():
        raise MisuseError(f"--out {out} is there already; name another file")
    try:
        replace(out, runtime.snapshot())
    except OSError as error:
        raise MisuseError(f"--out {out} cannot be written: {error.strerror}") from None


def reset(path: Path, learner: str | None, *, force: bool) -> None:
    """Forget what the state at *path* holds."""
    try:
        name, _ = _looked_at(path, learner)
        with Client(Runtime(path, _decider(name))) as client:
            client.reset()
    except RillLockedError:
        raise
    except RillStateError:
        aside = set_aside(path) if force else []
        if not aside:
            raise
        for file in aside:
            show.note(f"set aside: {file}")


def _looked_at(path: Path, learner: str | None) -> tuple[str, Runtime]:
    """What decides in the state at *path*, found out where it is None; and the state."""
    refused: IngotError | None = None
    known = (*learners(), STRATEGIES[0], _COUNTERS)  # the states of all strategies are alike
    for name in known if learner is None else (learner,):
        try:
            return name, Runtime.peek(path, _decider(name))
        except (RillStateError, NotConfiguredError) as error:
            refused = refused or error
    assert refused is not None, "some learner is known"
    raise refused


def _decider(name: str) -> Decider:
    return Counters() if name == _COUNTERS else decider_of(name)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
