"""Token counts, which both of OpenAI's APIs tell under names of their own."""

from __future__ import annotations

from typing import Any

from ingot.provider import Usage, as_count, as_object

__all__ = ["usage"]


def usage(counted: Any, read: str, written: str) -> Usage | None:
    """
    Read a `usage` object.

    Args:
        counted: The object; anything else is none.
        read: What the API calls tokens that the model read: `prompt` or `input`.
        written: What it calls those that it wrote: `completion` or `output`.

    Returns:
        The counts, the cached ones taken out of the input; None when there is no object.
    """
    if not isinstance(counted, dict):
        return None
    counts = as_object(counted)
    inputs = as_object(counts.get(f"{read}_tokens_details"))
    outputs = as_object(counts.get(f"{written}_tokens_details"))
    cached, stored = as_count(inputs, "cached_tokens"), as_count(inputs, "cache_write_tokens")
    return Usage(
        input_tokens=max(0, as_count(counts, f"{read}_tokens") - cached - stored),
        output_tokens=as_count(counts, f"{written}_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=stored,
        reasoning_tokens=as_count(outputs, "reasoning_tokens"),
    )
