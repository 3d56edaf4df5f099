"""What one kind of server is sent for a type, and who checks which part of it."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ingot._shape.shape import shape_of
from ingot.cli import show

if TYPE_CHECKING:
    from ingot._shape.wire import Constraint

__all__ = ["SERVERS", "Sent", "sent_to", "show_sent"]

SERVERS = {"openai": "openai", "anthropic": "anthropic", "local": "open", "prompt": "prompt"}
"""Dialect by the word for a kind of server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """
    What is sent for a type.

    Attributes:
        type: The type.
        server: Whom it is written for.
        kind: `prose`, `json` or `schema`; the first two have no schema.
        name: The name the schema goes by; None without one.
        schema: The schema; None without one.
        constrained: Whether the server holds the model to it; else it is shown in the prompt.
        wrapped: Whether the value travels under `value`.
        constraints: Demands beyond the form, and whether the server enforces each.
        obstacles: Why the server cannot hold the model to it.
    """

    type: str
    server: str
    kind: str
    name: str | None
    schema: dict[str, Any] | None
    constrained: bool
    wrapped: bool
    constraints: tuple[Constraint, ...]
    obstacles: tuple[str, ...]


def sent_to(server: str, t: Any) -> Sent:
    """
    Return what *server*, one of SERVERS, is sent for *t*.

    Raises:
        UnsupportedTypeError: *t* cannot be asked for.
    """
    shape = shape_of(t, SERVERS[server])
    wire = shape.wire
    return Sent(
        type=shape.target.name,
        server=server,
        kind=shape.kind,
        name=None if wire is None else shape.schema_name,
        schema=None if wire is None else wire.schema,
        constrained=shape.constrained,
        wrapped=wire is not None and wire.wrapped,
        constraints=() if wire is None else tuple(dict.fromkeys(wire.constraints)),
        obstacles=shape.obstacles,
    )


def show_sent(sent: Sent, *, whole: bool) -> None:
    """
    Print *sent*: the schema on stdout, and what is to be said of it on stderr.

    Args:
        sent: What is sent.
        whole: Print all of it on stdout as JSON instead.
    """
    if whole:
        show.tree(asdict(sent))
        return
    show.tree(sent.schema)
    show.note(f"\n{_told(sent)}")
    if sent.constraints:
        rows = [
            (
                one.path or "(the whole)",
                one.text,
                "the server, and ingot" if one.enforced else "ingot alone",
            )
            for one in sent.constraints
        ]
        show.table("Constraints", ("where", "what", "checked by"), rows, stream=sys.stderr)


def _told(sent: Sent) -> str:
    if sent.kind == "prose":
        return f"{sent.type} is prose: the model writes freely, and no schema is sent."
    if sent.kind == "json":
        return f"{sent.type} is free JSON: the model is told to write JSON, and no schema is sent."
    lines: list[str] = []
    if sent.constrained:
        lines.append(f"Sent as {sent.name!r}; the server holds the model to it.")
    elif sent.obstacles:
        lines.append(f"Shown in the prompt; {sent.server} servers cannot hold a model to it:")
        lines += [f"  {obstacle}" for obstacle in sent.obstacles]
    else:
        lines.append("Shown in the prompt; nothing but ingot's check holds the model to it.")
    if sent.wrapped:
        lines.append("The value travels under `value`, which ingot takes off again.")
    return "\n".join(lines)
