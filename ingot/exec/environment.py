"""The environment of a program of the protocol, and what in it must not be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot import _program
from ingot.exec.wire import PROTOCOL, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._program import Environment

__all__ = ["environment_of", "secrets_in"]


def environment_of(named: Environment) -> dict[str, str]:
    """
    Return the whole environment of a program.

    Args:
        named: Variables that it gets beside the minimum, which they may replace, the variable of
            the protocol too; None for none; `inherit` for all of this process's.
    """
    return _program.environment_of(named, {VARIABLE: str(PROTOCOL)})


_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL")


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Return the values that must not be shown, the longest first: their names say so."""
    found = {
        value
        for name, value in environment.items()
        if len(value) >= 8 and any(word in name.upper() for word in _SECRET_WORDS)
    }
    return sorted(found, key=len, reverse=True)
