"""Objects and maps in one dialect: what it demands, and what stands for the absent."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ingot._json import canonical, is_object
from ingot._shape.containers import Fields, Map, Pairs, Slot
from ingot._shape.nodes import Schema, closed, ref_name, without_null
from ingot._shape.phrases import Constraint
from ingot._shape.plan import Handle, Leaf, Plan, Union
from ingot._shape.source import MARK, PLACES

if TYPE_CHECKING:
    from ingot._shape.dialects import Dialect
    from ingot._shape.limits import Tally

__all__ = ["object_node"]


class Writing(Protocol):
    """What the writer of a schema offers to the writing of its objects."""

    dialect: Dialect
    tally: Tally
    constraints: list[Constraint]
    defs: dict[str, Schema]
    recursive: set[str]
    rewritten: bool
    open_objects: bool

    def node(self, node: Any, path: str, depth: int) -> tuple[Schema, Plan]:
        """Write any node."""
        ...

    def scalar(self, node: Schema, type_: str, path: str, note: str | None = None) -> Schema:
        """Write the constraints of a node."""
        ...

    def described(self, node: Schema, schema: Schema, *notes: str) -> Schema:
        """Add a description."""
        ...


def object_node(w: Writing, node: Schema, path: str, depth: int) -> tuple[Schema, Plan]:
    if node.get(MARK) == "map":
        return _map(w, node, node["keys"], node["values"], path, depth)
    if node.get(MARK) == "file":
        return _handle(w, node)
    properties = node.get("properties")
    extra = node.get("additionalProperties", False)
    if properties is None and extra is not False:
        return _map(w, node, {"type": "string"}, extra, path, depth)
    if node.get(MARK) == "named":
        w.rewritten = True
    schema, plan = _fields(w, node, properties or {}, path, depth)
    plan = Fields(plan.slots, extra is not False)
    if extra is not False:
        w.open_objects = True
        if w.dialect.open_maps:
            schema["additionalProperties"] = (
                {} if extra is True else w.node(extra, f"{path}.*", depth + 1)[0]
            )
        else:
            w.constraints.append(
                Constraint(path, "keys beyond the named ones cannot be written", enforced=True)
            )
    return w.described(node, schema), plan


def _handle(w: Writing, node: Schema) -> tuple[Schema, Plan]:
    w.rewritten = True
    w.tally.count(("path",))
    schema = closed({"path": {"type": "string"}}, ["path"])
    return w.described(node, schema, "a file: a handle that a tool returned"), Handle()


def _fields(
    w: Writing, node: Schema, properties: dict[str, Any], path: str, depth: int
) -> tuple[Schema, Fields]:
    demanded = set(node.get("required", []))
    out: Schema = {}
    required: list[str] = []
    slots: dict[str, Slot] = {}
    places: dict[str, Any] = node.get(PLACES, {})
    for name, part in properties.items():
        where = f"{path}.{name}" if path else name
        wire = _property_name(w, name, out)
        absent = name not in demanded and not (is_object(part) and "const" in part)
        schema, slot, must = _slot(w, name, part, where, depth + 1, absent=absent)
        if name in places:
            slot = replace(
                slot,
                place=tuple(places[name]["place"]),
                attribute=places[name]["attribute"],
            )
            w.rewritten = w.rewritten or bool(slot.place)
        out[wire], slots[wire] = schema, slot
        if must:
            required.append(wire)
    w.tally.count(tuple(out))
    return closed(out, required), Fields(slots)


def _slot(
    w: Writing, name: str, part: Any, path: str, depth: int, *, absent: bool
) -> tuple[Schema, Slot, bool]:
    """Write one property; say last whether the wire demands it."""
    limit = w.dialect.max_optional
    if not absent:
        schema, plan = w.node(part, path, depth)
        return schema, Slot(name, plan, True, False), True
    if not w.dialect.all_required and (limit is None or w.tally.optional < limit):
        w.tally.optional += 1
        if limit is not None and is_object(part) and part.get("default", 0) is None:
            # To leave it out says the same as null, and unions are the scarcer of the two.
            part = without_null(part)
        schema, plan = w.node(part, path, depth)
        return _default(part, schema), Slot(name, _or_null(plan), False, False), False
    if _takes_null(w, part):
        schema, plan = w.node(part, path, depth)
        return _default(part, schema), Slot(name, plan, True, False), True
    schema, plan = w.node(part, path, depth)
    w.rewritten = True
    words = schema.pop("description", None) if "$ref" not in schema else None
    default = canonical(part["default"]) if is_object(part) and "default" in part else None
    note = "(null: left out)" if default is None else f"(null: the default, {default})"
    described = {"description": f"{words} {note}" if words else note}
    if set(schema) == {"anyOf"}:
        schema = {"anyOf": [*schema["anyOf"], {"type": "null"}], **described}
    else:
        w.tally.unions += 1
        schema = {"anyOf": [schema, {"type": "null"}], **described}
    return schema, Slot(name, plan, False, True), True


def _default(part: Any, schema: Schema) -> Schema:
    """Tell the default in words; no vendor reads the keyword."""
    if not is_object(part) or part.get("default") is None or "$ref" in schema:
        return schema
    words = schema.get("description")
    note = f"(default: {canonical(part['default'])})"
    return {**schema, "description": f"{words} {note}" if words else note}


def _takes_null(w: Writing, part: Any) -> bool:
    if not is_object(part):
        return True
    if "$ref" in part:
        name = ref_name(part["$ref"])
        return name not in w.recursive and _takes_null(w, w.defs[name])
    if part.get(MARK) == "any" or part.get("type") == "null":
        return True
    if "enum" in part and None in part["enum"]:
        return True
    return any(_takes_null(w, m) for m in part.get("anyOf", part.get("oneOf", ())))


def _map(
    w: Writing, node: Schema, keys: Any, values: Any, path: str, depth: int
) -> tuple[Schema, Plan]:
    key_schema, key_plan = w.node(keys, f"{path} (key)", depth + 2)
    value, plan = w.node(values, f"{path}.*", depth + 2)
    notes = {k: v for k, v in node.items() if k not in ("keys", "values", MARK)}
    allowed = _choices(w, keys)
    if w.dialect.open_maps and allowed is not None:
        # Named properties hold a model to its keys, which no server does for the keys of a map.
        schema = {**w.scalar(notes, "object", path), "properties": dict.fromkeys(allowed, value)}
        return {**schema, "required": [], "additionalProperties": False}, Map(plan)
    if w.dialect.open_maps and key_schema in ({}, {"type": "string"}):
        schema = {**w.scalar(notes, "object", path), "additionalProperties": value}
        return schema, Map(plan)
    w.rewritten = True
    if key_schema == {} or _is_text(key_plan):
        key_schema, key_plan = {"type": "string"}, Leaf("a string")
    pair = closed({"key": key_schema, "value": value}, ["key", "value"])
    w.tally.count(("key", "value"))
    schema = w.scalar(notes, "array", path, "a list of key and value; no key twice")
    return {**schema, "items": pair}, Pairs(key_plan, plan)


def _is_text(plan: Plan) -> bool:
    """Whether a key may be any text, as which pydantic then reads every key of a JSON object."""
    text = Leaf("a string")
    return isinstance(plan, Union) and any(member == text for member in plan.members)


def _choices(w: Writing, keys: Any) -> list[str] | None:
    """The only texts that the keys of a map may be; None where they are not so few."""
    while is_object(keys) and "$ref" in keys:
        keys = w.defs[ref_name(keys["$ref"])]
    if not is_object(keys) or not ("enum" in keys or "const" in keys):
        return None
    values = keys.get("enum", [keys.get("const")])
    return values if all(isinstance(value, str) for value in values) else None


def _property_name(w: Writing, name: str, taken: Schema) -> str:
    allowed = w.dialect.property_name
    if allowed is None or allowed.fullmatch(name):
        return name
    w.rewritten = True
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:56] or "field"
    number, unique = 2, plain
    while unique in taken:
        unique, number = f"{plain}_{number}", number + 1
    return unique


def _or_null(plan: Plan) -> Plan:
    """A slot that may be left out tolerates an explicit null in the search for a union's member."""
    return plan if isinstance(plan, Union) else Union((plan, Leaf("null")))
