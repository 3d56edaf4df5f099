"""`typing.TypedDict` on Python 3.11, made askable through pydantic's own hook."""

from __future__ import annotations

import sys
import typing
from typing import Any, get_args

from pydantic.errors import PydanticUndefinedAnnotation
from typing_extensions import is_typeddict

from ingot._json import is_array
from ingot._shape.annotations import own_of
from ingot._shape.fields import RESOLVED, typeddict_parts
from ingot._shape.members import members_of
from ingot.errors import UnsupportedTypeError

__all__ = ["make_askable"]

_HOOK = "__get_pydantic_core_schema__"


def make_askable(t: Any) -> None:
    """
    Give each `typing.TypedDict` in *t* the hook that rebuilds it as typing_extensions'.

    Pydantic calls the hook wherever the class stands: in a list, in another TypedDict, in a
    dataclass. On Python 3.12 and later there is nothing to do.
    """
    if sys.version_info >= (3, 12):
        return
    _visit(t, set())


def _visit(t: Any, seen: set[int]) -> None:
    if id(t) in seen:
        return
    seen.add(id(t))
    for arg in get_args(t):
        _visit(arg, seen)
    if is_array(t):
        for arg in t:
            _visit(arg, seen)
    base: Any = typing.get_origin(t) or t
    if not isinstance(base, type) or base.__module__ in ("builtins", "typing"):
        return
    if type(base).__module__ == "typing" and typing.is_typeddict(base) and _HOOK not in vars(base):
        setattr(base, _HOOK, _hook)
    if is_typeddict(base) or hasattr(base, "__dataclass_fields__") or hasattr(base, "_fields"):
        try:
            parts = members_of(t)
        except UnsupportedTypeError:
            return  # pydantic names what is missing
        for _, part in parts:
            _visit(part, seen)


@staticmethod  # type: ignore[misc]  # set on classes, where a plain function would be bound to nothing
def _hook(source: Any, handler: Any) -> Any:
    return handler.generate_schema(_rebuilt(source))


_REBUILT = "__ingot_rebuilt__"
"""Where the rebuilt classes stand: on the class itself, so that they go when that one goes."""


def _rebuilt(td: Any) -> Any:
    from typing_extensions import NotRequired, Required, TypedDict

    base: Any = typing.get_origin(td) or td
    if _REBUILT not in vars(base):
        setattr(base, _REBUILT, {})
        setattr(base, RESOLVED, {})
    made: dict[Any, Any] = own_of(base)[_REBUILT]
    if td not in made:
        parts = _parts(td)
        own_of(base)[RESOLVED][td] = parts
        fields = {
            name: Required[annotation] if required else NotRequired[annotation]
            for name, annotation, required in parts
        }
        rebuilt: Any = TypedDict(base.__name__, fields)  # type: ignore[misc]
        rebuilt.__doc__ = base.__doc__
        rebuilt.__module__ = base.__module__
        rebuilt.__qualname__ = base.__qualname__
        config = getattr(base, "__pydantic_config__", None)
        if config is not None:
            setattr(rebuilt, "__pydantic_config__", config)  # noqa: B010 (a class made here has no such name)
        made[td] = rebuilt
    return made[td]


def _parts(td: Any) -> list[tuple[str, Any, bool]]:
    try:
        return list(typeddict_parts(td))
    except UnsupportedTypeError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, NameError):
            cause = cause.__cause__
        if cause is None:
            raise
        # As pydantic says it of other classes, which then are made once the names are known.
        raise PydanticUndefinedAnnotation(cause.name or str(cause), str(cause)) from error
