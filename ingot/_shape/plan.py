"""How the JSON of a reply becomes the JSON of T, and back, node by node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ingot._json import Number, Unreadable, canonical, describe, is_object, read
from ingot.errors import Problem

__all__ = [
    "DecimalText",
    "Handle",
    "JSONText",
    "Leaf",
    "Path",
    "Plan",
    "Problems",
    "Reference",
    "Union",
    "kinds",
]

Path: TypeAlias = tuple[str | int, ...]
Problems: TypeAlias = list[Problem]


class Plan:
    """
    What one node of the reply stands for.

    `decode` turns the JSON of a reply into the JSON of T and notes what does not fit the form that
    was sent; `encode` goes the other way, and leaves alone what is of another kind; `matches` says
    whether a value has the form; `unquote` reads a string that holds the JSON of an object or array
    where T has no place for a string. What T demands beyond the form is left to its own validation.
    """

    __slots__ = ()
    kind: str = "any"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        return value

    def encode(self, value: Any) -> Any:
        return value

    def matches(self, value: Any) -> bool:
        return self.kind == "any" or describe(value) == self.kind

    def unquote(self, value: Any) -> Any:
        if self.kind in ("an array", "an object") and isinstance(value, str):
            try:
                inner, faults = read(value)
            except Unreadable:
                return value
            if not faults and describe(inner) == self.kind:
                return self.within(inner)
            return value
        return self.within(value)

    def within(self, value: Any) -> Any:
        """Unquote the parts of *value*."""
        return value

    def expect(self, value: Any, path: Path, problems: Problems, what: str = "") -> bool:
        """Note a problem unless *value* is of this node's kind of JSON."""
        if describe(value) == self.kind:
            return True
        problems.append(Problem(path, f"expected {what or self.kind}, found {describe(value)}"))
        return False


@dataclass(frozen=True, slots=True)
class Leaf(Plan):
    """A scalar, or anything at all; *values* are the only ones allowed, None for no such list."""

    kind: str
    values: tuple[Any, ...] | None = None
    integral: bool = False

    def matches(self, value: Any) -> bool:
        if self.values is not None:
            return any(value == v and describe(value) == describe(v) for v in self.values)
        if self.integral and isinstance(value, float | bool):
            return False
        return Plan.matches(self, value)


@dataclass(frozen=True, slots=True)
class DecimalText(Plan):
    """
    A decimal: a string on the way out; on the way in also a number, by its digits.

    In a union a number belongs to a member that is one, if there is any.
    """

    kind: str = "a string"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if isinstance(value, Number):
            return value.text
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value


@dataclass(frozen=True, slots=True)
class JSONText(Plan):
    """A part that may be anything, written as JSON text in a string."""

    kind: str = "a string"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self.expect(value, path, problems, "JSON text in a string"):
            return value
        try:
            inner, faults = read(value)
        except Unreadable as error:
            problems.append(Problem(path, f"expected JSON text in a string; {error.reason}"))
            return value
        if faults:
            problems.append(Problem(path, f"{faults[0][1]} is not JSON"))
        return inner

    def encode(self, value: Any) -> Any:
        return canonical(value)


@dataclass(frozen=True, slots=True)
class Handle(Plan):
    """A handle of a file, which travels as its path alone; what else is known stays with us."""

    kind: str = "an object"

    def encode(self, value: Any) -> Any:
        return {"path": value["path"]} if self.matches(value) else value

    def matches(self, value: Any) -> bool:
        return is_object(value) and isinstance(value.get("path"), str)


@dataclass(frozen=True, slots=True)
class Reference(Plan):
    """A named definition, which may refer to itself."""

    name: str
    table: dict[str, Plan] = field(repr=False)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.table[self.name].kind

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        return self.table[self.name].decode(value, path, problems)

    def encode(self, value: Any) -> Any:
        return self.table[self.name].encode(value)

    def matches(self, value: Any) -> bool:
        return self.table[self.name].matches(value)

    def unquote(self, value: Any) -> Any:
        return self.table[self.name].unquote(value)


@dataclass(frozen=True, slots=True)
class Union(Plan):
    """
    One of several.

    A value belongs to the first member whose form it has; where it has none's, to the only member
    of its kind of JSON, so that the message says what is wrong inside.
    """

    members: tuple[Plan, ...]
    kind: str = "any"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        member = self._member(value)
        if member is None:
            return value
        return member.decode(value, path, problems)

    def _member(self, value: Any) -> Plan | None:
        for member in self.members:
            if member.matches(value):
                return member
        kind = describe(value)
        alike = [member for member in self.members if kind in kinds(member)]
        if not alike and kind == "a number":
            alike = [member for member in self.members if isinstance(member, DecimalText)]
        return alike[0] if len(alike) == 1 else None

    def encode(self, value: Any) -> Any:
        for member in self.members:
            wire = member.encode(value)
            if member.matches(wire):
                return wire
        return value

    def matches(self, value: Any) -> bool:
        return any(member.matches(value) for member in self.members)

    def unquote(self, value: Any) -> Any:
        if isinstance(value, str):
            if "a string" in kinds(self) or "any" in kinds(self):
                return value
            for member in self.members:
                inner = member.unquote(value)
                if inner is not value and member.matches(inner):
                    return inner
            return value
        owner = self._member(value)
        if owner is not None:
            return owner.unquote(value)
        for member in self.members:
            inner = member.unquote(value)
            if member.matches(inner):
                return inner
        return value


def kinds(plan: Plan, seen: frozenset[str] = frozenset()) -> set[str]:
    """The kinds of JSON that *plan* may take, `any` among them where it takes all."""
    if isinstance(plan, Reference):
        if plan.name in seen:
            return set()
        return kinds(plan.table[plan.name], seen | {plan.name})
    if isinstance(plan, Union):
        return set[str]().union(*(kinds(member, seen) for member in plan.members))
    return {plan.kind}
