"""`typing.TypedDict` on Python 3.11, made askable through pydantic's own hook."""

from __future__ import annotations

import sys
import typing
from typing import Any, get_args

from ingot._json import is_array

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
    if (
        typing.is_typeddict(base)
        or hasattr(base, "__dataclass_fields__")
        or hasattr(base, "_fields")
    ):
        try:
            hints = typing.get_type_hints(base, include_extras=True)
        except (NameError, TypeError):
            return  # pydantic names what is missing
        for hint in hints.values():
            _visit(hint, seen)


@staticmethod  # type: ignore[misc]  # set on classes, where a plain function would be bound to nothing
def _hook(source: Any, handler: Any) -> Any:
    return handler.generate_schema(_rebuilt(source))


_made: dict[Any, Any] = {}


def _rebuilt(td: Any) -> Any:
    from typing_extensions import NotRequired, ReadOnly, Required, TypedDict

    base = typing.get_origin(td) or td
    if base not in _made:
        fields: dict[str, Any] = {}
        for name, declared in typing.get_type_hints(base, include_extras=True).items():
            hint = declared
            while typing.get_origin(hint) in (Required, NotRequired, ReadOnly):
                hint = get_args(hint)[0]
            required = name in base.__required_keys__
            fields[name] = Required[hint] if required else NotRequired[hint]
        made: Any = TypedDict(base.__name__, fields)  # type: ignore[misc]
        made.__doc__ = base.__doc__
        made.__module__ = base.__module__
        made.__qualname__ = base.__qualname__
        config = getattr(base, "__pydantic_config__", None)
        if config is not None:
            setattr(made, "__pydantic_config__", config)  # noqa: B010 (a class made here has no such name)
        _made[base] = made
    return _made[base]
