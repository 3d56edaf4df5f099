"""What must not be shown: keys, and whatever looks like one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["public_url", "redact"]

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


def public_url(url: str) -> str:
    """Return *url* without user, password, query and fragment."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else redact(url)[:100]
