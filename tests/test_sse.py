"""Server-sent events, as the HTML standard reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._sse import EventReader

TABLE: dict[str, tuple[bytes, list[tuple[bytes, bytes]]]] = {
    "an event": (b"data: 1\n\n", [(b"", b"1")]),
    "a name": (b"event: ping\ndata: 1\n\ndata: 2\n\n", [(b"ping", b"1"), (b"", b"2")]),
    "no space": (b"event:a\ndata:1\n\n", [(b"a", b"1")]),
    "one space goes": (b"data:  1\n\n", [(b"", b" 1")]),
    "several lines": (b"data: 1\ndata: 2\ndata\n\n", [(b"", b"1\n2\n")]),
    "CR": (b"data: 1\rdata: 2\r\r", [(b"", b"1\n2")]),
    "CRLF": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [(b"a", b"1"), (b"", b"2")]),
    "all three": (b"data: 1\r\ndata: 2\ndata: 3\r\n\r\n", [(b"", b"1\n2\n3")]),
    "other line ends of Unicode": (
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode(),
        [(b"", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode())],
    ),
    "comments": (b": hi\ndata: 1\n:\n\n: bye\n\n", [(b"", b"1")]),
    "ids and times": (b"id: 1\nretry: 3000\ndata: 1\n\nid: 2\n\nretry\n\n", [(b"", b"1")]),
    "unknown fields": (b"dat: 1\ndata2: 1\n data: 1\ndata: 2\n\n", [(b"", b"2")]),
    "a name without data": (b"event: a\n\ndata: 1\n\n", [(b"", b"1")]),
    "empty data": (b"data:\n\n", [(b"", b"")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [(b"", b"1")]),
    "a second one": (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\ndata: 2\n\n", [(b"", b"2")]),
    "an event that breaks off": (b"data: 1\n\ndata: 2\n", [(b"", b"1")]),
    "a line that breaks off": (b"data: 1\n\ndata: 2", [(b"", b"1")]),
    "blank lines": (b"\n\n\r\n\rdata: 1\n\n\n\n", [(b"", b"1")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("name", TABLE)
def test_reads_events(name: str) -> None:
    """In one piece."""
    sent, events = TABLE[name]

    assert EventReader().feed(sent) == events


@pytest.mark.parametrize("name", TABLE)
def test_reads_events_byte_by_byte(name: str) -> None:
    """Cut at every place, within characters and line ends too."""
    sent, events = TABLE[name]
    reader = EventReader()

    assert [event for byte in sent for event in reader.feed(bytes([byte]))] == events


@given(
    st.lists(st.sampled_from([b"data", b":", b" ", b"\r", b"\n", b"event", b"x", b"\xef\xbb\xbf"])),
    st.lists(st.integers(0, 60)),
)
def test_cuts_change_nothing(parts: list[bytes], cuts: list[int]) -> None:
    """Whatever is sent, and in what pieces, the same events are read."""
    sent = b"".join(parts)
    places = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    reader = EventReader()
    pieces = [sent[a:b] for a, b in zip(places, places[1:], strict=False)]

    assert [e for piece in pieces for e in reader.feed(piece)] == EventReader().feed(sent)


def test_a_long_line_costs_as_much_as_it_is_long() -> None:
    """What waits for the end of its line is not looked at again with each piece."""
    reader = EventReader()
    piece = b"x" * 16
    reader.feed(b"data: ")
    for _ in range(1000):
        reader.feed(piece)

    assert len(reader._line) == 1001
    assert reader.feed(b"\n\n") == [(b"", piece * 1000)]
