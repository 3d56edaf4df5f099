"""JSON text that comes in pieces, told part by part as it is read."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from ingot._json import Unreadable, read

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Listener", "Malformed", "Scanner"]

_MARK = re.compile(r"[ \t\n\r]*(.?)", re.DOTALL)
_BEFORE = re.compile(r"[\s\ufeff]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'["\\/bfnrt]|u[0-9a-fA-F]{4}')
_CUT_ESCAPE = re.compile(r"u[0-9a-fA-F]{0,3}\Z")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")

_MEANING = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_THOUGHT_ENDS = "</think>"
_CLOSER = {"{": "}", "[": "]"}
_KIND = {"{": "an object", "[": "an array"}

_DEEPEST = 600
"""Parts within parts; what is written with more is refused by the reader of the whole."""


class Malformed(Exception):  # noqa: N818 (never leaves the reading of a stream)
    """What came is no JSON."""


class Listener(Protocol):
    """Who is told what is read."""

    def opened(self, kind: str, /) -> None:
        """A string, an object or an array begins."""
        ...

    def named(self, key: str, /) -> None:
        """The name of the next part of an object."""
        ...

    def wrote(self, part: str, /) -> None:
        """More of the string that was opened last, unescaped; never half of a surrogate pair."""
        ...

    def scalar(self, value: Any, /) -> None:
        """A number, a boolean or null, whole."""
        ...

    def closed(self) -> None:
        """What was opened last is whole."""
        ...


class Scanner:
    """
    The reading of one text.

    Each character is looked at once, however the text is cut. A step reads what may stand at its
    place and returns how far it came.

    Args:
        listener: Who is told.
        keeps: Whether to keep the texts of the elements of a list that stands in an object of its
            own, under `value`.

    Attributes:
        kept: Those texts, as they were written; only of elements that are whole.
    """

    def __init__(self, listener: Listener, *, keeps: bool = False) -> None:
        self.kept: deque[str] = deque()
        self._listener = listener
        self._keeps = keeps
        self._step: Callable[[str, int], int] = self._preface
        self._closers: list[str] = []
        self._outer: list[str] = []
        self._token: list[str] = []
        self._wrote: Callable[[str], None] = listener.wrote
        self._unquote = self._end_text
        self._escape = ""
        self._half = ""
        self._keeping: list[str] | None = None
        self._kept_from = 0

    def feed(self, piece: str) -> None:
        """
        Read on.

        Raises:
            Malformed: The text is no JSON; it cannot be read further.
        """
        at, end = 0, len(piece)
        while at < end:
            at = self._step(piece, at)
        if self._keeping is not None:
            self._keeping.append(piece[self._kept_from :])
            self._kept_from = 0

    @property
    def is_whole(self) -> bool:
        """Whether the value has ended; more may come, and says nothing."""
        return self._step == self._rest

    # What may stand around the value and says nothing; whether it may is for the reader to judge

    def _preface(self, piece: str, at: int) -> int:
        at = _end(_BEFORE, piece, at)
        mark = piece[at : at + 1]
        if mark:
            self._step = {"<": self._thought, "`": self._fence}.get(mark, self._value)
        return at

    def _thought(self, piece: str, at: int) -> int:
        seen = "".join(self._token) + piece[at:]
        found = seen.find(_THOUGHT_ENDS)
        if found < 0:
            self._token = [seen[1 - len(_THOUGHT_ENDS) :]]
            return len(piece)
        self._token = []
        self._step = self._preface
        return len(piece) - len(seen) + found + len(_THOUGHT_ENDS)

    def _fence(self, piece: str, at: int) -> int:
        found = piece.find("\n", at)
        if found < 0:
            return len(piece)
        self._step = self._preface
        return found + 1

    def _rest(self, piece: str, at: int) -> int:
        return len(piece)

    # Values and what stands between them

    def _value(self, piece: str, at: int) -> int:
        mark, at = _next(piece, at)
        if not mark:
            return at
        if self._keeps and self._closers == ["}", "]"] and self._outer == ["value"]:
            self._keeping, self._kept_from = [], at - 1
        if mark == '"':
            self._wrote, self._unquote = self._listener.wrote, self._end_text
            self._step = self._string
            self._listener.opened("a string")
        elif mark in _CLOSER:
            self._closers.append(_CLOSER[mark])
            if len(self._closers) > _DEEPEST:
                raise Malformed
            self._step = self._first_key if mark == "{" else self._first_item
            self._listener.opened(_KIND[mark])
        elif mark == "-" or mark.isalnum():
            self._step = self._scalar
            return at - 1
        else:
            raise Malformed
        return at

    def _first_item(self, piece: str, at: int) -> int:
        mark, after = _next(piece, at)
        if mark == "]":
            return self._close(piece, after)
        self._step = self._value if mark else self._first_item
        return after - len(mark)

    def _first_key(self, piece: str, at: int) -> int:
        mark, after = _next(piece, at)
        if mark == "}":
            return self._close(piece, after)
        self._step = self._key if mark else self._first_key
        return after - len(mark)

    def _key(self, piece: str, at: int) -> int:
        mark, at = _next(piece, at)
        if mark == '"':
            self._wrote, self._unquote = self._token.append, self._end_key
            self._step = self._string
        elif mark:
            raise Malformed
        return at

    def _colon(self, piece: str, at: int) -> int:
        mark, at = _next(piece, at)
        if mark == ":":
            self._step = self._value
        elif mark:
            raise Malformed
        return at

    def _between(self, piece: str, at: int) -> int:
        mark, at = _next(piece, at)
        if mark == self._closers[-1]:
            return self._close(piece, at)
        if mark == ",":
            self._step = self._value if self._closers[-1] == "]" else self._key
        elif mark:
            raise Malformed
        return at

    def _close(self, piece: str, at: int) -> int:
        self._closers.pop()
        self._listener.closed()
        return self._ended(piece, at)

    def _ended(self, piece: str, at: int) -> int:
        if self._keeping is not None and len(self._closers) == 2:
            self._keeping.append(piece[self._kept_from : at])
            self.kept.append("".join(self._keeping))
            self._keeping, self._kept_from = None, 0
        self._step = self._between if self._closers else self._rest
        return at

    # Scalars and strings

    def _scalar(self, piece: str, at: int) -> int:
        stop = _end(_SCALAR, piece, at)
        self._token.append(piece[at:stop])
        if stop == len(piece):
            return stop  # 12 may become 123
        self._listener.scalar(_read(self._taken()))
        return self._ended(piece, stop)

    def _taken(self) -> str:
        token = "".join(self._token)
        self._token.clear()
        return token

    def _string(self, piece: str, at: int) -> int:
        stop = _end(_PLAIN, piece, at)
        if stop > at:
            self._write(piece[at:stop])
        if stop == len(piece):
            return stop
        if piece[stop] == "\\":
            self._step = self._escaped
            return stop + 1
        if piece[stop] != '"' or self._half:
            raise Malformed
        return self._unquote(piece, stop + 1)

    def _end_text(self, piece: str, at: int) -> int:
        self._listener.closed()
        return self._ended(piece, at)

    def _end_key(self, piece: str, at: int) -> int:
        key = self._taken()
        if len(self._closers) == 1:
            self._outer.append(key)
        self._listener.named(key)
        self._step = self._colon
        return at

    def _escaped(self, piece: str, at: int) -> int:
        known = len(self._escape)
        escape = self._escape + piece[at : at + 5 - known]
        whole = _ESCAPE.match(escape)
        if whole is None:
            if not _CUT_ESCAPE.match(escape):
                raise Malformed
            self._escape = escape
            return len(piece)
        written = whole.group()
        self._escape = ""
        self._step = self._string
        self._write(chr(int(written[1:], 16)) if len(written) > 1 else _MEANING[written])
        return at + len(written) - known

    def _write(self, part: str) -> None:
        if self._half or "\ud800" <= part <= "\udfff":
            self._half += part
            if len(self._half) == 1 and part < "\udc00":
                return
            part, self._half = _paired(self._half), ""
        self._wrote(part)


def _next(piece: str, at: int) -> tuple[str, int]:
    """The next character that is no white space, empty for none, and the place after it."""
    found = _MARK.match(piece, at)
    assert found is not None  # it matches anything
    return found.group(1), found.end()


def _end(pattern: re.Pattern[str], piece: str, at: int) -> int:
    found = pattern.match(piece, at)
    assert found is not None  # it matches anything
    return found.end()


def _read(token: str) -> Any:
    if _WHOLE.fullmatch(token):
        return int(token)  # as the strict reader would, and in a tenth of its time
    try:
        value, faults = read(token)
    except Unreadable:
        raise Malformed from None
    if faults:
        raise Malformed
    return value


def _paired(halves: str) -> str:
    try:
        return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise Malformed from None
