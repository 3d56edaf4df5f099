"""A runtime in this process: the engine, and the files that its state outlives the process in."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

from ingot.rill.decider import Decider
from ingot.rill.engine import Engine
from ingot.rill.errors import RillError, RillStateError
from ingot.rill.limits import ROOMY
from ingot.rill.snapshot import SnapshotError
from ingot.rill.store import Store, damaged, look, place_of
from ingot.rill.wire import PREVIEW_CAPABILITIES, PREVIEW_HASH, write
from ingot.rill.wire_parts import Identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from ingot.rill.ledger import Eviction
    from ingot.rill.limits import Limits
    from ingot.rill.store import Found
    from ingot.rill.wire import Response
    from ingot.rill.wire_parts import Surface

__all__ = ["HOUR_MS", "IDENTITY", "Options", "Runtime", "now_ms"]

HOUR_MS = 3_600_000
"""For how long a decision waits for its feedback, in ms, unless told otherwise."""

IDENTITY = Identity(name="ingot", version="1")
"""Who answers and who asks, unless told otherwise."""


def now_ms() -> int:
    """The time, in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Options(TypedDict, total=False):
    """
    How an engine is made; see `Engine`.

    Attributes:
        surface: Which answers are spoken; `"preview"` unless told otherwise.
        identity: Who answers.
        capabilities: What may be asked; the names of the running source system unless told
            otherwise, as for *feature_schema_hash*.
        feature_schema_hash: Of what contexts are made of.
        model_generation: The generation of the model; 0 unless told otherwise.
        limits: What it holds at most; `ROOMY` unless told otherwise.
        eviction: What happens when the ledger is full of decisions that had their feedback;
            `"oldest-completed"` unless told otherwise.
        pending_ms: For how long a decision waits for its feedback; an hour unless told otherwise.
    """

    surface: Surface
    identity: Identity
    capabilities: Sequence[str]
    feature_schema_hash: str
    model_generation: int
    limits: Limits
    eviction: Eviction
    pending_ms: int | None


class Runtime:
    """
    Answers the messages of Rill Runtime IPC v3, and forgets nothing that it answered for.

    A request that changes the state is in the journal before its answer is returned; see
    `ingot.rill.store`. It may be used from several threads, each of which waits for its turn.

    Args:
        path: Where the state is, or will be; None for one that ends with this object.
        decider: What decides and learns. It belongs to the runtime from here on.
        durable: Whether an answer waits until the disk has the request. Otherwise the system has
            it, which is enough for the end of this process, and the disk within 100 ms.
        clock: Tells the time in Unix milliseconds.
        options: See `Options`.

    Raises:
        RillLockedError: Another runtime uses the state.
        RillStateError: The files are damaged, of another decider, or cannot be read or written.
        TypeError: *decider* is none.
        ValueError: An option is out of its range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        decider: Decider,
        *,
        durable: bool = False,
        clock: Callable[[], int] = now_ms,
        **options: Unpack[Options],
    ) -> None:
        _check(decider)
        self._decider = decider
        self._options: Options = {**_OPTIONS, **options}
        self._engine = Engine(decider, **self._options)
        self.name = "the runtime"
        self.waits = False
        self.timeout = None
        self._clock = clock
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._store: Store | None = None
        self._kept = 0  # the generation up to which the files have all
        self._is_closed = False
        if path is None:
            return
        place = place_of(path)
        self._store = Store(place, durable=durable)
        try:
            self._restore(place, self._store.found)
            self._checkpoint(self._store)
        except BaseException:
            self._store.close()
            raise

    @classmethod
    def peek(
        cls, path: str | os.PathLike[str], decider: Decider, **options: Unpack[Options]
    ) -> Self:
        """
        Return a runtime that knows what is at *path* now, which another one may be using.

        What it is asked stays its own: nothing is written, and no lock is needed.

        Raises:
            RillStateError: There is no state, or it cannot be used.
        """
        place = place_of(path)
        found = look(place)
        if found is None:
            raise RillStateError("there is no state", path=str(place), advice=_NO_STATE)
        runtime = cls(None, decider, **options)
        runtime._restore(place, found)
        return runtime

    def answer(self, line: bytes) -> bytes:
        """Serve one request, and return the line of its answer; see `respond`."""
        return write(self.respond(line))

    def respond(self, line: bytes) -> Response:
        """
        Serve one request.

        Args:
            line: The request, as JSON.

        Returns:
            The answer: an error for whatever cannot be served.

        Raises:
            RillStateError: The state cannot be written. Until it can, nothing is served.
            RillError: It was closed, or by another process opened, of which this one is a fork.
        """
        if os.getpid() != self._owner:
            raise RillError(
                "a runtime that one process opened was used in a fork of it",
                advice="open it after the fork, with a state of its own",
            )
        line = line.replace(b"\n", b" ")  # within JSON, both are white space
        with self._lock:
            store, engine = self._store, self._engine
            if self._is_closed:
                raise RillError("the runtime was closed")
            if store is None:
                return engine.respond(line, self._clock())
            # A change that could not be kept, or whose request was interrupted, is made up for.
            if store.is_due or engine.state_generation != self._kept:
                self._checkpoint(store)
            now = self._clock()
            response = engine.respond(line, now)
            if engine.state_generation != self._kept:
                store.append(now, line)
                self._kept = engine.state_generation
            return response

    def restart(self) -> None:
        """Do nothing: what runs in this process does not fall alone."""

    def close(self) -> None:
        """Make a snapshot, so that the next start is quick, and free the lock."""
        with self._lock:
            store, self._store = self._store, None
            self._is_closed = True
            if store is None or os.getpid() != self._owner:
                return
            try:
                with suppress(RillStateError):  # the journal has all of it
                    self._checkpoint(store)
            finally:
                store.close()

    def snapshot(self) -> bytes:
        """
        Return all that it knows, which is what a file of a state holds.

        Raises:
            RillStateError: It would be too large, or what decides has failed.
        """
        with self._lock:
            return self._snapshot()

    def __repr__(self) -> str:
        place = self._store.path if self._store is not None else "in memory"
        return f"<Runtime {'closed' if self._is_closed else place}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _restore(self, path: Path, found: Found | None) -> None:
        if found is None:
            return
        try:
            snapshot = self._repeated(path, found) if found.entries else found.snapshot
            self._engine.restore(snapshot)
        except SnapshotError as error:
            raise damaged(path, error.reason, _ANOTHER) from error

    def _repeated(self, path: Path, found: Found) -> bytes:
        """Accept all of a journal again, on the terms of then; return the snapshot after it."""
        try:
            then: Any = {**self._options, **found.terms}
            engine = Engine(self._decider, **then)
        except (TypeError, ValueError) as error:
            raise damaged(
                path, "its journal was written on terms that are not known here"
            ) from error
        engine.restore(found.snapshot)
        for number, entry in enumerate(found.entries, 1):
            before = engine.state_generation
            engine.respond(entry.line, entry.now)
            if engine.state_generation == before:
                raise damaged(path, f"request {number} of its journal is not accepted again")
        return engine.snapshot()

    def _checkpoint(self, store: Store) -> None:
        terms = {name: value for name, value in self._options.items() if name in _TERMS}
        store.checkpoint(self._snapshot(), terms)
        self._kept = self._engine.state_generation

    def _snapshot(self) -> bytes:
        try:
            return self._engine.snapshot()
        except SnapshotError as error:
            path = "in memory" if self._store is None else str(self._store.path)
            raise RillStateError(f"it cannot be kept: {error.reason}", path=path) from error


def _check(decider: Any) -> None:
    if not isinstance(decider, Decider):
        raise TypeError(
            f"a Runtime holds a decider, such as find_learner('linucb'), not {decider!r:.80}"
        )


_TERMS = ("capabilities", "feature_schema_hash", "model_generation", "eviction", "pending_ms")
"""On what it depends which requests are accepted, beside the state."""

_OPTIONS: Options = {
    "surface": "preview",
    "identity": IDENTITY,
    "capabilities": PREVIEW_CAPABILITIES,
    "feature_schema_hash": PREVIEW_HASH,
    "model_generation": 0,
    "limits": ROOMY,
    "eviction": "oldest-completed",
    "pending_ms": HOUR_MS,
}

_ANOTHER = "name the learner that wrote it, if that is another"

_NO_STATE = "name the file that a runtime was started with"
