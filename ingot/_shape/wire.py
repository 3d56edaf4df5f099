"""From the schema of T to one dialect's, and the plan that undoes the difference."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_object
from ingot._shape.containers import Listing, Pairs, Places, Under
from ingot._shape.limits import Tally
from ingot._shape.nodes import (
    Schema,
    closed,
    json_type,
    one_of,
    reachable,
    ref_name,
    spelled,
)
from ingot._shape.objects import object_node
from ingot._shape.phrases import Constraint, phrase, rank
from ingot._shape.plan import DecimalText, Handle, JSONText, Leaf, Plan, Reference, Union, kinds
from ingot._shape.source import MARK

if TYPE_CHECKING:
    from ingot._shape.dialects import Dialect

__all__ = ["Constraint", "Wire", "wire_schema"]

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
    tally: Tally = field(default_factory=Tally)
    constraints: list[Constraint] = field(default_factory=list[Constraint])
    obstacles: list[str] = field(default_factory=list[str])
    schemas: dict[str, Schema] = field(default_factory=dict[str, Schema])
    plans: dict[str, Plan] = field(default_factory=dict[str, Plan])
    names: dict[str, str] = field(default_factory=dict[str, str])

    def write(self) -> Wire:
        defs = self.source.get("$defs", {})
        self.defs: dict[str, Schema] = defs
        self.recursive = {name for name in defs if name in reachable(defs, name)}
        root = {key: value for key, value in self.source.items() if key != "$defs"}
        schema, plan = self.node(root, "", 0)
        is_object = self._is_object(root) and self._wire_is_object(schema)
        schema = self._root(schema) if is_object else closed({"value": schema}, ["value"])
        if self.schemas:
            schema = {**schema, "$defs": {self.names[n]: s for n, s in self.schemas.items()}}
        self.obstacles += self.tally.over(self.dialect)
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
            node = self.defs[ref_name(node["$ref"])]
        return node.get("type") == "object" and node.get(MARK) != "named"

    def _wire_is_object(self, schema: Schema) -> bool:
        return self._deref(schema).get("type") == "object"

    def _deref(self, schema: Schema) -> Schema:
        back = {new: old for old, new in self.names.items()}
        while "$ref" in schema:
            schema = self.schemas[back[ref_name(schema["$ref"])]]
        return schema

    def _root(self, schema: Schema) -> Schema:
        """Turn a reference at the root into what it names; it stays defined if it recurs."""
        if "$ref" not in schema:
            return schema
        back = {new: old for old, new in self.names.items()}
        name = back[ref_name(schema["$ref"])]
        target = self._deref(schema)
        if name not in self.recursive:
            self.schemas.pop(name)
        return dict(target)

    def obstacle(self, path: str, what: str) -> None:
        """Note why the dialect cannot take the schema."""
        text = f"in `{path}`: {what}" if path else what
        if text not in self.obstacles:
            self.obstacles.append(text)

    # One node

    def node(self, node: Any, path: str, depth: int) -> tuple[Schema, Plan]:
        if node is True:
            node = {MARK: "any"}
        if node is False or not is_object(node):
            self.obstacle(path, "a place where nothing is allowed")
            return {}, Leaf("any")
        self.tally.depth = max(self.tally.depth, depth)
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
        if is_array(type_):
            rest = {k: v for k, v in node.items() if k not in _NOTES | {"type"}}
            notes = {k: v for k, v in node.items() if k in _NOTES}
            return self._union(notes, [{**rest, "type": t} for t in type_], path, depth)
        if mark == "decimal":
            self.rewritten = True
            return self.scalar(node, "string", path, "a decimal number"), DecimalText()
        if type_ == "array":
            return self._array(node, path, depth)
        if type_ == "object":
            return object_node(self, node, path, depth)
        schema = self.scalar(node, type_, path)
        return schema, Leaf(_KINDS.get(type_, "any"), integral=type_ == "integer")

    def _typed(self, node: Schema) -> bool:
        return "type" in node or "enum" in node or "const" in node

    def _free(self, node: Schema, path: str) -> tuple[Schema, Plan]:
        unknown = sorted(node.keys() - _NOTES - {MARK})
        if unknown:
            self.obstacle(path, f"the keyword {unknown[0]!r}")
        if self.dialect.free:
            return self.described(node, {}), Leaf("any")
        self.rewritten = True
        return self.described(node, {"type": "string"}, "any JSON value, as JSON text"), JSONText()

    def scalar(self, node: Schema, type_: str, path: str, note: str | None = None) -> Schema:
        schema: Schema = {"type": type_}
        notes = [note] if note else []
        for keyword in sorted(node, key=rank):
            value = node[keyword]
            if keyword in _NOTES or keyword in ("type", MARK, *_STRUCTURE):
                continue
            words = phrase(keyword, value)
            enforced = self._constrain(schema, type_, keyword, value)
            if words is None or (keyword == "pattern" and node.get(MARK) == "decimal"):
                continue
            self.constraints.append(Constraint(path, words, enforced))
            if not enforced:
                notes.append(words)
        return self.described(node, schema, *notes)

    def _constrain(self, schema: Schema, type_: str, keyword: str, value: Any) -> bool:
        """Put a constraint into *schema*; say whether the server enforces it."""
        if keyword == "format" and value in self.dialect.format_patterns:
            keyword, value = "pattern", self.dialect.format_patterns[value]
        elif keyword == "pattern" and self.dialect.spelled:
            value = spelled(value)
        if keyword in schema or not self.dialect.takes(type_, keyword, value):
            return False
        schema[keyword] = value
        return self.dialect.enforces(type_, keyword)

    def described(self, node: Schema, schema: Schema, *notes: str) -> Schema:
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
        if not allowed:
            self.obstacle(path, "a choice of nothing")
            return {}, Leaf("any")
        self.tally.values += len(allowed)
        self.tally.text += sum(len(v) for v in allowed if isinstance(v, str))
        groups: dict[str, list[Any]] = {}
        for value in allowed:
            groups.setdefault(json_type(value), []).append(value)
        if "object" in groups or "array" in groups:
            self.obstacle(path, "a choice of values that are not scalars")
        parts = [one_of(type_, values) for type_, values in groups.items()]
        plan = Leaf("any" if len(groups) > 1 else _KINDS[next(iter(groups))], tuple(allowed))
        if len(parts) == 1:
            return self.described(node, parts[0]), plan
        self.tally.unions += 1
        return self.described(node, {"anyOf": parts}), plan

    def _reference(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        name = ref_name(node["$ref"])
        notes = {
            k: v for k, v in node.items() if k in _NOTES and k not in ("default", "discriminator")
        }
        if name in self.recursive and not self.dialect.recursion:
            self.obstacle(path, f"`{name}` refers to itself")
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
            reference = self.described(notes, {"anyOf": [reference]})
        return reference, Reference(name, self.plans)

    def _def_name(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.rsplit("__", 1)[-1] or name)[:48] or "T"
        taken = set(self.names.values())
        number, unique = 2, plain
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        return unique

    def _union(
        self, node: Schema, members: list[Any], path: str, depth: int
    ) -> tuple[Schema, Plan]:
        if any(m is True or (is_object(m) and m.get(MARK) == "any") for m in members):
            # Whatever has a free member is free as a whole: text would not say which member it is.
            return self._free({k: v for k, v in node.items() if k in _NOTES}, path)
        written = [self.node(member, path, depth) for member in self._flat(members)]
        written = self._told_apart(written, members)
        objects = sum(1 for _, plan in written if "an object" in kinds(plan))
        self.object_union = self.object_union or objects > 1
        schemas: list[Schema] = []
        for schema, _ in written:
            for part in schema["anyOf"] if set(schema) == {"anyOf"} else [schema]:
                if part not in schemas:
                    schemas.append(part)
        # A handle, which whatever has a path could be taken for, comes last.
        plans = tuple(sorted((plan for _, plan in written), key=lambda p: isinstance(p, Handle)))
        if len(schemas) == 1:
            return self.described(node, dict(schemas[0])), plans[0]
        self.tally.unions += 1
        return self.described(node, {"anyOf": schemas}), Union(plans)

    def _flat(self, members: list[Any]) -> list[Any]:
        """The members of a union, those of a plain union in it among them."""
        out: list[Any] = []
        for member in members:
            plain = is_object(member) and member.keys() == {"anyOf"}
            out += self._flat(member["anyOf"]) if plain else [member]
        return out

    def _told_apart(
        self, written: list[tuple[Schema, Plan]], members: list[Any]
    ) -> list[tuple[Schema, Plan]]:
        """Put a map that travels as a list under a name where a list may stand, too."""
        if all(isinstance(plan, Pairs) or "an array" not in kinds(plan) for _, plan in written):
            return written
        name = "entries"
        while any(name in self._properties(member) for member in members):
            name += "_"
        named: list[tuple[Schema, Plan]] = []
        rest: list[tuple[Schema, Plan]] = []
        for schema, plan in written:
            if isinstance(plan, Pairs):
                self.tally.count((name,))
                named.append((closed({name: schema}, [name]), Under(name, plan)))
            else:
                rest.append((schema, plan))
        return named + rest

    def _properties(self, member: Any) -> dict[str, Any]:
        while is_object(member) and "$ref" in member:
            member = self.defs.get(ref_name(member["$ref"]), {})
        return member.get("properties", {}) if is_object(member) else {}

    def _array(self, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
        inner = f"{path}[]"
        if node.get(MARK) == "tuple" or "prefixItems" in node:
            return self._places(node, path, depth)
        item, plan = self.node(node.get("items", True), inner, depth + 1)
        schema = self.scalar(node, "array", path)
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
            return self.described(node, schema), Places(plans, more and more[1], None)
        self.rewritten = True
        properties = {f"item_{i}": s for i, (s, _) in enumerate(written)}
        if more is not None:
            properties["rest"] = {"type": "array", "items": more[0]}
        names = tuple(properties)
        self.tally.count(names)
        return (
            self.described(node, closed(properties, list(names))),
            Places(plans, more and more[1], names),
        )


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
