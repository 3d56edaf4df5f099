"""The environment of a program: what is named and a minimum, so no key gets there by chance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from ingot.errors import NotConfiguredError
from ingot.exec.wire import PROTOCOL, VARIABLE

__all__ = ["MINIMUM", "Environment", "check_named", "environment_of", "secrets_in"]

Environment: TypeAlias = Mapping[str, str] | Literal["inherit"] | None

MINIMUM = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
"""What a program gets of this process's environment unasked, with all that begins with `LC_`."""


def environment_of(named: Environment) -> dict[str, str]:
    """
    Return the whole environment of a program.

    Args:
        named: Variables that it gets beside the minimum, which they may replace, the variable of
            the protocol too; None for none; `inherit` for all of this process's.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if named == "inherit" or name in MINIMUM or name.startswith("LC_")
    }
    chosen = dict[str, str]() if named is None or isinstance(named, str) else named
    return {**inherited, VARIABLE: str(PROTOCOL), **chosen}


def check_named(named: object) -> None:
    """
    Refuse what cannot be the environment of a program.

    Raises:
        NotConfiguredError: *named* is of the wrong kind, or a name or a value in it is.
    """
    if named is None or named == "inherit":
        return
    if not isinstance(named, Mapping):
        raise NotConfiguredError("env is a mapping of texts, or 'inherit'")
    for name, value in cast("Mapping[object, object]", named).items():
        if not _is_passable(name, value):
            raise NotConfiguredError(
                f"env={{{name!r:.40}: …}} cannot be given to a program",
                advice="names and values are text without NUL, and a name holds no `=`",
            )


def _is_passable(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    try:
        os.fsencode(name + value)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return bool(name) and "=" not in name and "\0" not in name + value


_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL")


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Return the values that must not be shown, the longest first: their names say so."""
    found = {
        value
        for name, value in environment.items()
        if len(value) >= 8 and any(word in name.upper() for word in _SECRET_WORDS)
    }
    return sorted(found, key=len, reverse=True)
