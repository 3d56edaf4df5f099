"""An object of a class, or of one of several, while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._shape.containers import Slot
from ingot._shape.growth import FREE, Growth, Misshapen, Root, undone

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot._shape.containers import Fields

__all__ = ["Members"]


class Members(Growth):
    """
    An object with named parts, of one class or of one of several.

    What is read alike in all classes that it may yet be grows. What is not waits until all but one
    are ruled out, by the names that stand there or by what waits, or until the object is whole.
    """

    def __init__(
        self, members: tuple[Fields, ...], show: Callable[[Any], None], root: Root
    ) -> None:
        super().__init__(root)
        self._members = list(members)
        self._shown: dict[str, Any] = {}
        self._wire = ""
        self._slot = _slot(self._members[0], "")
        self._named: set[str] = set()
        self._waiting: dict[str, Any] = {}
        show(self._shown)

    def named(self, key: str) -> None:
        self._named.add(key)
        self._narrow(lambda member: member.extra or key in member.slots)
        slots = [_slot(member, key) for member in self._members]
        self._wire, self._slot, self.plan = key, slots[0], slots[0].plan
        # What stands deeper in T than one name may stand there together with others.
        deep = any(slot.place for slot in slots)
        self.certain = not deep and all(_alike(slot, self._slot) for slot in slots[1:])
        if self._slot.name in self._shown:
            raise Misshapen

    def put(self, value: Any) -> None:
        self._shown[self._slot.name] = value
        self.root.changed = True

    def keep(self, tree: Any) -> None:
        if not self.certain:
            wire, self._waiting[self._wire] = self._wire, tree
            self._narrow(lambda member: _slot(member, wire).fits({wire: tree}, wire))
        elif tree is not None or not self._slot.null_is_absent:
            super().keep(tree)

    def close(self) -> None:
        if self._waiting:
            self._narrow(self._is_whole)
            self._show_waiting(whole=True)

    def _narrow(self, fits: Callable[[Fields], bool]) -> None:
        """Rule out the classes that do not fit, where there is a choice."""
        if len(self._members) == 1:
            return
        self._members = [member for member in self._members if fits(member)]
        if not self._members:
            raise Misshapen
        if len(self._members) == 1:
            self._show_waiting(whole=False)

    def _show_waiting(self, *, whole: bool) -> None:
        """Show what waits; what stands deeper in T than one name only where all is *whole*."""
        for wire in list(self._waiting):
            slot = _slot(self._members[0], wire)
            if slot.place and not whole:
                continue
            tree = self._waiting.pop(wire)
            if tree is not None or not slot.null_is_absent:
                slot.put(undone(slot.plan, tree), self._shown)
                self.root.changed = True

    def _is_whole(self, member: Fields) -> bool:
        slots = member.slots.items()
        return all(wire in self._named for wire, slot in slots if slot.required)


def _slot(member: Fields, wire: str) -> Slot:
    """What *wire* names; what the class does not know stands there as it was written."""
    return member.slots.get(wire) or Slot(wire, FREE, required=False, null_is_absent=False)


def _alike(one: Slot, other: Slot) -> bool:
    """Whether both read in the same way what stands there."""
    same = one.name == other.name and one.null_is_absent == other.null_is_absent
    return same and one.plan == other.plan
