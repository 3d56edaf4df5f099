"""A type as people read it: its description, in lines much like the Python it came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot._json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["type_line", "type_lines"]

_KINDS = ("list", "set", "frozenset", "deque", "dict", "defaultdict", "ordered_dict", "tuple")
_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_APART = ("type", "default", "has_default", "description", "required", "of", "schema", "shape")


def type_line(description: Any) -> str:
    """Return the type on one line, such as `list[Label]`; constraints and classes are left out."""
    if is_object(description) and "classes" in description:
        return type_line(description.get("type"))
    return _word(description, facts=False)


def type_lines(description: Any) -> list[str]:
    """Return the whole type: the line that stands for it, then each class in it."""
    if not is_object(description) or "classes" not in description:
        return [_word(description, facts=True)]
    classes: Mapping[str, Any] = description["classes"]
    root = _word(description.get("type"), facts=True)
    out = [] if root in classes else [root]
    for name in sorted(classes, key=lambda name: (name != root, name)):
        if out:
            out.append("")
        out += _class(name, classes[name])
    return out


def _class(name: str, made: Any) -> Iterator[str]:
    if not is_object(made):
        yield f"{name}: {_json(made)}"
        return
    kind = made.get("kind", "class")
    yield f"{name} ({kind})"
    for line in str(made.get("doc", "")).split("\n") if made.get("doc") else ():
        yield f"    # {line}".rstrip()
    for part in ("root", "type"):
        if part in made:
            yield f"    {_word(made[part], facts=True)}"
    if "values" in made:
        yield "    " + " | ".join(map(_json, made["values"]))
    fields = made.get("fields", {})
    for field in made.get("order", fields):
        yield f"    {field}{_field(fields.get(field))}"
    if "extras" in made:
        yield f"    …: {_word(made['extras'], facts=True)}"
    if made.get("config"):
        yield f"    # {_json(made['config'])}"


def _field(part: Any) -> str:
    facts: Mapping[str, Any] = part if is_object(part) else {}
    text = f": {_word(part, facts=True)}"
    if facts.get("required") is False:
        text += ", may be absent"
    if "default" in facts:
        text += f" = {_json(facts['default'])}"
    elif facts.get("has_default"):
        text += " = …"
    if facts.get("description"):
        text += "   # " + " ".join(str(facts["description"]).split())
    return text


def _word(part: Any, *, facts: bool) -> str:
    if not is_object(part):
        return "None" if part == "null" else str(part)
    text, kind = _core(part, facts=facts)
    said = [_fact(k, v) for k, v in part.items() if k != kind and k not in _APART]
    return f"{text} ({', '.join(said)})" if said and facts else text


def _core(part: Mapping[str, Any], *, facts: bool) -> tuple[str, str]:
    """The type without its facts, and the key that says its kind."""
    for kind in _KINDS:
        if kind in part:
            inner = part[kind] if is_array(part[kind]) else [part[kind]]
            words = ("…" if x == "..." else _word(x, facts=facts) for x in inner)
            return f"{kind}[{', '.join(words)}]", kind
    if is_array(part.get("union")):
        members = sorted(part["union"], key=lambda x: x == "null")
        return " | ".join(_word(x, facts=facts) for x in members), "union"
    if is_array(part.get("literal")):
        return " | ".join(map(_json, part["literal"])), "literal"
    for kind in ("ref", "custom"):
        if kind in part:
            return str(part[kind]), kind
    if "type" in part:
        return _word(part["type"], facts=facts), "type"
    return _json(part), ""


def _fact(name: str, value: Any) -> str:
    if name in _SIGNS:
        return f"{_SIGNS[name]} {_json(value)}"
    return name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {_json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
