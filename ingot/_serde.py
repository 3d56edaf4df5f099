"""JSON as serde_json reads and writes it, float for float: what the source systems make of it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from math import isfinite, isinf
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from ingot._json import Unreadable, is_object

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ordered", "check_depth", "dumps", "loads", "pretty"]

_U64 = 2**64 - 1
_I64 = -(2**63)
_DIGITS = len(str(_I64))
_EXACT = 16
"""Characters, point and all, of a fraction that one division gives as exactly as `float` does."""

_I32 = 2**31 - 1
_POWERS = 308
"""The greatest power of ten that a float can hold."""

_TENS = tuple(float(f"1e{power}") for power in range(_POWERS + 1))

_BITS = 1024
"""Bits of the greatest integer that a float can come near to."""

_PLAIN = -5
"""The one exponent for which Python writes `1e-05` and serde_json `0.00001`."""

_DEPTH = 127
"""Arrays and objects that may stand inside one another in a text."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_HALF_PAIR = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)", re.DOTALL
)

_WORDS = {None: "null", False: "false", True: "true"}

_quoted = json.encoder.encode_basestring
"""Writes a string as `json.dumps` does, without making its machinery anew for each."""


class Ordered(dict[str, Any]):
    """An object that is written in its own order, as a struct is; other objects are sorted."""


def loads(
    text: str, *, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """
    Read JSON with the numbers that Ingot's own runtime sees.

    Integers within 64 bits (signed or unsigned) are int, all other numbers float, `-0` too. A float
    is the first 19 or 20 digits times or divided by a power of ten, so it may differ from
    `float(text)` in its last bit. Of a key that stands twice, the last value counts.

    Args:
        text: The whole text.
        object_pairs_hook: Makes an object of its keys and values; a dict when None.

    Raises:
        ValueError: *text* is not one JSON value, holds half of a surrogate pair or a number that no
            float can hold, or is nested more than 127 deep.
    """
    check_depth(text)
    if text.startswith("\ufeff"):
        raise Unreadable("unexpected UTF-8 BOM at line 1, column 1")
    try:
        value = _decoder(object_pairs_hook).decode(text)
    except json.JSONDecodeError as error:
        fault = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise Unreadable(f"{fault} at line {error.lineno}, column {error.colno}") from None
    _check_surrogates(text)
    return value


@lru_cache
def _decoder(
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None,
) -> json.JSONDecoder:
    """What reads texts, which `json.loads` would make anew for each."""
    return json.JSONDecoder(
        parse_int=_integer,
        parse_float=_fraction,
        parse_constant=_constant,
        object_pairs_hook=object_pairs_hook,
    )


def dumps(value: Any, *, sort: bool = True) -> str:
    """
    Write *value* as the one line that digests are made over.

    Nothing but `"`, the backslash and control characters is escaped, and an integer that 64 bits do
    not hold is written as a float.

    Args:
        value: Any JSON value; tuples are arrays.
        sort: Whether keys are sorted by code point; else they stand in their own order.

    Raises:
        TypeError: *value* holds what JSON has no form for, or a key that is no string.
        ValueError: *value* holds NaN, an infinity, a number out of range or half of a surrogate
            pair, or is nested too deeply.
    """
    return _checked(value, None, sort=sort)


def pretty(value: Any) -> str:
    """
    Write *value* as `dumps` does, on several lines that are indented by two spaces.

    There is no line break at the end.

    Raises:
        TypeError: See `dumps`.
        ValueError: See `dumps`.
    """
    return _checked(value, "\n", sort=True)


def _checked(value: Any, margin: str | None, *, sort: bool) -> str:
    try:
        text = _text(value, margin, sort=sort)
        text.encode()
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair") from None
    return text


def _text(value: Any, margin: str | None, *, sort: bool) -> str:
    """The text of *value*; *margin* is the line break and indent it stands at, None for none."""
    write = _WRITERS.get(value.__class__)
    if write is not None:
        return write(value)
    inner = None if margin is None else margin + "  "
    if not is_object(value):
        if not isinstance(value, list | tuple):
            return _text_of_own_class(value)
        items = cast("list[Any]", value)
        return _block("[]", [_text(item, inner, sort=sort) for item in items], margin)
    names = [key if type(key) is str else _name(key) for key in value]
    if sort and not isinstance(value, Ordered):
        names.sort()
    colon = ":" if margin is None else ": "
    parts: list[str] = []
    for name in names:
        part = value[name]
        write = _WRITERS.get(part.__class__)  # most have no parts, and are spared one more call
        text = _text(part, inner, sort=sort) if write is None else write(part)
        parts.append(f"{_quoted(name)}{colon}{text}")
    return _block("{}", parts, margin)


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of an object is a {type(key).__name__}, not a string")
    return key


def _block(brackets: str, parts: list[str], margin: str | None) -> str:
    if margin is None or not parts:
        return brackets[0] + ",".join(parts) + brackets[1]
    inner = margin + "  "
    return brackets[0] + inner + ("," + inner).join(parts) + margin + brackets[1]


def _integer_text(number: int) -> str:
    if _I64 <= number <= _U64:
        return int.__repr__(number)
    if number.bit_length() > _BITS:
        raise ValueError("an integer is out of range")
    return _float_text(_fraction(int.__repr__(number)))


def _float_text(number: float) -> str:
    """The shortest digits; plain from 1e-5 up to 1e16, where Python has them plain from 1e-4."""
    if not isfinite(number):
        raise ValueError(f"JSON has no number for {number}")
    text = float.__repr__(number)
    digits, e, exponent = text.partition("e")
    if not e:
        return text
    if int(exponent) != _PLAIN:
        return f"{digits}e{int(exponent):+d}"
    sign = "-" if number < 0 else ""
    return f"{sign}0.0000{digits.removeprefix('-').replace('.', '')}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: _quoted,
    bool: _WORDS.__getitem__,
    NoneType: _WORDS.__getitem__,
    int: _integer_text,
    float: _float_text,
}
"""What writes values without parts, by their classes."""


def _text_of_own_class(value: Any) -> str:
    """The text of a value whose class is made of one of these, such as an enum that is a text."""
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    raise TypeError(f"JSON has no form for a {type(value).__name__}")


def _integer(text: str) -> int | float:
    # An integer of more digits than 64 bits hold is a float, and int() refuses very long ones.
    if len(text) <= _DIGITS:
        number = int(text)
        if text != "-0" and _I64 <= number <= _U64:
            return number
    return _fraction(text)


def _fraction(text: str) -> float:
    if len(text) <= _EXACT and "e" not in text and "E" not in text:
        return float(text)
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
    if len(digits) < _DIGITS:
        whole = significand * 10 ** len(digits) + int(digits or "0")
        if whole <= _U64:
            return whole, 0
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
        return number * _TENS[exponent]
    while number and exponent < -_POWERS:
        number /= 1e308
        exponent += _POWERS
    return number / _TENS[-exponent] if number else 0.0


def _constant(text: str) -> float:
    raise Unreadable(f"JSON has no number for {text}")


def check_depth(text: str, most: int = _DEPTH) -> None:
    """
    See to it that at most *most* arrays and objects stand inside one another in *text*.

    Raises:
        Unreadable: More do.
    """
    if text.count("[") + text.count("{") <= most:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > most:
                raise Unreadable(f"it is nested more than {most} deep")
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
