"""What is declared of a part beyond its kind: constraints, words, defaults, as plain JSON."""

from __future__ import annotations

import dataclasses
import inspect
import re
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeGuard

import annotated_types
import pydantic
from pydantic import BaseModel, TypeAdapter, UrlConstraints
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined, to_jsonable_python

from ingot._json import canonical
from ingot._shape.annotations import arguments, own_of
from ingot._shape.words import URLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["class_facts", "facts_of", "field_facts", "is_object", "json_value", "schema_of"]

_TIGHTEST = {
    "ge": max,
    "gt": max,
    "le": min,
    "lt": min,
    "max_digits": min,
    "max_length": min,
    "decimal_places": min,
    "min_length": max,
}
"""Bounds of which, where two are declared, one says it all."""

_CONSTRAINTS = (
    *_TIGHTEST,
    "allow_inf_nan",
    "allowed_schemes",
    "ascii_only",
    "coerce_numbers_to_str",
    "default_host",
    "default_path",
    "default_port",
    "fail_fast",
    "host_required",
    "multiple_of",
    "path_type",
    "pattern",
    "strict",
    "strip_whitespace",
    "tag",
    "to_lower",
    "to_upper",
    "union_mode",
    "uuid_version",
)
"""Attributes under which annotated_types and every pydantic since 2.7 keep a constraint."""

_URL_WORDS = {
    item: word
    for name, word in URLS.items()
    for item in getattr(getattr(pydantic, name, None), "__metadata__", ())
}
"""The URL types before pydantic 2.10, where they are one class with constraints."""

_IDLE = {
    "ascii_only": False,
    "coerce_numbers_to_str": False,
    "fail_fast": False,
    "host_required": False,
    "min_length": 0,
    "strip_whitespace": False,
    "to_lower": False,
    "to_upper": False,
    "union_mode": "smart",
}
"""Values that constrain nothing: to declare one is the same as to declare none."""

_JSON_TEXT: Any = pydantic.Json

_SETTINGS: dict[str, Any] = {
    "allow_inf_nan": True,
    "coerce_numbers_to_str": False,
    "extra": "ignore",
    "str_max_length": None,
    "str_min_length": 0,
    "str_strip_whitespace": False,
    "str_to_lower": False,
    "str_to_upper": False,
    "strict": False,
}
"""Class settings that decide which replies fit, with pydantic's defaults, which are left out."""


def facts_of(metadata: Iterable[Any]) -> dict[str, Any]:
    """
    Return what the metadata of an `Annotated` declares, under plain names.

    Validators and serializers declare nothing here; a class of the user's that has a core schema
    is named under `annotated`.
    """
    found: dict[str, list[Any]] = {}
    facts: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, FieldInfo):
            facts.update(_declared(item))
            for name, value in _bounds(item.metadata):
                found.setdefault(name, []).append(value)
        else:
            for name, value in _bounds([item]):
                found.setdefault(name, []).append(value)
    for name, values in found.items():
        facts[name] = _one(name, values)
    return facts


def _bounds(metadata: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for item in metadata:
        if _is_foreign(item):
            cls = item if isinstance(item, type) else type(item)
            if hasattr(cls, "__get_pydantic_core_schema__"):
                own = cls.__module__.split(".")[0] == "pydantic"
                name = cls.__name__.strip("_") if own else f"{cls.__module__}.{cls.__qualname__}"
                yield "annotated", name
        elif isinstance(item, FieldInfo):
            yield from _bounds(item.metadata)
        elif isinstance(item, UrlConstraints) and item in _URL_WORDS:
            yield "url", _URL_WORDS[item]
        else:
            yield from _constraints(item)


def _is_foreign(item: Any) -> bool:
    if isinstance(item, type):
        return True
    if isinstance(item, annotated_types.BaseMetadata | annotated_types.GroupedMetadata):
        return False
    return type(item).__module__.split(".")[0] not in {"pydantic", "pydantic_core"}


def _constraints(item: Any) -> Iterator[tuple[str, Any]]:
    seen = False
    for name in _CONSTRAINTS:
        value = getattr(item, name, None)
        if value is not None and _IDLE.get(name, ...) != value:
            seen = True
            yield name, _pattern(value) if name == "pattern" else value
    if hasattr(item, "discriminator"):
        # A function is code, as a validator is; that there is one is a fact.
        word = item.discriminator
        yield "discriminator", word if isinstance(word, str) else True
    if isinstance(item, pydantic.WithJsonSchema):
        yield "schema", item.json_schema
    if isinstance(item, _JSON_TEXT):
        yield "encoded", "json"
    encoder: Any = getattr(item, "encoder", None)
    if encoder is not None:
        yield "encoded", getattr(encoder, "__name__", type(encoder).__name__)
    if isinstance(item, annotated_types.GroupedMetadata) and not seen:
        yield from _bounds(item)


_FLAGS = {
    "a": re.ASCII,
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
}


def _pattern(value: Any) -> str:
    if isinstance(value, str):
        return value
    flags = "".join(letter for letter, flag in _FLAGS.items() if value.flags & flag)
    return f"(?{flags}){value.pattern}" if flags else str(value.pattern)


def _one(name: str, values: list[Any]) -> Any:
    if name in _TIGHTEST:
        try:
            return _json_or_text(_TIGHTEST[name](values))
        except TypeError:
            pass
    texts = {canonical(value): value for value in map(_json_or_text, values)}
    distinct = [texts[text] for text in sorted(texts)]
    return distinct[0] if len(distinct) == 1 else distinct


def field_facts(info: FieldInfo) -> dict[str, Any]:
    """Return what is declared of a field: constraints, words and default."""
    return {**facts_of(info.metadata), **_declared(info)}


def _declared(info: FieldInfo) -> dict[str, Any]:
    facts = {**_words(info), **_default(info)}
    discriminator = info.discriminator
    if discriminator is not None:
        facts["discriminator"] = discriminator if isinstance(discriminator, str) else True
    return facts


def _default(info: FieldInfo) -> dict[str, Any]:
    """Return the default as JSON; if it is not JSON, or made anew each time, that there is one."""
    if info.default is not PydanticUndefined and info.default is not ...:
        try:
            return {"default": json_value(info.default)}
        except ValueError:
            return {"has_default": True}
    return {"has_default": True} if info.default_factory is not None else {}


def _words(info: FieldInfo) -> dict[str, Any]:
    deprecated = getattr(info, "deprecated", None)
    words = {
        "title": info.title,
        "description": info.description and inspect.cleandoc(info.description),
        "examples": info.examples,
        "deprecated": getattr(deprecated, "message", deprecated),
        "extra_schema": info.json_schema_extra,
    }
    return {
        name: _json_or_text(value) for name, value in words.items() if value and not callable(value)
    }


def class_facts(cls: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class says of itself: its docstring, title and the settings that matter."""
    settings = {
        name: _json_or_text(config[name])
        for name, default in _SETTINGS.items()
        if config.get(name) is not None and config[name] != default
    }
    extra_schema = config.get("json_schema_extra")
    facts = {
        "doc": _doc(cls),
        "title": config.get("title"),
        "extra_schema": _json_or_text(extra_schema) if isinstance(extra_schema, dict) else None,
        "config": settings,
    }
    return {name: value for name, value in facts.items() if value}


def _doc(cls: Any) -> str:
    own: Any = own_of(cls).get("__doc__")
    if not isinstance(own, str) or cls.__module__.split(".")[0] == "pydantic":
        return ""
    text = inspect.cleandoc(own)
    # Dataclasses and named tuples are given `Point(x: int, y: int)`, old enums a sentence.
    made = text.startswith(f"{cls.__name__}(") and text.endswith(")") and "\n" not in text
    return "" if made or text == "An enumeration." else text


def json_value(value: Any) -> Any:
    """
    Return a Python value as JSON, sets in a fixed order.

    Raises:
        ValueError: It has no JSON.
    """
    if value is None or (isinstance(value, int | str) and not isinstance(value, Enum)):
        return to_jsonable_python(value)
    if isinstance(value, Enum):
        return json_value(value.value)
    if isinstance(value, BaseModel):
        # A root model dumps its root.
        return json_value(value.model_dump(by_alias=True, warnings=False))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = dataclasses.fields(value)
        return {part.name: json_value(getattr(value, part.name)) for part in parts}
    if is_object(value):
        return {_key(key): json_value(item) for key, item in value.items()}
    if _is_set(value):
        return sorted(map(json_value, value), key=canonical)
    if _is_list(value):
        return [json_value(item) for item in value]
    made = to_jsonable_python(value)
    canonical(made)
    # 1 and 1.0 are one number, and pydantic writes either.
    return int(made) if isinstance(made, float) and made.is_integer() else made


def _key(value: Any) -> str:
    made = json_value(value)
    return made if isinstance(made, str) else canonical(made)


def _json_or_text(value: Any) -> Any:
    try:
        return json_value(value)
    except ValueError:
        return str(value)


def schema_of(cls: Any) -> Any:
    """Return the JSON Schema, less titles, of a class with its own core schema, or None."""
    # An alias hides the dunder names of its class; pydantic's own classes are known by name.
    made = arguments(cls)[0]
    if not hasattr(made, "__get_pydantic_core_schema__"):
        return None
    if made.__module__.split(".")[0] == "pydantic":
        return None
    try:
        return json_value(_untitled(TypeAdapter[Any](cls).json_schema(schema_generator=_Silent)))
    except Exception:  # noqa: BLE001 - the user's code; a name will do
        return None


class _Silent(GenerateJsonSchema):
    """Pydantic's generator without its warnings."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: what is left out of a schema is told apart by the name."""


def _untitled(schema: Any) -> Any:
    if _is_list(schema):
        return [_untitled(item) for item in schema]
    if not is_object(schema):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties"):
            made[key] = {name: _untitled(item) for name, item in value.items()}
        elif key in ("const", "default", "enum", "examples"):
            made[key] = value
        elif key != "title":
            made[key] = _untitled(value)
    return made


def is_object(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a dict, of whatever."""
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list | tuple)


def _is_set(value: Any) -> TypeGuard[set[Any]]:
    return isinstance(value, set | frozenset)
