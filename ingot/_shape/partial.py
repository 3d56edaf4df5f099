"""An answer while it is being written: what is certain of it so far, in the form of T."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVarTuple

from ingot._shape.containers import Under
from ingot._shape.growth import FREE, Growth, Misshapen, Root
from ingot._shape.scan import Malformed, Scanner
from ingot._shape.sprout import grow
from ingot.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot._shape.content import Provenance
    from ingot._shape.plan import Plan
    from ingot._shape.shape import Shape
    from ingot._shape.wire import Wire

__all__ = ["Partial"]


class Partial:
    """
    The text of one answer, read as it comes, and what it shows so far.

    The work is in proportion to the new characters, however the text is cut. What is shown is not
    validated and is never a T: that is for `Shape.read`, which judges the whole text.

    Args:
        shape: What was asked for; not prose, whose text is itself what grows.
        handles: Who knows the files that may stand in an element; None to take any handle.
    """

    def __init__(self, shape: Shape, handles: Provenance | None = None) -> None:
        self._plan = FREE if shape.wire is None else _whole(shape.wire)
        self._elements = shape.elements
        self._handles = handles
        self._name = shape.target.name
        self.restart()

    def restart(self) -> None:
        """Forget what came: a new answer begins."""
        self._root = Root(self._plan)
        self._builder = _Builder(self._root)
        self._scanner = Scanner(self._builder, keeps=self._elements is not None)
        self._malformed = False
        self._taken = 0

    @property
    def snapshot(self) -> Any:
        """
        The JSON of T as far as it is certain: one value that grows; None before there is any.

        Whoever wants to keep it copies it. Strings grow, a long one by less than a hundredth at a
        time; a number, a literal and whatever may still become another is absent until it is whole,
        so that nothing that was shown is taken back. A number that is all of a free JSON answer is
        never shown.
        """
        return self._root.value

    @property
    def broken(self) -> bool:
        """Whether the text cannot be read as an answer, so that nothing more is shown."""
        return self._malformed or self._builder.lost

    def feed(self, text: str) -> bool:
        """Read on, and say whether *snapshot* has changed."""
        self._root.changed = False
        if not self._malformed:
            try:
                self._scanner.feed(text)
            except Malformed:
                self._malformed = True
        return self._root.changed

    def take_items(self) -> list[Any]:
        """
        Return the elements that have become whole since the last call, validated.

        Raises:
            TypeError: T is no list, or another collection of elements of one type.
            InvalidAnswerError: The first of them does not fit; its place is in the path. Those
                before one that does not fit are returned first, and the next call raises.
        """
        if self._elements is None:
            raise TypeError(
                f"items are those of a list or another collection of one type, not of {self._name}"
            )
        items: list[Any] = []
        kept = self._scanner.kept
        if self._scanner.is_whole and not (kept or self._taken or self.broken):
            # None stood there by itself: the list was empty, or quoted once too often.
            kept.extend(map(self._elements.write, self.snapshot or ()))
        while kept:
            try:
                items.append(self._elements.read(kept[0], self._taken, self._handles))
            except InvalidAnswerError:
                if items:
                    break
                raise
            kept.popleft()
            self._taken += 1
        return items


def _whole(wire: Wire) -> Plan:
    return Under("value", wire.plan) if wire.wrapped else wire.plan


_Ts = TypeVarTuple("_Ts")


def _heeded(
    told: Callable[[_Builder, *_Ts], None],
) -> Callable[[_Builder, *_Ts], None]:
    """Let nothing more be told once something was not in the form that was sent."""

    def heed(self: _Builder, *args: *_Ts) -> None:
        if self.lost:
            return
        try:
            told(self, *args)
        except (Misshapen, RecursionError):
            self.lost = True

    return heed


class _Builder:
    """What is told of the text, put where it belongs."""

    def __init__(self, root: Root) -> None:
        self.lost = False
        self._open: list[Growth] = [root]

    @_heeded
    def opened(self, kind: str) -> None:
        top = self._open[-1]
        top.begin()
        grown = grow(top, kind)
        if grown is None:
            aside = Root()
            self._open.append(aside)
            grown = grow(aside, kind)
            assert grown is not None  # nothing is uncertain of what stands for itself
        self._open.append(grown)

    @_heeded
    def named(self, key: str) -> None:
        self._open[-1].named(key)

    def wrote(self, part: str) -> None:
        # Not guarded, for speed: a string that is not shown was not opened.
        self._open[-1].wrote(part)

    @_heeded
    def scalar(self, value: Any) -> None:
        top = self._open[-1]
        top.begin()
        top.keep(value)

    @_heeded
    def closed(self) -> None:
        self._open.pop().close()
        top = self._open[-1]
        if isinstance(top, Root) and len(self._open) > 1:
            self._open.pop()
            self._open[-1].keep(top.value)
