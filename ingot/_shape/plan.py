"""How the JSON of a reply becomes the JSON of T, and back: one node of a plan for each node of the schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ingot._json import Number, Unreadable, canonical, describe, read
from ingot.errors import Problem, join_keys

__all__ = [
    "DecimalText",
    "Fields",
    "JSONText",
    "Leaf",
    "Listing",
    "Map",
    "Pairs",
    "Places",
    "Plan",
    "Reference",
    "Slot",
    "Union",
    "kinds",
]

Path: TypeAlias = tuple[str | int, ...]
Problems: TypeAlias = list[Problem]


class Plan:
    """
    What one node of the reply stands for.

    `decode` turns the JSON of a reply into the JSON of T and notes what does not fit the form that was sent;
    `encode` goes the other way; `matches` says whether a value has the form; `unquote` reads a string that
    holds the JSON of an object or array where T has no place for a string. What T demands beyond the form is
    left to its own validation.
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

    def _expect(self, value: Any, path: Path, problems: Problems, what: str = "") -> bool:
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
        if self.integral and (isinstance(value, float) or isinstance(value, bool)):
            return False
        return Plan.matches(self, value)


@dataclass(frozen=True, slots=True)
class DecimalText(Plan):
    """A decimal: a string on the way out; on the way in also a number, by its digits."""

    kind: str = "a string"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if isinstance(value, Number):
            return value.text
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value

    def encode(self, value: Any) -> Any:
        return str(value)

    def matches(self, value: Any) -> bool:
        return isinstance(value, str | int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class JSONText(Plan):
    """A part that may be anything, written as JSON text in a string."""

    kind: str = "a string"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems, "JSON text in a string"):
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
class Listing(Plan):
    """An array of one kind of item."""

    item: Plan
    kind: str = "an array"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems):
            return value
        return [self.item.decode(v, (*path, i), problems) for i, v in enumerate(value)]

    def encode(self, value: Any) -> Any:
        return [self.item.encode(v) for v in value]

    def matches(self, value: Any) -> bool:
        return isinstance(value, list) and all(map(self.item.matches, value))

    def within(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [self.item.unquote(v) for v in value]


@dataclass(frozen=True, slots=True)
class Slot:
    """
    One named part of an object.

    Attributes:
        name: Its name in T; the key of the slot is its name on the wire.
        plan: What stands there.
        required: Whether T demands it.
        null_is_absent: Whether null on the wire says that it is left out.
    """

    name: str
    plan: Plan
    required: bool
    null_is_absent: bool


@dataclass(frozen=True, slots=True)
class Fields(Plan):
    """An object with named parts."""

    slots: dict[str, Slot] = field(default_factory=dict)
    extra: bool = False
    kind: str = "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems):
            return value
        out: dict[str, Any] = {}
        for wire, item in value.items():
            slot = self.slots.get(wire)
            if slot is None:
                out[wire] = item
            elif item is not None or not slot.null_is_absent:
                out[slot.name] = slot.plan.decode(item, (*path, slot.name), problems)
        return out

    def encode(self, value: Any) -> Any:
        if isinstance(value, list):  # a NamedTuple, which travels by name
            value = dict(zip((slot.name for slot in self.slots.values()), value, strict=True))
        out: dict[str, Any] = {}
        known = {slot.name for slot in self.slots.values()}
        for wire, slot in self.slots.items():
            if slot.name in value:
                item = value[slot.name]
                out[wire] = item if item is None else slot.plan.encode(item)
            elif slot.null_is_absent:
                out[wire] = None
        out.update({key: item for key, item in value.items() if key not in known})
        return out

    def matches(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if not self.extra and not value.keys() <= self.slots.keys():
            return False
        for wire, slot in self.slots.items():
            if wire not in value:
                if slot.required:
                    return False
            elif value[wire] is None and slot.null_is_absent:
                continue
            elif not slot.plan.matches(value[wire]):
                return False
        return True

    def within(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: self.slots[key].plan.unquote(item) if key in self.slots else item
            for key, item in value.items()
        }


@dataclass(frozen=True, slots=True)
class Map(Plan):
    """A map that travels as an object."""

    value: Plan
    kind: str = "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems):
            return value
        return {k: self.value.decode(v, (*path, k), problems) for k, v in value.items()}

    def encode(self, value: Any) -> Any:
        return {k: self.value.encode(v) for k, v in value.items()}

    def matches(self, value: Any) -> bool:
        return isinstance(value, dict) and all(map(self.value.matches, value.values()))

    def within(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: self.value.unquote(item) for key, item in value.items()}


_PAIR = {"key", "value"}


@dataclass(frozen=True, slots=True)
class Pairs(Plan):
    """A map that travels as a list of objects with `key` and `value`."""

    key: Plan
    value: Plan
    kind: str = "an array"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems, "a list of key and value"):
            return value
        out: dict[str, Any] = {}
        for index, pair in enumerate(value):
            if not isinstance(pair, dict) or pair.keys() != _PAIR:
                found = join_keys(pair) if isinstance(pair, dict) else describe(pair)
                problems.append(
                    Problem((*path, index), f"expected an object of `key` and `value`, found {found}")
                )
                continue
            key = pair["key"]
            name = key if isinstance(key, str) else _text(key)
            if name in out:
                problems.append(Problem((*path, index), f"the key `{name[:40]}` stands twice"))
            out[name] = self.value.decode(pair["value"], (*path, name), problems)
        return out

    def encode(self, value: Any) -> Any:
        return [
            {"key": _scalar(k, self.key), "value": self.value.encode(v)} for k, v in value.items()
        ]

    def matches(self, value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(pair, dict)
            and pair.keys() == _PAIR
            and self.key.matches(pair["key"])
            and self.value.matches(pair["value"])
            for pair in value
        )

    def within(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [
            {**pair, "value": self.value.unquote(pair["value"])}
            if isinstance(pair, dict) and pair.keys() == _PAIR
            else pair
            for pair in value
        ]


def _text(key: Any) -> str:
    return key.text if isinstance(key, Number) else canonical(key)


def _scalar(key: str, plan: Plan) -> Any:
    """The key of a map as *plan* has it: JSON keys are strings, keys of T may be numbers or booleans."""
    if plan.kind in ("a number", "a boolean"):
        return read(key)[0]
    return key


@dataclass(frozen=True, slots=True)
class Places(Plan):
    """
    A tuple of places.

    Attributes:
        plans: One for each place.
        rest: What follows the places; None for nothing.
        names: Names of the places where the tuple travels as an object, that of *rest* last; None for an array.
    """

    plans: tuple[Plan, ...]
    rest: Plan | None
    names: tuple[str, ...] | None

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "an array" if self.names is None else "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self._expect(value, path, problems):
            return value
        if self.names is not None:
            if value.keys() != set(self.names):
                expected = ", ".join(f"`{name}`" for name in self.names)
                problems.append(Problem(path, f"expected {expected}, found {join_keys(value)}"))
                return value
            values = [value[name] for name in self.names]
            if self.rest is not None:
                last = values.pop()
                if not isinstance(last, list):
                    problems.append(
                        Problem((*path, self.names[-1]), f"expected an array, found {describe(last)}")
                    )
                    return value
                values += last
            value = values
        return [
            plan.decode(v, (*path, i), problems)
            for i, (v, plan) in enumerate(zip(value, self._each(len(value)), strict=True))
        ]

    def _each(self, count: int) -> list[Plan]:
        more = count - len(self.plans)
        return [*self.plans[:count], *[self.rest or Plan()] * more]

    def encode(self, value: Any) -> Any:
        values = [p.encode(v) for p, v in zip(self._each(len(value)), value, strict=True)]
        if self.names is None:
            return values
        fixed = len(self.plans)
        out = dict(zip(self.names, values[:fixed], strict=False))
        if self.rest is not None:
            out[self.names[-1]] = values[fixed:]
        return out

    def matches(self, value: Any) -> bool:
        if self.names is not None:
            if not isinstance(value, dict) or value.keys() != set(self.names):
                return False
            values = [value[name] for name in self.names]
            if self.rest is not None:
                last = values.pop()
                if not isinstance(last, list):
                    return False
                values += last
        elif isinstance(value, list):
            values = value
        else:
            return False
        fits = len(values) >= len(self.plans) if self.rest else len(values) == len(self.plans)
        return fits and all(
            p.matches(v) for p, v in zip(self._each(len(values)), values, strict=True)
        )

    def within(self, value: Any) -> Any:
        if self.names is not None and isinstance(value, dict) and value.keys() == set(self.names):
            plans = dict(zip(self.names, self.plans, strict=False))
            return {k: plans[k].unquote(v) if k in plans else v for k, v in value.items()}
        if self.names is None and isinstance(value, list):
            return [
                p.unquote(v) for p, v in zip(self._each(len(value)), value, strict=True)
            ]
        return value


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

    A value belongs to the first member whose form it has; where it has none's, to the only member of its
    kind of JSON, so that the message says what is wrong inside.
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
        return alike[0] if len(alike) == 1 else None

    def encode(self, value: Any) -> Any:
        for member in self.members:
            try:
                wire = member.encode(value)
            except (AttributeError, TypeError, ValueError, KeyError):
                continue
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
        member = self._member(value)
        if member is not None:
            return member.unquote(value)
        for member in self.members:
            inner = member.unquote(value)
            if member.matches(inner):
                return inner
        return value


def kinds(plan: Plan) -> set[str]:
    """The kinds of JSON that *plan* may take, `any` among them where it takes all."""
    if isinstance(plan, Reference):
        return kinds(plan.table[plan.name])
    if isinstance(plan, Union):
        return set().union(*map(kinds, plan.members))
    return {plan.kind}
