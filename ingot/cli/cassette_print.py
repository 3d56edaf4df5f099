"""A cassette on the terminal: text in styles, indented; plain where there is no terminal."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot._spelling import counted
from ingot.cassette.reading import conversations
from ingot.cli import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ingot.cassette.reading import Block, Conversation
    from ingot.cassette.tape import Row, Tape

__all__ = ["Line", "show_lines", "show_tape"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_STYLES = {
    "user": "bold blue",
    "assistant": "bold green",
    "answer": "bold green",
    "error": "bold red",
    "tool": "bold magenta",
    "system": "bold",
    "context": "bold",
}


@dataclass(frozen=True, slots=True)
class Line:
    """
    Some text of one style.

    Attributes:
        text: One line or more.
        style: A style of rich; empty for none.
        indent: Columns to the left of it.
    """

    text: str
    style: str = ""
    indent: int = 0


def show_lines(lines: Iterable[Line]) -> None:
    """Print *lines* on stdout."""
    if sys.stdout is not None and sys.stdout.isatty():
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text

        console = Console(file=sys.stdout, markup=False, highlight=False)
        for line in lines:
            text = Text(_CONTROLS.sub("�", line.text), line.style)
            console.print(Padding(text, (0, 0, 0, line.indent)))
        return
    out: list[str] = []
    for line in lines:
        out += [(" " * line.indent + part).rstrip() for part in line.text.split("\n")]
    show.prose("\n".join(out))


def show_tape(tape: Tape, path: Path, row: Row | None) -> None:
    """Print the conversations of *tape*, or the one that *row* is in."""
    told = [one for one in conversations(tape) if row is None or row in one.rows]
    show_lines(_lines(told, tape, path if row is None else None))


def _lines(told: list[Conversation], tape: Tape, path: Path | None) -> Iterator[Line]:
    if path is not None:
        yield Line(str(path), "bold")
        yield Line(f"{counted(len(told), 'conversation')}, {counted(len(tape), 'answer')}", "dim")
        yield Line("")
    for number, one in enumerate(told):
        if number:
            yield Line("")
        yield Line(" · ".join([f"── {one.title}", *([one.type] if one.type else [])]), "bold cyan")
        for block in one.blocks:
            if block.role == "type" and block.text == one.type:
                continue
            if block.label == "model":
                yield Line("  ".join(block.text.split("\n")), "dim", 3)
                continue
            yield from _block(block)


def _block(block: Block) -> Iterator[Line]:
    key = f"   {block.key[:11]}" if block.key is not None else ""
    yield Line(block.label + key, _STYLES.get(block.role, "dim"), 3)
    if block.text:
        yield Line(block.text, "", 6)
    if block.facts:
        yield Line(" · ".join(block.facts), "dim", 6)
