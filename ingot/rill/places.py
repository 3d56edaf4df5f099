"""Where it is kept what routers have learned, and the runtimes that are open there."""

from __future__ import annotations

import os
import threading
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

from ingot.errors import NotConfiguredError
from ingot.rill.client import Client
from ingot.rill.deciders import decider_of
from ingot.rill.errors import RillLockedError, RillStateError
from ingot.rill.runtime import Runtime
from ingot.rill.store import place_of

__all__ = ["DEFAULT", "folder", "opened"]


class _Default:
    def __repr__(self) -> str:
        return "<a file in the user's folder for state>"

    def __reduce__(self) -> str:
        return "DEFAULT"  # a copy is the very same


DEFAULT: Any = _Default()
"""Stands for the file in the user's folder that belongs to the models and the objective."""


_lock = threading.Lock()
_open: dict[tuple[int, Path, str, bool], Client] = {}
"""
Runtimes that are open, which routers that are alike share: by process, file, what decides, and
whether the file is the user's, as then it may be a copy.
"""


def opened(decides: str, state: str | os.PathLike[str] | None, what: str) -> Client:
    """
    Return the runtime of a router.

    Args:
        decides: The name of what decides, see `decider_of`.
        state: The file of its state, None for none, or `DEFAULT`.
        what: The models and the objective, in words.

    Raises:
        NotConfiguredError: A package is missing.
        RillLockedError: Another process uses the file, which was named.
        RillStateError: The file is damaged or of other models, or cannot be read or written.
    """
    if state is None:
        return Client(Runtime(None, decider_of(decides)))
    is_users = state is DEFAULT
    if is_users:
        name = sha256(f"{decides}\n{what}".encode()).hexdigest()[:16]
        path = folder() / f"{name}.json"
    else:
        path = place_of(state)
    key = os.getpid(), path, decides, is_users
    with _lock:
        if key not in _open:
            _open[key] = Client(_runtime(path, decides, is_users=is_users))
        return _open[key]


def _runtime(path: Path, decides: str, *, is_users: bool) -> Runtime:
    try:
        return Runtime(path, decider_of(decides))
    except RillLockedError:
        if not is_users:
            raise
    warnings.warn(
        "another process learns in the user's file for these models: this one knows what was "
        "learned so far, and what it learns itself ends with it; name a file for each with state=…",
        RuntimeWarning,
        stacklevel=2,
    )
    try:
        return Runtime.peek(path, decider_of(decides))
    except RillStateError:  # it was opened at this very moment, and nothing was learned
        return Runtime(None, decider_of(decides))


def folder() -> Path:
    """
    Return the folder in which routers keep what they learned, unless told otherwise.

    Raises:
        NotConfiguredError: The package that knows it is not installed.
    """
    try:
        import platformdirs
    except ImportError:
        raise NotConfiguredError(
            "a router that is not told where to keep what it learns needs platformdirs",
            advice="pip install 'ingot-ask[router]', or name a file with Router(…, state='…')",
        ) from None
    return Path(platformdirs.user_state_path("ingot"), "routers")
