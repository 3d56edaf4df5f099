"""Constraints and formats in words: what a model is told where the schema cannot say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingot._json import canonical

__all__ = ["FORMATS", "Constraint", "phrase", "rank"]

_PHRASES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
    "pattern": "matches the regular expression {}",
    "uniqueItems": "no item twice",
    "maxDigits": "at most {} digits",
    "decimalPlaces": "at most {} digits after the point",
    "format": "{}",
}

_ORDER = {keyword: number for number, keyword in enumerate(_PHRASES)}

FORMATS = {
    "date-time": "an ISO 8601 date and time, such as 2024-02-29T08:30:00Z",
    "date": "an ISO 8601 date, such as 2024-02-29",
    "time": "an ISO 8601 time, such as 08:30:00",
    "duration": "an ISO 8601 duration, such as PT1H30M",
    "uri": "a URL",
    "uuid": "a UUID",
    "email": "an e-mail address",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
}


def rank(keyword: str) -> int:
    """Where *keyword* stands among the words about one node, whatever order it was declared in."""
    return _ORDER.get(keyword, len(_ORDER))


def phrase(keyword: str, value: Any) -> str | None:
    """Say *keyword* with *value* in words; None where there is nothing to say."""
    if keyword == "uniqueItems" and value is False:
        return None
    if keyword == "format":
        return FORMATS.get(value, f"format: {value}")
    words = _PHRASES.get(keyword)
    if words is None:
        return f"{keyword}: {canonical(value)}"
    return words.format(value if isinstance(value, str) else canonical(value))


@dataclass(frozen=True, slots=True)
class Constraint:
    """
    One demand of T beyond its form.

    Attributes:
        path: Where, as a dotted path; `[]` for the items of a list, empty at the root.
        text: What is demanded, in words.
        enforced: Whether the server holds the model to it; else ingot alone checks it.
    """

    path: str
    text: str
    enforced: bool
