"""What each kind of server accepts as the schema of a reply, as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """
    One subset of JSON Schema.

    Attributes:
        name: Its name.
        keywords: Constraint keywords that the server takes, by JSON type of the node.
        enforced: Those of *keywords* that hold while the model writes; the rest is ignored by the
            server.
        formats: Formats of strings that the server takes.
        open_maps: Whether an object may have keys that are not named; else a map is a list of key
            and value.
        positions: Whether an array may say what stands at each place; else a tuple is an object.
        free: Whether a node may be left open; else a free part is JSON text in a string.
        all_required: Whether each property must be required, so that one that may be absent is
            nullable.
        recursion: Whether a type may refer to itself.
        pattern: Regular expression of the patterns that the server understands; None for all.
        spelled: Whether the escape for digits must be spelled out.
        format_patterns: Patterns that stand for formats which the server does not know.
        min_items: Largest `minItems` that the server takes; None for any.
        property_name: Regular expression of property names; None for any.
        max_optional: Most properties that may be absent, in the whole schema; None for no limit.
        max_unions: Most nodes that are unions; None for no limit.
        max_properties: Most properties in all.
        max_depth: Deepest nesting of objects and arrays.
        max_enum: Most enum values in all.
        max_text: Most characters in names, enum values and constants.
    """

    name: str
    keywords: dict[str, frozenset[str]]
    enforced: frozenset[str]
    formats: frozenset[str]
    open_maps: bool = False
    positions: bool = False
    free: bool = False
    all_required: bool = False
    recursion: bool = True
    pattern: re.Pattern[str] | None = None
    spelled: bool = False
    format_patterns: dict[str, str] = field(default_factory=dict[str, str])
    min_items: int | None = None
    property_name: re.Pattern[str] | None = None
    max_optional: int | None = None
    max_unions: int | None = None
    max_properties: int | None = None
    max_depth: int | None = None
    max_enum: int | None = None
    max_text: int | None = None

    def takes(self, type_: str, keyword: str, value: object) -> bool:
        """Whether *keyword* with *value* may stand on a node of JSON type *type_*."""
        if keyword not in self.keywords.get(type_, frozenset()):
            return False
        if keyword == "format":
            return value in self.formats
        if keyword == "pattern" and self.pattern is not None:
            return isinstance(value, str) and self.pattern.fullmatch(value) is not None
        if keyword == "minItems" and self.min_items is not None:
            return isinstance(value, int) and value <= self.min_items
        return True

    def enforces(self, type_: str, keyword: str) -> bool:
        """Whether the server holds the model to *keyword* on a node of JSON type *type_*."""
        return keyword in self.enforced or f"{type_}.{keyword}" in self.enforced


_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DATES = frozenset({"date-time", "time", "date"})
_NAMED = frozenset({"duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

OPENAI = Dialect(
    name="openai",
    keywords={
        "string": frozenset({"pattern", "format"}),
        "number": _BOUNDS | {"multipleOf"},
        "integer": _BOUNDS | {"multipleOf"},
        "array": frozenset({"minItems", "maxItems"}),
    },
    enforced=_BOUNDS | {"pattern", "format", "multipleOf", "minItems", "maxItems"},
    formats=_DATES | _NAMED,
    all_required=True,
    pattern=re.compile(r"(?:(?!\(\?[=!<]).)*", re.DOTALL),
    max_properties=5000,
    max_depth=10,
    max_enum=1000,
    max_text=120_000,
)

ANTHROPIC = Dialect(
    name="anthropic",
    keywords={
        "string": frozenset({"pattern", "format"}),
        "array": frozenset({"minItems"}),
    },
    enforced=frozenset({"pattern", "format", "minItems"}),
    formats=_DATES | _NAMED | {"uri"},
    recursion=False,
    # No groups that look around or refer back, no \b, no counted repeats of more than two digits.
    pattern=re.compile(r"(?:(?!\(\?|\\[bB1-9]|\{\d*,?\d{3,}).)*", re.DOTALL),
    min_items=1,
    property_name=re.compile(r"[A-Za-z0-9_.-]{1,64}"),
    max_optional=24,
    max_unions=16,
)

OPEN = Dialect(
    name="open",
    keywords={
        "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
        "number": _BOUNDS,
        "integer": _BOUNDS,
        "array": frozenset({"minItems", "maxItems"}),
    },
    enforced=frozenset({f"integer.{word}" for word in _BOUNDS})
    | {"pattern", "format", "minLength", "maxLength", "minItems", "maxItems"},
    formats=_DATES | {"uuid"},
    open_maps=True,
    positions=True,
    free=True,
    # llama.cpp ignores a pattern that is not anchored; Ollama refuses what its converter does not
    # know.
    pattern=re.compile(r"\^(?:(?!\(\?|\\[A-Za-z0-9]).)*\$", re.DOTALL),
    spelled=True,
    # Only where each value can be written: a pattern that leaves one out would force another.
    format_patterns={
        "duration": "^-?P([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]{1,6})?S)?)?$",
        "ipv4": f"^({_BYTE}[.]){{3}}{_BYTE}$",
    },
)

PROMPT = Dialect(
    name="prompt",
    keywords={
        "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
        "number": _BOUNDS | {"multipleOf"},
        "integer": _BOUNDS | {"multipleOf"},
        "array": frozenset({"minItems", "maxItems", "uniqueItems"}),
        "object": frozenset({"minProperties", "maxProperties"}),
    },
    enforced=frozenset(),
    formats=_DATES | _NAMED | {"uri"},
    open_maps=True,
    positions=True,
    free=True,
)

DIALECTS = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, OPEN, PROMPT)}
"""
`openai` and `anthropic`: the vendors' own; `open`: llama.cpp, vLLM and Ollama; `prompt`: shown, not
enforced.
"""
