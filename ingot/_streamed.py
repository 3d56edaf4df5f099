"""A reply that streams: bytes in, pieces of its text out as they come, its whole body at last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ingot._echo import paired, read_exactly
from ingot._fields import as_object
from ingot._json import is_object
from ingot._sse import EventReader
from ingot.errors import ProviderProtocolError, ProviderUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Gathering", "Streamed"]


class Gathering(Protocol):
    """
    Puts the events of one stream together as the body that a whole-body call returns.

    Attributes:
        asked: What a call is given beside its arguments, so that its reply streams.
        ended: Whether nothing more is to be waited for.
        whole: Whether all that makes a reply has come.
    """

    asked: ClassVar[Mapping[str, Any]]
    ended: bool
    whole: bool

    def add(self, event: Mapping[str, Any]) -> str:
        """Take in the JSON of the next event, and return what it adds to the answer's text."""
        ...

    def body(self) -> dict[str, Any]:
        """Return what came so far."""
        ...


class Streamed:
    """
    One reply on its way.

    Args:
        gathering: Knows what the vendor's events mean.
        declared: Whether the server says that it sends events. If not, or if what it sends begins
            as no event does, it is collected, and events are looked for at its end.
        facts: What is known of the exchange, for errors: provider, status and request id.

    Attributes:
        ended: Whether nothing more is to be waited for.
        told: Whether a piece of the text has come.
    """

    def __init__(self, gathering: Gathering, *, declared: bool, facts: Mapping[str, Any]) -> None:
        self.ended = False
        self.told = False
        self._gathering = gathering
        self._declared = declared
        self._begun = False
        self._half = ""
        self._facts = facts
        self._events = EventReader()
        self._content: list[bytes] = []
        self._fault: ProviderProtocolError | None = None

    def feed(self, chunk: bytes) -> list[str]:
        """Take in the next bytes, and return the pieces of text in the events that they end."""
        if not self._begun and (start := chunk.lstrip()[:1]):
            self._begun = True
            self._declared = self._declared and start not in _BODIES
        if not self._declared:
            self._content.append(chunk)
            return []
        pieces: list[str] = []
        for name, padded in self._events.feed(chunk):
            data = padded.strip()
            if not data or name == b"ping":
                continue  # a sign of life
            event = None if data == b"[DONE]" else self._event(name, data)
            if event is not None:
                piece = self._whole(self._gathering.add(event))
                if piece:
                    pieces.append(piece)
            if event is None or self._gathering.ended:
                self.ended = True
                break
        self.told = self.told or bool(pieces)
        return pieces

    def rest(self) -> list[str]:
        """Return the pieces of a stream whose server does not say that it is one."""
        content = b"".join(self._content)
        if not content.lstrip().startswith(_STARTS):
            return []
        self._declared = True
        return self.feed(content)

    @property
    def content(self) -> bytes | None:
        """The reply of a server that does not stream; None of one that does."""
        return None if self._declared else b"".join(self._content)

    def body(self) -> dict[str, Any]:
        """
        Return the body that a whole-body call would have returned.

        Raises:
            ProviderProtocolError: An event was no JSON object, or one too deep.
            ProviderUnavailableError: The stream broke off.
        """
        if self._fault is not None:
            raise self._fault
        if not (self.ended or self._gathering.whole):
            raise ProviderUnavailableError("the reply breaks off before its end", **self._facts)
        try:
            return paired(self._gathering.body())  # type: ignore[no-any-return]  # it is an object
        except RecursionError:
            deep = "the reply is nested too deeply"
            raise ProviderProtocolError(deep, **self._facts) from None

    def _whole(self, piece: str) -> str:
        """*piece* without the half of a character that it ends in, which the next one completes."""
        if self._half:
            piece, self._half = paired(self._half + piece), ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return piece

    def _event(self, name: bytes, data: bytes) -> dict[str, Any] | None:
        """The JSON of an event; None where it is not as it should be, which ends the stream."""
        try:
            event = read_exactly(data)
        except (ValueError, RecursionError):
            event = None
        if name == b"error" and not as_object(event).get("error"):
            # Some servers say by the name of the event alone that it is an error.
            said = as_object(event) or {"message": data.decode(errors="replace")}
            return {"type": "error", "error": said}
        if not is_object(event):
            # Raised at the end, after the pieces that came with it were handed on.
            wrong = "an event of the stream is no JSON object"
            self._fault = ProviderProtocolError(wrong, **self._facts)
            return None
        return event


_BODIES = (b"{", b"<")
"""How an error or a page begins that is called a stream."""

_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
