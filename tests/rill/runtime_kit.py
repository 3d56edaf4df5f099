"""What tests of runtimes and their hosts share: a runtime as a program, looks into its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ingot.rill.client import Client
from ingot.rill.decider import Counters
from ingot.rill.host import Host
from ingot.rill.runtime import Runtime

SERVE = """\
import sys
from ingot.rill.decider import Counters
from ingot.rill.runtime import Runtime
from ingot.rill.serving import serve
with Runtime(sys.argv[1], Counters()) as runtime:
    serve(runtime, sys.stdin.buffer, sys.stdout.buffer)
"""


def host(path: Path, **options: Any) -> Host:
    """A host of a runtime that only counts."""
    return Host([sys.executable, "-c", SERVE, str(path)], **options)


def opened(path: Path | None, **options: Any) -> Client:
    """A client of a runtime in this process that only counts."""
    return Client(Runtime(path, Counters(), **options))


def pair(client: Client) -> str:
    """Decide and tell what came of it; return the id of the decision."""
    decision = client.decide({"a": 1})
    client.feedback(decision.id, 0, 0.5)
    return decision.id


def counts(path: Path) -> dict[str, int]:
    """What the runtime at *path* has counted, by what is on disk."""
    counters = Client(Runtime.peek(path, Counters())).inspect()["handler"]["stateCounters"]
    return {name: counters[name] for name in ("decisions", "feedback")}


def journal(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")
