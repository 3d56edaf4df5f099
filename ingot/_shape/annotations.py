"""An annotation as written: names resolved, parameters filled in, wrappers taken off."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import NoneType
from typing import Any, ForwardRef, TypeVar, Union, cast, get_args, get_origin

import typing_extensions
from typing_extensions import Annotated, ClassVar, Final, Literal, NotRequired, ReadOnly, Required

from ingot.errors import UnsupportedTypeError

__all__ = [
    "alias_of",
    "alias_value",
    "among",
    "arguments",
    "is_class",
    "is_union",
    "own_of",
    "peel",
    "resolve",
    "substitute",
]

_ALIAS_TYPES = (
    typing_extensions.TypeAliasType,
    getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
)
INIT_VAR: Any = dataclasses.InitVar
_SELF: Any = typing_extensions.Self
_UNION_TYPES = (Union, type(int | None))
_WRAPPERS = (ClassVar, Final, NotRequired, ReadOnly, Required)


def is_union(annotation: Any) -> bool:
    """Whether *annotation* is a union, in either spelling."""
    return get_origin(annotation) in _UNION_TYPES


def is_class(annotation: Any) -> bool:
    """Whether *annotation* is a class, and no alias of one with arguments."""
    return isinstance(annotation, type) and get_origin(annotation) is None


def own_of(cls: Any) -> dict[str, Any]:
    """Return what a class itself defines, without what it inherits."""
    made: dict[str, Any] = {**vars(cls)}
    return made


def arguments(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what *annotation* is made from and its arguments; those of a pydantic class too."""
    origin = get_origin(annotation)
    if origin is not None:
        return origin, get_args(annotation)
    # The only record of a parametrised model's arguments; BaseModel documents it.
    generic: Any = getattr(annotation, "__pydantic_generic_metadata__", None) or {}
    if is_class(annotation) and generic.get("origin") is not None:
        return generic["origin"], tuple(generic["args"])
    return annotation, ()


_around: ContextVar[Mapping[str, Any]] = ContextVar("_around")


@contextmanager
def among(names: Mapping[str, Any]) -> Generator[None]:
    """Let annotations refer to *names*, those of the function that the types are written in."""
    token = _around.set(names)
    try:
        yield
    finally:
        _around.reset(token)


def resolve(annotation: Any, module: str | None, names: dict[str, Any], owner: str) -> Any:
    """
    Return *annotation* with every name in it, at any depth, replaced by what it stands for.

    Args:
        annotation: An annotation, which may be a text or hold texts.
        module: Name of the module it was written in.
        names: Names that the module does not know: the class itself and what is nested in it.
        owner: What it belongs to, for the error.

    Raises:
        UnsupportedTypeError: A name is not defined, or the text is no type.
    """
    known = {**vars(sys.modules[module])} if module in sys.modules else {}
    around = _around.get(None) or {}
    names = {**{name: value for name, value in around.items() if name not in known}, **names}
    holder = type("holder", (), {"__annotations__": {"it": annotation}})
    try:
        hints = typing_extensions.get_type_hints(holder, known, names, include_extras=True)
    except NameError as error:
        raise undefined(error.name or str(error), owner) from error
    except RecursionError:
        raise
    except Exception as error:
        # Evaluating a text runs what the user wrote, so anything can come out of it.
        text = annotation if isinstance(annotation, str) else repr(annotation)
        reason = f"the annotation `{text}` cannot be read: {error}"
        raise UnsupportedTypeError(owner, reason) from error
    return hints["it"]


def undefined(name: str, owner: str) -> UnsupportedTypeError:
    """The error for a name that leads nowhere."""
    return UnsupportedTypeError(
        owner,
        f"the name `{name}` is not defined where the type was written",
        advice="define or import it at the top of that module, outside `if TYPE_CHECKING`",
    )


def substitute(annotation: Any, table: dict[Any, Any]) -> Any:
    """Return *annotation* with each type variable (and `Self`) that *table* names filled in."""
    if isinstance(annotation, TypeVar) or annotation is _SELF:
        return table.get(annotation, annotation)
    origin, parts = arguments(annotation)
    if not parts or not table or origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(substitute(parts[0], table), *parts[1:])]
    filled = tuple(substitute(part, table) for part in parts)
    if all(new is old for new, old in zip(filled, parts, strict=True)):
        return annotation
    if is_union(annotation):
        return cast("Any", Union)[filled]
    return origin[filled[0] if len(filled) == 1 else filled]


def peel(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """
    Return *annotation* without what changes no value, and the metadata on the way, inner first.

    Taken off are Annotated, NewType, Required, NotRequired, ReadOnly, Final, ClassVar and InitVar;
    a type variable stands for its default, its constraints or its bound. An alias stays: it may be
    recursive.

    Raises:
        UnsupportedTypeError: It is a name that nobody has resolved.
    """
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata = (*annotation.__metadata__, *metadata)
            annotation = annotation.__origin__
        elif origin in _WRAPPERS:
            annotation = get_args(annotation)[0]
        elif annotation is Final or annotation is ClassVar:
            return Any, metadata
        elif isinstance(annotation, INIT_VAR):
            annotation = annotation.type
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, TypeVar):
            annotation = _stand_in(annotation)
        elif isinstance(annotation, ForwardRef | str):
            name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
            raise undefined(name, name)
        else:
            return NoneType if annotation is None else annotation, metadata


def _stand_in(variable: Any) -> Any:
    # typing.TypeVar has defaults from Python 3.13 only.
    if getattr(variable, "has_default", bool)():
        return variable.__default__
    if variable.__constraints__:
        return cast("Any", Union)[variable.__constraints__]
    return Any if variable.__bound__ is None else variable.__bound__


def alias_of(annotation: Any) -> Any:
    """Return the alias (`type X = …`) that *annotation* names, if any, without its arguments."""
    origin = get_origin(annotation) or annotation
    return origin if isinstance(origin, _ALIAS_TYPES) else None


def alias_value(annotation: Any) -> Any:
    """
    Return what the alias *annotation* stands for, with its arguments filled in.

    Raises:
        UnsupportedTypeError: A name in it is not defined.
    """
    alias = alias_of(annotation)
    try:
        value = alias.__value__
    except NameError as error:
        raise undefined(error.name or str(error), alias.__name__) from error
    value = resolve(value, alias.__module__, {alias.__name__: alias}, alias.__name__)
    return substitute(value, dict(zip(alias.__type_params__, get_args(annotation), strict=False)))
