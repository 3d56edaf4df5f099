"""How an answer is to be written, as a server and as a model are told it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Format", "instruction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """
    How the answer is to be written.

    Attributes:
        name: Name of the schema, of `[A-Za-z0-9_-]{1,64}`.
        schema: JSON Schema of the reply, in the dialect of the provider; None for free JSON.
        constrained: Whether the provider is to enforce *schema* while the model writes.
        shown: Whether the model is to be shown *schema* in the system prompt.
        wrapped: Whether the reply carries the value under `value`.
        writes: Returns the reply that stands for the JSON of a value, as a model would write it;
            None where there is no such form.
    """

    name: str
    schema: Mapping[str, Any] | None
    constrained: bool
    shown: bool
    wrapped: bool = False
    writes: Callable[[Any], str] | None = field(default=None, repr=False, compare=False)


def instruction(format: Format) -> str:
    """Tell a model in words how to answer."""
    if format.schema is None:
        return "Answer with one JSON value and nothing else."
    schema = json.dumps(format.schema, ensure_ascii=False)
    if format.constrained:
        return f"Answer with JSON that fits this JSON Schema: {schema}"
    return (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else: "
        "no prose, no code fence.\n" + schema
    )
