"""The fields of a class: what the reply calls them, their type, and what is declared of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, cast, get_args, get_origin

from pydantic import AliasChoices, AliasGenerator, AliasPath, BaseModel, RootModel
from pydantic.dataclasses import rebuild_dataclass
from pydantic.fields import FieldInfo
from typing_extensions import (
    Annotated,
    ClassVar,
    Final,
    Format,
    NotRequired,
    Protocol,
    ReadOnly,
    Required,
    Self,
    get_annotations,
    is_typeddict,
)

from ingot._shape.annotations import INIT_VAR, arguments, is_class, own_of, resolve, substitute
from ingot.errors import UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "RESOLVED",
    "Field",
    "config_of",
    "extras_of",
    "fields_of",
    "is_root",
    "record_kind",
    "typeddict_parts",
]

RESOLVED = "__ingot_resolved__"
"""Where the parts of a TypedDict stand, on the class itself, once the names in them are known."""

_QUALIFIERS = (ClassVar, Final, NotRequired, ReadOnly, Required)


@dataclass(frozen=True, slots=True)
class Field:
    """
    One field of a class.

    Attributes:
        path: Where its value stands in the reply: one name, unless an `AliasPath` leads deeper.
        annotation: Its type, names resolved and parameters filled in, without `Annotated`.
        info: What pydantic knows of it: metadata, default, description.
        required: Whether the reply must hold it.
        others: Further paths at which pydantic looks for it.
    """

    path: tuple[str | int, ...]
    annotation: Any
    info: FieldInfo
    _: dataclasses.KW_ONLY
    required: bool
    others: tuple[tuple[str | int, ...], ...] = ()

    @property
    def name(self) -> str:
        """The name in the reply under which its value is found."""
        return str(self.path[0])

    @property
    def full_annotation(self) -> Any:
        """Its type with the metadata that was declared."""
        if not self.info.metadata:
            return self.annotation
        return Annotated[(self.annotation, *self.info.metadata)]


def record_kind(target: Any) -> str | None:
    """Return `model`, `dataclass`, `typeddict`, `namedtuple`, or None where there are no fields."""
    cls = arguments(target)[0]
    if not is_class(cls):
        return None
    if issubclass(cls, BaseModel):
        return "model"
    if is_typeddict(cls):
        return "typeddict"
    if hasattr(cls, "__get_pydantic_core_schema__"):
        return None
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    return "namedtuple" if hasattr(cls, "_fields") and issubclass(cls, tuple) else None


def is_root(target: Any) -> bool:
    """Whether *target* is a `RootModel`, which in the reply is its root alone."""
    return is_class(target) and issubclass(target, RootModel)


def config_of(target: Any) -> Mapping[str, Any]:
    """Return the pydantic settings of a class with fields."""
    cls = get_origin(target) or target
    if is_class(cls) and issubclass(cls, BaseModel):
        return cast("Mapping[str, Any]", cls.model_config)
    config: Mapping[str, Any] | None = getattr(cls, "__pydantic_config__", None)
    return config or {}


def fields_of(target: Any) -> tuple[Field, ...]:
    """
    Return the fields of a class with fields, in order of declaration.

    Raises:
        UnsupportedTypeError: A name in an annotation is not defined; `path` holds the field.
    """
    read = {
        "model": _model_fields,
        "dataclass": _dataclass_fields,
        "typeddict": _typeddict_fields,
        "namedtuple": _namedtuple_fields,
    }[record_kind(target) or ""]
    config = config_of(target)
    return tuple(
        _field(name, info, config, required=required) for name, info, required in read(target)
    )


def extras_of(target: Any) -> Any:
    """Return the declared type of a model's extra fields, or None where it declares none."""
    for cls in target.__mro__ if is_model(target) else ():
        declared = _own_annotations(cls).get("__pydantic_extra__")
        if declared is not None and cls is not BaseModel:
            parts = get_args(resolve(declared, cls.__module__, {}, cls.__name__))
            return parts[1] if len(parts) == 2 else None
    return None


def is_model(target: Any) -> bool:
    """Whether *target* is a pydantic model class."""
    return is_class(target) and issubclass(target, BaseModel)


def _field(name: str, info: FieldInfo, config: Mapping[str, Any], *, required: bool) -> Field:
    alias = _alias(name, info, config)
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    paths = [tuple(c.path) if isinstance(c, AliasPath) else (c,) for c in choices]
    # Pydantic's JSON schema names the first choice of one step, so the model is told that one.
    first = next((path for path in paths if len(path) == 1), paths[0])
    others = tuple(path for path in paths if path != first)
    return Field(first, info.annotation, info, required=required, others=others)


def _alias(name: str, info: FieldInfo, config: Mapping[str, Any]) -> str | AliasPath | AliasChoices:
    if config.get("validate_by_alias") is False:
        return name
    generator = config.get("alias_generator")
    written = info.validation_alias or info.alias
    # Priority 2 is an alias of the field's own; 1 came from a generator, and may be a parent's.
    if generator is None or (written is not None and info.alias_priority == 2):
        return written or name
    if isinstance(generator, AliasGenerator):
        alias, validation_alias, _ = generator.generate_aliases(name)
        return validation_alias or alias or name
    return str(generator(name))


def _model_fields(target: Any) -> Iterator[tuple[str, FieldInfo, bool]]:
    # BaseModel itself is never complete, and has no fields.
    if target is not BaseModel and not getattr(target, "__pydantic_complete__", True):
        _complete_model(target)
    for name, info in target.model_fields.items():
        yield name, _settled(target, name, info), info.is_required()


def _complete_model(model: Any, /) -> None:
    # Pydantic reads the names around the call: there must be none here that a field could mean.
    model.model_rebuild(raise_errors=False)


def _complete_dataclass(model: Any, /) -> None:
    rebuild_dataclass(model, raise_errors=False)


def _settled(
    target: Any, name: str, info: FieldInfo, table: dict[Any, Any] | None = None
) -> FieldInfo:
    cls = get_origin(target) or target
    annotation = info.annotation
    if not getattr(cls, "__pydantic_complete__", True):
        annotation = _resolved(annotation, name, _owner(cls, name))
    filled = substitute(annotation, {**(table or {}), Self: target})
    if filled is info.annotation:
        return info
    return _copy(info, filled)


def _copy(info: FieldInfo, annotation: Any) -> FieldInfo:
    from copy import copy

    made = copy(info)
    made.annotation = annotation
    return made


def _dataclass_fields(target: Any) -> Iterator[tuple[str, FieldInfo, bool]]:
    cls = get_origin(target) or target
    tables = _tables(target)
    infos: Any = own_of(cls).get("__pydantic_fields__")
    if infos is not None:
        if not getattr(cls, "__pydantic_complete__", True):
            _complete_dataclass(cls)
        for name, info in own_of(cls)["__pydantic_fields__"].items():
            table = tables.get(_owner(cls, name), {})
            yield name, _settled(target, name, info, table), info.is_required()
        return
    real = {field.name for field in dataclasses.fields(cls)}
    for name, field in cls.__dataclass_fields__.items():
        # What is no real field is a ClassVar or an InitVar; the reply holds the latter.
        if name not in real and not _is_init_var(field.type):
            continue
        absent = field.default is dataclasses.MISSING
        if not field.init and absent and field.default_factory is dataclasses.MISSING:
            continue
        owner = _owner(cls, name)
        annotation, _ = _unqualified(_resolved(field.type, name, owner))
        annotation = substitute(annotation, {**tables.get(owner, {}), Self: target})
        default = field.default if isinstance(field.default, FieldInfo) else field
        info = FieldInfo.from_annotated_attribute(annotation, default)
        yield name, info, info.is_required()


def _is_init_var(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "InitVar" in annotation
    return annotation is INIT_VAR or isinstance(annotation, INIT_VAR)


def _typeddict_fields(target: Any) -> Iterator[tuple[str, FieldInfo, bool]]:
    for name, annotation, required in typeddict_parts(target):
        yield name, FieldInfo.from_annotation(annotation), required


def typeddict_parts(target: Any) -> Iterator[tuple[str, Any, bool]]:
    """Give the name of each key of a TypedDict, its type in full, and whether it must be there."""
    cls = get_origin(target) or target
    known: dict[Any, Any] = own_of(cls).get(RESOLVED, {})
    if target in known:
        yield from known[target]
        return
    tables = _tables(target)
    for name, written in _own_annotations(cls).items():
        # A TypedDict has no bases at run time, and repeats what it inherits.
        owner = next((b for b in reversed(tables) if _own_annotations(b).get(name) is written), cls)
        annotation, found = _unqualified(_resolved(written, name, owner))
        annotation = substitute(annotation, {**tables.get(owner, {}), Self: target})
        required = name in cls.__required_keys__
        if found & {Required, NotRequired}:
            required = Required in found
        yield name, annotation, required


def _namedtuple_fields(target: Any) -> Iterator[tuple[str, FieldInfo, bool]]:
    cls = get_origin(target) or target
    tables = _tables(target)
    for name in cls._fields:
        owner = _owner(cls, name)
        annotation = _resolved(_own_annotations(owner).get(name, Any), name, owner)
        annotation = substitute(annotation, {**tables.get(owner, {}), Self: target})
        if name in cls._field_defaults:
            info = FieldInfo.from_annotated_attribute(annotation, cls._field_defaults[name])
        else:
            info = FieldInfo.from_annotation(annotation)
        yield name, info, info.is_required()


def _own_annotations(cls: Any) -> Mapping[str, Any]:
    return get_annotations(cls, format=Format.FORWARDREF)


def _owner(cls: Any, name: str) -> Any:
    return next((base for base in cls.__mro__ if name in _own_annotations(base)), cls)


def _resolved(annotation: Any, name: str, owner: Any) -> Any:
    fields = _own_annotations(owner)
    # A default hides the module's name: `date: date | None = None` means the type.
    names = {key: value for key, value in own_of(owner).items() if key not in fields}
    names[owner.__name__] = owner
    try:
        return resolve(annotation, owner.__module__, names, owner.__name__)
    except UnsupportedTypeError as error:
        raise UnsupportedTypeError(
            error.target, error.reason, path=(name,), advice=error.advice
        ) from error


def _unqualified(annotation: Any) -> tuple[Any, frozenset[Any]]:
    found: set[Any] = set()
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin in _QUALIFIERS:
            found.add(origin)
            annotation = get_args(annotation)[0]
        elif origin is Annotated:
            metadata = (*annotation.__metadata__, *metadata)
            annotation = annotation.__origin__
        elif isinstance(annotation, INIT_VAR):
            annotation = annotation.type
        else:
            break
    if annotation is Final or annotation is INIT_VAR:
        annotation = Any
    return (Annotated[(annotation, *metadata)] if metadata else annotation), frozenset(found)


def _tables(target: Any) -> dict[Any, dict[Any, Any]]:
    """What the type variables of a class and of each of its bases stand for."""
    tables: dict[Any, dict[Any, Any]] = {}

    def visit(target: Any) -> None:
        cls = get_origin(target) or target
        if cls in tables or not is_class(cls):
            return
        parameters = getattr(cls, "__parameters__", ())
        tables[cls] = dict(zip(parameters, get_args(target), strict=False))
        for base in own_of(cls).get("__orig_bases__", cls.__bases__):
            if get_origin(base) not in (Generic, Protocol):
                visit(substitute(base, tables[cls]))

    visit(target)
    return tables
