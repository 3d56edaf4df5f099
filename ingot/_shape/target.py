"""What is known of T whatever the vendor, and why it cannot be asked for."""

from __future__ import annotations

import io
import types
import typing
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from typing_extensions import Unpack

from ingot._json import is_array
from ingot._shape.adapters import adapter_of
from ingot._shape.annotations import among
from ingot._shape.content import BINARY, File, Json, Text
from ingot._shape.descriptor import descriptor_of
from ingot._shape.members import locate, type_name
from ingot._shape.readable import Unaskable
from ingot._shape.source import MARK, source_schema
from ingot._shape.typeddicts import make_askable
from ingot.errors import IngotError, UnsupportedTypeError

__all__ = ["Namespace", "Target", "resolved", "target_of"]

Namespace: TypeAlias = Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Gives the global and local names of whoever wrote the type."""

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_BINARY = (bytes, bytearray, memoryview, io.IOBase, typing.IO)


class Target:
    """
    T, resolved.

    Args:
        t: The type.
        namespace: Gives the names of whoever wrote it; None for none.
        files: Whether handles of files may be asked for.

    Attributes:
        type: The type, its forward references resolved.
        name: The type as text.
        adapter: Pydantic's validator.
        kind: `prose` for `Text` and `Markdown`, `json` for `Json`, `Any` and `object`, `schema` for
            all else.
        source: The marked JSON Schema; empty for the first two.
    """

    def __init__(self, t: Any, namespace: Namespace | None = None, *, files: bool = False) -> None:
        self.type = t
        self.name = type_name(t)
        _refuse_at_once(t, self.name)
        make_askable(t)
        try:
            self.adapter, self.source = _build(t, self.name, files=files)
        except _UnfinishedError:
            # A class that refers to names of the function it was written in, which is the caller.
            names: dict[str, Any] = {}
            for part in namespace() if namespace is not None else ():
                names.update(part)
            with among(names):
                make_askable(t)
                self.adapter, self.source = _build(t, self.name, names, files=files)
                # Told while the names are known.
                self.descriptor = descriptor_of(t)
        self.kind: Literal["prose", "json", "schema"] = _kind(t, self.source)

    def __repr__(self) -> str:
        return f"<target {self.name}>"

    @cached_property
    def descriptor(self) -> Any:
        """Ingot's own canonical description of the type."""
        return descriptor_of(self.type)


def target_of(
    t: Any,
    *,
    types: Mapping[str, Any] | None = None,
    namespace: Namespace | None = None,
    files: bool = False,
) -> tuple[Target, bool]:
    """
    Resolve *t*, in which handles of files may stand if *files* says so.

    Returns:
        The target, and whether *t* as written means the same wherever it stands.

    Raises:
        UnsupportedTypeError: *t* cannot be asked for.
    """
    if isinstance(t, str):
        from ingot.typenames import to_python

        try:
            made = to_python(t, types or {})
        except UnsupportedTypeError as error:
            error.advice = (
                "a text names one of Ingot's own types, such as 'string[]'; "
                "pass a Python type itself: list[str], not 'list[str]'"
            )
            raise
        if not types:
            return Target(made, files=files), True
        return Target(made, files=files), False
    if _is_unpacked(t):
        raise UnsupportedTypeError(
            type_name(t),
            "a tuple with an unpacked part is read as a tuple in a tuple",
            advice="write tuple[int, tuple[str, ...]], or a class with named fields",
        )
    meant = resolved(t, namespace)
    return Target(meant, namespace, files=files), meant is t


class _UnfinishedError(Exception):
    """A name is not known yet."""


def _build(
    t: Any, name: str, names: Mapping[str, Any] | None = None, *, files: bool
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    try:
        adapter: TypeAdapter[Any] = adapter_of(t)
        if not getattr(adapter, "pydantic_complete", True):
            if names is None:
                raise _UnfinishedError
            adapter.rebuild(_types_namespace=names)
        return adapter, source_schema(adapter, files=files)
    except _UnfinishedError:
        raise
    except Unaskable as error:
        raise _explain(t, name, error.reason if error.said else None, files=files) from None
    except PydanticUndefinedAnnotation as error:
        descriptor_of(t)  # which says where, too
        raise UnsupportedTypeError(
            name, f"the name `{error.name}` is not defined where the type was written"
        ) from error
    except PydanticSchemaGenerationError as error:
        raise _explain(t, name, None, files=files) from error
    except PydanticUserError as error:
        if error.code == "class-not-fully-defined":
            descriptor_of(t)  # which says what is missing, and where
            raise UnsupportedTypeError(
                name,
                str(error.message).split("\n")[0],
                advice="define the missing names, or call model_rebuild() once they are",
            ) from error
        raise UnsupportedTypeError(name, str(error.message).split("\n")[0]) from error
    except RecursionError as error:
        raise UnsupportedTypeError(name, "it is nested too deeply") from error
    except IngotError:
        raise
    except Exception as error:
        # What is no type can fail in any way.
        raise UnsupportedTypeError(name, f"no schema can be made of it ({error!r:.200})") from error


def _kind(t: Any, source: Mapping[str, Any]) -> Literal["prose", "json", "schema"]:
    base = t
    while get_origin(base) is Annotated:
        base = get_args(base)[0]
    if isinstance(base, type) and issubclass(base, Text):
        return "prose"
    if base is Json or source.get(MARK) == "any":
        return "json"
    return "schema"


# Why not


def _refuse_at_once(t: Any, name: str) -> None:
    """Refuse what is no type at all, in words of its own."""
    if isinstance(t, type) or t is None or get_origin(t) is not None:
        return
    if t is Any or isinstance(t, typing.TypeVar):
        return
    if (
        (callable(t) and not isinstance(t, _FUNCTIONS))
        or hasattr(t, "__value__")
        or hasattr(t, "__supertype__")
    ):
        return
    if type(t).__module__ in ("types", "typing", "typing_extensions"):
        return
    raise UnsupportedTypeError(name, f"it is {_kind_of(t)}, not a type")


def _kind_of(value: Any) -> str:
    return f"a value of type `{type(value).__name__}`"


def _explain(t: Any, name: str, reason: str | None, *, files: bool) -> UnsupportedTypeError:
    """Find the part of *t* that cannot be asked for, and say why."""
    place = locate(t, partial(_is_binary, files=files))
    if place is not None:
        path, part = place
        return UnsupportedTypeError(
            name,
            f"`{type_name(part)}`: {BINARY}" if part is not t else BINARY,
            path=path,
            advice="ask for text, or for what the file should hold",
        )
    place = locate(t, partial(_is_unaskable, files=files))
    if place is None:
        return UnsupportedTypeError(name, reason or "it has no JSON form")
    path, part = place
    return UnsupportedTypeError(
        name,
        f"`{type_name(part)}` {f'cannot be read: {reason}' if reason else 'has no JSON form'}",
        path=path,
        advice="declare what JSON can carry, or give the class a __get_pydantic_core_schema__",
    )


def _is_binary(part: Any, *, files: bool) -> bool:
    base = get_origin(part) or part
    if not isinstance(base, type):
        return False
    try:
        return issubclass(base, _BINARY if files else (*_BINARY, File))
    except TypeError:
        return False


def _is_unaskable(part: Any, *, files: bool) -> bool:
    try:
        make_askable(part)
        source_schema(adapter_of(part), files=files)
    except (Unaskable, PydanticSchemaGenerationError):
        return True
    except Exception:  # noqa: BLE001 (a search for the part at fault; other faults are told elsewhere)
        return False
    return False


# Forward references


def _is_unpacked(t: Any) -> bool:
    if isinstance(t, type) and not hasattr(t, "__args__"):
        return False
    if getattr(t, "__unpacked__", False) or get_origin(t) in (typing.Unpack, Unpack):
        return True
    return get_origin(t) is not Literal and any(map(_is_unpacked, get_args(t)))


def _has_forward(t: Any) -> bool:
    if isinstance(t, str | typing.ForwardRef):
        return True
    if isinstance(t, type) and not hasattr(t, "__args__"):
        return False
    origin = get_origin(t)
    if origin is Literal or origin is None:
        return False
    if origin is Annotated:
        return _has_forward(get_args(t)[0])
    return any(
        any(map(_has_forward, arg)) if is_array(arg) else _has_forward(arg) for arg in get_args(t)
    )


def resolved(t: Any, namespace: Namespace | None) -> Any:
    """
    Return *t* with what its forward references stand for; *t* itself where it has none.

    Raises:
        UnsupportedTypeError: One stands for nothing.
    """
    if not _has_forward(t):
        return t
    globals_: Mapping[str, Any] = {}
    locals_: Mapping[str, Any] = {}
    if namespace is not None:
        globals_, locals_ = namespace()
    holder = type("_Holder", (), {"__annotations__": {"t": t}})
    try:
        hints = typing.get_type_hints(holder, dict(globals_), dict(locals_), include_extras=True)
    except NameError as error:
        missing = error.name or str(error)
        raise UnsupportedTypeError(
            type_name(t), f"the name `{missing}` is not defined where the type was written"
        ) from None
    except (SyntaxError, TypeError) as error:
        raise UnsupportedTypeError(type_name(t), f"it does not read as a type: {error}") from None
    return hints["t"]
