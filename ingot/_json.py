"""JSON as ingot reads and writes it: canonical text out, strict text in."""

from __future__ import annotations

import json
from math import isinf
from typing import TYPE_CHECKING, Any, Self, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Unreadable",
    "canonical",
    "describe",
    "encoder",
    "is_array",
    "is_equal",
    "is_object",
    "join_keys",
    "read",
]


class Unreadable(ValueError):  # noqa: N818 (turned into an error with more to say)
    """
    A text that is not one JSON value.

    Attributes:
        reason: What is wrong, and where.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Number(float):
    """A JSON number with a fraction or exponent, which remembers the digits it was written with."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


class NotFinite:
    """What stands where a number should be and is NaN, an infinity or out of range."""

    def __init__(self, text: str) -> None:
        self.text = text[:24]


class Duplicate:
    """An object that names one key twice."""

    def __init__(self, key: str, pairs: list[tuple[str, Any]]) -> None:
        self.key = key
        self.pairs = pairs


def canonical(value: Any) -> str:
    """Return the one JSON text that values equal to *value* share."""
    return _encode(value)


def is_equal(one: Any, two: Any) -> bool:
    """Whether two JSON values are the same; Python takes 1, 1.0 and True for equal."""
    return one == two and canonical(one) == canonical(two)


def encoder(**options: Any) -> Callable[[Any], str]:
    """
    Return what `json.dumps` does with *options* and no `ensure_ascii`, made once for all texts.

    Python's own makes its machinery anew for each text, which takes longer than a small text.
    """
    made = json.JSONEncoder(ensure_ascii=False, **options)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return made.encode
    encode = make(
        None,
        made.default,
        json.encoder.encode_basestring,
        None,
        made.key_separator,
        made.item_separator,
        made.sort_keys,
        made.skipkeys,
        made.allow_nan,
    )
    return lambda value: "".join(encode(value, 0))


_encode = encoder(allow_nan=False, sort_keys=True, separators=(",", ":"))


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether *value* is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether *value* is a JSON array."""
    return isinstance(value, list)


def describe(value: Any) -> str:
    """Name the kind of a JSON value as messages do, such as `an array`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, NotFinite):
        return f"{value.text}, which JSON has no number for"
    return "a number"


def join_keys(value: Mapping[str, Any]) -> str:
    """The keys of *value* for a message: quoted, in order, bounded."""
    keys = [f"`{key[:40]}`" for key in list(value)[:8]]
    return ", ".join(keys) + (", …" if len(value) > len(keys) else "") if keys else "no keys"


class _Reader:
    """One reading of one text; keeps what the hooks found."""

    def __init__(self) -> None:
        self.faulty = False

    def pairs(self, pairs: list[tuple[str, Any]]) -> Any:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            self.faulty = True
            for key, _ in pairs:
                if key in seen:
                    return Duplicate(key, pairs)
                seen.add(key)
        return made

    def fraction(self, text: str) -> Any:
        number = Number(text)
        return self.constant(text) if isinf(number) else number

    def constant(self, text: str) -> NotFinite:
        self.faulty = True
        return NotFinite(text)


def read(text: str) -> tuple[Any, list[tuple[tuple[str | int, ...], str]]]:
    """
    Read one JSON value strictly.

    Args:
        text: The whole text; white space may stand around the value, nothing else.

    Returns:
        The value (fractions as `Number`, which keep their digits), and the places, as path and
        text, that hold NaN, an infinity or a number out of range; the value is of use only when
        there are none.

    Raises:
        Unreadable: The text is not one JSON value, names a key twice, or holds half of a surrogate
            pair.
    """
    reader = _Reader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.pairs,
            parse_float=reader.fraction,
            parse_constant=reader.constant,
        )
    except json.JSONDecodeError as error:
        raise Unreadable(_where(text, error)) from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:
        raise Unreadable("it holds an integer of too many digits") from None
    # A surrogate can only come in by an escape or stand in the text itself; the search is cheaper
    # than a walk.
    suspect = "\\ud" in text or "\\uD" in text or not text.isascii()
    if not (reader.faulty or suspect):
        return value, []
    try:
        return value, list(_faults(value, (), surrogates=suspect))
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


def _where(text: str, error: json.JSONDecodeError) -> str:
    at = f"line {error.lineno}, column {error.colno}"
    if not text.strip():
        return "it is empty"
    if error.msg == "Extra data":
        return f"more text follows the value at {at}"
    if error.msg.startswith("Unterminated string"):
        return f"it ends in the middle of a string (which begins at {at})"
    if error.pos >= len(text.rstrip()):
        return f"it ends in the middle ({at})"
    return f"{error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')} at {at}"


def _faults(value: Any, path: tuple[str | int, ...], *, surrogates: bool) -> Any:
    if isinstance(value, NotFinite):
        yield path, value.text
    elif isinstance(value, Duplicate):
        raise Unreadable(f"{_at(path)}the key `{value.key}` stands twice in one object")
    elif is_object(value):
        for key, item in value.items():
            if surrogates:
                _check(key, path)
            yield from _faults(item, (*path, key), surrogates=surrogates)
    elif is_array(value):
        for index, item in enumerate(value):
            yield from _faults(item, (*path, index), surrogates=surrogates)
    elif surrogates and isinstance(value, str):
        _check(value, path)


def _check(text: str, path: tuple[str | int, ...]) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable(f"{_at(path)}a string holds half of a surrogate pair") from None


def _at(path: tuple[str | int, ...]) -> str:
    return "".join(f"at index {s}: " if isinstance(s, int) else f"in field `{s}`: " for s in path)
