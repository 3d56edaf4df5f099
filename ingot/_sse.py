"""Server-sent events: the bytes of a stream in, its events out; no socket is seen here."""

from __future__ import annotations

__all__ = ["EventReader"]

_BOM = b"\xef\xbb\xbf"
_ENDS = (b"\n", b"\r")


class EventReader:
    """
    Cuts the bytes of one stream into events, as the HTML standard says.

    The bytes may come in any pieces, cut within a line, a line end or a character. Lines end with
    CR, LF or CRLF and with nothing else. Comments, ids and `retry` are passed over; an event that
    no blank line ended is none.

    See https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
    """

    __slots__ = ("_after_cr", "_begun", "_data", "_line", "_name")

    def __init__(self) -> None:
        self._begun = False
        self._after_cr = False
        self._line: list[bytes] = []
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """Return name and data of each event that ends in *chunk*; an empty name for none."""
        events: list[tuple[bytes, bytes]] = []
        data = self._data
        for line in self._lines(chunk):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line:
                if data:
                    events.append((self._name, b"\n".join(data)))
                    data.clear()
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif line == b"data":
                data.append(b"")
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that end in *chunk*; what is left of it waits for the next."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")  # the other half of a CRLF
        lines = chunk.splitlines()  # of bytes, which only CR, LF and CRLF end
        rest = None if not chunk or chunk.endswith(_ENDS) else lines.pop()
        if lines:
            self._after_cr = chunk.endswith(b"\r")
            if self._line:
                lines[0] = b"".join((*self._line, lines[0]))
                self._line.clear()
            if not self._begun:
                self._begun = True
                lines[0] = lines[0].removeprefix(_BOM)
        if rest is not None:
            self._line.append(rest)
        return lines
