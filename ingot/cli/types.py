"""A type written as text: parsed with `ast`, and never evaluated."""

from __future__ import annotations

import ast
import re
import types
import typing
import warnings
from typing import TYPE_CHECKING, Any

from ingot._spelling import nearest
from ingot.cli.names import BARE, INGOT, KNOWN, OTHERS, PLACES, UnfoundError, type_of
from ingot.errors import TypeExpressionError
from ingot.typenames import to_python

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_type"]

_LONGEST = 2_000
"""Characters of a text; a longer type belongs into a module."""

_DEEPEST = 32
"""Brackets inside one another."""

_SHOWN = 80
"""Characters of the text that a message repeats."""

_SAID = 200
"""Characters of each part of what is said; names in it may be as long as the text."""

_COLON = "\u02d0"
"""Stands for the colon of `module:Name` in what is parsed: one character, a letter for Python."""

_PIECE = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?<![\w.])(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?=[^\W\d])"""
    r"""|(?P<open>[\[({])|(?P<close>[\])}])|(?P<space>[\t\r\n\f])"""
)

_EXAMPLES = 'write a type such as `list[str]`, `int | None`, `Literal["a", "b"]` or `module:Name`'


def parse_type(text: str) -> Any:
    """
    Return the type that *text* means; nothing is run but the import of a module it names.

    Args:
        text: A type expression such as `dict[str, int | None]`; `module:Name`, alone or inside one,
            for a type of a module, also one of the working directory; or one of Ingot's own names
            such as `string[]`.

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
            raise self.wrong("nothing is written", advice=_EXAMPLES)
        if len(self.text) > _LONGEST:
            raise self.wrong(
                f"it has {len(self.text)} characters, and {_LONGEST} are allowed",
                advice="define the type in a module, and write module:Name",
            )
        own = re.fullmatch(r"(\w+)((?:\[\])*)", self.text)
        if own is not None and (own[2] or own[1] not in KNOWN):
            made = self.own(own[1], own[2])
            if made is not None:
                return made
        self.source = self.prepared()
        return self.node(self.tree())

    def wrong(
        self, reason: str, at: ast.AST | int | None = None, *, advice: str = ""
    ) -> TypeExpressionError:
        """The one error there is."""
        place = self.place(at) if isinstance(at, ast.AST) else at
        shown, reason, advice = _cut(self.text, _SHOWN), _cut(reason, _SAID), _cut(advice, _SAID)
        return TypeExpressionError(shown, reason, position=place, advice=advice or None)

    def place(self, node: ast.AST) -> int | None:
        """Where *node* begins, in characters; `ast` counts bytes."""
        if getattr(node, "lineno", 1) != 1:
            return None
        return len(self.source.encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore"))

    # From text to tree

    def own(self, name: str, lists: str) -> Any:
        """Read one of Ingot's own names; None if it is none and may be something else."""
        if len(lists) // 2 > _DEEPEST:
            raise self.wrong(f"it is nested more than {_DEEPEST} deep")
        if name in INGOT:
            return to_python(self.text, {})
        if not lists:
            return None
        if KNOWN.get(name) in (*PLACES, tuple):
            raise self.wrong("nothing stands in the brackets", len(name) + 1, advice=_EXAMPLES)
        near = "; did you mean 'string[]'?" if name == "str" else nearest(name, INGOT)
        raise self.wrong(
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
                raise self.wrong(f"it is nested more than {_DEEPEST} deep", found.start())
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
            raise self.wrong(
                f"this is not how a type is written ({what})", where, advice=_EXAMPLES
            ) from error
        except (ValueError, RecursionError, MemoryError) as error:
            what = "it is nested too deeply"
            if isinstance(error, ValueError):
                what = "it holds characters that no text may hold"
            raise self.wrong(what, advice=_EXAMPLES) from error

    # From tree to type

    def node(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Name() | ast.Attribute():
                found = self.name(node)
                if any(found is form for form in (typing.Literal, typing.Optional, typing.Union)):
                    said = f"`{self.dotted(node)}` says nothing without […]"
                    raise self.wrong(said.replace(_COLON, ":"), node, advice=_EXAMPLES)
                return found
            case ast.BinOp(op=ast.BitOr()):
                return self.union(node)
            case ast.Subscript():
                return self.generic(node)
            case ast.Constant(value=str()):
                advice = f"a class is written module:Name, a fixed text Literal[{node.value!r:.40}]"
                raise self.wrong("a text stands where a type should", node, advice=advice)
            case ast.Tuple():
                advice = "write tuple[A, B] for both, A | B for one of them"
                raise self.wrong("several types stand where one should", node, advice=advice)
            case _:
                what = _WORDS.get(type(node), "something that is no type")
                raise self.wrong(f"{what} stands where a type should", node, advice=_EXAMPLES)

    def name(self, node: ast.Name | ast.Attribute) -> Any:
        dotted = self.dotted(node)
        if _COLON in dotted:
            return self.reference(node, dotted)
        if dotted not in KNOWN:
            raise self.unknown(node, dotted)
        if KNOWN[dotted] is typing.Annotated:
            advice = "define the type in a module, and write module:Name"
            raise self.wrong("Annotated cannot be written as text", node, advice=advice)
        return KNOWN[dotted]

    def unknown(self, node: ast.expr, dotted: str) -> TypeExpressionError:
        module, _, last = dotted.rpartition(".")
        near = nearest(dotted, [*BARE, "None"])
        if dotted in OTHERS:
            near = f"; did you mean {OTHERS[dotted]!r}?"
        elif module:
            near = f"; did you mean '{module}:{last}'?"
        advice = "" if near else f"a type of your own is written module:{last}"
        return self.wrong(f"there is no type `{dotted}`{near}", node, advice=advice)

    def dotted(self, node: ast.expr) -> str:
        steps: list[str] = []
        while isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            raise self.wrong(
                "a name is asked of something that is no module", node, advice=_EXAMPLES
            )
        return ".".join([node.id, *reversed(steps)])

    def union(self, node: ast.expr) -> Any:
        members: list[ast.expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            members.append(node.right)
            node = node.left
        return _union(map(self.node, [node, *reversed(members)]))

    def generic(self, node: ast.Subscript) -> Any:
        if not isinstance(node.value, ast.Name | ast.Attribute):
            raise self.wrong("brackets may only follow a name", node.value, advice=_EXAMPLES)
        name = self.dotted(node.value)
        base: Any = self.name(node.value)
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base is typing.Literal:
            if not inside:
                raise self.wrong("Literal holds no value", node, advice='write Literal["a", "b"]')
            return typing.Literal[tuple(map(self.literal, inside))]
        if base is tuple:
            return self.places(inside)
        wanted = PLACES.get(base)
        if wanted is not None and wanted != len(inside):
            types_ = "one type" if wanted == 1 else "two types"
            raise self.wrong(f"`{name}[…]` takes {types_}, and {len(inside)} are given", node)
        parts = tuple(map(self.node, inside))
        if base in (typing.Union, typing.Optional):
            return _union((*parts, None) if base is typing.Optional else parts)
        if wanted is not None:
            return types.GenericAlias(base, parts)
        if _COLON not in name:
            raise self.wrong(f"`{name}` takes no […]", node)
        try:
            return base[parts]
        except Exception as error:
            raise self.wrong(
                f"`{name.replace(_COLON, ':')}` does not take these […]: {error}", node
            ) from error

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
                raise self.wrong("Literal takes texts, whole numbers, True, False and None", node)

    def reference(self, node: ast.expr, dotted: str) -> Any:
        module, _, path = dotted.partition(_COLON)
        try:
            return type_of(module, path)
        except UnfoundError as error:
            raise self.wrong(error.reason, node, advice=error.advice) from error


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


def _union(members: Iterable[Any]) -> Any:
    form: Any = typing.Union
    return form[tuple(members)]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
