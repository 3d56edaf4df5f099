"""A runtime as a program: one request a line comes in, one answer a line goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from ingot.rill.wire_parts import MAX_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Generator

    from ingot.rill.runtime import Runtime

__all__ = ["serve"]

_READ = MAX_MESSAGE + 2
"""Bytes of a line that are read: the longest request, and what ends it."""


def serve(runtime: Runtime, source: BinaryIO, sink: BinaryIO) -> None:
    """
    Answer each line of *source* on *sink*, in order, until there are no more.

    Blank lines are passed over. Of a line that is longer than any request, no more is held than it
    takes to see that; its answer is an error.

    Raises:
        RillStateError: The state cannot be written; the request that met it is not answered.
        OSError: The answers cannot be written; `BrokenPipeError` where nobody reads them.
    """
    for line in _lines(source):
        sink.write(runtime.answer(line) + b"\n")
        sink.flush()


def _lines(source: BinaryIO) -> Generator[bytes]:
    while read := source.readline(_READ):
        rest = read
        while len(rest) == _READ and not rest.endswith(b"\n"):
            rest = source.readline(_READ)
        line = read.rstrip(b"\r\n")
        if line:
            yield line
