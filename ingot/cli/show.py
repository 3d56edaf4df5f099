"""What is shown, and how: answers on stdout, all else on stderr; coloured only on a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = ["UnwritableError", "error", "note", "prose", "table", "tree", "waiting"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""What would steer a terminal; a model's text must not."""

_UNESCAPED = re.compile(r"[\x7f-\x9f]")
"""What would steer a terminal, and JSON lets stand."""

_FOREIGN = re.compile(r"[^\x00-\x7e]")


class UnwritableError(Exception):
    """
    What is printed has nowhere to go.

    Attributes:
        reason: Why not; None where the reader has read enough, and left.
    """

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        super().__init__(reason)


def tree(value: Any) -> None:
    """Print *value* as JSON: indented on a terminal, on one line elsewhere."""
    terminal = _is_terminal(sys.stdout)
    text = json.dumps(value, ensure_ascii=False, indent=2 if terminal else None)
    if not _writable(text, sys.stdout):
        text = _FOREIGN.sub(_escaped, text)
    elif terminal:
        text = _UNESCAPED.sub(_escaped, text)
    _write(text, sys.stdout)


def prose(text: str) -> None:
    """Print *text* as it is; on a terminal without what would steer it."""
    _write(text, sys.stdout)


def note(text: str) -> None:
    """Print *text* on stderr."""
    _write(text, sys.stderr)


def error(message: str) -> None:
    """Print *message* on stderr, as an error."""
    message = _CONTROLS.sub("�", message)
    if _is_terminal(sys.stderr) and (console := _console(sys.stderr)) is not None:
        from rich.text import Text

        console.print(Text.assemble(("error:", "bold red"), " ", message), soft_wrap=True)
    else:
        _write(f"error: {message}", sys.stderr)


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None
) -> None:
    """
    Print *rows* under *title*, in columns.

    Args:
        title: What the rows are.
        head: Names of the columns; empty for none.
        rows: Cells, all rows of one length.
        stream: Where to; None for stdout.
    """
    out = sys.stdout if stream is None else stream
    if _is_terminal(out) and (console := _console(out)) is not None:
        from rich.table import Table
        from rich.text import Text

        drawn = Table(
            title=Text(title, "bold"),
            title_justify="left",
            box=None,
            pad_edge=False,
            padding=(0, 2),
        )
        for name in head or [""] * len(rows[0] if rows else []):
            drawn.add_column(name, header_style="dim", overflow="fold")
        drawn.show_header = bool(head)
        for row in rows:
            drawn.add_row(*(Text(_CONTROLS.sub("�", cell)) for cell in row))
        console.print(drawn)
        console.print()
        return
    lines = [head, *rows] if head else [*rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    _write(title, out)
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        _write("  " + "  ".join(padded).rstrip(), out)


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Show on stderr that something takes its time, if there is a terminal to show it on."""
    console = _console(sys.stderr) if _is_terminal(sys.stderr) else None
    if console is None:
        yield
        return
    with console.status(what):
        yield


def _console(stream: TextIO) -> Any:
    """A console of rich on *stream*, or None where rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, markup=False, highlight=False)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _write(text: str, stream: TextIO | None) -> None:
    if stream is None:
        if sys.stderr is None:
            return
        raise UnwritableError("stdout is closed")
    if stream.isatty():
        text = _CONTROLS.sub("�", text)
    if not _writable(text, stream):
        text = text.encode(stream.encoding, "backslashreplace").decode(stream.encoding)
    try:
        stream.write(text if text.endswith("\n") else f"{text}\n")
        stream.flush()
    except OSError as failed:
        # At exit Python would write the rest once more, and complain.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        left = isinstance(failed, BrokenPipeError)
        raise UnwritableError(None if left else failed.strerror) from None


def _writable(text: str, stream: TextIO | None) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
