"""Nodes of a JSON Schema: small operations that know nothing of T or of a dialect."""

from __future__ import annotations

from typing import Any, TypeAlias

from ingot._json import describe, is_array, is_object

__all__ = [
    "Schema",
    "closed",
    "inlined",
    "json_type",
    "one_of",
    "reachable",
    "ref_name",
    "references",
    "spelled",
    "without_null",
]

Schema: TypeAlias = dict[str, Any]


def closed(properties: Schema, required: list[str]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def ref_name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")


_DATA = frozenset({"const", "default", "enum", "examples"})
"""Keywords under which stand values, not schemas."""

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions"})
"""Keywords under which stand schemas by name."""


def references(node: Any) -> set[str]:
    """Every reference in a schema, as it is written."""
    found: set[str] = set()
    if is_object(node):
        if isinstance(node.get("$ref"), str):
            found.add(node["$ref"])
        for keyword, value in node.items():
            if keyword in _NAMED and is_object(value):
                found.update(*map(references, value.values()))
            elif keyword not in _DATA:
                found |= references(value)
    elif is_array(node):
        found.update(*map(references, node))
    return found


def inlined(node: Schema) -> Schema:
    """Return *node* with its own definitions written out where they are named; not a circle."""
    table = {
        f"#/{keyword}/{name}": schema
        for keyword in ("$defs", "definitions")
        for name, schema in node.get(keyword, {}).items()
    }

    def write(part: Any, open_: frozenset[str]) -> Any:
        if is_array(part):
            return [write(item, open_) for item in part]
        if not is_object(part):
            return part
        reference = part.get("$ref")
        if isinstance(reference, str) and reference in table and reference not in open_:
            rest = {k: v for k, v in part.items() if k != "$ref"}
            return write({**table[reference], **rest}, open_ | {reference})
        return {
            keyword: value if keyword in _DATA else write(value, open_)
            for keyword, value in part.items()
        }

    bare = {k: v for k, v in node.items() if k not in ("$defs", "definitions")}
    made: Schema = write(bare, frozenset())
    return made


def reachable(defs: dict[str, Schema], name: str) -> set[str]:
    """Names of definitions that *name* leads to, itself included only if it leads back."""
    seen: set[str] = set()
    todo = list(map(ref_name, references(defs[name])))
    while todo:
        step = todo.pop()
        if step not in seen:
            seen.add(step)
            todo += map(ref_name, references(defs.get(step, {})))
    return seen


def json_type(value: Any) -> str:
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


def one_of(type_: str, values: list[Any]) -> Schema:
    if type_ == "null":
        return {"type": "null"}
    if len(values) == 1:
        return {"type": type_, "const": values[0]}
    return {"type": type_, "enum": values}


def spelled(pattern: str) -> str:
    """Return *pattern* with the escape for digits as a class of characters."""
    out: list[str] = []
    inside, index = False, 0
    while index < len(pattern):
        char, after = pattern[index], pattern[index + 1 : index + 2]
        if char == "\\" and after:
            digits = "0-9" if inside else "[0-9]"
            out.append(digits if after == "d" else char + after)
            index += 2
            continue
        inside = (inside or char == "[") and char != "]"
        out.append(char)
        index += 1
    return "".join(out)


def without_null(part: Schema) -> Schema:
    members = [m for m in part.get("anyOf", ()) if m != {"type": "null"}]
    if not members or len(members) == len(part["anyOf"]):
        return part
    rest = {k: v for k, v in part.items() if k != "anyOf"}
    return {**members[0], **rest} if len(members) == 1 else {**rest, "anyOf": members}
