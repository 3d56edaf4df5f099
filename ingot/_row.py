"""One JSON object of a source system: its fields, checked as serde checks a struct's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ingot._json import Unreadable, describe, is_array, is_object
from ingot._problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Row", "collect"]

_U64 = 2**64 - 1


class _Repeated(dict[str, Any]):
    """An object in which keys stand twice; of each the last value counts."""

    repeated: frozenset[str]


def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object that remembers which of its keys stand twice."""
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    twice = _Repeated(made)
    twice.repeated = frozenset(k for k, times in Counter(k for k, _ in pairs).items() if times > 1)
    return twice


class Row:
    """
    One object, whose known fields must be there, once and of the right kind.

    Args:
        value: What was read by `_serde.loads` with `collect`, or an object in it.
        at: The steps that lead to it, for messages.

    Raises:
        Unreadable: By each method too: it is no object, or a field is missing, stands twice or is
            of another kind.
    """

    def __init__(self, value: Any, at: tuple[str | int, ...]) -> None:
        self.at = at
        if not is_object(value):
            raise self.unexpected("an object", value)
        self.fields = value

    def unexpected(self, kind: str, value: Any, *steps: str | int) -> Unreadable:
        """The fault of *value*, or of the place in it that *steps* lead to."""
        found = f"expected {kind}, found {describe(value)}"
        return Unreadable(str(Problem((*self.at, *steps), found)))

    def required(self, name: str) -> Any:
        """The value of the field, which must be there."""
        if isinstance(self.fields, _Repeated) and name in self.fields.repeated:
            raise Unreadable(str(Problem(self.at, f"duplicate field `{name}`")))
        if name not in self.fields:
            raise Unreadable(str(Problem(self.at, f"missing field `{name}`")))
        return self.fields[name]

    def optional(self, name: str) -> Any:
        """The value of the field; None when it is null or absent."""
        return self.required(name) if name in self.fields else None

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self.required(name)
        if not isinstance(value, str):
            raise self.unexpected("a string", value, name)
        return value

    def optional_text(self, name: str) -> str | None:
        """A string; None when it is null or absent."""
        return None if self.optional(name) is None else self.text(name)

    def count(self, name: str) -> int:
        """An unsigned integer that must be there."""
        value = self.required(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _U64:
            raise self.unexpected("an unsigned integer of 64 bits", value, name)
        return value

    def optional_count(self, name: str) -> int | None:
        """An unsigned integer; None when it is null or absent."""
        return None if self.optional(name) is None else self.count(name)

    def number(self, name: str) -> float:
        """A number that must be there."""
        value = self.required(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.unexpected("a number", value, name)
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """A number; None when it is null or absent."""
        return None if self.optional(name) is None else self.number(name)

    def flag(self, name: str) -> bool:
        """A boolean that must be there."""
        value = self.required(name)
        if not isinstance(value, bool):
            raise self.unexpected("a boolean", value, name)
        return value

    def row(self, name: str) -> Row:
        """An object that must be there, as a row."""
        return Row(self.required(name), (*self.at, name))

    def object(self, name: str) -> dict[str, Any]:
        """An object that must be there."""
        value = self.required(name)
        if not is_object(value):
            raise self.unexpected("an object", value, name)
        return value

    def array(self, name: str) -> list[Any]:
        """An array that must be there."""
        value = self.required(name)
        if not is_array(value):
            raise self.unexpected("an array", value, name)
        return value

    def rows(self, name: str) -> Iterable[Row]:
        """The objects of an array that must be there."""
        return (Row(value, (*self.at, name, n)) for n, value in enumerate(self.array(name)))

    def texts(self, name: str) -> tuple[str, ...]:
        """The strings of an array that must be there."""
        values = self.array(name)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise self.unexpected("a string", value, name, index)
        return tuple(values)
