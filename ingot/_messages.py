"""What is said to a model after the prompt, turn by turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Message", "ToolCall", "ToolResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """
    A call that a model asks for.

    Attributes:
        id: The vendor's id of the call.
        name: The tool.
        arguments: The arguments as JSON text, exactly as the model wrote them.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """
    What a tool call came to.

    Attributes:
        id: The id of the call.
        text: The result as JSON text, or the text of the error.
        failed: Whether *text* is an error.
    """

    id: str
    text: str
    failed: bool = False

    def told(self) -> str:
        """The text for a vendor that has no other way to say that it is an error."""
        return f"Error: {self.text}" if self.failed else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """
    One turn after the prompt.

    Attributes:
        role: Who speaks: the caller (`user`, tool results included) or the model (`assistant`).
        text: What is said; None when the turn is only calls or results.
        tool_calls: Calls that the model asks for (`assistant`).
        tool_results: Results, one for each call of the turn before, in order (`user`).
        blocks: The turn in the vendor's own form, echoed as it came (`assistant`); never part of a
            key.
    """

    role: Literal["user", "assistant"]
    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
