"""JSON as serde_json reads it, float for float: what the source systems make of a text."""

from __future__ import annotations

import json
import re
from math import isinf
from typing import Any

from ingot._json import Unreadable

__all__ = ["loads"]

_U64 = 2**64 - 1
_I64 = -(2**63)
_I32 = 2**31 - 1
_POWERS = 308
"""The greatest power of ten that a float can hold."""

_DEPTH = 127
"""Arrays and objects that may stand inside one another in a text."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_HALF_PAIR = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)", re.DOTALL
)


def loads(text: str) -> Any:
    """
    Read JSON with the numbers that Ingot's own runtime sees.

    Integers within 64 bits (signed or unsigned) are int, all other numbers float, `-0` too. A float
    is the first 19 or 20 digits times or divided by a power of ten, so it may differ from
    `float(text)` in its last bit. Of a key that stands twice, the last value counts.

    Raises:
        ValueError: *text* is not one JSON value, holds half of a surrogate pair or a number that no
            float can hold, or is nested more than 127 deep.
    """
    _check_depth(text)
    try:
        value = json.loads(
            text, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
        )
    except json.JSONDecodeError as error:
        fault = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise Unreadable(f"{fault} at line {error.lineno}, column {error.colno}") from None
    _check_surrogates(text)
    return value


def _integer(text: str) -> int | float:
    # An integer of more digits than 64 bits hold is a float, and int() refuses very long ones.
    if len(text) <= len(str(_I64)):
        number = int(text)
        if text != "-0" and _I64 <= number <= _U64:
            return number
    return _fraction(text)


def _fraction(text: str) -> float:
    digits, _, exponent = text.lstrip("-").lower().partition("e")
    whole, _, fraction = digits.partition(".")
    significand, left = _take(0, whole)
    significand, dropped = _take(significand, fraction)
    scale = left - (len(fraction) - dropped)
    number = _scaled(significand, scale + _clamped(exponent)) if significand else 0.0
    if isinf(number):
        raise Unreadable(f"the number {text[:24]} is out of range")
    return -number if text.startswith("-") else number


def _take(significand: int, digits: str) -> tuple[int, int]:
    """Append *digits* to *significand* while 64 bits hold it; also return how many are left."""
    for index, digit in enumerate(digits):
        longer = significand * 10 + int(digit)
        if longer > _U64:
            return significand, len(digits) - index
        significand = longer
    return significand, 0


def _clamped(exponent: str) -> int:
    digits = exponent.lstrip("+-").lstrip("0")
    size = int(digits or "0") if len(digits) <= len(str(_I32)) else _I32
    return -size if exponent.startswith("-") else size


def _scaled(significand: int, exponent: int) -> float:
    """Multiply or divide once by a power of ten; in steps of 308 below what a float can hold."""
    number = float(significand)
    if exponent > _POWERS:
        return float("inf")
    if exponent >= 0:
        return number * float(f"1e{exponent}")
    while number and exponent < -_POWERS:
        number /= 1e308
        exponent += _POWERS
    return number / float(f"1e{-exponent}") if number else 0.0


def _constant(text: str) -> float:
    raise Unreadable(f"JSON has no number for {text}")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _DEPTH:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > _DEPTH:
                raise Unreadable(f"it is nested more than {_DEPTH} deep")
        elif token[0] in "]}":
            depth -= 1


def _check_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        half = True
    else:
        half = "\\u" in text and any(found[1] for found in _HALF_PAIR.finditer(text))
    if half:
        raise Unreadable("a string holds half of a surrogate pair")
