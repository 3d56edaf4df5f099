"""What is said to the plugin: flags, ini settings, and the marker of a test."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ingot._spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MODES", "Mark", "Options", "add_options", "mark_of", "options_of"]

MODES = ("replay", "record", "refresh", "verify", "live")
"""As in `ingot.cassette.recorder`, which is too heavy for the start of pytest."""

_UNUSED = ("fail", "warn", "ignore")
_PAID = ("record", "refresh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    What holds for a whole run.

    Attributes:
        mode: The mode of every test whose marker names none.
        paid: Whether a marker may make a test record.
        only: With `refresh`, what is asked anew; None for all.
        human: With `refresh`, whether people are asked anew, too.
        unused: What becomes of recorded answers that a test did not ask for.
        orphans: What becomes of cassettes whose test is gone.
        allowed: Hosts that may be reached though the network is blocked; None if it is not.
        report: Where the report is written, or None.
        root: The root of the project.
        base: The folder of the cassettes.
        large: Bytes from which on a cassette is called large.
    """

    mode: str
    paid: bool
    only: str | None
    human: bool
    unused: str
    orphans: str
    allowed: tuple[str, ...] | None
    report: Path | None
    root: Path
    base: Path
    large: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """
    What the marker of a test says; None where it says nothing.

    Attributes:
        mode: Its mode.
        cassette: The name of a cassette that it shares with other tests.
        unused: What becomes of answers that it did not ask for.
        tools: Whether results of tools are replayed, or tools run.
        repeats: What becomes of a question that is asked more often than it was answered.
        stream: In what pieces a recorded answer is streamed.
        fault: What is wrong with the marker.
    """

    mode: str | None = None
    cassette: str | None = None
    unused: str | None = None
    tools: str | None = None
    repeats: str | None = None
    stream: str | None = None
    fault: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What it says that a `Cassette` is told."""
        named = {"tools": self.tools, "repeats": self.repeats, "stream": self.stream}
        return {name: value for name, value in named.items() if value is not None}


def add_options(parser: pytest.Parser) -> None:
    """Announce flags and ini settings."""
    group = parser.getgroup("ingot", "recordings of what language models answered")
    group.addoption(
        "--ingot",
        choices=MODES,
        help="where answers come from: the recording (replay, the default); the recording, and "
        "the model for what is missing (record); the model, anew (refresh); both, compared "
        "(verify); the model (live)",
    )
    group.addoption(
        "--ingot-only",
        metavar="GLOB",
        help="with refresh: ask anew only what this matches: file:function, function, the start "
        "of a key, or `drifted` for what had no recording in the last run",
    )
    group.addoption(
        "--ingot-refresh",
        choices=("human",),
        help="with refresh: ask people anew as well, whose answers are kept otherwise",
    )
    group.addoption(
        "--ingot-unused",
        choices=_UNUSED,
        default="fail",
        help="what becomes of recorded answers that a passing test did not ask for",
    )
    group.addoption(
        "--ingot-orphans",
        choices=("fail", "warn", "off"),
        help="what becomes of cassettes whose test is gone (warn; fail where CI is set); looked "
        "for only when whole folders were collected",
    )
    group.addoption(
        "--ingot-block-network",
        metavar="HOST,…",
        nargs="?",
        const="",
        help="let no test reach the network, apart from the hosts named after `=`",
    )
    group.addoption(
        "--ingot-allow-record-in-ci",
        action="store_true",
        help="let record and refresh work where CI is set",
    )
    group.addoption(
        "--ingot-report",
        metavar="FILE",
        help="write what was replayed, what drifted and what was not asked for as JSON",
    )
    parser.addini("ingot", "the mode where --ingot names none", default="replay")
    parser.addini("ingot_cassettes", "the folder of the cassettes", default="tests/cassettes")
    parser.addini(
        "ingot_max_cassette", "size from which on a cassette is called large", default="256KiB"
    )


def options_of(config: pytest.Config) -> Options:
    """
    Read what the command line and the ini file say.

    Raises:
        UsageError: It cannot be.
    """
    option: Callable[[str], Any] = config.getoption
    flag, ini = option("--ingot"), str(config.getini("ingot"))
    if ini not in MODES:
        raise pytest.UsageError(
            f"ini setting ingot = {ini!r}: there is no such mode{nearest(ini, MODES)}; "
            f"there are {', '.join(MODES)}"
        )
    ci = bool(os.environ.get("CI"))
    allowed = bool(option("--ingot-allow-record-in-ci"))
    if flag in _PAID and ci and not allowed:
        raise pytest.UsageError(
            f"--ingot={flag} is refused where the variable CI is set; record on your machine and "
            "commit the cassettes, or say --ingot-allow-record-in-ci"
        )
    only = option("--ingot-only")
    mode = flag or (_in_ci(ini) if ci and not allowed else ini)
    for name in ("--ingot-only", "--ingot-refresh"):
        if option(name) is not None and mode != "refresh":
            raise pytest.UsageError(f"{name} goes with --ingot=refresh")
    block = option("--ingot-block-network")
    if block and (config.invocation_params.dir / block.partition("::")[0]).exists():
        raise pytest.UsageError(
            f"--ingot-block-network took {block!r} for a host; put the flag after the paths, or "
            "write --ingot-block-network= with its hosts"
        )
    report = option("--ingot-report")
    return Options(
        mode=mode,
        paid=allowed or not ci,
        only=only,
        human=option("--ingot-refresh") == "human",
        unused=str(option("--ingot-unused")),
        orphans=option("--ingot-orphans") or ("fail" if ci else "warn"),
        allowed=None if block is None else tuple(h for h in block.split(",") if h),
        report=None if report is None else config.invocation_params.dir / report,
        root=config.rootpath,
        base=config.rootpath / str(config.getini("ingot_cassettes")),
        large=_bytes(str(config.getini("ingot_max_cassette"))),
    )


def _in_ci(mode: str) -> str:
    """What a mode that nobody gave on the command line means where CI is set."""
    return "replay" if mode in _PAID else mode


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*(B|KiB|MiB)?", text.strip())
    if found is None:
        raise pytest.UsageError(
            f"ini setting ingot_max_cassette = {text!r}: expected a size such as 256KiB or 1MiB"
        )
    return int(found[1]) * {None: 1, "B": 1, "KiB": 1024, "MiB": 1024**2}[found[2]]


_KEYWORDS: dict[str, Callable[[Any], bool]] = {
    "mode": lambda value: value in MODES,
    "cassette": lambda value: isinstance(value, str) and _is_name(value),
    "unused": lambda value: value in _UNUSED,
    "tools": lambda value: value in ("replay", "live"),
    "repeats": lambda value: value == "last",
    "stream": lambda value: value in ("whole", "words", "recorded"),
}

_EXPECTED = {
    "mode": f"one of {', '.join(MODES)}",
    "cassette": "a name such as 'shared' or 'agents/shared'",
    "unused": f"one of {', '.join(_UNUSED)}",
    "tools": "'replay' or 'live'",
    "repeats": "'last'",
    "stream": "one of whole, words, recorded",
}


def _is_name(value: str) -> bool:
    return all(re.fullmatch(r"[\w.-]+", part) and part[0] != "." for part in value.split("/"))


def mark_of(item: pytest.Item, *, paid: bool) -> Mark:
    """
    Read the markers of a test, the nearest first.

    Args:
        item: The test.
        paid: Whether a marker may make it record.
    """
    said: dict[str, Any] = {}
    for marker in item.iter_markers("ingot"):
        if marker.args:
            return Mark(fault=f"takes its settings by name, such as mode={marker.args[0]!r}")
        for name, value in marker.kwargs.items():
            if name not in _KEYWORDS:
                known = ", ".join(_KEYWORDS)
                near = nearest(name, _KEYWORDS)
                return Mark(fault=f"has no setting {name!r}{near}; it has {known}")
            if not _KEYWORDS[name](value):
                return Mark(fault=f"{name}={value!r}: expected {_EXPECTED[name]}")
            said.setdefault(name, value)
    if "mode" in said and not paid:
        said["mode"] = _in_ci(said["mode"])
    return Mark(**said)
