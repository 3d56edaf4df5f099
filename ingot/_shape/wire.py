"""From the schema of T to the schema that one dialect accepts, and the plan that undoes the difference."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, describe
from ingot._shape.plan import (
    DecimalText,
    Fields,
    JSONText,
    Leaf,
    Listing,
    Map,
    Pairs,
    Places,
    Plan,
    Reference,
    Slot,
    Union,
)
from ingot._shape.source import MARK

if TYPE_CHECKING:
    from ingot._shape.dialects import Dialect

__all__ = ["Constraint", "Wire", "wire_schema"]

Schema = dict[str, Any]

_NOTES = {"description", "title", "examples", "default", "deprecated", "$comment", "discriminator"}
"""Keywords that tell, and constrain nothing."""

_KINDS = {
    "string": "a string",
    "integer": "a number",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}

_PHRASES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
    "pattern": "matches the regular expression {}",
    "uniqueItems": "no item twice",
    "maxDigits": "at most {} digits",
    "decimalPlaces": "at most {} digits after the point",
    "format": "{}",
}

_FORMATS = {
    "date-time": "an ISO 8601 date and time, such as 2024-02-29T08:30:00Z",
    "date": "an ISO 8601 date, such as 2024-02-29",
    "time": "an ISO 8601 time, such as 08:30:00",
    "duration": "an ISO 8601 duration, such as PT1H30M",
    "uri": "a URL",
    "uuid": "a UUID",
    "email": "an e-mail address",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """
    One demand of T beyond its form.

    Attributes:
        path: Where, as a dotted path; `[]` for the items of a list, empty at the root.
        text: What is demanded, in words.
        enforced: Whether the server holds the model to it; else ingot alone checks it.
    """

    path: str
    text: str
    enforced: bool


@dataclass(frozen=True, slots=True)
class Wire:
    """
    What one dialect makes of T.

    Attributes:
        schema: The JSON Schema to send.
        plan: How a reply is read; it knows nothing of the wrapping.
        wrapped: Whether the reply carries the value under `value`.
        rewritten: Whether the JSON of a reply differs in form from the JSON of T.
        constraints: Each demand, and who holds the model to it.
        obstacles: Why the dialect cannot take the schema, each with its place; empty when it can.
        object_union: Whether objects of several types may stand at one place.
        open_objects: Whether an object of T keeps keys that are not named.
    """

    schema: Schema
    plan: Plan
    wrapped: bool
    rewritten: bool
    constraints: tuple[Constraint, ...]
    obstacles: tuple[str, ...]
    object_union: bool
    open_objects: bool


def wire_schema(source: Schema, dialect: Dialect) -> Wire:
    """Write *source*, the marked schema of T, in *dialect*."""
    return _Writer(source, dialect).write()


@dataclass
class _Writer:
    """One writing of one schema."""

    source: Schema
    dialect: Dialect
    rewritten: bool = False
    object_union: bool = False
    open_objects: bool = False
    optional: int = 0
    unions: int = 0
    properties: int = 0
    values: int = 0
    text: int = 0
    depth: int = 0
    constraints: list[Constraint] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def write(self) -> Wire:
        defs = self.source.get("$defs", {})
        self.defs: dict[str, Schema] = defs
        self.recursive = {name for name in defs if name in _reachable(defs, name)}
        root = {key: value for key, value in self.source.items() if key != "$defs"}
        schema, plan = self.node(root, "", 0)
        is_object = self._is_object(root) and self._wire_is_object(schema)
        if is_object:
            schema = self._root(schema)
        else:
            schema = _closed({"value": schema}, ["value"])
        if self.schemas:
            schema = {**schema, "$defs": {self.names[n]: s for n, s in self.schemas.items()}}
        self._limits()
        return Wire(
            schema=schema,
            plan=plan,
            wrapped=not is_object,
            rewritten=self.rewritten,
            constraints=tuple(self.constraints),
            obstacles=tuple(self.obstacles),
            object_union=self.object_union,
            open_objects=self.open_objects,
        )

    def _is_object(self, node: Schema) -> bool:
        """Whether T itself is an object; a NamedTuple is a tuple, though it travels as one."""
        while "$ref" in node:
            node = self.defs[_name(node["$ref"])]
        return node.get("type") == "object" and node.get(MARK) != "named"

    def _wire_is_object(self, schema: Schema) -> bool:
        return self._deref(schema).get("type") == "object"

    def _deref(self, schema: Schema) -> Schema:
        back = {new: old for old, new in self.names.items()}
        while "$ref" in schema:
            schema = self.schemas[back[_name(schema["$ref"])]]
        return schema

    def _root(self, schema: Schema) -> Schema:
        """A root is a plain object: a reference is replaced by what it names, which stays if it recurs."""
        if "$ref" not in schema:
            return schema
        back = {new: old for old, new in self.names.items()}
        name = back[_name(schema["$ref"])]
        target = self._deref(schema)
        if name not in self.recursive:
            self.schemas.pop(name)
        return dict(target)

    # One node

    def node(self, node: Any, path: str, depth: int) -> tuple[Schema, Plan]:
        if node is True:
            node = {MARK: "any"}
        if node is False or not isinstance(node, dict):
            self._obstacle(path, "a place where nothing is allowed")
            return {}, Leaf("any")
        self.depth = max(self.depth, depth)
        if "allOf" in node and len(node["allOf"]) == 1:
            node = {**{k: v for k, v in node.items() if k != "allOf"}, **node["allOf"][0]}
        if "$ref" in node:
            return self._reference(node, path, depth)
        mark = node.get(MARK)
        members = node.get("anyOf") or node.get("oneOf")
        if members:
            return self._union(node, members, path, depth)
        if mark == "any" or not self._typed(node):
            return self._free(node, path)
        if "enum" in node or "const" in node:
            return self._choice(node, path)
        type_ = node["type"]
        if isinstance(type_, list):
            rest = {k: v for k, v in node.items() if k not in _NOTES | {"type"}}
            notes = {k: v for k, v in node.items() if k in _NOTES}
            return self._union(notes, [{**rest, "type": t} for t in type_], path, depth)
        if mark == "decimal":
            self.rewritten = True
            return self._scalar(node, "string", path, "a decimal number"), DecimalText()
        if type_ == "array":
            return self._array(node, path, depth)
        if type_ == "object":
            return self._object(node, path, depth)
        schema = self._scalar(node, type_, path)
        return schema, Leaf(_KINDS.get(type_, "any"), integral=type_ == "integer")

    def _typed(self, node: Schema) -> bool:
        return "type" in node or "enum" in node or "const" in node

    def _free(self, node: Schema, path: str) -> tuple[Schema, Plan]:
        unknown = sorted(node.keys() - _NOTES - {MARK})
        if unknown:
            self._obstacle(path, f"the keyword {unknown[0]!r}")
        if self.dialect.free:
            return self._described(node, {}), Leaf("any")
        self.rewritten = True
        return self._described(node, {"type": "string"}, "any JSON value, as JSON text"), JSONText()

    def _scalar(self, node: Schema, type_: str, path: str, note: str | None = None) -> Schema:
        schema: Schema = {"type": type_}
        notes = [note] if note else []
        for keyword, value in node.items():
            if keyword in _NOTES or keyword in ("type", MARK, *_STRUCTURE):
                continue
            phrase = _phrase(keyword, value)
            taken = self.dialect.takes(type_, keyword, value)
            if taken:
                schema[keyword] = value
            enforced = taken and self.dialect.enforces(type_, keyword)
            if phrase is None:
                continue
            self.constraints.append(Constraint(path, phrase, enforced))
            if not enforced:
                notes.append(phrase)
        return self._described(node, schema, *notes)

    def _described(self, node: Schema, schema: Schema, *notes: str) -> Schema:
        """Add what the node says of itself, and *notes*, as the description."""
        parts = [str(node[k]) for k in ("title", "description") if node.get(k)]
        if node.get("examples"):
            parts.append("Examples: " + ", ".join(canonical(e) for e in node["examples"]))
        if notes:
            parts.append("(" + "; ".join(notes) + ")")
        if parts:
            schema["description"] = " ".join(parts) if len(parts) < 3 else "\n".join(parts)
        return schema

    def _choice(self, node: Schema, path: str) -> tuple[Schema, Plan]:
        allowed = [node["const"]] if "const" in node else list(node["enum"])
        self.values += len(allowed)
        self.text += sum(len(v) for v in allowed if isinstance(v, str))
        groups: dict[str, list[Any]] = {}
        for value in allowed:
            groups.setdefault(_type(value), []).append(value)
        if "object" in groups or "array" in groups:
            self._obstacle(path, "a choice of values that are not scalars")
        parts = [_one_of(type_, values) for type_, values in groups.items()]
        plan = Leaf("any" if len(groups) > 1 else _KINDS[next(iter(groups))], tuple(allowed))
        if len(parts) == 1:
            return self._described(node, parts[0]), plan
        self.unions += 1
        return self._described(node, {"anyOf": parts}), plan

    def _reference(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        name = _name(node["$ref"])
        notes = {k: v for k, v in node.items() if k in _NOTES and k not in ("default", "discriminator")}
        if name in self.recursive and not self.dialect.recursion:
            self._obstacle(path, f"`{name}` refers to itself")
            return {}, Leaf("any")
        if notes and name not in self.recursive:
            return self.node({**self.defs[name], **notes}, path, depth)
        if name not in self.names:
            self.names[name] = self._def_name(name)
            self.plans[name] = Leaf("any")
            self.schemas[name], self.plans[name] = self.node(self.defs[name], path, depth)
        reference: Schema = {"$ref": f"#/$defs/{self.names[name]}"}
        if notes:
            # No keyword may stand beside a reference; a union of one carries the words.
            reference = self._described(notes, {"anyOf": [reference]})
        return reference, Reference(name, self.plans)

    def _def_name(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.split("__")[-1] or name)[:48] or "T"
        taken = set(self.names.values())
        number, unique = 2, plain
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        return unique

    def _union(
        self, node: Schema, members: list[Any], path: str, depth: int
    ) -> tuple[Schema, Plan]:
        if any(m is True or (isinstance(m, dict) and m.get(MARK) == "any") for m in members):
            # Whatever has a free member is free as a whole: text would not say which member it is.
            return self._free({k: v for k, v in node.items() if k in _NOTES}, path)
        written = [self.node(member, path, depth) for member in members]
        objects = sum(1 for schema, _ in written if self._wire_kind(schema) == "object")
        self.object_union = self.object_union or objects > 1
        schemas: list[Schema] = []
        for schema, _ in written:
            for part in schema["anyOf"] if set(schema) == {"anyOf"} else [schema]:
                if part not in schemas:
                    schemas.append(part)
        plans = tuple(plan for _, plan in written)
        if len(schemas) == 1:
            return self._described(node, dict(schemas[0])), plans[0]
        self.unions += 1
        return self._described(node, {"anyOf": schemas}), Union(plans)

    def _wire_kind(self, schema: Schema) -> str | None:
        if "$ref" not in schema:
            return schema.get("type")
        node = self.defs.get(next(o for o, n in self.names.items() if n == _name(schema["$ref"])), {})
        return node.get("type")

    def _array(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        inner = f"{path}[]"
        if node.get(MARK) == "tuple" or "prefixItems" in node:
            return self._places(node, path, depth)
        item, plan = self.node(node.get("items", True), inner, depth + 1)
        schema = self._scalar(node, "array", path)
        return {**schema, "items": item}, Listing(plan)

    def _places(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        written = [
            self.node(item, f"{path}[{i}]", depth + 1)
            for i, item in enumerate(node.get("prefixItems", []))
        ]
        rest = node.get("items")
        more = self.node(rest, f"{path}[]", depth + 1) if rest not in (None, False) else None
        plans = tuple(plan for _, plan in written)
        if self.dialect.positions:
            schema: Schema = {"type": "array", "prefixItems": [s for s, _ in written]}
            schema["minItems"] = len(written)
            if more is None:
                schema["maxItems"] = len(written)
            else:
                schema["items"] = more[0]
            return self._described(node, schema), Places(plans, more and more[1], None)
        self.rewritten = True
        properties = {f"item_{i}": s for i, (s, _) in enumerate(written)}
        if more is not None:
            properties["rest"] = {"type": "array", "items": more[0]}
        names = tuple(properties)
        self._count(names)
        return (
            self._described(node, _closed(properties, list(names))),
            Places(plans, more and more[1], names),
        )

    def _object(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        if node.get(MARK) == "map":
            return self._map(node, node["keys"], node["values"], path, depth)
        properties = node.get("properties")
        extra = node.get("additionalProperties", False)
        if properties is None and extra is not False:
            return self._map(node, {"type": "string"}, extra, path, depth)
        if node.get(MARK) == "named":
            self.rewritten = True
        schema, plan = self._fields(node, properties or {}, path, depth)
        plan = Fields(plan.slots, extra is not False)
        if extra is not False:
            self.open_objects = True
            if self.dialect.open_maps:
                schema["additionalProperties"] = (
                    {} if extra is True else self.node(extra, f"{path}.*", depth + 1)[0]
                )
            else:
                self.constraints.append(
                    Constraint(path, "keys beyond the named ones cannot be written", enforced=True)
                )
        return self._described(node, schema), plan

    def _fields(
        self, node: Schema, properties: dict[str, Any], path: str, depth: int
    ) -> tuple[Schema, Fields]:
        demanded = set(node.get("required", []))
        out: Schema = {}
        required: list[str] = []
        slots: dict[str, Slot] = {}
        for name, part in properties.items():
            where = f"{path}.{name}" if path else name
            wire = self._property_name(name, out)
            absent = name not in demanded and not (isinstance(part, dict) and "const" in part)
            schema, slot, must = self._slot(name, part, absent, where, depth + 1)
            out[wire], slots[wire] = schema, slot
            if must:
                required.append(wire)
        self._count(tuple(out))
        return _closed(out, required), Fields(slots)

    def _slot(
        self, name: str, part: Any, absent: bool, path: str, depth: int
    ) -> tuple[Schema, Slot, bool]:
        """Write one property; say last whether the wire demands it."""
        limit = self.dialect.max_optional
        if not absent:
            schema, plan = self.node(part, path, depth)
            return schema, Slot(name, plan, True, False), True
        if not self.dialect.all_required and (limit is None or self.optional < limit):
            self.optional += 1
            if limit is not None and isinstance(part, dict) and part.get("default", 0) is None:
                # To leave it out says the same as null, and unions are the scarcer of the two.
                part = _without_null(part)
            schema, plan = self.node(part, path, depth)
            return self._default(part, schema), Slot(name, _or_null(plan), False, False), False
        if self._takes_null(part):
            schema, plan = self.node(part, path, depth)
            return self._default(part, schema), Slot(name, plan, True, False), True
        schema, plan = self.node(part, path, depth)
        self.rewritten = True
        words = schema.pop("description", None) if "$ref" not in schema else None
        default = canonical(part["default"]) if isinstance(part, dict) and "default" in part else None
        note = "(null: left out)" if default is None else f"(null: the default, {default})"
        described = {"description": f"{words} {note}" if words else note}
        if set(schema) == {"anyOf"}:
            schema = {"anyOf": [*schema["anyOf"], {"type": "null"}], **described}
        else:
            self.unions += 1
            schema = {"anyOf": [schema, {"type": "null"}], **described}
        return schema, Slot(name, plan, False, True), True

    def _default(self, part: Any, schema: Schema) -> Schema:
        """Tell the default in words; no vendor reads the keyword."""
        if not isinstance(part, dict) or part.get("default") is None or "$ref" in schema:
            return schema
        words = schema.get("description")
        note = f"(default: {canonical(part['default'])})"
        return {**schema, "description": f"{words} {note}" if words else note}

    def _takes_null(self, part: Any) -> bool:
        if not isinstance(part, dict):
            return True
        if "$ref" in part:
            name = _name(part["$ref"])
            return name not in self.recursive and self._takes_null(self.defs[name])
        if part.get(MARK) == "any" or part.get("type") == "null":
            return True
        if "enum" in part and None in part["enum"]:
            return True
        return any(self._takes_null(m) for m in part.get("anyOf", part.get("oneOf", ())))

    def _map(
        self, node: Schema, keys: Any, values: Any, path: str, depth: int
    ) -> tuple[Schema, Plan]:
        key_schema, key_plan = self.node(keys, f"{path} (key)", depth + 2)
        value, plan = self.node(values, f"{path}.*", depth + 2)
        notes = {k: v for k, v in node.items() if k not in ("keys", "values", MARK)}
        if self.dialect.open_maps:
            schema = {**self._scalar(notes, "object", path), "additionalProperties": value}
            allowed = self._words(keys)
            if allowed:
                self._described({"description": schema.get("description")}, schema, f"keys: {allowed}")
            return schema, Map(plan)
        self.rewritten = True
        if key_schema == {}:
            key_schema, key_plan = {"type": "string"}, Leaf("a string")
        pair = _closed({"key": key_schema, "value": value}, ["key", "value"])
        self._count(("key", "value"))
        schema = self._scalar(notes, "array", path, "a list of key and value; no key twice")
        return {**schema, "items": pair}, Pairs(key_plan, plan)

    def _words(self, keys: Any) -> str | None:
        """What the keys of a map must be, where JSON Schema on the wire does not say."""
        while isinstance(keys, dict) and "$ref" in keys:
            keys = self.defs[_name(keys["$ref"])]
        if not isinstance(keys, dict):
            return None
        if "enum" in keys or "const" in keys:
            return "one of " + ", ".join(canonical(v) for v in keys.get("enum", [keys.get("const")]))
        if keys.get("type") in ("integer", "number"):
            return f"{keys['type']}s as text"
        return _FORMATS.get(keys.get("format", ""))

    def _property_name(self, name: str, taken: Schema) -> str:
        allowed = self.dialect.property_name
        if allowed is None or allowed.fullmatch(name):
            return name
        self.rewritten = True
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:56] or "field"
        number, unique = 2, plain
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        return unique

    # Limits

    def _count(self, names: tuple[str, ...]) -> None:
        self.properties += len(names)
        self.text += sum(map(len, names))

    def _obstacle(self, path: str, what: str) -> None:
        text = f"in `{path}`: {what}" if path else what
        if text not in self.obstacles:
            self.obstacles.append(text)

    def _limits(self) -> None:
        limits = (
            (self.unions, self.dialect.max_unions, "unions (each optional field counts)"),
            (self.properties, self.dialect.max_properties, "properties"),
            (self.depth, self.dialect.max_depth, "levels of nesting"),
            (self.values, self.dialect.max_enum, "enum values"),
            (self.text, self.dialect.max_text, "characters in names and enum values"),
        )
        for count, limit, what in limits:
            if limit is not None and count > limit:
                self.obstacles.append(f"it has {count} {what}, and {limit} are allowed")


_STRUCTURE = (
    "items",
    "prefixItems",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "patternProperties",
    "contentMediaType",
    "contentSchema",
    "contentEncoding",
)


def _closed(properties: Schema, required: list[str]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _phrase(keyword: str, value: Any) -> str | None:
    if keyword == "uniqueItems" and value is False:
        return None
    if keyword == "format":
        return _FORMATS.get(value, f"format: {value}")
    phrase = _PHRASES.get(keyword)
    if phrase is None:
        return f"{keyword}: {canonical(value)}"
    return phrase.format(value if isinstance(value, str) else canonical(value))


def _name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")


def _references(node: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            found.add(_name(node["$ref"]))
        for value in node.values():
            found |= _references(value)
    elif isinstance(node, list):
        for value in node:
            found |= _references(value)
    return found


def _reachable(defs: dict[str, Schema], name: str) -> set[str]:
    """Names of definitions that *name* leads to, itself included only if it leads back."""
    seen: set[str] = set()
    todo = list(_references(defs[name]))
    while todo:
        step = todo.pop()
        if step not in seen:
            seen.add(step)
            todo += _references(defs.get(step, {}))
    return seen


def _type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "integer"
    return {
        "null": "null",
        "a boolean": "boolean",
        "a string": "string",
        "a number": "number",
        "an array": "array",
        "an object": "object",
    }[describe(value)]


def _one_of(type_: str, values: list[Any]) -> Schema:
    if type_ == "null":
        return {"type": "null"}
    if len(values) == 1:
        return {"type": type_, "const": values[0]}
    return {"type": type_, "enum": values}


def _without_null(part: Schema) -> Schema:
    members = [m for m in part.get("anyOf", ()) if m != {"type": "null"}]
    if not members or len(members) == len(part["anyOf"]):
        return part
    rest = {k: v for k, v in part.items() if k != "anyOf"}
    return {**members[0], **rest} if len(members) == 1 else {**rest, "anyOf": members}


def _or_null(plan: Plan) -> Plan:
    """A slot that may be left out tolerates an explicit null in the search for a union's member."""
    return plan if isinstance(plan, Union) else Union((plan, Leaf("null")))
