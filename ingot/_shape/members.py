"""The parts a type is made of, by name: what holds what, where a part stands, how it is written."""

from __future__ import annotations

import re
from types import NoneType
from typing import TYPE_CHECKING, Any, ForwardRef, get_args, get_origin

from typing_extensions import Annotated, Literal

from ingot._shape.annotations import alias_of, alias_value, arguments, is_union, peel
from ingot._shape.fields import extras_of, fields_of, is_root, record_kind
from ingot.errors import UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["key_of", "locate", "members_of", "type_name"]

_LONGEST = 80
"""Characters of a type in a message."""


def members_of(target: Any) -> tuple[tuple[str | None, Any], ...]:
    """
    Return the parts of a type, one step down.

    Args:
        target: Any annotation.

    Returns:
        The fields of a class, each with its name in the reply and its type (with `Annotated` where
        something is declared of it); the items, keys, members or value of anything else, and the
        root of a `RootModel`, without a name. Nothing for what has no parts.

    Raises:
        UnsupportedTypeError: A name is not defined where T was written; `path` holds the field.
    """
    if alias_of(target) is not None:
        return ((None, alias_value(target)),)
    core, _ = peel(target)
    if core is not target and target is not None:
        return ((None, core),)
    if record_kind(core) is not None:
        named = tuple(
            (None if is_root(core) else field.name, field.full_annotation)
            for field in fields_of(core)
        )
        extras = extras_of(core)
        return named if extras is None else (*named, (None, extras))
    if get_origin(core) is Literal:
        return ()
    return tuple((None, part) for part in _flat(get_args(core)) if part is not ...)


def _flat(parts: Any) -> tuple[Any, ...]:
    # The arguments of a Callable stand in a list of their own.
    return tuple(i for part in parts for i in (_flat(part) if isinstance(part, list) else (part,)))


def locate(target: Any, bad: Callable[[Any], bool]) -> tuple[tuple[str, ...], Any] | None:
    """
    Find the first part of a type, deepest first, for which *bad* is true.

    Args:
        target: Any annotation; it is the last part to be tried.
        bad: Called once with each part.

    Returns:
        The names of the fields that lead to the part, to which containers add nothing, and the
        part; None when no part is bad.

    Raises:
        UnsupportedTypeError: A name is not defined where T was written, and `path` leads to the
            field; or T has no end.
    """
    seen: set[Any] = set()
    kept: list[Any] = []

    def search(part: Any, path: tuple[str, ...]) -> tuple[tuple[str, ...], Any] | None:
        key = key_of(part)
        if key in seen:
            return None
        seen.add(key)
        # An id in `seen` is good for as long as its object lives.
        kept.append(part)
        try:
            inside = members_of(part)
        except UnsupportedTypeError as error:
            raise UnsupportedTypeError(
                type_name(target), error.reason, path=(*path, *error.path), advice=error.advice
            ) from error
        for name, inner in inside:
            found = search(inner, path if name is None else (*path, name))
            if found is not None:
                return found
        return (path, part) if bad(part) else None

    try:
        return search(target, ())
    except RecursionError as error:
        raise UnsupportedTypeError(type_name(target), "it has no end") from error


def key_of(part: Any) -> Any:
    """Return a key that equal types share; the id where the type cannot be hashed."""
    try:
        hash(part)
    except TypeError:
        return ("id", id(part))
    return part


def type_name(target: Any) -> str:
    """
    Return a type as it is written in messages.

    Classes stand without their modules, `Annotated` as its base, `None` last in a union; what is
    longer than 80 characters is cut.
    """
    text = spelled(target)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def spelled(target: Any, *, ordered: bool = False) -> str:
    """Return a type in full; *ordered* sorts the members of unions and literals."""
    if target is None or target is NoneType:
        return "None"
    if target is ...:
        return "..."
    if isinstance(target, str):
        return target
    if isinstance(target, ForwardRef):
        return target.__forward_arg__
    if isinstance(target, list):
        inner: list[Any] = [*target]
        return f"[{', '.join(spelled(part, ordered=ordered) for part in inner)}]"
    origin, parts = arguments(target)
    if origin is Annotated and parts:
        return spelled(parts[0], ordered=ordered)
    if origin is Literal:
        texts = [_value(part) for part in parts]
        return f"Literal[{', '.join(sorted(texts) if ordered else texts)}]"
    written = [spelled(part, ordered=ordered) for part in parts]
    if is_union(target):
        rest = [text for text in dict.fromkeys(written) if text != "None"]
        last = ["None"] if "None" in written else []
        return " | ".join([*(sorted(rest) if ordered else rest), *last])
    name = _bare(origin)
    if origin is tuple and get_origin(target) is tuple and not parts and _is_empty_tuple(target):
        return "tuple[()]"
    return f"{name}[{', '.join(written)}]" if written else name


def _value(value: Any) -> str:
    from enum import Enum

    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)


def _is_empty_tuple(target: Any) -> bool:
    return "()" in repr(target)


def _bare(target: Any) -> str:
    name = getattr(target, "__name__", None) or getattr(target, "_name", None)
    return str(name) if name else re.sub(r"\b(?:\w+\.)+", "", repr(target))
