"""What is run and what it gets: words of a command, and an environment with no key by chance."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, cast

from ingot.errors import NotConfiguredError

__all__ = ["MINIMUM", "Command", "Environment", "argv_of", "check_named", "environment_of"]

Command: TypeAlias = "str | Sequence[str]"

Environment: TypeAlias = Mapping[str, str] | Literal["inherit"] | None

MINIMUM = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
"""What a program gets of this process's environment unasked, with all that begins with `LC_`."""


def argv_of(command: Command) -> tuple[str, ...]:
    """
    Return the words of *command*; a text is split as a shell does it, and nothing is expanded.

    Raises:
        NotConfiguredError: There are none, a quote is not closed, or one is no text of the system.
    """
    import shlex

    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else map(os.fspath, command))
        os.fsencode("".join(words))
    except (ValueError, TypeError):
        raise NotConfiguredError(
            "the command of a program is a text with its quotes closed, or a list of texts"
        ) from None
    if not words or not words[0] or any("\0" in word for word in words):
        raise NotConfiguredError(
            "there is no program to run: the command is empty",
            advice="name it first, such as ['./provider.py', '--fast']",
        )
    return words


def environment_of(named: Environment, protocol: Mapping[str, str] | None = None) -> dict[str, str]:
    """
    Return the whole environment of a program.

    Args:
        named: Variables that it gets beside the minimum, which they may replace; None for none;
            `inherit` for all of this process's.
        protocol: Variables that tell it what it is run for, which *named* may replace too.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if named == "inherit" or name in MINIMUM or name.startswith("LC_")
    }
    chosen = dict[str, str]() if named is None or isinstance(named, str) else named
    return {**inherited, **(protocol or {}), **chosen}


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
