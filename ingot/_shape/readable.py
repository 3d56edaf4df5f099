"""What pydantic reads from JSON and what it does not, where JSON Schema alone would not say so."""

from __future__ import annotations

import json
from enum import Enum
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema, to_jsonable_python

from ingot._json import describe, is_array, is_object

__all__ = ["Unaskable", "check_keys", "check_value"]


class Unaskable(Exception):  # noqa: N818 (caught where the path is known)
    """
    A part of T that has no JSON.

    Attributes:
        reason: What it is.
        said: Whether *reason* is words for the caller.
    """

    def __init__(self, reason: str, *, said: bool = False) -> None:
        self.reason = reason
        self.said = said
        super().__init__(reason)


def check_value(value: Any) -> None:
    """
    Refuse a value of an enum or literal that no JSON is read as.

    Raises:
        Unaskable: It is none of JSON's.
    """
    if not _is_json(value):
        raise Unaskable(f"no JSON is read as its value {value!r:.60}", said=True)


def _is_json(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if is_array(value):
        return all(map(_is_json, value))
    if is_object(value):
        names: list[Any] = list(value)
        return all(isinstance(n, str) for n in names) and all(map(_is_json, value.values()))
    return value is None or isinstance(value, str | int)


def check_keys(keys: Any, shape: dict[str, Any]) -> None:
    """
    Refuse the keys of a map that are not read back from the text which a key is in JSON.

    Args:
        keys: Pydantic's schema of the keys.
        shape: Their JSON Schema.

    Raises:
        Unaskable: They are not.
    """
    kind = shape.get("type")
    if kind in ("array", "object", "null"):
        raise Unaskable("the keys of a map are text in JSON, and these are not", said=True)
    if keys is None or keys["type"] not in ("enum", "literal"):
        return
    given = keys["members"] if keys["type"] == "enum" else keys["expected"]
    validator = SchemaValidator(core_schema.dict_schema(keys, core_schema.any_schema()))
    for key in given:
        value = to_jsonable_python(key.value if isinstance(key, Enum) else key)
        name = value if isinstance(value, str) else json.dumps(value)
        try:
            read = validator.validate_json(json.dumps({name: 0}), strict=True)
        except ValidationError:
            read = {}
        if key not in read:
            raise Unaskable(
                f"the keys of a map are text in JSON, and no text is read as {describe(value)} "
                f"such as {value!r:.40}",
                said=True,
            )
