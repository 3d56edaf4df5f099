"""What tokens cost, by the installed price table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from ingot._response import Usage

__all__ = ["paid", "price"]

_FREE = ("local", "script")
"""Providers whose tokens cost nothing."""


def paid(model: str, usage: Usage | None) -> Decimal | None:
    """Return what *usage* costs in US dollars: as `price`, and 0 where tokens cost nothing."""
    from decimal import Decimal

    if model.partition("/")[0] in _FREE:
        return Decimal(0)
    return price(model, usage)


def price(model: str | None, usage: Usage | None) -> Decimal | None:
    """
    Return what *usage* costs in US dollars, as of the installed table of genai-prices.

    Args:
        model: `provider/model`.
        usage: The tokens.

    Returns:
        The price, or None when it is not known: no usage, no such model in the table, no `cost`
        extra.
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
