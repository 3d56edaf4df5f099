"""What must not be shown: keys, and whatever looks like one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["redact"]

_SECRET = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|key|api|org|proj)-[A-Za-z0-9_*.-]{6,}|\bBearer\s+[^\s\"',]+",
    re.IGNORECASE,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* with *secrets*, and whatever looks like a key, replaced by `[key]`."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    return _SECRET.sub("[key]", text)
