"""A part of an answer while it is read: what it shows grows with each of its own parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._shape.plan import Leaf, Plan, Problems

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FREE", "Entries", "Growth", "Items", "Misshapen", "Root", "Words", "undone"]

FREE = Leaf("any")
"""Any JSON, which stands for itself."""

_LAG = 256
"""
A string is shown anew once it has grown by this part of its length: at each piece while it is
short, and never so often that to copy it costs more than a constant for each character. To add to
it in its place would cost less, but only as long as nobody holds on to what was shown.
"""


class Misshapen(Exception):  # noqa: N818 (never leaves the reading of a stream)
    """What came is not in the form that was sent."""


class Growth:
    """
    A part that has parts, while it is read.

    Args:
        root: The value it belongs to.

    Attributes:
        plan: What its next part stands for.
        certain: Whether that part may be shown as it grows; else it is held back until it is whole.
    """

    plan: Plan = FREE
    certain: bool = True

    def __init__(self, root: Root) -> None:
        self.root = root

    def named(self, key: str) -> None:
        """The next part has the name *key*."""

    def begin(self) -> None:
        """A part begins."""

    def put(self, value: Any) -> None:
        """Show *value* as the part that is being read; a string, which has no parts, gets none."""
        raise NotImplementedError

    def keep(self, tree: Any) -> None:
        """Take in a part that was held back, as it was written."""
        self.put(undone(self.plan, tree))

    def wrote(self, part: str) -> None:
        """Take in more of a string."""

    def close(self) -> None:
        """It is whole."""


class Root(Growth):
    """
    A whole value: what is shown of an answer, or a part of it that is held back.

    Attributes:
        value: What there is of it; None before there is anything.
        changed: Whether that has changed since whoever reads this last set it to False.
    """

    def __init__(self, plan: Plan = FREE) -> None:
        super().__init__(self)
        self.plan = plan
        self.value: Any = None
        self.changed = False

    def put(self, value: Any) -> None:
        self.value = value
        self.changed = True


class Words(Growth):
    """A string."""

    def __init__(self, show: Callable[[Any], None], root: Root) -> None:
        super().__init__(root)
        self._show = show
        self._parts: list[str] = []
        self._size = 0
        self._due = 1
        show("")

    def wrote(self, part: str) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size >= self._due:
            self._refresh()

    def close(self) -> None:
        if len(self._parts) > 1:
            self._refresh()

    def _refresh(self) -> None:
        text = "".join(self._parts)
        self._parts = [text]
        self._due = self._size + self._size // _LAG + 1
        self._show(text)


class Items(Growth):
    """An array: *first*, one after the other, then any number of *rest*."""

    def __init__(
        self, first: tuple[Plan, ...], rest: Plan, show: Callable[[Any], None], root: Root
    ) -> None:
        super().__init__(root)
        self._first = first
        self._rest = rest
        self._shown: list[Any] = []
        self._at = 0
        show(self._shown)

    def begin(self) -> None:
        self._at = len(self._shown)
        self.plan = self._first[self._at] if self._at < len(self._first) else self._rest

    def put(self, value: Any) -> None:
        self._shown[self._at :] = (value,)
        self.root.changed = True


class Entries(Growth):
    """An object whose parts are all of one kind."""

    def __init__(self, plan: Plan, show: Callable[[Any], None], root: Root) -> None:
        super().__init__(root)
        self.plan = plan
        self._shown: dict[str, Any] = {}
        self._key = ""
        show(self._shown)

    def named(self, key: str) -> None:
        if key in self._shown:
            raise Misshapen
        self._key = key

    def put(self, value: Any) -> None:
        self._shown[self._key] = value
        self.root.changed = True


def undone(plan: Plan, tree: Any) -> Any:
    """
    The JSON of T that *tree*, a whole part as it was written, stands for.

    Raises:
        Misshapen: It is not in the form that was sent.
    """
    problems: Problems = []
    value = plan.decode(plan.unquote(tree), (), problems)
    if problems:
        raise Misshapen
    return value
