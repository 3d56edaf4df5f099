"""What the command line brings in: the prompt, values by name, files, settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ingot._config import checked
from ingot.cli.exits import MisuseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST = 100_000_000
"""Bytes of one text; a device would never end."""

__all__ = ["context", "params", "prompt", "settings", "text"]


def prompt(given: str) -> str:
    """
    Return the prompt; `-` stands for what comes on stdin.

    Raises:
        MisuseError: It is not UTF-8.
    """
    if given == "-":
        return _stdin("PROMPT", "the prompt on stdin")
    if any("\ud800" <= char <= "\udfff" for char in given):
        raise MisuseError("PROMPT is not UTF-8 text")
    return given


def context(given: Iterable[str]) -> dict[str, str]:
    """
    Return context values by name, from `name=text` or `name=@file`; `@@` is a plain `@`.

    Raises:
        MisuseError: One is malformed, named twice, or its file cannot be read as text.
    """
    out: dict[str, str] = {}
    for name, value in _pairs(given, "--context", "name=text or name=@file"):
        if value.startswith("@@"):
            value = value[1:]  # noqa: PLW2901 (the sign that was doubled)
        elif value.startswith("@"):
            value = _file(value[1:], f"--context {name}=@…")  # noqa: PLW2901
        out[name] = value
    return out


def params(given: Iterable[str]) -> dict[str, Any]:
    """
    Return vendor-specific extras by name, from `name=json`.

    Raises:
        MisuseError: One is malformed or named twice.
    """
    out: dict[str, Any] = {}
    for name, value in _pairs(given, "--param", "name=json"):
        try:
            out[name] = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise MisuseError(
                f"--param {name}: {value!r:.60} is not JSON; a text is written '{name}=\"text\"'"
            ) from None
    return out


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return those of *given* that are set, checked.

    Raises:
        MisuseError: One is of the wrong kind.
    """
    out: dict[str, Any] = {}
    for name, value in given.items():
        try:
            out |= checked({name: value})
        except TypeError as error:
            option = f"--{name.replace('_', '-')}"
            raise MisuseError(str(error).replace(name, option, 1)) from None
    return out


def text(path: str, option: str) -> str:
    """
    Return the text of the file at *path*; `-` stands for what comes on stdin.

    Args:
        path: The file.
        option: What the path was given for, in messages.

    Raises:
        MisuseError: It cannot be read, or is not UTF-8.
    """
    return _stdin(option, f"{option} on stdin") if path == "-" else _file(path, option)


def _stdin(option: str, what: str) -> str:
    if sys.stdin is None:
        raise MisuseError(f"{option} is -, and stdin is closed")
    return _decoded(_bounded(sys.stdin.buffer, "stdin"), what)


def _pairs(given: Iterable[str], option: str, form: str) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise MisuseError(f"{option} takes {form}, not {text!r:.60}")
        if name in seen:
            raise MisuseError(f"{option} {name} is given twice")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise MisuseError(f"{option} {name} is not UTF-8 text")
        seen.add(name)
        yield name, value


def _file(path: str, what: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return _decoded(_bounded(file, f"the file {path!r}"), f"{what}: the file {path!r}")
    except FileNotFoundError:
        raise MisuseError(f"{what}: there is no file {path!r}{_looked_in()}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise MisuseError(f"{what}: the file {path!r} cannot be read: {why}") from None


def _looked_in() -> str:
    try:
        return f" (looked in {Path.cwd()})"
    except OSError:
        return ""


def _bounded(file: BinaryIO, what: str) -> bytes:
    content = file.read(_MOST + 1)
    if len(content) > _MOST:
        raise MisuseError(f"{what} has more than {_MOST // 1_000_000} MB; no model reads that much")
    return content


def _decoded(content: bytes, what: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MisuseError(f"{what} is not UTF-8 text (at byte {error.start})") from None


def _no_constant(word: str) -> Any:
    raise ValueError(word)
