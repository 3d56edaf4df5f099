"""What changed between two recordings, as HTML: the two sides next to each other."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape
from typing import TYPE_CHECKING

from ingot.cassette.reading import answer_blocks, request_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingot.cassette.compare import Comparison
    from ingot.cassette.reading import Block
    from ingot.cassette.tape import Row

__all__ = ["breakable", "drift_articles", "safe"]

_NEAR = 3
_FEW = 8
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def safe(text: str) -> str:
    """*text* for HTML; what cannot be seen, or would turn the direction of writing, is named."""
    return escape("".join(c if c.isprintable() or c in "\n\t" else _visible(c) for c in text))


def breakable(text: str) -> str:
    """The name of a place for HTML, which may be broken where its parts meet."""
    return re.sub(r"(?<=[/:._-])(?=\w)", "<wbr>", safe(text))


def _visible(char: str) -> str:
    if char.isspace():
        return " "
    return "�" if "\ud800" <= char <= "\udfff" or char < " " else f"[U+{ord(char):04X}]"


def drift_articles(drift: Comparison, names: tuple[str, str]) -> Iterator[str]:
    """Each row that changed, was answered differently, was dropped or added, as an article."""
    groups: tuple[tuple[str, list[tuple[Row | None, Row | None]]], ...] = (
        ("Changed requests", [*drift.changed]),
        ("Answered differently", [*drift.answered]),
        (f"Only in {names[0]}", [(row, None) for row in drift.dropped]),
        (f"Only in {names[1]}", [(None, row) for row in drift.added]),
    )
    for title, pairs in groups:
        if pairs:
            yield f'<h2 class="group">{safe(title)}</h2>'
        for old, new in pairs:
            yield _article(old, new, drift, names)


def _article(old: Row | None, new: Row | None, drift: Comparison, names: tuple[str, str]) -> str:
    before = {} if old is None else _blocks(old, drift.old.types)
    after = {} if new is None else _blocks(new, drift.new.types)
    row = old or new
    keys = " → ".join(one.key[:11] for one in (old, new) if one is not None)
    if old is not None and new is not None and old.key == new.key:
        keys = old.key[:11]
    out = [
        "<article>",
        f"<header><h2>{breakable(row.site if row else '')}</h2>",
        f'<div class="meta"><span class="tag">{safe(keys)}</span></div></header>',
    ]
    same: list[str] = []
    for label in [*before, *(label for label in after if label not in before)]:
        one, two = before.get(label), after.get(label)
        if one is not None and two is not None and one.text == two.text:
            same.append(label)
            continue
        mono = any(block is not None and block.form != "prose" for block in (one, two))
        left = None if one is None else one.text.split("\n")
        right = None if two is None else two.text.split("\n")
        out.append(f'<section class="part"><h3>{safe(label)}</h3>')
        out.append(f'<div class="sides{" mono" if mono else ""}">')
        out.append(f'<div class="head old">{safe(names[0])}</div>')
        out.append(f'<div class="head new">{safe(names[1])}</div>')
        out += _sides(left or [], right or [])
        out.append("</div></section>")
    if same:
        out.append(f'<p class="unchanged">unchanged: {safe(", ".join(same))}</p>')
    return "\n".join([*out, "</article>"])


def _blocks(row: Row, types: Mapping[str, object]) -> dict[str, Block]:
    """The blocks of a row by label, labels that stand twice numbered."""
    out: dict[str, Block] = {}
    for block in [*request_blocks(row.data, types), *answer_blocks(row)]:
        label, number = block.label, 2
        while label in out:
            label, number = f"{block.label} ({number})", number + 1
        out[label] = block
    return out


def _sides(old: list[str], new: list[str]) -> Iterator[str]:
    """Both texts line by line, each line beside the one it became."""
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            yield from _same(old[i1:i2], first=i1 == 0, last=i2 == len(old))
            continue
        for number in range(max(i2 - i1, j2 - j1)):
            one = old[i1 + number] if i1 + number < i2 else None
            two = new[j1 + number] if j1 + number < j2 else None
            marked = ("", "") if one is None or two is None else _marked(one, two)
            yield _line("old", "del", one, marked[0])
            yield _line("new", "ins", two, marked[1])


def _same(lines: list[str], *, first: bool, last: bool) -> Iterator[str]:
    """Lines that did not change; of many, those next to a change."""
    head, tail = 0 if first else _NEAR, 0 if last else _NEAR
    folded = len(lines) - head - tail
    for number, line in enumerate(lines):
        if folded > _FEW and head <= number < len(lines) - tail:
            if number == head:
                yield f'<div class="fold">{folded} lines the same</div>'
            continue
        yield f'<div class="old same">{safe(line)}</div>'
        yield f'<div class="new same">{safe(line)}</div>'


def _line(side: str, sign: str, line: str | None, marked: str) -> str:
    if line is None:
        return f'<div class="{side} none"></div>'
    return f'<div class="{side} {sign}">{marked or safe(line)}</div>'


def _marked(old: str, new: str) -> tuple[str, str]:
    """Two lines with the words marked in which they differ; unmarked where little is alike."""
    one, two = _WORD.findall(old), _WORD.findall(new)
    if len(one) + len(two) > 2000:
        return safe(old), safe(new)
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    if matcher.ratio() < 0.4:
        return safe(old), safe(new)
    left: list[str] = []
    right: list[str] = []
    for what, i1, i2, j1, j2 in matcher.get_opcodes():
        for out, words in ((left, one[i1:i2]), (right, two[j1:j2])):
            text = safe("".join(words))
            out.append(f"<mark>{text}</mark>" if what != "equal" and text else text)
    return "".join(left), "".join(right)
