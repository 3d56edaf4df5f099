"""What a function declares as a tool: its words, its parameters, and what it returns."""

from __future__ import annotations

import inspect
import sys
from collections import abc
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typing_extensions import Annotated, NotRequired, TypedDict

from ingot._context import Context
from ingot._shape.annotations import is_union, peel, resolve
from ingot._shape.members import locate, type_name
from ingot._shape.shape import shape_of
from ingot.errors import ToolDefinitionError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from inspect import Parameter
    from types import CodeType, FrameType

    from ingot._shape.target import Target

__all__ = ["ToolSignature", "innermost", "read_signature"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSignature:
    """
    What a function declares as a tool.

    Attributes:
        description: Its docstring without the part on parameters; None where there is none.
        target: Its arguments as a type: a TypedDict of the tool's name.
        injected: Names of the parameters that are given the `Context`.
        returns: The declared type of its result; `Any` where nothing is declared.
        receiver: Whether its first parameter is the object of a method, which no call gives.
    """

    description: str | None
    target: Target
    injected: tuple[str, ...]
    returns: Any
    receiver: bool


def read_signature(function: Callable[..., Any], tool: str) -> ToolSignature:
    """
    Return what *function* declares.

    Args:
        function: A function, method, `functools.partial` or object with `__call__`.
        tool: Name of the tool, for messages.

    Raises:
        ToolDefinitionError: It cannot be offered to a model.
    """
    inner = innermost(function)
    if inspect.isasyncgenfunction(inner) or any(
        map(inspect.isgeneratorfunction, (function, _called(function)))
    ):
        advice = "return them as a list, as in `return list(…)`"
        raise ToolDefinitionError(tool, "it yields its results", advice=advice)
    parameters, returns = _declared(function, tool)
    receiver = bool(parameters) and _is_receiver(parameters[0])
    names = _names(inner)
    description, words = _docstring(function, inner)
    fields: dict[str, Any] = {}
    injected: list[str] = []
    for parameter in parameters[receiver:]:
        name = parameter.name
        _check(parameter, tool)
        annotation = _resolved(parameter.annotation, names, tool, name)
        if _is_context(annotation):
            injected.append(name)
        else:
            fields[name] = _field(annotation, parameter.default, words.get(name))
    return ToolSignature(
        description=description,
        target=_target(tool, fields, names),
        injected=tuple(injected),
        returns=Any if returns is _EMPTY else _result(returns, names, tool),
        receiver=receiver,
    )


def innermost(function: Any) -> Any:
    """Return the function that was written, without what binds or wraps it."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not isinstance(function, FunctionType) and isinstance(_called(function), FunctionType):
            function = _called(function)
        else:
            return function


def _called(function: Any) -> Any:
    """What its class says that a call of an object does."""
    return inspect.getattr_static(function, "__call__", None)


# Parameters

_EMPTY: Any = inspect.Parameter.empty


def _declared(function: Any, tool: str) -> tuple[list[Parameter], Any]:
    """Return the parameters that a call may give, and the annotation of the result."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            tool, "it does not say what its parameters are", advice=_WRAP
        ) from error
    # What a partial gives by name is given; else a model could replace it.
    given: dict[str, Any] = function.keywords if isinstance(function, partial) else {}
    parameters = [p for p in signature.parameters.values() if p.name not in given]
    return parameters, signature.return_annotation


_WRAP = "offer a function of your own that calls it, with annotated parameters"


def _is_receiver(parameter: Parameter) -> bool:
    return parameter.name in ("self", "cls") and parameter.annotation is _EMPTY


def _check(parameter: Parameter, tool: str) -> None:
    """Refuse what the JSON of a call cannot fill."""
    name, reason, advice = parameter.name, None, None
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        reason = "a model gives each argument by its name, and never any number of them"
        advice = "declare each parameter by name, or one that is a list or a dict"
    elif parameter.kind is parameter.POSITIONAL_ONLY:
        reason, advice = "a model gives arguments by name, not by position", _WRAP
    elif parameter.annotation is _EMPTY:
        reason, advice = "it has no type", f"annotate it, as in `{name}: str`"
    if reason is not None:
        raise ToolDefinitionError(tool, reason, parameter=name, advice=advice)


def _resolved(annotation: Any, names: dict[str, Any], tool: str, parameter: str | None) -> Any:
    try:
        return resolve(annotation, None, names, tool)
    except UnsupportedTypeError as error:
        reason = error.reason if parameter else f"what it returns: {error.reason}"
        raise ToolDefinitionError(tool, reason, parameter=parameter, advice=error.advice) from error


_LAZY = (abc.Iterable, abc.Iterator, abc.Generator, abc.Collection, abc.KeysView, abc.ValuesView)


def _result(annotation: Any, names: dict[str, Any], tool: str) -> Any:
    """Return the type of what a tool returns; whatever is iterated over is a list."""
    resolved = _resolved(annotation, names, tool, None)
    try:
        found = locate(resolved, lambda part: part in (bytes, bytearray, memoryview))
    except UnsupportedTypeError:
        found = None  # a field's type is not defined yet
    if found is not None and not found[0]:  # a class may leave a field out, or write it as text
        reason = f"it returns `{type_name(found[1])}`, which a model cannot be told"
        raise ToolDefinitionError(tool, reason, advice="write a file, and return its File")
    if (get_origin(resolved) or resolved) in _LAZY:
        return list[(*get_args(resolved), Any)[0]]  # type: ignore[misc]
    return resolved


def _is_context(annotation: Any) -> bool:
    annotation, _ = peel(annotation)
    if is_union(annotation):
        return any(map(_is_context, get_args(annotation)))
    return (get_origin(annotation) or annotation) is Context


def _field(annotation: Any, default: Any, words: str | None) -> Any:
    """Return the type of one argument, with its words and its default."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    metadata: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, metadata = annotation.__origin__, [*annotation.__metadata__]
    if words:
        # First: what the annotation says goes before the docstring.
        metadata.insert(0, Field(description=words))
    if isinstance(default, FieldInfo):
        # `x: int = Field(3, ge=1)`, as in a class of pydantic's.
        metadata.append(default)
    elif default is not _EMPTY:
        metadata.append(Field(default=default))
    optional = any(isinstance(item, FieldInfo) and not item.is_required() for item in metadata)
    full = Annotated[(annotation, *metadata)] if metadata else annotation
    return NotRequired[full] if optional else full


def _target(tool: str, fields: dict[str, Any], names: dict[str, Any]) -> Target:
    # Keys of a TypedDict may be any names, and what is read is a dict, to be passed on by name.
    make: Any = TypedDict
    made = make(tool, fields)
    # In Python an unknown argument is an error, too; to drop it would hide a misspelling.
    made.__pydantic_config__ = {"extra": "forbid"}
    try:
        return shape_of(made, "open", namespace=lambda: (names, {}), files=True).target
    except UnsupportedTypeError as error:
        parameter, *inside = error.path or (None,)
        reason = "".join(f"in field `{step}`: " for step in inside) + error.reason
        raise ToolDefinitionError(tool, reason, parameter=parameter, advice=error.advice) from error


# Names and words


def _names(inner: Any) -> dict[str, Any]:
    """The names that annotations of a function may use."""
    if not isinstance(inner, FunctionType):
        return {}
    names = {**inner.__globals__}
    for frame in reversed([*_around(inner.__code__)]):
        names.update(frame.f_locals)
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # assigned later
    return names


def _around(code: CodeType) -> Iterator[FrameType]:
    """Give the frames of the functions and classes that *code* stands in, if they still run."""
    if code.co_qualname == code.co_name:
        return
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if code in frame.f_code.co_consts and frame.f_code.co_name != "<module>":
            yield frame
            code = frame.f_code
        frame = frame.f_back


def _docstring(function: Any, inner: Any) -> tuple[str | None, dict[str, str]]:
    """Return what a docstring says of the function, and of each parameter."""
    from docstring_parser import ParseError, parse

    own = getattr(function, "__dict__", {}).get("__doc__")
    text = inspect.cleandoc(own or inner.__doc__ or "")
    if not text and inner is _called(function):
        text = inspect.cleandoc(type(function).__doc__ or "")
    try:
        parsed = parse(text)
    except ParseError:
        return text or None, {}
    words: dict[str, str] = {}
    for parameter in parsed.params:
        for name in parameter.arg_name.split(","):  # NumPy's `x, y : int`
            if parameter.description:
                words[name.strip().lstrip("*")] = parameter.description
    return (parsed.description or "").strip() or None, words
