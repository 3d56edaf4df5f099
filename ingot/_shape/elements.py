"""Elements of a list, each read before the list is whole and as strictly."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ingot._json import canonical
from ingot._shape.adapters import adapter_of
from ingot._shape.annotations import alias_of, alias_value, arguments, peel
from ingot._shape.containers import Listing
from ingot._shape.fields import fields_of, is_root
from ingot._shape.reader import read_value
from ingot.errors import MismatchedAnswerError, Problem, UnsupportedTypeError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from ingot._shape.content import Provenance
    from ingot._shape.target import Target
    from ingot._shape.wire import Wire

__all__ = ["Elements", "elements_of"]

_COLLECTIONS = ("builtins", "collections", "collections.abc")
"""Where the types are defined whose only argument is the type of their elements."""


class Elements:
    """
    How the elements of one list are read.

    Args:
        element: The type of an element.
        wire: The form an element has in the list, under `value`.
        target: The list's type as text, for messages.
    """

    def __init__(self, element: Any, wire: Wire, target: str) -> None:
        self._element = element
        self._wire = wire
        self._target = target

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        adapter: TypeAdapter[Any] = adapter_of(self._element)
        if not getattr(adapter, "pydantic_complete", True):
            raise UnsupportedTypeError(
                self._target,
                "its elements, read alone, do not know the names of the function they stand in",
                advice="define them at the top of a module, or take the list as a whole",
            )
        return adapter

    def write(self, tree: Any) -> str:
        """Return the text of the element that *tree*, the JSON of its type, stands for."""
        return canonical(self._wire.plan.encode(tree))

    def read(self, text: str, index: int, handles: Provenance | None) -> Any:
        """
        Return the element that *text*, cut out of a reply, stands for.

        Args:
            text: The element as it was written.
            index: Its place in the list, for the error.
            handles: Who knows the files that may stand in it; None to take any handle.

        Raises:
            UnreadableAnswerError: The text is not one JSON value.
            UnsupportedTypeError: Elements cannot be read without the list.
            MismatchedAnswerError: It does not fit; the path leads to it from the root of the reply.
        """
        context = None if handles is None else {"handles": handles}
        # As it stands in the reply, so that a text is not read as the JSON it may hold.
        whole = f'{{"value": {text}}}'
        try:
            return read_value(whole, self._adapter, self._wire, self._target, context)
        except MismatchedAnswerError as error:
            problems = [Problem(("value", index, *p.path[1:]), p.message) for p in error.problems]
            raise MismatchedAnswerError(problems, target=self._target, text=text) from error


def elements_of(target: Target, wire: Wire | None) -> Elements | None:
    """Return how elements of *target* are read; None if it is no collection of one type."""
    if wire is None or not isinstance(wire.plan, Listing):
        return None
    collection = _bare(target.type)
    origin, parts = arguments(collection)
    if origin.__module__ not in _COLLECTIONS:
        return None
    return Elements(parts[0] if parts else Any, replace(wire, plan=wire.plan.item), target.name)


def _bare(t: Any) -> Any:
    """Return *t* without alias, metadata and root model."""
    while True:
        core = alias_value(t) if alias_of(t) is not None else peel(t)[0]
        if is_root(core):
            core = fields_of(core)[0].full_annotation
        if core is t:
            return t
        t = core
