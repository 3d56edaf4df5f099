"""Plans of what has parts: lists, objects, maps and tuples, in each form in which they travel."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ingot._json import (
    Number,
    Unreadable,
    canonical,
    describe,
    is_array,
    is_object,
    join_keys,
    read,
)
from ingot._shape.plan import Leaf, Path, Plan, Problems
from ingot.errors import Problem

__all__ = ["Fields", "Listing", "Map", "Pairs", "Places", "Slot", "Under", "key_text"]


@dataclass(frozen=True, slots=True)
class Listing(Plan):
    """An array of one kind of item."""

    item: Plan
    kind: str = "an array"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self.expect(value, path, problems):
            return value
        return [self.item.decode(v, (*path, i), problems) for i, v in enumerate(value)]

    def encode(self, value: Any) -> Any:
        return [self.item.encode(v) for v in value] if is_array(value) else value

    def matches(self, value: Any) -> bool:
        return is_array(value) and all(map(self.item.matches, value))

    def within(self, value: Any) -> Any:
        if not is_array(value):
            return value
        return [self.item.unquote(v) for v in value]


@dataclass(frozen=True, slots=True)
class Slot:
    """
    One named part of an object.

    Attributes:
        name: Its name in the JSON of T; the key of the slot is its name on the wire.
        plan: What stands there.
        required: Whether T demands it.
        null_is_absent: Whether null on the wire says that it is left out.
        place: Where it stands in the JSON of T, if that is deeper than one name.
        attribute: What a class that is dumped by the names of its attributes calls it.
    """

    name: str
    plan: Plan
    required: bool
    null_is_absent: bool
    _: KW_ONLY
    place: Path = ()
    attribute: str | None = None

    def put(self, item: Any, out: dict[str, Any]) -> None:
        """Put *item* where it stands in the JSON of T."""
        if self.place:
            out.update(_grown(out, self.place, item))
        else:
            out[self.name] = item

    def take(self, value: dict[str, Any]) -> tuple[bool, Any]:
        """Find it in *value*: whether it is there, and what it is."""
        at: Any = value
        for step in self.place or (self.name,):
            try:
                at = at[step]
            except (KeyError, IndexError, TypeError):
                return self.attribute in value, value.get(self.attribute or "")
        return True, at

    def fits(self, value: dict[str, Any], wire: str) -> bool:
        """Whether what *value*, an object of the reply, has under *wire* may stand here."""
        if wire not in value:
            return not self.required
        item = value[wire]
        return (item is None and self.null_is_absent) or self.plan.matches(item)


def _grown(at: Any, place: Path, item: Any) -> Any:
    """Return *at* with *item* at *place*, and what leads there."""
    if not place:
        return item
    step, rest = place[0], place[1:]
    if isinstance(step, str):
        known: dict[str, Any] = at if is_object(at) else {}
        return {**known, step: _grown(known.get(step), rest, item)}
    items: list[Any] = at if is_array(at) else []
    items = [*items, *[None] * (step + 1 - len(items))]
    items[step] = _grown(items[step], rest, item)
    return items


@dataclass(frozen=True, slots=True)
class Fields(Plan):
    """An object with named parts."""

    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    extra: bool = False
    kind: str = "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self.expect(value, path, problems):
            return value
        out: dict[str, Any] = {}
        for wire, item in value.items():
            slot = self.slots.get(wire)
            if slot is None:
                out[wire] = item
            elif item is not None or not slot.null_is_absent:
                slot.put(slot.plan.decode(item, (*path, slot.name), problems), out)
        return out

    def encode(self, value: Any) -> Any:
        if is_array(value):  # a NamedTuple, which travels by name
            if len(value) != len(self.slots):
                return value
            value = dict(zip((slot.name for slot in self.slots.values()), value, strict=True))
        if not is_object(value):
            return value
        out: dict[str, Any] = {}
        known: set[str | int] = set()
        for wire, slot in self.slots.items():
            known.add(slot.place[0] if slot.place else slot.name)
            if slot.attribute is not None:
                known.add(slot.attribute)
            there, item = slot.take(value)
            if there:
                absent = item is None and slot.null_is_absent
                out[wire] = None if absent else slot.plan.encode(item)
            elif slot.null_is_absent:
                out[wire] = None
        out.update({key: item for key, item in value.items() if key not in known})
        return out

    def matches(self, value: Any) -> bool:
        if not is_object(value):
            return False
        if not self.extra and not value.keys() <= self.slots.keys():
            return False
        # Scalars first, among them the tags: what they tell apart needs no look into its depth.
        return all(
            slot.fits(value, wire)
            for deep in (False, True)
            for wire, slot in self.slots.items()
            if isinstance(slot.plan, Leaf) is not deep
        )

    def within(self, value: Any) -> Any:
        if not is_object(value):
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
        if not self.expect(value, path, problems):
            return value
        return {k: self.value.decode(v, (*path, k), problems) for k, v in value.items()}

    def encode(self, value: Any) -> Any:
        return {k: self.value.encode(v) for k, v in value.items()} if is_object(value) else value

    def matches(self, value: Any) -> bool:
        return is_object(value) and all(map(self.value.matches, value.values()))

    def within(self, value: Any) -> Any:
        if not is_object(value):
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
        if not self.expect(value, path, problems, "a list of key and value"):
            return value
        out: dict[str, Any] = {}
        for index, pair in enumerate(value):
            if not is_object(pair) or pair.keys() != _PAIR:
                found = join_keys(pair) if is_object(pair) else describe(pair)
                problems.append(
                    Problem(
                        (*path, index), f"expected an object of `key` and `value`, found {found}"
                    )
                )
                continue
            key = pair["key"]
            name = key_text(key)
            if name in out:
                problems.append(Problem((*path, index), f"the key `{name[:40]}` stands twice"))
            out[name] = self.value.decode(pair["value"], (*path, name), problems)
        return out

    def encode(self, value: Any) -> Any:
        if not is_object(value):
            return value
        return [
            {"key": _scalar(k, self.key), "value": self.value.encode(v)} for k, v in value.items()
        ]

    def matches(self, value: Any) -> bool:
        return is_array(value) and all(
            is_object(pair)
            and pair.keys() == _PAIR
            and self.key.matches(pair["key"])
            and self.value.matches(pair["value"])
            for pair in value
        )

    def within(self, value: Any) -> Any:
        if not is_array(value):
            return value
        return [
            {**pair, "value": self.value.unquote(pair["value"])}
            if is_object(pair) and pair.keys() == _PAIR
            else pair
            for pair in value
        ]


@dataclass(frozen=True, slots=True)
class Under(Plan):
    """What travels under a name of its own, so that it is not taken for another."""

    name: str
    inner: Plan
    kind: str = "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not is_object(value) or value.keys() != {self.name}:
            found = join_keys(value) if is_object(value) else describe(value)
            problems.append(Problem(path, f"expected an object of `{self.name}`, found {found}"))
            return value
        return self.inner.decode(value[self.name], path, problems)

    def encode(self, value: Any) -> Any:
        inner = self.inner.encode(value)
        return value if inner is value else {self.name: inner}

    def matches(self, value: Any) -> bool:
        return (
            is_object(value)
            and value.keys() == {self.name}
            and self.inner.matches(value[self.name])
        )

    def within(self, value: Any) -> Any:
        if not is_object(value) or value.keys() != {self.name}:
            return value
        return {self.name: self.inner.unquote(value[self.name])}


def key_text(key: Any) -> str:
    """Return the name in a map that *key*, that of a pair, stands for."""
    if isinstance(key, str):
        return key
    return key.text if isinstance(key, Number) else canonical(key)


def _scalar(key: str, plan: Plan) -> Any:
    """The key of a map as *plan* has it: in JSON it is text, in T perhaps a number."""
    if plan.kind in ("a number", "a boolean"):
        with suppress(Unreadable):  # the key of another map, which is a member of the same union
            return read(key)[0]
    return key


@dataclass(frozen=True, slots=True)
class Places(Plan):
    """
    A tuple of places.

    Attributes:
        plans: One for each place.
        rest: What follows the places; None for nothing.
        names: Names of the places where the tuple travels as an object, that of *rest* last; None
            for an array.
    """

    plans: tuple[Plan, ...]
    rest: Plan | None
    names: tuple[str, ...] | None

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "an array" if self.names is None else "an object"

    def decode(self, value: Any, path: Path, problems: Problems) -> Any:
        if not self.expect(value, path, problems):
            return value
        if self.names is not None:
            if value.keys() != set(self.names):
                expected = ", ".join(f"`{name}`" for name in self.names)
                problems.append(Problem(path, f"expected {expected}, found {join_keys(value)}"))
                return value
            values = [value[name] for name in self.names]
            if self.rest is not None:
                last = values.pop()
                if not is_array(last):
                    problems.append(
                        Problem(
                            (*path, self.names[-1]), f"expected an array, found {describe(last)}"
                        )
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
        if not is_array(value):
            return value
        values = [p.encode(v) for p, v in zip(self._each(len(value)), value, strict=True)]
        if self.names is None:
            return values
        fixed = len(self.plans)
        if len(values) < fixed or (self.rest is None and len(values) > fixed):
            return value
        out = dict(zip(self.names, values[:fixed], strict=False))
        if self.rest is not None:
            out[self.names[-1]] = values[fixed:]
        return out

    def matches(self, value: Any) -> bool:
        if self.names is not None:
            if not is_object(value) or value.keys() != set(self.names):
                return False
            values = [value[name] for name in self.names]
            if self.rest is not None:
                last = values.pop()
                if not is_array(last):
                    return False
                values += last
        elif is_array(value):
            values = value
        else:
            return False
        fits = len(values) >= len(self.plans) if self.rest else len(values) == len(self.plans)
        return fits and all(
            p.matches(v) for p, v in zip(self._each(len(values)), values, strict=True)
        )

    def within(self, value: Any) -> Any:
        if self.names is not None and is_object(value) and value.keys() == set(self.names):
            plans = dict(zip(self.names, self.plans, strict=False))
            return {k: plans[k].unquote(v) if k in plans else v for k, v in value.items()}
        if self.names is None and is_array(value):
            return [p.unquote(v) for p, v in zip(self._each(len(value)), value, strict=True)]
        return value
