"""Parts that travel in another form than T has, while they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingot._shape.containers import Pairs, Places, Under, key_text
from ingot._shape.growth import Growth, Misshapen, Root, undone
from ingot._shape.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Entry", "Named", "Pair", "PairList", "Placed"]


class Placed(Growth):
    """A tuple that travels as an object; what comes before its turn is held back to the end."""

    def __init__(self, places: Places, show: Callable[[Any], None], root: Root) -> None:
        super().__init__(root)
        self._plans = dict(zip(places.names or (), places.plans, strict=True))
        self._at = 0
        self._shown: list[Any] = []
        self._named: set[str] = set()
        self._waiting: dict[int, Any] = {}
        show(self._shown)

    def named(self, key: str) -> None:
        if key in self._named or key not in self._plans:
            raise Misshapen
        self._named.add(key)
        self._at = list(self._plans).index(key)
        self.plan = self._plans[key]
        self.certain = self._at == len(self._shown)

    def put(self, value: Any) -> None:
        self._shown[self._at :] = (value,)
        self.root.changed = True

    def keep(self, tree: Any) -> None:
        if self.certain:
            super().keep(tree)
        else:
            self._waiting[self._at] = undone(self.plan, tree)

    def close(self) -> None:
        if len(self._named) < len(self._plans):
            raise Misshapen
        for at in sorted(self._waiting):
            self._at = at
            self.put(self._waiting[at])


class PairList(Growth):
    """A map that travels as a list of objects with `key` and `value`."""

    def __init__(self, pairs: Pairs, show: Callable[[Any], None], root: Root) -> None:
        super().__init__(root)
        shown: dict[str, Any] = {}
        self.plan = Entry(pairs.value, shown)
        show(shown)

    def keep(self, tree: Any) -> None:
        raise Misshapen  # no object, else it would not have been held back


@dataclass(frozen=True, slots=True)
class Entry(Plan):
    """One pair of a map, and where the map is shown."""

    value: Plan
    shown: dict[str, Any]
    kind: str = "an object"


class Pair(Growth):
    """One entry of a map; its value is shown once its key is known."""

    def __init__(self, entry: Entry, root: Root) -> None:
        super().__init__(root)
        self._entry = entry
        self._named: list[str] = []
        self._key: str | None = None
        self._early: list[Any] = []

    def named(self, key: str) -> None:
        if key in self._named or key not in ("key", "value"):
            raise Misshapen
        self._named.append(key)
        self.plan = self._entry.value
        self.certain = self._key is not None

    def put(self, value: Any) -> None:
        assert self._key is not None  # else the value is held back
        self._entry.shown[self._key] = value
        self.root.changed = True

    def keep(self, tree: Any) -> None:
        if self.certain:
            super().keep(tree)
        elif self._named[-1] == "value":
            self._early.append(tree)
        else:
            self._know(key_text(tree))

    def _know(self, key: str) -> None:
        if key in self._entry.shown:
            raise Misshapen
        self._key = key
        for tree in self._early:
            super().keep(tree)

    def close(self) -> None:
        if len(self._named) < 2:
            raise Misshapen


class Named(Growth):
    """An object of one part, for which it stands."""

    def __init__(self, under: Under, show: Callable[[Any], None], root: Root) -> None:
        super().__init__(root)
        self.plan = under.inner
        self._show = show
        self._name = under.name
        self._named = False

    def named(self, key: str) -> None:
        if self._named or key != self._name:
            raise Misshapen
        self._named = True

    def put(self, value: Any) -> None:
        self._show(value)

    def close(self) -> None:
        if not self._named:
            raise Misshapen
