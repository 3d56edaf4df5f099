"""
A runtime that learns which choice pays, and the router that asks it which model to ask.

Names are imported when they are first used, so that `import ingot.rill` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.rill.client import Client
    from ingot.rill.decider import Decider, DeciderError
    from ingot.rill.errors import (
        RillError,
        RillLockedError,
        RillProcessError,
        RillRefusedError,
        RillRequestError,
        RillStartError,
        RillStateError,
        RillTimeoutError,
    )
    from ingot.rill.host import Host
    from ingot.rill.learner import find_learner, learners
    from ingot.rill.runtime import Runtime
    from ingot.rill.serving import serve
    from ingot.rill.session import Decision, Restart

__all__ = [
    "Client",
    "Decider",
    "DeciderError",
    "Decision",
    "Host",
    "Restart",
    "RillError",
    "RillLockedError",
    "RillProcessError",
    "RillRefusedError",
    "RillRequestError",
    "RillStartError",
    "RillStateError",
    "RillTimeoutError",
    "Runtime",
    "find_learner",
    "learners",
    "serve",
]

_HOMES = {
    "Client": "client",
    "Decider": "decider",
    "DeciderError": "decider",
    "Decision": "session",
    "Host": "host",
    "Restart": "session",
    "Runtime": "runtime",
    "find_learner": "learner",
    "learners": "learner",
    "serve": "serving",
}
"""Modules of the names that are no errors."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take any name for one of ours.

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'ingot.rill' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"ingot.rill.{_HOMES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
