"""Ingot's own type names, for interoperation: the schema, check and Python type of `string[]`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import isfinite
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from ingot._json import NotFinite, describe
from ingot._serde import loads
from ingot.errors import Problem, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Field",
    "Record",
    "ResponseShape",
    "loads",
    "response_shape",
    "to_python",
    "type_schema",
    "validate",
]

_LIST = "[]"
_HANDLES = ("bytes", "file")
_HANDLE_FIELD = "path"

_JSON_TYPES = {
    "string": "string",
    "text": "string",
    "markdown": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
}

_BINARY = (
    "a model cannot produce binary content directly; "
    "use a tool that writes the file and return its handle"
)
_UNKNOWN = "not a known type; the artifact does not declare this record"

_U64 = 2**64 - 1
_I64 = -(2**63)


class Field(TypedDict):
    """
    One field of a record.

    Attributes:
        name: The name of the field.
        type: The name of its type.
    """

    name: str
    type: str


class Record(TypedDict):
    """
    The declaration of a record; all of its fields are required.

    Attributes:
        fields: The fields in order. Of two with one name the last one makes the schema; both are
            checked.
    """

    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """
    How a type is asked for.

    Attributes:
        kind: `prose` (the text is the answer), `freeJson` (any JSON) or `schema`.
        schema: The schema, with an object at its root; None for the other kinds.
        wrapped: Whether the answer stands under `value`, because its own schema is not an object's.
    """

    kind: Literal["prose", "freeJson", "schema"]
    schema: dict[str, Any] | None = None
    _: KW_ONLY
    wrapped: bool = False


def response_shape(ty: str, types: Mapping[str, Record]) -> ResponseShape:
    """
    Say how a model is asked for *ty*.

    Args:
        ty: The name of a type.
        types: The records that *ty* may name.

    Raises:
        UnsupportedTypeError: See `type_schema`.
    """
    if ty in ("text", "markdown"):
        return ResponseShape("prose")
    if ty == "json":
        return ResponseShape("freeJson")
    schema = type_schema(ty, types)
    if schema.get("type") == "object":
        return ResponseShape("schema", schema)
    return ResponseShape("schema", _object({"value": schema}, ["value"]), wrapped=True)


def type_schema(ty: str, types: Mapping[str, Record]) -> dict[str, Any]:
    """
    Return the JSON schema of *ty*, with every record written out where it is named.

    Args:
        ty: The name of a type.
        types: The records that *ty* may name.

    Raises:
        UnsupportedTypeError: *ty* is or holds binary content, an unknown type, a record that holds
            itself, or one whose declaration is malformed; `target` is the name of that type, `path`
            the fields that lead to it.
    """

    def scalar(name: str) -> dict[str, Any]:
        return {"type": _JSON_TYPES[name]} if name in _JSON_TYPES else {}

    def array(items: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": items}

    def record(_: str, fields: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        return _object(dict(fields), [name for name, _ in fields])

    schema: dict[str, Any] = _Build(types, scalar, array, record)(ty)
    return schema


def to_python(ty: str, types: Mapping[str, Record]) -> Any:
    """
    Return the Python type that *ty* stands for, for use as `ask(to_python("string[]", {}), …)`.

    `text`, `markdown` and `json` become `Text`, `Markdown` and `Json`, `T[]` a list, a record a
    `TypedDict` of its name with all fields required; a record that is named twice is one class.

    Args:
        ty: The name of a type.
        types: The records that *ty* may name.

    Raises:
        UnsupportedTypeError: See `type_schema`.
    """
    from typing_extensions import TypedDict

    from ingot._shape.content import Json, Markdown, Text

    scalars: dict[str, Any] = {
        "string": str,
        "text": Text,
        "markdown": Markdown,
        "int": int,
        "float": float,
        "bool": bool,
        "json": Json,
    }
    made: dict[str, Any] = {}
    declare: Any = TypedDict  # the checkers want literal names and fields

    def array(item: Any) -> Any:
        return GenericAlias(list, (item,))

    def record(name: str, fields: list[tuple[str, Any]]) -> Any:
        if name not in made:
            made[name] = declare(name, dict(fields))
        return made[name]

    return _Build(types, scalars.__getitem__, array, record)(ty)


def validate(value: object, ty: str, types: Mapping[str, Record]) -> str | None:
    """
    Say where *value* does not fit *ty*.

    Nothing is converted: `1.0` is no `int`, `true` no number. Fields that a record does not declare
    pass, and an empty list is a list of anything, even of an unknown type.

    Args:
        value: A JSON value, as `loads` returns it.
        ty: The name of a type; `bytes` is a string here (base64), `file` an object with a `path`.
        types: The records that *ty* may name; they may hold themselves.

    Returns:
        The first mismatch, such as "in field `score`: expected `int`, found a string"; None when
        *value* fits.

    Raises:
        UnsupportedTypeError: The declaration of a record that *value* is checked by is malformed.
    """
    problem = _mismatch(value, ty, types)
    return None if problem is None else str(problem)


class _Build:
    """One walk over a type name, which makes something of each part, the innermost first."""

    def __init__(
        self,
        types: Mapping[str, Record],
        scalar: Callable[[str], Any],
        array: Callable[[Any], Any],
        record: Callable[[str, list[tuple[str, Any]]], Any],
    ) -> None:
        self.types = types
        self.scalar = scalar
        self.array = array
        self.record = record
        self.open: list[str] = []
        self.path: list[str] = []

    def __call__(self, ty: str) -> Any:
        name = ty
        while name.endswith(_LIST):
            name = name.removesuffix(_LIST)
        made = self._named(name)
        for _ in range((len(ty) - len(name)) // len(_LIST)):
            made = self.array(made)
        return made

    def _named(self, name: str) -> Any:
        if name in _HANDLES:
            raise UnsupportedTypeError(name, _BINARY, path=self.path)
        if name in _JSON_TYPES or name == "json":
            return self.scalar(name)
        if name not in self.types:
            raise UnsupportedTypeError(name, _UNKNOWN, path=self.path)
        if name in self.open:
            circle = " → ".join([*self.open[self.open.index(name) :], name])
            reason = f"the record refers to itself ({circle}), which has no finite schema"
            raise UnsupportedTypeError(name, reason, path=self.path)
        self.open.append(name)
        fields: list[tuple[str, Any]] = []
        for field, ty in _fields(name, self.types):
            self.path.append(field)
            fields.append((field, self(ty)))
            self.path.pop()
        self.open.pop()
        return self.record(name, fields)


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _fields(name: str, types: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of the record *name*, checked, because declarations come from files."""
    declared: Any = types[name]
    match declared:
        case {"fields": list() | tuple()}:
            fields: list[Any] = declared["fields"]
        case _:
            reason = "its declaration is malformed; expected an object with a list of `fields`"
            raise UnsupportedTypeError(name, reason)
    pairs: list[tuple[str, str]] = []
    for index, field in enumerate(fields):
        match field:
            case {"name": str(key), "type": str(ty)}:
                pairs.append((key, ty))
            case _:
                reason = f"its declaration is malformed at field {index}; "
                reason += "expected an object whose `name` and `type` are strings"
                raise UnsupportedTypeError(name, reason)
    return pairs


def _mismatch(value: Any, ty: str, types: Mapping[str, Record]) -> Problem | None:
    if ty.endswith(_LIST):
        return _list_mismatch(value, ty, types)
    if ty == "file":
        return _file_mismatch(value)
    if ty == "bytes" or _JSON_TYPES.get(ty) == "string":
        fits = isinstance(value, str)
    elif ty == "int":
        fits = isinstance(value, int) and not isinstance(value, bool) and _I64 <= value <= _U64
    elif ty == "float":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if fits and isinstance(value, float) and not isfinite(value):
            return _unexpected(ty, NotFinite(repr(value)))
    elif ty == "bool":
        fits = isinstance(value, bool)
    elif ty == "json":
        fits = True
    else:
        return _record_mismatch(value, ty, types)
    return None if fits else _unexpected(ty, value)


def _list_mismatch(value: Any, ty: str, types: Mapping[str, Record]) -> Problem | None:
    if not isinstance(value, list | tuple):
        return _unexpected(ty, value)
    element = ty.removesuffix(_LIST)
    for index, item in enumerate(cast("list[Any]", value)):
        if problem := _mismatch(item, element, types):
            return _within(index, problem)
    return None


def _record_mismatch(value: Any, ty: str, types: Mapping[str, Record]) -> Problem | None:
    if ty not in types:
        return Problem((), f"unknown type `{ty}`")
    fields = _fields(ty, types)
    if not isinstance(value, dict):
        return _unexpected(ty, value)
    for name, kind in fields:
        if name not in value:
            return _missing(ty, name)
        if problem := _mismatch(value[name], kind, types):
            return _within(name, problem)
    return None


def _file_mismatch(value: Any) -> Problem | None:
    if not isinstance(value, dict):
        return _unexpected("file", value, f" (an object with a `{_HANDLE_FIELD}`)")
    if _HANDLE_FIELD not in value:
        return _missing("file", _HANDLE_FIELD)
    path = cast("dict[str, Any]", value)[_HANDLE_FIELD]
    if isinstance(path, str):
        return None
    fact = f"`file` has a `{_HANDLE_FIELD}` that is {describe(path)}, and it must be a string"
    return Problem((), fact)


def _unexpected(ty: str, value: object, explained: str = "") -> Problem:
    return Problem((), f"expected `{ty}`{explained}, found {describe(value)}")


def _missing(ty: str, field: str) -> Problem:
    return Problem((), f"`{ty}` is missing field `{field}`")


def _within(step: str | int, problem: Problem) -> Problem:
    return Problem((step, *problem.path), problem.message)
