"""A shape: all that is known of T and one dialect, built once and shared."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ingot._shape.dialects import DIALECTS
from ingot._shape.elements import elements_of
from ingot._shape.format import Format
from ingot._shape.reader import encode_value, natural, read_value, wire_text
from ingot._shape.target import Target, target_of
from ingot._shape.wire import Wire, wire_schema
from ingot.errors import MismatchedAnswerError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._shape.content import Provenance
    from ingot._shape.elements import Elements
    from ingot._shape.target import Namespace

__all__ = ["Shape", "shape_of"]

_SIZE = 512
"""Shapes that are kept; types made at run time must not pile up."""


class Shape:
    """
    T in one dialect: how to ask for it and how to read what comes back.

    Attributes:
        target: What is known of T alone.
        dialect: The dialect that was asked for.
        kind: `prose` is not constrained, free `json` is read as JSON, all else has a `schema`.
        constrained: Whether the server can hold the model to the schema; else the schema is shown
            instead.
        obstacles: Why it cannot; empty when it can.
        wire: The schema as sent or shown, and the plan that undoes it; for prose None.
    """

    def __init__(self, target: Target, dialect: str) -> None:
        self.target = target
        self.dialect = dialect
        self.kind = target.kind
        self.wire: Wire | None = None
        self.obstacles: tuple[str, ...] = ()
        self.constrained = False
        self._formats: dict[bool, Format | None] = {}
        if target.kind != "schema":
            return
        wire = wire_schema(target.source, DIALECTS[dialect])
        self.obstacles = wire.obstacles
        self.constrained = not wire.obstacles and dialect != "prompt"
        if not self.constrained and dialect != "prompt":
            wire = wire_schema(target.source, DIALECTS["prompt"])
        self.wire = wire

    def __repr__(self) -> str:
        return f"<shape of {self.target.name} for {self.dialect}: {self.target.kind}>"

    @cached_property
    def descriptor(self) -> Any:
        """Ingot's own description of T, which stands for T in recordings."""
        return self.target.descriptor

    @cached_property
    def elements(self) -> Elements | None:
        """How the elements of T are read one by one; None if T is no collection of one type."""
        return elements_of(self.target, self.wire)

    @cached_property
    def schema_name(self) -> str:
        """A name of `[A-Za-z0-9_-]{1,64}` for the schema, different for different types."""
        name = self.target.name
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")
        if plain == name and len(name) <= 64:
            return name
        mark = sha256(name.encode()).hexdigest()[:6]
        return f"{plain[:56] or 'answer'}_{mark}"

    def format(self, *, shown: bool) -> Format | None:
        """How the answer is to be written; *shown* also shows an enforced schema."""
        if shown not in self._formats:
            self._formats[shown] = self._format(shown=shown)
        return self._formats[shown]

    def _format(self, *, shown: bool) -> Format | None:
        if self.kind == "prose":
            return None
        if self.wire is None:
            return Format(name="json", schema=None, constrained=False, shown=True)
        return Format(
            name=self.schema_name,
            schema=self.wire.schema,
            constrained=self.constrained,
            shown=shown or not self.constrained,
            wrapped=self.wire.wrapped,
            writes=self.to_wire,
        )

    def refuse(self) -> UnsupportedTypeError:
        """The error for a caller who wants the server to hold the model to T, where it cannot."""
        return UnsupportedTypeError(
            self.target.name,
            f"{self.dialect} servers cannot hold a model to it: {'; '.join(self.obstacles)}",
            advice='constrain="auto" shows the schema instead, and validates as strictly',
        )

    def read(self, text: str, handles: Provenance | None = None) -> Any:
        """
        Return the value of T that *text*, the whole of a reply, stands for.

        Args:
            text: The reply.
            handles: Who knows the files that may stand in it; None to take any handle.

        Raises:
            UnreadableAnswerError: The text is not one JSON value.
            MismatchedAnswerError: It does not fit T.
        """
        target = self.target
        if target.kind == "prose":
            return self._prose(text)
        context = None if handles is None else {"handles": handles}
        return read_value(text, target.adapter, self.wire, target.name, context)

    def _prose(self, text: str) -> Any:
        from pydantic import ValidationError

        from ingot._shape.problems import problems_of

        try:
            return self.target.adapter.validate_python(text)
        except ValidationError as error:
            problems = problems_of(error.errors(include_url=False), text)
            raise MismatchedAnswerError(problems, target=self.target.name, text=text) from error

    def natural(self, text: str) -> tuple[bool, Any]:
        """Whether *text* has the form that was sent, and the JSON of T that it stands for."""
        return natural(text, self.wire)

    def to_wire(self, tree: Any) -> str:
        """Return the text that stands for *tree*, the JSON of T."""
        return wire_text(tree, self.wire)

    def encode(self, value: Any) -> str:
        """Return what a model would write for *value* in this dialect."""
        if self.kind == "prose":
            return str(value)
        if self.wire is None:
            return self.target.adapter.dump_json(value).decode()
        return encode_value(value, self.target.adapter, self.wire)


_lock = threading.RLock()
_shapes: OrderedDict[tuple[Any, str, bool], Shape] = OrderedDict()
_written: OrderedDict[tuple[int, str, bool], tuple[Any, Shape]] = OrderedDict()
"""Shapes by the very object that was passed, which spares the look-up of its equals."""


def shape_of(
    t: Any,
    dialect: str,
    *,
    types: Mapping[str, Any] | None = None,
    namespace: Namespace | None = None,
    files: bool = False,
) -> Shape:
    """
    Return the shape of *t* in *dialect*; the same object for the same type.

    Args:
        t: A type as written, or an Ingot type name such as `string[]`.
        dialect: `openai`, `anthropic`, `open` or `prompt`.
        types: Record declarations for Ingot type names.
        namespace: Gives the names that forward references of *t* may use; None for none.
        files: Whether handles of files may be asked for, because tools return them.

    Raises:
        UnsupportedTypeError: *t* cannot be asked for.
    """
    if types is not None:
        target, _ = target_of(t, types=types, namespace=namespace, files=files)
        return Shape(target, dialect)
    written = _written.get((id(t), dialect, files))
    if written is not None and written[0] is t:
        return written[1]
    try:
        key = (cache_key(t), dialect, files)
        shape = _shapes.get(key)
    except TypeError:
        # An unhashable part; such a type is found again only as the same object.
        key, shape = (object(), dialect, files), None
    if shape is not None:
        return shape
    with _lock:
        shape = _shapes.get(key)
        if shape is None:
            target, lasting = target_of(t, namespace=namespace, files=files)
            shape = Shape(target, dialect)
            if lasting:
                _keep(_shapes, key, shape)
                _keep(_written, (id(t), dialect, files), (t, shape))
    return shape


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    while len(cache) > _SIZE:
        cache.popitem(last=False)


def cache_key(t: Any) -> Any:
    """
    Return what two types share only if they are asked for in the same way.

    Equality of types is not enough: `int | str` equals `str | int`, and the order of a union is
    part of what is sent. Nor is identity: `Annotated[int, Field(ge=3)]` differs from itself written
    twice.
    """
    if isinstance(t, type | str):
        return t
    text = repr(t)
    if "FieldInfo(" in text:
        return (_parts(t), text)
    return (t, text)


def _parts(t: Any) -> Any:
    metadata: tuple[Any, ...] | None = getattr(t, "__metadata__", None)
    if metadata is not None:
        return (_parts(t.__origin__), *(_mark(m) for m in metadata))
    args: tuple[Any, ...] | None = getattr(t, "__args__", None)
    if args and not isinstance(t, type):
        origin: Any = getattr(t, "__origin__", None)
        return (origin or type(t), *(_parts(a) for a in args))
    return t


def _mark(metadata: Any) -> Any:
    text = repr(metadata)
    return text if text.startswith("FieldInfo(") and " at 0x" not in text else metadata
