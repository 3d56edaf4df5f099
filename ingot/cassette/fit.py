"""Whether a JSON value fits a type of which only the description is left, as in a recording."""

from __future__ import annotations

import json
from typing import Annotated, Any, ForwardRef, Literal, Union

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PydanticUserError,
    RootModel,
    TypeAdapter,
)
from pydantic import create_model as make_model
from pydantic_core import SchemaError

from ingot._json import is_object
from ingot._shape.reader import read_value
from ingot._shape.words import CONTAINERS, WORDS
from ingot.cassette.typetext import type_line
from ingot.errors import MismatchedAnswerError, Problem

__all__ = ["is_prose", "misfits"]

_WORDS: dict[str, Any] = {word: t for t, word in reversed(WORDS.items())}
_CONTAINERS: dict[str, Any] = {word: t for t, (word, _) in reversed(CONTAINERS.items())}
_BOUNDS = (
    *("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places"),
    *("min_length", "max_length", "pattern"),
)


def is_prose(description: Any) -> bool:
    """Whether a reply for this type is text as it is, and no JSON."""
    return description in ("text", "markdown")


def misfits(description: Any, value: Any) -> tuple[Problem, ...]:
    """
    Return where *value* does not fit.

    What no description holds is not looked at: validators, and classes that say themselves how
    they are read.

    Args:
        description: What `descriptor_of` made of the type.
        value: JSON.
    """
    try:
        adapter = _Rebuilt(description).adapter()
    except (PydanticUserError, SchemaError, ImportError, LookupError, TypeError):
        return ()  # pydantic alone cannot check such a type, or somebody edited its description
    try:
        read_value(json.dumps(value), adapter, None, type_line(description))
    except MismatchedAnswerError as error:
        return error.problems
    return ()


class _Rebuilt:
    """A type that reads what the described one read; all classes with fields are models in it."""

    def __init__(self, description: Any) -> None:
        whole = is_object(description) and "classes" in description
        self._root = description["type"] if whole else description
        classes: dict[str, Any] = description["classes"] if whole else {}
        self._names = {name: f"Class{number}" for number, name in enumerate(classes)}
        self._made = {self._names[name]: self._class(name, classes[name]) for name in classes}

    def adapter(self) -> TypeAdapter[Any]:
        """Pydantic's validator of it."""
        root = self._model("Root", self._root)
        for model in (*self._made.values(), root):
            model.model_rebuild(_types_namespace=self._made)
        return TypeAdapter(root)

    def _class(self, name: str, made: Any) -> type[BaseModel]:
        if made["kind"] == "enum":
            return self._model(name, {"literal": made["values"]})
        if "fields" not in made:
            return self._model(name, made["root"] if "root" in made else made["type"])
        if made["kind"] == "namedtuple":
            return self._model(name, {"tuple": [made["fields"][field] for field in made["order"]]})
        fields: dict[str, Any] = {
            f"f{number}": (self._type(part), _field(field, part))
            for number, (field, part) in enumerate(made["fields"].items())
        }
        config = ConfigDict(extra=made.get("config", {}).get("extra", "ignore"))
        return make_model(name, __config__=config, **fields)

    def _model(self, name: str, part: Any) -> type[BaseModel]:
        root: Any = RootModel
        return make_model(name, __base__=root, root=(self._type(part), ...))

    def _type(self, part: Any) -> Any:
        if not is_object(part):
            return _WORDS.get(part, Any)
        bounds = {name: part[name] for name in _BOUNDS if name in part}
        made = self._core(part)
        return Annotated[made, Field(**bounds)] if bounds else made

    def _core(self, part: dict[str, Any]) -> Any:
        for word, container in _CONTAINERS.items():
            if word in part:
                inner = part[word] if isinstance(part[word], list) else [part[word]]
                return container[tuple(self._type(one) for one in inner)]
        if "tuple" in part:
            inner = [... if one == "..." else self._type(one) for one in part["tuple"]]
            return tuple[tuple(inner)]  # type: ignore[misc]
        if "union" in part:
            return Union[tuple(self._type(one) for one in part["union"])]  # noqa: UP007 (not written out)
        if "literal" in part:
            return Literal[tuple(part["literal"])]
        if "ref" in part:
            return ForwardRef(self._names[part["ref"]])
        return self._type(part.get("type", "any"))


def _field(name: str, part: Any) -> Any:
    """Where a field is read, and whether it may be absent."""
    facts: dict[str, Any] = part if is_object(part) else {}
    optional = "default" in facts or "has_default" in facts or facts.get("required") is False
    places = (name, *facts.get("aliases", ()))
    # Of a place with dots the description does not say whether it is a path.
    choices = AliasChoices(*places, *(AliasPath(*p.split(".")) for p in places if "." in p))
    return Field(None if optional else ..., validation_alias=choices)
