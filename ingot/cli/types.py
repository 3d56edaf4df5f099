"""A type written as text: parsed with `ast`, and never evaluated."""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import datetime
import decimal
import importlib
import os
import re
import sys
import types
import typing
import uuid
import warnings
from typing import TYPE_CHECKING, Any

from ingot._shape.content import File, Json, Markdown, Text
from ingot.errors import TypeExpressionError, nearest
from ingot.typenames import to_python

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["parse_type"]

_LONGEST = 2_000
"""Characters of a text; a longer type belongs into a module."""

_DEEPEST = 32
"""Brackets inside one another."""

_SHOWN = 80
"""Characters of the text that a message repeats."""

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
        t.__name__: t
        for t in (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
    },
    "decimal": {"Decimal": decimal.Decimal},
    "uuid": {"UUID": uuid.UUID},
    "ingot": {"File": File, "Json": Json, "Markdown": Markdown, "Text": Text},
}
_BARE = {name: t for home in _HOMES.values() for name, t in home.items()}
_KNOWN = {
    **_BARE,
    **{f"{module}.{name}": t for module, home in _HOMES.items() for name, t in home.items()},
}
"""What a name stands for, alone or after its module."""

_INGOT = ("string", "text", "markdown", "int", "float", "bool", "json", "file", "bytes")
"""Ingot's own names; `[]` after one makes a list of it."""

_OTHERS = {
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

_PLACES = {
    list: 1,
    set: 1,
    frozenset: 1,
    collections.abc.Sequence: 1,
    typing.Optional: 1,
    dict: 2,
    collections.abc.Mapping: 2,
}
"""How many types stand in the brackets of a name."""

_COLON = "\u02d0"
"""Stands for the colon of `module:Name` in what is parsed: a letter for Python, and one character too."""

_PIECE = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?<![\w.])(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?=[^\W\d])"""
    r"""|(?P<open>[\[({])|(?P<close>[\])}])|(?P<space>[\t\r\n\f])"""
)

_EXAMPLES = 'write a type such as `list[str]`, `int | None`, `Literal["a", "b"]` or `module:Name`'


def parse_type(text: str) -> Any:
    """
    Return the type that *text* means; nothing in it is run, apart from the import of a named module.

    Args:
        text: A type expression such as `dict[str, int | None]`; `module:Name`, alone or inside one, for
            a type of a module, which is looked for in the working directory too; or one of Ingot's own
            names such as `string[]`.

    Raises:
        TypeExpressionError: It means no type; what is wrong, and where.
        UnsupportedTypeError: It is an Ingot name of something that a model cannot write.
    """
    return _Reader(text.strip()).read()


class _Reader:
    """One reading of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = ""

    def read(self) -> Any:
        if not self.text:
            self.fail("nothing is written", advice=_EXAMPLES)
        if len(self.text) > _LONGEST:
            self.fail(
                f"it has {len(self.text)} characters, and {_LONGEST} are allowed",
                advice="define the type in a module, and write module:Name",
            )
        own = re.fullmatch(r"(\w+)((?:\[\])*)", self.text)
        if own is not None and (own[2] or own[1] not in _KNOWN):
            made = self.own(own[1], own[2])
            if made is not None:
                return made
        self.source = self.prepared()
        return self.node(self.tree())

    def fail(self, reason: str, at: ast.AST | int | None = None, *, advice: str = "") -> NoReturn:
        """Raise the one error there is."""
        shown = self.text if len(self.text) <= _SHOWN else self.text[: _SHOWN - 1] + "…"
        position = self.place(at) if isinstance(at, ast.AST) else at
        # What is said of a cause stands in the reason; a chain would only repeat it.
        raise TypeExpressionError(shown, reason, position=position, advice=advice or None) from None

    def place(self, node: ast.AST) -> int | None:
        """Where *node* begins, in characters; `ast` counts bytes."""
        if getattr(node, "lineno", 1) != 1:
            return None
        return len(self.source.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore"))

    # From text to tree

    def own(self, name: str, lists: str) -> Any:
        """Read one of Ingot's own names; None if it is none and may be something else."""
        if len(lists) // 2 > _DEEPEST:
            self.fail(f"it is nested more than {_DEEPEST} deep")
        if name in _INGOT:
            return to_python(self.text, {})
        if not lists:
            return None
        if name in _PLACES or name == "tuple":
            self.fail("nothing stands in the brackets", len(name) + 1, advice=_EXAMPLES)
        same = next((own for own in _INGOT if own == {"str": "string"}.get(name)), None)
        near = f"; did you mean '{same}[]'?" if same else nearest(name, _INGOT)
        self.fail(
            f"`{name}` is not one of Ingot's type names{near}",
            0,
            advice="a list of a type of your own is written list[module:Name]",
        )

    def prepared(self) -> str:
        """The text on one line, as long as before, with the colons of `module:Name` as letters."""
        depth = 0

        def piece(found: re.Match[str]) -> str:
            nonlocal depth
            depth += (found["open"] is not None) - (found["close"] is not None)
            if depth > _DEEPEST:
                self.fail(f"it is nested more than {_DEEPEST} deep", found.start())
            if found["space"]:
                return " "
            return f"{found['module']}{_COLON}" if found["module"] else found[0]

        return _PIECE.sub(piece, self.text)

    def tree(self) -> ast.expr:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.source, mode="eval").body
        except SyntaxError as error:
            where = None if error.offset is None else min(max(error.offset - 1, 0), len(self.text))
            what = (error.msg or "invalid syntax").replace(_COLON, ":")
            self.fail(f"this is not how a type is written ({what})", where, advice=_EXAMPLES)
        except (ValueError, RecursionError, MemoryError) as error:
            what = "it is nested too deeply"
            if isinstance(error, ValueError):
                what = "it holds characters that no text may hold"
            self.fail(what, advice=_EXAMPLES)

    # From tree to type

    def node(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Name() | ast.Attribute():
                return self.name(node)
            case ast.BinOp(op=ast.BitOr()):
                return self.union(node)
            case ast.Subscript():
                return self.generic(node)
            case ast.Constant(value=str()):
                advice = f"a class is written module:Name, a fixed text Literal[{node.value!r:.40}]"
                self.fail("a text stands where a type should", node, advice=advice)
            case ast.Tuple():
                advice = "write tuple[A, B] for both, A | B for one of them"
                self.fail("several types stand where one should", node, advice=advice)
            case _:
                what = _WORDS.get(type(node), "something that is no type")
                self.fail(f"{what} stands where a type should", node, advice=_EXAMPLES)

    def name(self, node: ast.Name | ast.Attribute) -> Any:
        dotted = self.dotted(node)
        if _COLON in dotted:
            return self.reference(node, *dotted.split(_COLON, 1))
        if dotted not in _KNOWN:
            self.unknown(node, dotted)
        if _KNOWN[dotted] is typing.Annotated:
            advice = "define the type in a module, and write module:Name"
            self.fail("Annotated cannot be written as text", node, advice=advice)
        return _KNOWN[dotted]

    def unknown(self, node: ast.expr, dotted: str) -> NoReturn:
        module, _, last = dotted.rpartition(".")
        near = nearest(dotted, [*_BARE, "None"])
        if dotted in _OTHERS:
            near = f"; did you mean {_OTHERS[dotted]!r}?"
        elif module:
            near = f"; did you mean '{module}:{last}'?"
        advice = "" if near else f"a type of your own is written module:{last}"
        self.fail(f"there is no type `{dotted}`{near}", node, advice=advice)

    def dotted(self, node: ast.expr) -> str:
        steps: list[str] = []
        while isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            self.fail("a name is asked of something that is no module", node, advice=_EXAMPLES)
        return ".".join([node.id, *reversed(steps)])

    def union(self, node: ast.expr) -> Any:
        members: list[ast.expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            members.append(node.right)
            node = node.left
        return typing.Union[tuple(map(self.node, [node, *reversed(members)]))]

    def generic(self, node: ast.Subscript) -> Any:
        if not isinstance(node.value, ast.Name | ast.Attribute):
            self.fail("brackets may only follow a name", node.value, advice=_EXAMPLES)
        name = self.dotted(node.value)
        base: Any = self.name(node.value)
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base is typing.Literal:
            if not inside:
                self.fail("Literal holds no value", node, advice='write Literal["a", "b"]')
            return typing.Literal[tuple(map(self.literal, inside))]
        if base is tuple:
            return self.places(inside)
        wanted = _PLACES.get(base)
        if wanted is not None and wanted != len(inside):
            types_ = "one type" if wanted == 1 else "two types"
            self.fail(f"`{name}[…]` takes {types_}, and {len(inside)} are given", node)
        parts = tuple(map(self.node, inside))
        if base in (typing.Union, typing.Optional):
            return typing.Union[(*parts, None) if base is typing.Optional else parts]
        if wanted is not None:
            return types.GenericAlias(base, parts)
        if _COLON not in name:
            self.fail(f"`{name}` takes no […]", node)
        try:
            return base[parts]
        except Exception as error:  # noqa: BLE001 (the class of someone else says what it takes)
            self.fail(f"`{name.replace(_COLON, ':')}` does not take these […]: {error}", node)

    def places(self, inside: list[ast.expr]) -> Any:
        match inside:
            case [item, ast.Constant(value=builtin)] if builtin is ...:
                return types.GenericAlias(tuple, (self.node(item), ...))
            case _:
                return types.GenericAlias(tuple, tuple(map(self.node, inside)))

    def literal(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=str() | int() | None):
                return node.value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if (
                not isinstance(number, bool)
            ):
                return -number
            case _:
                self.fail("Literal takes texts, whole numbers, True, False and None", node)

    # Types of modules

    def reference(self, node: ast.expr, module: str, path: str) -> Any:
        found: Any = self.module(node, module)
        for step in path.split("."):
            try:
                found = getattr(found, step)
            except AttributeError:
                near = nearest(step, [name for name in dir(found) if not name.startswith("_")])
                self.fail(f"`{module}` has no `{path}`{near}", node)
            except Exception as error:  # noqa: BLE001 (a module may make its names when asked)
                self.fail(f"`{module}:{path}` cannot be had: {_told(error)}", node)
        if not _is_type(found):
            kind = type(found).__name__
            self.fail(f"`{module}:{path}` is no type, but a value of type `{kind}`", node)
        return found

    def module(self, node: ast.expr, module: str) -> types.ModuleType:
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
                self.fail(f"there is no module `{error.name}`", node, advice=advice)
            self.fail(f"the module `{module}` does not import: {_told(error)}", node)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (the code of someone else)
            self.fail(f"the module `{module}` does not import: {_told(error)}", node)


_WORDS: dict[type[ast.expr], str] = {
    ast.BinOp: "an operator other than |",
    ast.BoolOp: "`and` or `or`",
    ast.Call: "a call",
    ast.Compare: "a comparison",
    ast.Constant: "a value",
    ast.Dict: "a dict in braces",
    ast.JoinedStr: "an f-string",
    ast.Lambda: "a lambda",
    ast.List: "a list in brackets",
    ast.Slice: "a colon",
    ast.UnaryOp: "an operator other than |",
}
"""What may be found where a type should stand."""


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _is_type(found: Any) -> bool:
    """Whether *found* can stand for a type: a class, an alias, a NewType, a form of typing."""
    if isinstance(found, type) or found is None or typing.get_origin(found) is not None:
        return True
    if hasattr(found, "__value__") or hasattr(found, "__supertype__"):
        return True
    return type(found).__module__ in ("typing", "typing_extensions")
