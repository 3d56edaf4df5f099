"""What came back for one request: text, tool calls, usage and why the model stopped; and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ingot._messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

__all__ = ["Response", "ToolCall", "Usage", "price"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """
    Tokens of one exchange, or of several added up.

    The parts do not overlap on the input side: *input_tokens* leaves out what the cache counters count.

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
        return Usage(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def __repr__(self) -> str:
        parts = (f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name))
        return f"Usage({', '.join(parts)})"

    @property
    def total_tokens(self) -> int:
        """All tokens, read and written."""
        return (
            self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """
    One model turn, as any vendor says it.

    Attributes:
        text: What the model wrote for the caller, its text parts joined; None when there is none.
        tool_calls: Calls that the model asks for, in order.
        usage: Tokens; None when the other end did not say.
        stop_reason: Why the model stopped, in the vendor's word; None when it did not say.
        empty_reason: Why there is no (whole) answer: `refusal`, `content_filter`, `truncated`, `empty_body`,
            `no_content_blocks`, `tool_use_only`, `thinking_only` or `blank`; None when there is one.
        explanation: The vendor's or the model's words on a refusal or a filter; None when there are none.
        model: The model that served, in the vendor's word; None when it did not say.
        request_id: The vendor's id of the exchange; None when it gave none.
        kinds: Types of the blocks of the reply, in order, for messages about empty replies.
        blocks: The turn in the vendor's own form, to be echoed back in a following turn.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop_reason: str | None = None
    empty_reason: str | None = None
    explanation: str | None = None
    model: str | None = None
    request_id: str | None = None
    kinds: tuple[str, ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)


def price(model: str | None, usage: Usage | None) -> Decimal | None:
    """
    Return what *usage* costs in US dollars, as of the installed table of genai-prices.

    Args:
        model: `provider/model`.
        usage: The tokens.

    Returns:
        The price, or None when it is not known: no usage, no such model in the table, no `cost` extra.
    """
    if model is None or usage is None:
        return None
    try:
        import genai_prices
    except ImportError:
        return None
    provider, _, name = model.partition("/")
    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(counted, model_ref=name, provider_id=provider.split("-")[0])
    except LookupError:
        return None
    return found.total_price
