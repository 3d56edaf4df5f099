"""The data of a cassette: rows by key, which answer is the n-th, and how two recordings unite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_equal
from ingot.cassette.rows import first_line, holds, key_of_deed, key_of_row, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["VERSION", "Row", "Tape", "is_same"]

VERSION = 1
"""The version of the form that is written."""


class Row:
    """
    One request and its answers.

    Attributes:
        data: The row as it stands in the file, without its answers.
        verified: Whether the request is known to have the key that the row claims.
    """

    __slots__ = ("_alike", "_answers", "data", "verified", "written")

    def __init__(self, data: dict[str, Any], *, written: list[Any], verified: bool = False) -> None:
        self.data = data
        self.verified = verified
        self.written = written
        self._answers: dict[int, dict[str, Any]] | None = None
        self._alike: bool | None = None

    def __repr__(self) -> str:
        return f"<Row {self.of} {self.key[:11]} {self.site} {self.first_line!r}>"

    @property
    def answers(self) -> dict[int, dict[str, Any]]:
        """Each answer by its number; read when first looked at, since most rows are not."""
        if self._answers is None:
            self._answers = {}
            for entry in self.written:
                if "n" not in entry and "times" not in entry:
                    self._answers.setdefault(len(self._answers), entry)
                    continue
                numbers = entry.get("n", len(self._answers))
                if not is_array(numbers):
                    numbers = range(numbers, numbers + entry.get("times", 1))
                answer = {k: v for k, v in entry.items() if k not in ("n", "times")}
                for number in numbers:
                    self._answers.setdefault(number, answer)
        return self._answers

    @property
    def key(self) -> str:
        """The key of the request."""
        return str(self.data["key"])

    @property
    def site(self) -> str:
        """Where it was asked."""
        return str(self.data.get("site", ""))

    @property
    def of(self) -> str:
        """Who was asked, in a recording that is imported, too: `ask`, `tool` or `human`."""
        return str(self.data.get("of", self.data["kind"]))

    @property
    def first_line(self) -> str:
        """The beginning of what was said."""
        return first_line(self.data)[:60]

    @property
    def alike(self) -> bool:
        """Whether all answers are equal, so that their order means nothing."""
        if len(self.answers) < 2:
            return True
        if self._alike is None:
            first, *others = self.answers.values()
            self._alike = all(is_same(answer, first) for answer in others)
        return self._alike

    def add(self, number: int, answer: dict[str, Any]) -> None:
        """Add the *number*-th answer; the one that is there stays."""
        self.answers.setdefault(number, answer)
        self._alike = None

    def to_json(self) -> dict[str, Any]:
        """The row as it is written: equal answers once, others in the order of their numbers."""
        numbers = sorted(self.answers)
        plain = numbers == list(range(len(numbers)))
        if len(numbers) > 1 and self.alike:
            which = {"times": len(numbers)} if plain else {"n": numbers}
            return {**self.data, "answers": [{**which, **self.answers[numbers[0]]}]}
        return {
            **self.data,
            "answers": [self.answers[n] if plain else {"n": n, **self.answers[n]} for n in numbers],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Row:
        """Read a row; *value* is used up."""
        written = value.pop("answers")
        return cls(value, written=written)


def is_same(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether two answers are equal, whatever failed before them and however they were routed."""
    return is_equal(_bare(one), _bare(two))


def _bare(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in answer.items() if name not in ("cuts", "retried", "route")}


@dataclass(slots=True)
class Tape:
    """
    The rows of one cassette.

    Attributes:
        rows: By kind and key.
        types: Descriptors of the types in the rows, by name.
        rest: What else stands in the file; it survives a rewrite.
        upstream: The version of Ingot in whose own form the file is; None for a file of ours.
    """

    rows: dict[tuple[str, str], Row] = field(default_factory=dict[tuple[str, str], Row])
    types: dict[str, Any] = field(default_factory=dict[str, Any])
    rest: dict[str, Any] = field(default_factory=dict[str, Any])
    upstream: str | None = None

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())

    def __len__(self) -> int:
        return sum(len(row.answers) for row in self.rows.values())

    def row(self, kind: str, key: str) -> Row | None:
        """Return the row of a request; None if there is none."""
        return self.rows.get((kind, key))

    def answers(self, kind: str, key: str) -> dict[int, dict[str, Any]]:
        """Return the answers of a request by their numbers; none if there is no row."""
        row = self.row(kind, key)
        return {} if row is None else row.answers

    def around(self, row: Row) -> Iterator[Row]:
        """The calls of tools in which *row* was asked, the innermost first."""
        seen: set[str] = set()
        while (key := row.data.get("inside")) is not None and key not in seen:
            seen.add(key)
            call = self.row("tool", key)
            if call is None:
                return
            yield (row := call)

    def is_genuine(self, row: Row, parts: Mapping[str, Any] | None = None) -> bool:
        """
        Whether the request of *row* has the key that the row claims; it is looked at once.

        Args:
            row: The row.
            parts: The `key_parts` of a request that has the key, if they are at hand.
        """
        if not row.verified:
            if row.data["kind"] != "ask" and "ask" not in row.data:
                row.verified = True  # imported: its key is a digest of the other system's
                return True
            plain = parts is not None and holds(row.data, self.types, parts)
            row.verified = plain or self.actual_key(row) == row.key
        return row.verified

    def actual_key(self, row: Row) -> str:
        """The key of the request that *row* holds; empty where it holds none."""
        return self._key(row.data)

    def _key(self, data: Mapping[str, Any]) -> str:
        try:
            return key_of_row(data, self.types) if data["kind"] == "ask" else key_of_deed(data)
        except (KeyError, TypeError, ValueError):
            return ""

    def first_key(self, row: Row) -> str:
        """The key of the first request of the ask that *row* belongs to."""
        if "messages" not in row.data:
            return str(row.data.get("ask", row.key))
        return self._key({k: v for k, v in row.data.items() if k != "messages"})

    def add(
        self, data: dict[str, Any], types: Mapping[str, Any], number: int, answer: dict[str, Any]
    ) -> Row:
        """Add the *number*-th answer to the request of *data*; the one that is there stays."""
        row = self.rows.get((data["kind"], data["key"]))
        if row is None:
            row = self.rows[data["kind"], data["key"]] = Row(dict(data), written=[], verified=True)
        row.add(number, answer)
        self.types.update(types)
        return row

    def unite(self, other: Tape) -> None:
        """Add what *other* has and this one has not."""
        for row in other:
            for number, answer in row.answers.items():
                self.add(row.data, {}, number, answer)
        self.types = {**other.types, **self.types}
        self.rest = {**other.rest, **self.rest}

    def to_json(self) -> dict[str, Any]:
        """The whole as it is written: rows in an order that an edited prompt hardly changes."""
        rows = sorted(self.rows.values(), key=_place)
        used = {name for row in rows for name in _types(row.data)}
        return {
            "ingot_cassette": VERSION,
            **{k: v for k, v in self.rest.items() if k not in ("ingot_cassette", "types", "rows")},
            "types": {name: self.types[name] for name in sorted(used) if name in self.types},
            "rows": [row.to_json() for row in rows],
        }


def _place(row: Row) -> tuple[str, ...]:
    data = row.data
    return (
        row.site,
        str(data["kind"]),
        text_of(data.get("prompt", data.get("question", []))),
        canonical(data.get("context", data.get("args", []))),
        str(len(data.get("messages", ()))),
        row.key,
    )


def _types(data: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(data.get("type"), str):
        yield data["type"]
    for tool in data.get("tools", ()):
        yield tool["type"]
