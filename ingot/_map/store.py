"""The store of a durable run: answers in SQLite, each claimed before it is paid for."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ingot._map_errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HELD", "Store"]

HELD: dict[str, Any] = {}
"""Stands for an answer that another run is about to pay for."""

_LEASE = 60.0
"""Seconds after which a claim that is not renewed may be taken over."""

_BUSY = 60.0
"""Seconds that one process waits for the others to let go of the file."""

_PATIENCE = 0.5
"""Seconds in which the file may be let go of before that is left to the thread of the store."""

_FORMAT = 0x696E676F
"""Marks a file as ours, in the head of every SQLite file: `ingo`."""

_VERSION = 1

_SCHEMA = f"""
    CREATE TABLE answers (
        key TEXT NOT NULL, n INTEGER NOT NULL, answer TEXT, owner TEXT, lease REAL,
        PRIMARY KEY (key, n)
    );
    CREATE INDEX claims ON answers (owner) WHERE owner IS NOT NULL;
    PRAGMA application_id = {_FORMAT};
    PRAGMA user_version = {_VERSION};
"""

_Change: TypeAlias = Callable[[sqlite3.Connection], Any]


class _Wish(NamedTuple):
    """A change, and whom to tell once it is on disk."""

    change: _Change
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[Any]


class Store:
    """
    Answers by key and number, which several processes of one machine may share.

    A thread of its own commits what was wished for meanwhile, together: what is awaited here is on
    disk afterwards. It renews the claims of this run, and claims of a process that died are taken
    over at once where that can be seen, else when their lease has expired.

    Args:
        path: The file; its folder is made.
        lease: Seconds after which a claim of this run that is not renewed may be taken over.

    Raises:
        StoreError: It cannot be opened, or is something else.
    """

    def __init__(self, path: str | os.PathLike[str], *, lease: float = _LEASE) -> None:
        self.path = Path(path)
        self._lease = lease
        self._owner = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._wishes: SimpleQueue[_Wish | None] = SimpleQueue()
        connection = _opened(self.path)
        self._thread = threading.Thread(
            target=_serve,
            args=(connection, self.path, self._owner, lease, self._wishes),
            name="ingot store",
            daemon=True,
        )
        self._thread.start()

    async def claim(self, key: str, n: int) -> dict[str, Any] | None:
        """
        Return the answer; None where it is now this run's to pay for; `HELD` if it is another's.

        Args:
            key: The key of the request.
            n: Its number among equal ones of the run, from 0.
        """
        claim = partial(_claim, key=key, n=n, owner=self._owner, lease=self._lease)
        text: str | None = await self._wish(claim)
        return HELD if text == "" else None if text is None else json.loads(text)

    async def keep(self, key: str, n: int, answer: dict[str, Any]) -> None:
        """Put *answer* on disk; one that is there stays."""
        text = _text(answer)
        await self._wish(lambda db: db.execute(_KEEP, (key, n, text)))

    async def forget(self, key: str, n: int, answer: dict[str, Any]) -> None:
        """Drop *answer*, unless another stands there by now."""
        text = _text(answer)
        await self._wish(lambda db: db.execute(_FORGET, (key, n, text)))

    async def release(self, key: str, n: int) -> None:
        """Let others pay for it."""
        owner = self._owner
        await self._wish(lambda db: db.execute(_RELEASE, (owner, key, n)))

    async def _wish(self, change: _Change) -> Any:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Any] = loop.create_future()
        self._wishes.put(_Wish(change, loop, told))
        return await told

    def end(self) -> None:
        """Let the thread end when it has done what was wished for."""
        self._wishes.put(None)

    def close(self) -> None:
        """Let go of the file, and of what is claimed and not paid for; never wait for long."""
        self.end()
        self._thread.join(_PATIENCE)


def _text(answer: dict[str, Any]) -> str:
    return json.dumps(answer, allow_nan=False, separators=(",", ":"))


def _opened(path: Path) -> sqlite3.Connection:
    """
    Open the file, and make it one of ours where it is new.

    Raises:
        StoreError: It cannot be, or it is something else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path.absolute(),  # a name such as `:memory:` would be no file
            timeout=_BUSY,
            isolation_level=None,
            check_same_thread=False,
        )
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"it cannot be opened: {error}", path=str(path)) from error
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    try:
        if not _is_new(db, path):  # looked at before a byte of it is changed
            db.execute("PRAGMA synchronous = FULL")
            return
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        if _is_new(db, path):  # not begun by another process meanwhile
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise _broken(error, path) from error


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """
    Whether there is nothing in the file yet.

    Raises:
        StoreError: There is something else than a store in it, or a later store.
    """
    form, version, tables = (
        db.execute(question).fetchone()[0]
        for question in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    if form == _FORMAT and version != _VERSION:
        raise StoreError(
            f"it has version {version}, and this ingot reads version {_VERSION}",
            path=str(path),
            advice="pip install --upgrade ingot-ask",
        )
    if form != _FORMAT and (form or tables):
        raise StoreError(
            "it is a database of something else",
            path=str(path),
            advice="name another file; a store is made where there is none",
        )
    return not tables


def _broken(error: sqlite3.Error, path: Path) -> StoreError:
    if isinstance(error, sqlite3.OperationalError):
        return StoreError(f"it cannot be used: {error}", path=str(path))
    return StoreError(
        f"it is damaged, or no store: {error}",
        path=str(path),
        advice="name another file, or remove this one; its answers are then paid for again",
    )


# In the thread of the store, which must not hold the store itself


def _serve(
    db: sqlite3.Connection,
    path: Path,
    owner: str,
    lease: float,
    wishes: SimpleQueue[_Wish | None],
) -> None:
    """Commit what is wished for, all that there is at a time, until the end."""
    renewed = time.monotonic()
    going = True
    while going:
        batch, going = _next_batch(wishes, lease / 4)
        if batch:
            _tell(batch, *_committed(db, path, [wish.change for wish in batch]))
        if time.monotonic() - renewed > lease / 4:
            renewed = time.monotonic()
            _committed(db, path, [partial(_renew, owner=owner, lease=lease)])
    _committed(db, path, [lambda db: db.execute(_RELEASE_ALL, (owner,))])
    db.close()


def _next_batch(wishes: SimpleQueue[_Wish | None], seconds: float) -> tuple[list[_Wish], bool]:
    """Wait so long for a wish; return all that there are then, and whether more may come."""
    batch: list[_Wish] = []
    with suppress(Empty):
        wish = wishes.get(timeout=seconds)
        while wish is not None:
            batch.append(wish)
            wish = wishes.get_nowait()
        return batch, False
    return batch, True


def _committed(
    db: sqlite3.Connection, path: Path, changes: Iterable[_Change]
) -> tuple[list[Any], StoreError | None]:
    """Make *changes* in one transaction; return what each gave, or why none was made."""
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            made = [change(db) for change in changes]
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    except sqlite3.Error as error:
        return [], _broken(error, path)
    return made, None


def _tell(batch: list[_Wish], made: list[Any], error: StoreError | None) -> None:
    """Tell all who wait, one call for each loop."""

    def tell(loop: asyncio.AbstractEventLoop) -> None:
        for number, wish in enumerate(batch):
            if wish.loop is not loop or wish.told.done():
                continue
            if error is None:
                wish.told.set_result(made[number])
            else:
                wish.told.set_exception(error)

    for loop in {wish.loop for wish in batch}:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, loop)


_CLAIM = """
    INSERT INTO answers (key, n, owner, lease) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET owner = excluded.owner, lease = excluded.lease
"""
_KEEP = """
    INSERT INTO answers (key, n, answer) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET answer = excluded.answer, owner = NULL, lease = NULL
    WHERE answer IS NULL
"""
_FORGET = "DELETE FROM answers WHERE key = ? AND n = ? AND answer = ?"
_RENEW = "UPDATE answers SET lease = ? WHERE owner = ?"
_RELEASE_ALL = "DELETE FROM answers WHERE owner = ?"
_RELEASE = f"{_RELEASE_ALL} AND key = ? AND n = ?"


def _claim(db: sqlite3.Connection, key: str, n: int, owner: str, lease: float) -> str | None:
    """Return the answer, an empty text for one that is another's; else claim it."""
    now = time.time()
    found = db.execute(
        "SELECT answer, owner, lease FROM answers WHERE key = ? AND n = ?", (key, n)
    ).fetchone()
    if found is not None:
        answer, other, until = found
        if answer is not None:
            return str(answer)
        if other != owner and until > now and not _is_dead(other):
            return ""
    db.execute(_CLAIM, (key, n, owner, now + lease))
    return None


def _renew(db: sqlite3.Connection, owner: str, lease: float) -> None:
    db.execute(_RENEW, (time.time() + lease, owner))


def _is_dead(owner: str) -> bool:
    """Whether the process that *owner* names is known to have ended."""
    host, pid, _ = owner.rsplit(":", 2)
    if os.name != "posix" or host != platform.node():
        return False  # elsewhere a signal could do harm, and ids of other hosts say nothing here
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
