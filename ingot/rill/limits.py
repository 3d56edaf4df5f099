"""What a rill runtime holds at most: the resource profile of the source system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._record import record
from ingot.rill.wire_parts import MAX_MESSAGE, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._row import Row

__all__ = ["ROOMY", "Limits"]


@record
class Limits:
    """
    Bounds of a runtime; each default is the source system's.

    Those of packages, features, diagnostics and deadlines are told to whoever inspects a runtime,
    and bound nothing here: what they are about is not in this runtime.

    Attributes:
        frame_bytes: Bytes of a request, at most 1,048,576.
        state_bytes: Bytes of the decider's state as JSON.
        snapshot_bytes: Bytes of a snapshot; a byte of the state takes up to four of them.
        package_bytes: Bytes of a package that holds a decider.
        model_bytes: Bytes of a model.
        features: Features of a model.
        pending: Decisions that wait for their feedback.
        completed: Decisions that are remembered with their feedback, no fewer than *pending*.
        diagnostics: Records of what happened.
        request_ms: Milliseconds for a request.
        shutdown_ms: Milliseconds to end in.
        snapshot_ms: Milliseconds for a snapshot.
        backoff_ms: Milliseconds before a start after a crash.
    """

    frame_bytes: int = MAX_MESSAGE
    state_bytes: int = 2**18
    snapshot_bytes: int = 2**19
    package_bytes: int = 2**22
    model_bytes: int = 2**27
    features: int = 100_000
    pending: int = 1024
    completed: int = 4096
    diagnostics: int = 256
    request_ms: int = 5000
    shutdown_ms: int = 2000
    snapshot_ms: int = 2000
    backoff_ms: int = 100

    @classmethod
    def read(cls, row: Row) -> Limits:
        """
        Read them.

        Raises:
            Unreadable: One is missing, or there is another.
        """
        known(row, _NAMES.values())
        return cls(**{field: row.count(name) for field, name in _NAMES.items()})

    def to_json(self) -> dict[str, Any]:
        """The limits as JSON."""
        return {name: getattr(self, field) for field, name in _NAMES.items()}

    def problem(self) -> str | None:
        """What is wrong with them, in the words of the source system; None when nothing is."""
        bounds = (getattr(self, field) for field in _NAMES if field != "backoff_ms")
        if not all(bounds) or self.frame_bytes > MAX_MESSAGE:
            return "resource profile contains a zero limit"
        if self.completed < self.pending:
            return "completed decision history must hold pending capacity"
        return None


_NAMES: Mapping[str, str] = {
    "frame_bytes": "maxIpcFrameBytes",
    "state_bytes": "maxModelStateBytes",
    "snapshot_bytes": "maxSnapshotBytes",
    "package_bytes": "maxHandlerPackageBytes",
    "model_bytes": "maxModelPackBytes",
    "features": "maxFeatures",
    "pending": "maxPendingDecisions",
    "completed": "maxCompletedDecisions",
    "diagnostics": "maxDiagnosticRecords",
    "request_ms": "requestDeadlineMs",
    "shutdown_ms": "shutdownDeadlineMs",
    "snapshot_ms": "snapshotDeadlineMs",
    "backoff_ms": "restartBackoffMs",
}
"""Their names in JSON."""

ROOMY = Limits(state_bytes=2**23, snapshot_bytes=2**26)
"""Limits under which the fullest ledger and the largest state fit in a snapshot."""
