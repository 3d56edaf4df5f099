"""
What a type is, as one JSON value that stays the same with every pydantic: ingot's own description.

A part is a word, or an object whose first key below is its kind and whose other keys are facts:

    "int"                    a type without parts; with facts {"type": "int", "ge": 0}
    {"list": X}              also set, frozenset, deque; `Sequence` is a list: reply and value are
    {"dict": [K, V]}         also defaultdict, ordered_dict; `Mapping` is a dict
    {"tuple": [X, Y]}        of any length: {"tuple": [X, "..."]}
    {"union": [X, Y]}        flat, sorted, without repeats; Optional is a union with "null"
    {"literal": [1, "a"]}    sorted; `of` names the enums whose members were given
    {"ref": "Label"}         stands under `classes`: a class with fields, an enum, a recursive alias
    {"custom": "module.Name"}
                             any other class: `schema` is its JSON Schema without titles, `of` its
                             arguments; or `shape` is what its `__ingot_shape__` gives (a text that
                             `__ingot_shape__` gives is a word)

A type with classes in it is {"type": X, "classes": {name: class}}, each class once:

    {"kind": "model", "fields": {"urgency": {"type": "int", "ge": 0}}, "doc": "…", "config": {…}}
    {"kind": "dataclass" | "typeddict", …}
    {"kind": "namedtuple", …, "order": [names]}   a reply may be an array, so order has a meaning
    {"kind": "model", "root": X}                  a RootModel
    {"kind": "model", …, "extras": X}             the declared type of extra fields
    {"kind": "enum", "values": […]}
    {"kind": "alias", "type": X}

Facts are constraints under annotated_types' and pydantic's names (`ge`, `max_length`, `pattern`,
`strict`, …; of two bounds the tighter), `discriminator`, `title`, `description`, `examples`,
`deprecated`, `extra_schema`, `default` (or `has_default`, where it is no JSON), `required` (false:
the key of a TypedDict may be absent), `aliases` (further places in the reply). Fields stand under
their name in the reply; an `AliasPath` joins its steps with dots. Not described: order of fields,
Python names, validators, serializers. Different classes of one name are told apart as `Item` and
`Item#2`, by the shortest path of fields to them; classes of one name and description are one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from typing_extensions import Literal

from ingot._json import canonical
from ingot._shape.annotations import alias_of, alias_value, arguments, is_class, is_union, peel
from ingot._shape.facts import class_facts, facts_of, field_facts, is_object, json_value, schema_of
from ingot._shape.fields import config_of, extras_of, fields_of, is_root, record_kind
from ingot._shape.members import key_of, spelled, type_name
from ingot._shape.words import CALLABLE, CONTAINERS, WORDS
from ingot.errors import UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["descriptor_digest", "descriptor_of"]

_MOST = 5000
"""Classes of one type, beyond which it is taken to have no end."""

_Names: TypeAlias = "Callable[[Any], str]"


def descriptor_of(target: Any) -> Any:
    """
    Return ingot's description of a type, as JSON: equal however the type is written.

    Raises:
        UnsupportedTypeError: A name is not defined where T was written, or T has no end.
    """
    return _Description(target).to_json()


def descriptor_digest(description: Any) -> str:
    """Return the name of a description: `t1:` and 12 hexadecimal digits."""
    text = canonical(description).encode("utf-8", "surrogatepass")
    return f"t1:{hashlib.sha256(text).hexdigest()[:12]}"


@dataclass(slots=True)
class _Node:
    """A part before the classes in it have their final names."""

    kind: str
    value: Any = None
    parts: list[_Node] = field(default_factory=list["_Node"])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class _Class:
    """What stands under `classes`."""

    name: str
    path: tuple[str, ...]
    kind: str = ""
    fields: dict[str, _Node] | None = None
    slots: dict[str, _Node] = field(default_factory=dict[str, _Node])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


class _Description:
    """One description in the making."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._classes: dict[Any, _Class] = {}
        self._waiting: list[tuple[Any, Any]] = []
        self._open: dict[Any, bool] = {}
        self._path: tuple[str, ...] = ()
        try:
            self._build()
        except RecursionError as error:
            raise UnsupportedTypeError(type_name(target), "it has no end") from error
        except UnsupportedTypeError as error:
            path = (*self._path, *error.path)
            raise UnsupportedTypeError(
                type_name(target), error.reason, path=path, advice=error.advice
            ) from error

    def _build(self) -> None:
        self._root = self._node(self._target)
        # Breadth first: a class is reached by its shortest path.
        for key, part in self._waiting:
            self._path = self._classes[key].path
            self._describe(self._classes[key], part)

    def to_json(self) -> Any:
        """The description with every class named."""
        names = self._names()
        root = _render(self._root, names.__getitem__)
        if not self._classes:
            return root
        made = {
            names[key]: _render_class(part, names.__getitem__)
            for key, part in self._classes.items()
        }
        return {"type": root, "classes": {name: made[name] for name in sorted(made)}}

    # Parts

    def _node(self, annotation: Any) -> _Node:
        core, metadata = peel(annotation)
        node = self._core(core)
        return _with(node, facts_of(metadata)) if metadata else node

    def _core(self, core: Any) -> _Node:
        hook = getattr(arguments(core)[0], "__ingot_shape__", None)
        if hook is not None and is_class(arguments(core)[0]):
            shape = hook() if callable(hook) else hook
            if isinstance(shape, str):
                return _Node("type", shape)
            return _Node("custom", _qualified(core), facts={"shape": shape})
        if _is_word(core):
            return _Node("type", WORDS[core])
        if alias_of(core) is not None:
            return self._alias(core)
        if is_union(core):
            return _Node("union", parts=self._nodes(get_args(core)))
        origin, parts = arguments(core)
        if origin is Literal:
            return _literal(parts)
        if origin in CONTAINERS:
            kind, count = CONTAINERS[origin]
            return _Node(kind, parts=self._nodes((*parts, *(Any,) * count)[:count]))
        if origin is tuple:
            return self._tuple(core, parts)
        if origin in (CALLABLE, re.Pattern, type):
            return _Node("type", WORDS[origin])
        if record_kind(core) is not None or _is_enum(core):
            return self._ref(core)
        return self._custom(core, parts)

    def _nodes(self, parts: Iterable[Any]) -> list[_Node]:
        return [self._node(part) for part in parts]

    def _tuple(self, core: Any, parts: tuple[Any, ...]) -> _Node:
        if not parts and "()" not in repr(core):
            parts = (Any, ...)
        return _Node(
            "tuple", parts=[_Node("type", "...") if p is ... else self._node(p) for p in parts]
        )

    def _alias(self, core: Any) -> _Node:
        key = key_of(core)
        if key in self._open:
            self._open[key] = True
            return _Node("ref", key)
        self._open[key] = False
        node = self._node(alias_value(core))
        if not self._open.pop(key):
            return node
        name = spelled(core, ordered=True)
        self._classes[key] = _Class(name, self._path, "alias", slots={"type": node})
        return _Node("ref", key)

    def _ref(self, core: Any) -> _Node:
        key = key_of(core)
        if key not in self._classes:
            if len(self._classes) == _MOST:
                raise UnsupportedTypeError("", f"it has no end, or more than {_MOST} classes")
            self._classes[key] = _Class(spelled(core, ordered=True), self._path)
            self._waiting.append((key, core))
        known = self._classes[key]
        known.path = min(known.path, self._path, key=lambda path: (len(path), path))
        return _Node("ref", key)

    def _custom(self, core: Any, parts: tuple[Any, ...]) -> _Node:
        nodes = self._nodes(
            part for part in parts if not isinstance(part, list) and part is not ...
        )
        facts: dict[str, Any] = {}
        schema = schema_of(core)
        if schema is not None:
            facts["schema"] = schema
        return _Node("custom", _qualified(core), parts=nodes, facts=facts)

    # Classes

    def _describe(self, made: _Class, target: Any) -> None:
        cls = arguments(target)[0]
        if _is_enum(target):
            values = [json_value(member.value) for member in cls]
            made.kind = "enum"
            made.facts = {"values": _sorted(values), **class_facts(cls, {})}
            return
        made.kind = record_kind(target) or ""
        made.facts = class_facts(cls, config_of(target))
        fields = fields_of(target)
        if is_root(target):
            info = fields[0].info
            made.slots["root"] = _with(self._node(fields[0].annotation), field_facts(info))
            return
        made.fields = {}
        for part in fields:
            self._path = (*made.path, part.name)
            node = self._node(part.annotation)
            facts = field_facts(part.info)
            if made.kind == "typeddict" and not part.required:
                facts["required"] = False
            if part.others:
                facts["aliases"] = _sorted(map(_place, part.others))
            made.fields[_place(part.path)] = _with(node, facts)
        self._path = made.path
        if made.kind == "namedtuple":
            made.facts["order"] = list(made.fields)
        extras = extras_of(target)
        if extras is not None:
            made.slots["extras"] = self._node(extras)

    # Names

    def _names(self) -> dict[Any, str]:
        names = {key: part.name for key, part in self._classes.items()}
        if len(set(names.values())) == len(names):
            return names
        colors = self._colors(names)
        for name in sorted(set(names.values())):
            same = [key for key, part in self._classes.items() if part.name == name]
            first = {
                color: min(self._order(key) for key in same if colors[key] == color)
                for color in {colors[key] for key in same}
            }
            ranked = sorted(first, key=lambda color: (first[color], color))
            for key in same:
                rank = ranked.index(colors[key])
                names[key] = f"{name}#{rank + 1}" if rank else name
        return names

    def _order(self, key: Any) -> tuple[int, tuple[str, ...]]:
        path = self._classes[key].path
        return len(path), path

    def _colors(self, colors: dict[Any, str]) -> dict[Any, str]:
        """Tell classes apart by what they are, to any depth; finer until nothing comes apart."""
        while True:
            finer = {
                key: hashlib.sha256(
                    canonical([part.name, _render_class(part, colors.__getitem__)]).encode(
                        "utf-8", "surrogatepass"
                    )
                ).hexdigest()
                for key, part in self._classes.items()
            }
            if len(set(finer.values())) == len(set(colors.values())):
                return finer
            colors = finer


def _render(node: _Node, names: _Names) -> Any:
    parts = [_render(part, names) for part in node.parts]
    if node.kind == "union":
        return _union(parts, node.facts)
    if node.kind == "type":
        return {"type": node.value, **node.facts} if node.facts else node.value
    if node.kind == "ref":
        return {"ref": names(node.value), **node.facts}
    if node.kind in ("literal", "custom"):
        of = {"of": parts} if parts else {}
        return {node.kind: node.value, **of, **node.facts}
    return {node.kind: parts[0] if node.kind in _SINGLE else parts, **node.facts}


_SINGLE = frozenset(kind for kind, count in CONTAINERS.values() if count == 1)


def _union(members: list[Any], facts: dict[str, Any]) -> Any:
    if facts.get("union_mode") == "left_to_right":
        return {"union": members, **facts}
    flat: list[Any] = []
    values: list[Any] = []
    for member in members:
        # What carries facts of its own stays whole.
        kind = next(iter(member)) if is_object(member) and len(member) == 1 else ""
        inner: list[Any] = member["union"] if kind == "union" else [member]
        for part in inner:
            plain = is_object(part) and [*part] == ["literal"]
            (values if plain else flat).extend(part["literal"] if plain else [part])
    if values:
        flat.append({"literal": _sorted(values)})
    flat = _sorted(flat)
    if len(flat) > 1:
        return {"union": flat, **facts}
    only = flat[0]
    return {**(only if isinstance(only, dict) else {"type": only}), **facts} if facts else only


def _render_class(part: _Class, names: _Names) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": part.kind}
    made.update({slot: _render(node, names) for slot, node in part.slots.items()})
    if part.fields is not None:
        made["fields"] = {name: _render(part.fields[name], names) for name in sorted(part.fields)}
    return {**made, **part.facts}


def _with(node: _Node, facts: dict[str, Any]) -> _Node:
    if not facts:
        return node
    word = facts.pop("url", None)
    if word is not None:
        node = _Node("type", word, facts=node.facts)
    return _Node(node.kind, node.value, node.parts, {**node.facts, **facts})


def _sorted(values: Iterable[Any]) -> list[Any]:
    made = {canonical(value): value for value in values}
    return [made[text] for text in sorted(made)]


def _place(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))


def _literal(values: tuple[Any, ...]) -> _Node:
    given = _sorted(json_value(value) for value in values if value is not None)
    enums = _sorted(type(value).__name__ for value in values if isinstance(value, Enum))
    node = _Node("literal", given, facts={"of": enums} if enums else {})
    if None not in values:
        return node
    null = _Node("type", "null")
    return _Node("union", parts=[node, null]) if given else null


def _is_enum(target: Any) -> bool:
    if not isinstance(target, type) or not issubclass(target, Enum):
        return False
    return not hasattr(target, "__get_pydantic_core_schema__")


def _is_word(core: Any) -> bool:
    try:
        return core in WORDS
    except TypeError:
        return False


def _qualified(core: Any) -> str:
    cls = arguments(core)[0]
    name = getattr(cls, "__qualname__", None) or getattr(cls, "__name__", None)
    return f"{getattr(cls, '__module__', '')}.{name}" if name else spelled(cls, ordered=True)
