"""The kinds of value that a setting may have: a check returns the value, or says what it wants."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_object
from ingot._retry import Retry

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cassette", "constrain", "model", "number", "params", "retry", "text", "whole"]

_LARGEST = 1.7e308
_CONSTRAIN = ("auto", "strict", "prompt")


def text(value: Any) -> str:
    """Text that says something, and that can be sent."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    # Not by trying: the error would hold the text, which may be a key.
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("a text that UTF-8 can hold")
    return value


def whole(least: int) -> Callable[[Any], int]:
    """A whole number of at least *least*."""

    def check(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        raise ValueError(f"a whole number of at least {least}")

    return check


def number(least: float, *, more: bool = False, most: float = _LARGEST) -> Callable[[Any], float]:
    """A finite number from *least* to *most*; *more* is for one above *least*."""

    def check(value: Any) -> float:
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if known and (value > least if more else value >= least) and value <= most:
            return float(value)
        bound = "" if most == _LARGEST else f", and at most {most:,.0f}"
        raise ValueError(f"a number {'above' if more else 'of at least'} {least:g}{bound}")

    return check


def retry(value: Any) -> Retry:
    """How often to try again, or a policy."""
    if isinstance(value, Retry):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Retry(attempts=value + 1)
    raise ValueError("how often to try again, as a whole number, or a Retry")


def constrain(value: Any) -> str:
    """One of the three words."""
    if value in _CONSTRAIN:
        return str(value)
    raise ValueError("one of 'auto', 'strict', 'prompt'")


def params(value: Any) -> dict[str, Any]:
    """A mapping that JSON can hold."""
    if is_object(value) and all(type(key) is str for key in value):
        try:
            canonical(value).encode()
        except (TypeError, ValueError, RecursionError):
            pass
        else:
            return value
    raise ValueError("a mapping from names to JSON values")


def model(value: Any) -> Any:
    """A model's name, or a provider."""
    if isinstance(value, str):
        return text(value)
    if hasattr(value, "send") and hasattr(value, "dialect") and not isinstance(value, type):
        return value
    raise ValueError("a text such as 'openai/gpt-5.4-mini', or a Provider")


def cassette(value: Any) -> Any:
    """The path of a recording, or the recording."""
    if isinstance(value, str | os.PathLike):
        return text(os.fspath(value))
    if hasattr(value, "begin"):
        return value
    raise ValueError("the path of a cassette, or a Cassette")
