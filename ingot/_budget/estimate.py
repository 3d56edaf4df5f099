"""How much a model reads, estimated from above before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot._json import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot._messages import Message
    from ingot._request import Attachment, Request

__all__ = ["UNBOUNDED", "reading"]

UNBOUNDED = 16_000
"""Tokens that an answer without a bound is taken to have, which is the vendors' default bound."""

_BYTES = 2
"""Bytes of UTF-8 for one token; ordinary text has three or four, so this is from above."""

_TURN = 16
"""Tokens that a vendor adds around a turn."""

_TOOLS = 512
"""Tokens in which a vendor tells the model how to call tools."""

_IMAGE = 5_000
"""Tokens of an image, or of a page of a PDF that is shown as one, at the largest size."""

_WINDOW = 1_000_000
"""Tokens that fit into a model at all."""


def reading(request: Request) -> int:
    """
    Estimate from above how many tokens a model reads for *request*.

    What the vendor's own blocks hold is not in it: a recording does not have them.
    """
    size = sum(len(text.encode(errors="surrogatepass")) for text in _texts(request))
    tokens = -(-size // _BYTES) + _TURN * (2 + len(request.messages))
    if request.tools:
        tokens += _TOOLS
    return tokens + sum(_attached(each) for each in request.media())


def _texts(request: Request) -> Iterator[str]:
    """All that is sent as text."""
    yield request.system_text() or ""
    yield request.user_text()
    if request.format is not None and request.format.constrained:
        yield canonical(request.format.schema)
    for tool in request.tools:
        yield tool.name
        yield tool.description or ""
        yield canonical(tool.parameters)
    for message in request.messages:
        yield from _said(message)


def _said(message: Message) -> Iterator[str]:
    yield message.text or ""
    for call in message.tool_calls:
        yield call.name
        yield call.arguments
    for result in message.tool_results:
        yield result.text


def _attached(attachment: Attachment) -> int:
    if attachment.media_type.startswith("image/"):
        return _IMAGE
    if attachment.media_type == "application/pdf":
        # Its text is packed, and each page is shown as an image too.
        return min(max(attachment.size, _IMAGE), _WINDOW)
    return -(-attachment.size // _BYTES)
