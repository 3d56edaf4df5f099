"""What is installed: ingot, its extras, and what each of them lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["DISTRIBUTION", "Extra", "installed_extras", "release", "version_of"]

DISTRIBUTION = "ingot-ask"

_GATHERING = ("all", "dev")
"""Extras that only gather others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """
    An extra.

    Attributes:
        name: Its name.
        packages: Version of each package it asks for; None where it is missing.
        lacking: What is missing or too old, in words; None when all is there.
        command: What installs it.
    """

    name: str
    packages: dict[str, str | None]
    lacking: str | None
    command: str


def release() -> str:
    """The version of ingot, in words."""
    return f"ingot {version_of(DISTRIBUTION) or 'from its source'}"


def version_of(distribution: str) -> str | None:
    """The version of *distribution*; None where it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:>=\s*([\w.]+))?[^;]*;.*extra\s*==\s*['\"]([\w-]+)['\"]")


def installed_extras() -> tuple[Extra, ...]:
    """All extras that ingot's metadata names; none when ingot runs from its source."""
    try:
        wanted = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        wanted = []
    found: dict[str, dict[str, str | None]] = {}
    for text in wanted:
        match = _REQUIREMENT.match(text)
        if match is not None and match[3] not in _GATHERING:
            found.setdefault(match[3], {})[match[1]] = match[2]
    return tuple(_extra(name, packages) for name, packages in sorted(found.items()))


def _extra(name: str, least: dict[str, str | None]) -> Extra:
    packages = {package: version_of(package) for package in least}
    missing = [package for package, there in packages.items() if there is None]
    old = [
        f"{package} is too old, {least[package]} or newer is needed"
        for package, there in packages.items()
        if there is not None and _older(there, least[package])
    ]
    lacking = [*([f"missing: {', '.join(missing)}"] if missing else []), *old]
    return Extra(
        name=name,
        packages=packages,
        lacking="; ".join(lacking) or None,
        command=f"pip install {'-U ' if old else ''}'{DISTRIBUTION}[{name}]'",
    )


def _older(there: str, least: str | None) -> bool:
    return least is not None and _numbers(there) < _numbers(least)


def _numbers(text: str) -> list[int]:
    """The leading numbers of a version, trailing zeros left out."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
