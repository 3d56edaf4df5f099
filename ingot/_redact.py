"""What must not be shown: keys and whatever looks like one, also inside an address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_address", "public_url", "redact"]

_SECRET = re.compile(
    # The prefixes stand in ordinary words too; a key has digits, or stars in their place.
    r"\b(?:sk|pk|rk|xai|gsk|key|api|org|proj)-(?=[A-Za-z0-9_.-]*[0-9*])[A-Za-z0-9_*.-]{6,}"
    r"|\bBearer\s+[^\s\"',]+",
    re.IGNORECASE,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* with *secrets*, and whatever looks like a key, replaced by `[key]`."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    return _SECRET.sub("[key]", text)


def is_address(url: str) -> bool:
    """Whether *url* is an HTTP address that can be asked."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        url.encode()
    except ValueError:
        return False
    labels = [host] if ":" in host else host.removesuffix(".").split(".")
    return (
        parts.scheme in ("http", "https")
        and port != 0
        and url.isprintable()
        and not any(char.isspace() for char in url)
        and all(0 < len(label) < 64 for label in labels)
    )


def public_url(url: str) -> str:
    """Return *url* without user, password, query and fragment."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return "a malformed address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else redact(url)[:100]
