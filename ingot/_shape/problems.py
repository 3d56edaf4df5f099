"""Pydantic's errors in ingot's words: where, what was expected, what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import describe, is_array, is_object
from ingot.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["problems_of"]

_EXPECTED = {
    "string_type": "string",
    "int_type": "int",
    "int_parsing": "int",
    "int_from_float": "int",
    "float_type": "float",
    "float_parsing": "float",
    "bool_type": "bool",
    "bool_parsing": "bool",
    "none_required": "null",
    "list_type": "list",
    "tuple_type": "tuple",
    "set_type": "set",
    "frozen_set_type": "set",
    "dict_type": "map",
    "mapping_type": "map",
    "decimal_type": "decimal",
    "decimal_parsing": "decimal",
    "date_type": "date",
    "date_parsing": "date",
    "date_from_datetime_parsing": "date",
    "datetime_type": "datetime",
    "datetime_parsing": "datetime",
    "datetime_from_date_parsing": "datetime",
    "time_type": "time",
    "time_parsing": "time",
    "time_delta_type": "duration",
    "time_delta_parsing": "duration",
    "uuid_type": "uuid",
    "uuid_parsing": "uuid",
    "url_type": "url",
    "url_parsing": "url",
}


def problems_of(
    errors: Sequence[Mapping[str, Any]], tree: Any, prefix: tuple[str, ...] = ()
) -> list[Problem]:
    """
    Say *errors* of pydantic in ingot's words.

    Args:
        errors: As `ValidationError.errors()` gives them.
        tree: The JSON that was validated, which tells field names from names of union members.
        prefix: What leads to *tree* in the reply.
    """
    found: dict[tuple[tuple[str | int, ...], str], list[tuple[str, str]]] = {}
    for error in errors:
        path, value, labels, missing = _place(error, tree)
        expected, rest = _words(error, value, missing)
        label = labels[-1] if labels else ""
        found.setdefault(((*prefix, *path), rest), []).append((expected, label))
    problems: list[Problem] = []
    for (place, rest), group in found.items():
        wanted = [e for e in dict.fromkeys(e for e, _ in group) if e]
        members = list(dict.fromkeys(label for _, label in group if label))
        if wanted:
            message = f"expected {' or '.join(wanted)}, found {rest}"
        elif members and len(found) > 1:
            message = f"{rest} (as `{'` or `'.join(members)}`)"
        else:
            message = rest
        problems.append(Problem(place, message))
    return problems


def _place(
    error: Mapping[str, Any], tree: Any
) -> tuple[list[str | int], Any, list[str], str | None]:
    """Split a location of pydantic: path, value there, union labels, missing name."""
    path: list[str | int] = []
    labels: list[str] = []
    location = list(error["loc"])
    missing = str(location.pop()) if error["type"] in _ABSENT and location else None
    for step in location:
        if is_object(tree) and str(step) in tree:
            path.append(str(step))
            tree = tree[str(step)]
        elif is_array(tree) and isinstance(step, int) and step < len(tree):
            path.append(step)
            tree = tree[step]
        elif isinstance(step, str) and step.isidentifier():
            labels.append(step)
    return path, tree, labels, missing


_ABSENT = {"missing", "missing_argument", "missing_keyword_only_argument"}
_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}


def _words(error: Mapping[str, Any], value: Any, missing: str | None) -> tuple[str, str]:
    """What was expected (empty where the rest says it all), and the rest."""
    kind: str = error["type"]
    context: Mapping[str, Any] = error.get("ctx") or {}
    if missing is not None:
        return "", f"missing field `{missing}`"
    if kind in _UNKNOWN:
        return "", "this field is not known"
    if kind in _EXPECTED:
        return f"`{_EXPECTED[kind]}`", _found(error, value)
    if "class_name" in context and kind.endswith("_type"):
        return f"`{context['class_name']}`", describe(value)
    if kind in ("literal_error", "enum"):
        return str(context.get("expected", "one of the allowed values")), _found(error, value)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tags = context.get("expected_tags")
        name = context.get("discriminator", "the tag")
        return "", f"the field {name} must be one of {tags}" if tags else f"missing field {name}"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should be "):
        return "a value " + message.removeprefix("Input should be "), describe(value)
    if kind in ("value_error", "assertion_error"):
        return "", message
    return "", message[:1].lower() + message[1:]


def _found(error: Mapping[str, Any], value: Any) -> str:
    """The kind of value, and why it did not do where the kind alone would not say."""
    context: Mapping[str, Any] = error.get("ctx") or {}
    why = context.get("error")
    if isinstance(value, str) and isinstance(why, str):
        return f"a string that is none ({why})"
    return describe(value)
