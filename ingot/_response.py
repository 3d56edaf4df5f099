"""What came back for one request, and what became of it."""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from ingot._messages import ToolCall
from ingot._record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from ingot._allowance import Allowance
    from ingot._route import Route
    from ingot.errors import IngotError

__all__ = ["Outcome", "Response", "ToolCall", "Usage"]


@record
class Usage:
    """
    Tokens of one exchange, or of several added up.

    The parts do not overlap on the input side: *input_tokens* leaves out what the cache counters
    count.

    Attributes:
        input_tokens: Read by the model afresh.
        output_tokens: Written by the model, its reasoning included.
        cache_read_tokens: Read from the vendor's prompt cache.
        cache_write_tokens: Written to the vendor's prompt cache, in all.
        cache_write_1h_tokens: The part of *cache_write_tokens* that was stored for an hour.
        reasoning_tokens: The part of *output_tokens* that was reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )

    def __repr__(self) -> str:
        parts = (f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name))
        return f"Usage({', '.join(parts)})"

    @property
    def total_tokens(self) -> int:
        """All tokens, read and written."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
            + self.output_tokens
        )


@record
class Response:
    """
    One model turn, as any vendor says it.

    Attributes:
        text: What the model wrote for the caller, its text parts joined; None when there is none.
        tool_calls: Calls that the model asks for, in order.
        usage: Tokens; None when the other end did not say.
        cost: US dollars, where the other end says it; None leaves it to the price table.
        stop_reason: Why the model stopped, in the vendor's word; None when it did not say.
        empty_reason: Why there is no (whole) answer: `refusal`, `content_filter`, `truncated`,
            `empty_body`, `no_content_blocks`, `tool_use_only`, `thinking_only` or `blank`; None
            when there is one.
        explanation: The vendor's or the model's words on a refusal or a filter; None when there are
            none.
        model: The model that served, in the vendor's word; None when it did not say.
        request_id: The vendor's id of the exchange; None when it gave none.
        kinds: Types of the blocks of the reply, in order, for messages about empty replies.
        blocks: The turn in the vendor's own form, to be echoed back in a following turn.
        route: How a router came to the model that served; None where none was asked.
        allowances: What the vendor says is left of its limits; empty where it does not say.
        draft: Whether it was written while tools were on offer by a server that cannot be held to a
            schema at the same time; the flow then asks once more, without tools.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    cost: Decimal | None = None
    stop_reason: str | None = None
    empty_reason: str | None = None
    explanation: str | None = None
    model: str | None = None
    request_id: str | None = None
    kinds: tuple[str, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    route: Route | None = None
    allowances: tuple[Allowance, ...] = field(default=(), repr=False, compare=False)
    draft: bool = False


@record
class Outcome:
    """
    What became of one request.

    Attributes:
        valid: Whether its reply was the answer.
        repaired: Whether it was a repair turn.
        error: The error, or None.
        usage: Tokens of this one; None when unknown.
        seconds: How long it took.
    """

    valid: bool
    repaired: bool = False
    error: IngotError | None = None
    usage: Usage | None = None
    seconds: float = 0.0
