"""A cassette as one page of HTML, for reading: no script, and nothing that is fetched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingot._spelling import counted
from ingot.cassette.page_drift import breakable, drift_articles, safe
from ingot.cassette.page_style import STYLE
from ingot.cassette.reading import conversations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingot.cassette.compare import Comparison
    from ingot.cassette.reading import Block, Conversation
    from ingot.cassette.tape import Tape

__all__ = ["page_of"]

_COLUMNS = re.compile(r"[^\s.] {3,}\S|^\|.*\|$", re.MULTILINE)


def page_of(
    tape: Tape, *, title: str, drift: Comparison | None = None, names: tuple[str, str] = ("", "")
) -> str:
    """
    Return a whole page, in which everything from the cassette is escaped.

    Args:
        tape: What is shown.
        title: What stands above it.
        drift: If given, what changed is shown instead, the two sides next to each other; *tape* is
            not looked at then.
        names: What the two sides are called; empty for `recorded` and `now`.
    """
    if drift is not None:
        body = [*drift_articles(drift, (names[0] or "recorded", names[1] or "now"))]
        return _page(title, _drifted(drift), [], body, wide=True)
    told = conversations(tape)
    return _page(title, _summary(tape, told), _contents(told), map(_article, told), wide=False)


def _page(
    title: str, summary: str, contents: Iterable[str], body: Iterable[str], *, wide: bool
) -> str:
    # No resource of any kind may be fetched, whatever stands in the page.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{safe(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f'<div class="page{" wide" if wide else ""}">',
            f'<header><h1>{breakable(title)}</h1>\n<p class="summary">{safe(summary)}</p></header>',
            *contents,
            "<main>",
            *body,
            "</main>",
            "<footer>A recording of ingot; what was said is shown as it is.</footer>",
            "</div>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _summary(tape: Tape, told: list[Conversation]) -> str:
    usages = [a.get("usage", {}) for row in tape for a in row.answers.values()]
    tokens = [sum(u.get(name, 0) for u in usages) for name in ("input_tokens", "output_tokens")]
    served = {str(a["served"]) for row in tape for a in row.answers.values() if a.get("served")}
    parts = [counted(len(told), "conversation"), counted(len(tape), "answer")]
    if any(tokens):
        parts.append(f"{tokens[0]:,} tokens in, {tokens[1]:,} out")
    return " · ".join([*parts, *sorted(served)[:3]])


def _drifted(drift: Comparison) -> str:
    parts = [
        counted(len(drift.changed), "request") + " changed",
        counted(len(drift.answered), "request") + " answered differently",
        f"{len(drift.dropped)} dropped",
        f"{len(drift.added)} added",
        f"{drift.same} the same",
    ]
    return " · ".join(part for part in parts if not part.startswith("0 ")) or "Nothing changed."


def _contents(told: list[Conversation]) -> Iterator[str]:
    if len(told) < 2:
        return
    yield '<nav aria-label="Conversations"><ol>'
    for one in told:
        site, said = breakable(one.title), safe(one.opening[:160])
        yield (
            f'<li><a href="#{_anchor(one.rows[0].key, "c")}"><span class="site">{site}</span>'
            f'<span class="said">{said}</span></a></li>'
        )
    yield "</ol></nav>"


def _anchor(key: str, kind: str) -> str:
    clean = "".join(char if char.isascii() and char.isalnum() else "-" for char in key)
    return f"{kind}-{clean}"


def _article(one: Conversation) -> str:
    data = one.rows[0].data
    tags = [("", str(data["kind"]))] if data["kind"] != "ask" else []
    tags += [("type", one.type)] if one.type else []
    tags += [("model", str(data["model"]))] if "model" in data else []
    tags += [(name, str(value)) for name, value in data.get("params", {}).items()]
    tags += [("sample", str(data["sample"]))] if "sample" in data else []
    out = [
        f'<article id="{_anchor(one.rows[0].key, "c")}">',
        f"<header><h2>{breakable(one.title)}</h2>",
        '<div class="meta">'
        + "".join(_tag(name, value) for name, value in tags)
        + "</div></header>",
    ]
    for block in one.blocks:
        if block.label == "model":
            continue  # it stands in the head
        if block.role in ("type", "facts"):
            if block.role == "type" and block.text == one.type:
                continue
            out.append(
                f"<details{' open' if block.role == 'type' else ''}>"
                f"<summary>{safe(block.label)}</summary><pre>{safe(block.text)}</pre></details>"
            )
        else:
            out.append(_turn(block))
    return "\n".join([*out, "</article>"])


def _tag(name: str, value: str) -> str:
    said = f"{safe(name)} " if name else ""
    return f'<span class="tag">{said}<b>{safe(value)}</b></span>'


def _turn(block: Block) -> str:
    said = " said" if block.role in ("user", "assistant", "answer", "error", "tool") else ""
    anchor = link = ""
    if block.key is not None:
        name = _anchor(block.key, "row")
        anchor = f' id="{name}"'
        link = f'<a class="key" href="#{name}">{safe(block.key[:11])}</a>'
    if block.form == "prose":
        # What is laid out in columns needs letters of one width.
        text = f'<div class="text{" mono" if _COLUMNS.search(block.text) else ""}">'
        text += f"{safe(block.text)}</div>"
    else:
        text = f"<pre>{safe(block.text)}</pre>"
    facts = f'<p class="facts">{safe(" · ".join(block.facts))}</p>' if block.facts else ""
    return (
        f'<section class="turn {block.role}{said}"{anchor}>{link}'
        f"<h3>{safe(block.label)}</h3>{text}{facts}</section>"
    )
