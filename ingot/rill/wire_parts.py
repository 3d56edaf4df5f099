"""What requests and answers of Rill Runtime IPC v3 have in common, and its bounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from ingot._json import Unreadable
from ingot._problem import Problem
from ingot._record import record
from ingot._row import Row, collect
from ingot._serde import Ordered, loads

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "API_VERSION",
    "MAX_CAPABILITIES",
    "MAX_CAPABILITY",
    "MAX_ID",
    "MAX_MESSAGE",
    "Identity",
    "Surface",
    "count32",
    "is_digest",
    "known",
    "parse",
    "within",
    "without_none",
]

API_VERSION = 3
"""The version that is spoken here."""

MAX_MESSAGE = 2**20
"""Bytes of the longest message."""

MAX_ID = 128
"""Bytes of the longest id of a request or a decision."""

MAX_CAPABILITY = 96
"""Bytes of the longest name of a capability."""

MAX_CAPABILITIES = 32
"""Capabilities that a runtime may have."""

_MAX_NAME = 96
_MAX_VERSION = 48
_U32 = 2**32 - 1
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)

Surface = Literal["v3", "preview"]
"""
Which answers are spoken: those that version 3 froze, or those of the running source system.

Requests are the same. Answers of `preview` say more, have codes of their own, and whether an error
is worth a retry does not follow from its code.
"""


@record
class Identity:
    """
    Who speaks.

    Attributes:
        name: 1 to 96 bytes.
        version: 1 to 48 bytes.
    """

    name: str
    version: str

    @classmethod
    def read(cls, row: Row) -> Identity:
        """Read it."""
        known(row, ("name", "version"))
        return cls(name=row.text("name"), version=row.text("version"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(name=self.name, version=self.version)

    def problem(self) -> str | None:
        """What is wrong with it, in the words of the protocol; None when nothing is."""
        if within(self.name, _MAX_NAME) and within(self.version, _MAX_VERSION):
            return None
        return "invalid client identity"


def parse(message: bytes) -> Row:
    """
    Read one message.

    Raises:
        Unreadable: It is not one JSON object in UTF-8.
    """
    try:
        text = message.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start} is not UTF-8") from None
    return Row(loads(text, object_pairs_hook=collect), ())


def known(row: Row, names: Collection[str]) -> None:
    """
    See to it that *row* has no fields but *names*.

    Raises:
        Unreadable: It has another one.
    """
    for name in row.fields:
        if name not in names:
            raise Unreadable(str(Problem(row.at, f"unknown field `{name[:64]}`")))


def count32(row: Row, name: str) -> int:
    """
    Return an unsigned integer of 32 bits that must be there.

    Raises:
        Unreadable: It is missing, stands twice or is of another kind.
    """
    value = row.count(name)
    if value > _U32:
        raise row.unexpected("an unsigned integer of 32 bits", value, name)
    return value


def within(text: str, most: int) -> bool:
    """Whether *text* is of 1 to *most* bytes."""
    return 0 < len(text) <= most and (text.isascii() or len(text.encode()) <= most)


def is_digest(text: str) -> bool:
    """Whether *text* is a SHA-256 in lower-case hexadecimal."""
    return _DIGEST.fullmatch(text) is not None


def without_none(**fields: Any) -> dict[str, Any]:
    """Return an object of *fields*, in this order, without those that are None."""
    return Ordered({name: value for name, value in fields.items() if value is not None})
