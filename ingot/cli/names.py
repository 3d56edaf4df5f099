"""What the names in a type mean: known ones, and those of modules."""

from __future__ import annotations

import collections.abc
import contextlib
import datetime
import decimal
import importlib
import os
import sys
import typing
import uuid
from types import ModuleType
from typing import Any

from ingot._shape.content import File, Json, Markdown, Text
from ingot._spelling import nearest

__all__ = ["BARE", "INGOT", "KNOWN", "OTHERS", "PLACES", "UnfoundError", "type_of"]

_HOMES: dict[str, dict[str, Any]] = {
    "builtins": {
        t.__name__: t
        for t in (str, int, float, bool, list, tuple, set, frozenset, dict, bytes, object)
    },
    "typing": {
        "Annotated": typing.Annotated,
        "Any": Any,
        "Dict": dict,
        "FrozenSet": frozenset,
        "List": list,
        "Literal": typing.Literal,
        "Mapping": collections.abc.Mapping,
        "Optional": typing.Optional,
        "Sequence": collections.abc.Sequence,
        "Set": set,
        "Tuple": tuple,
        "Union": typing.Union,
    },
    "datetime": {
        t.__name__: t for t in (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
    },
    "decimal": {"Decimal": decimal.Decimal},
    "uuid": {"UUID": uuid.UUID},
    "ingot": {"File": File, "Json": Json, "Markdown": Markdown, "Text": Text},
}
BARE: dict[str, Any] = {name: t for home in _HOMES.values() for name, t in home.items()}
KNOWN: dict[str, Any] = {
    **BARE,
    **{f"{module}.{name}": t for module, home in _HOMES.items() for name, t in home.items()},
}
"""What a name stands for, alone or after its module."""

INGOT = ("string", "text", "markdown", "int", "float", "bool", "json", "file", "bytes")
"""Ingot's own names; `[]` after one makes a list of it."""

OTHERS = {
    "array": "list",
    "boolean": "bool",
    "double": "float",
    "integer": "int",
    "map": "dict",
    "null": "None",
    "number": "float",
    "string": "str",
}
"""Names of other languages, and what they are here."""

PLACES: dict[Any, int] = {
    list: 1,
    set: 1,
    frozenset: 1,
    collections.abc.Sequence: 1,
    typing.Optional: 1,
    dict: 2,
    collections.abc.Mapping: 2,
}
"""How many types stand in the brackets of a name."""


class UnfoundError(Exception):
    """
    A name of a module means no type.

    Attributes:
        reason: Why not.
        advice: The way out; empty where there is none to name.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        self.reason = reason
        self.advice = advice
        super().__init__(reason)


def type_of(module: str, path: str) -> Any:
    """
    Import *module*, from the working directory too, and return the type at *path* in it.

    Raises:
        UnfoundError: There is no such module or type.
    """
    found: Any = _imported(module)
    for step in path.split("."):
        try:
            found = getattr(found, step)
        except AttributeError as error:
            near = nearest(step, [name for name in dir(found) if not name.startswith("_")])
            raise UnfoundError(f"`{module}` has no `{path}`{near}") from error
        except Exception as error:  # a module may make its names when asked
            raise UnfoundError(f"`{module}:{path}` cannot be had: {_told(error)}") from error
    if not _is_type(found):
        kind = type(found).__name__
        raise UnfoundError(f"`{module}:{path}` is no type, but a value of type `{kind}`")
    return found


def _imported(module: str) -> ModuleType:
    here = os.getcwd()  # noqa: PTH109 (sys.path holds texts)
    if not sys.flags.safe_path and here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        # What a module prints while it is imported is no part of the answer.
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            advice = "modules of the working directory and installed ones can be named"
            raise UnfoundError(f"there is no module `{error.name}`", advice) from error
        raise UnfoundError(f"the module `{module}` does not import: {_told(error)}") from error
    except (Exception, SystemExit) as error:  # the code of someone else
        raise UnfoundError(f"the module `{module}` does not import: {_told(error)}") from error


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _is_type(found: Any) -> bool:
    """Whether *found* can stand for a type: a class, an alias, a NewType, a form of typing."""
    if isinstance(found, type) or found is None or typing.get_origin(found) is not None:
        return True
    if hasattr(found, "__value__") or hasattr(found, "__supertype__"):
        return True
    return type(found).__module__ in ("typing", "typing_extensions")
