"""A cassette as a page: what stands in it, that nothing is fetched, and how a browser shows it."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from ingot import Cassette, Text, ask
from ingot.cassette.compare import compared
from ingot.cassette.page import page_of
from ingot.cassette.store import load, parse
from ingot.cassette.tape import Tape
from ingot.errors import ProviderRateLimitError
from ingot.testing import Script

ATTACK = "<script>alert('x')</script><img src=http://evil.example/x.png onerror=alert(1)>"
VOID = {"wbr", "meta", "br", "img", "link", "hr", "input"}


class Label(BaseModel):
    """How a ticket is filed."""

    label: Literal["billing", "bug", "other"]
    urgency: int = Field(ge=1, le=5, description="5 is now")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def label_ticket(model: Script, extra: str) -> None:
    ask(
        Label,
        f"Label the ticket.\nMy invoice is wrong{extra}.\n{ATTACK}",
        model=model,
        system="You label support tickets.",
        context={"letter": f"Dear Sirs,\n{ATTACK}", "customer": {"tier": ATTACK}},
        temperature=0.2,
        repair=1,
    )


def sample(path: Path, extra: str = "") -> Tape:
    value = {"label": "billing", "urgency": 2}
    refused = ProviderRateLimitError(f"slow down {ATTACK}", status=429)
    model = Script(['{"label": 1}', value, f"Dear customer,\n{ATTACK}", refused])
    with Cassette(path, "record"):
        label_ticket(model, extra)
        ask(Text, "Write a reply.", model=model)
        with pytest.raises(ProviderRateLimitError):
            ask(int, "How many?", model=model, retry=0)
    return load(path)


class Reader(HTMLParser):
    """Reads a page, and fails where tags do not pair."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, str]:
    old, new = sample(tmp_path / "a.json"), sample(tmp_path / "b.json", ", again")
    drift = compared(old, new)
    return {
        "show": page_of(old, title="tickets <b>.json"),
        "diff": page_of(new, title="a → b", drift=drift, names=("a.json", "b.json")),
    }


@pytest.mark.parametrize("name", ["show", "diff"])
def test_a_page_fetches_and_runs_nothing(pages: dict[str, str], name: str) -> None:
    """All tags pair; none of them is from the cassette, and none loads anything."""
    found = read(pages[name])
    tags = {tag for tag, _ in found.tags}
    links = [attrs[k] for _, attrs in found.tags for k in ("href", "src", "action") if k in attrs]

    assert tags <= {
        *("html", "head", "meta", "title", "style", "body", "div", "header", "h1", "h2", "h3", "p"),
        *("nav", "ol", "li", "a", "span", "main", "article", "section", "details", "summary"),
        *("pre", "footer", "b", "mark", "wbr"),
    }
    assert all(link is not None and link.startswith("#") for link in links)
    assert not any(k.startswith("on") for _, attrs in found.tags for k in attrs)
    assert "url(" not in pages[name]
    assert "@import" not in pages[name]
    assert "<script" not in pages[name]
    assert ATTACK.split("<img")[0] in "".join(found.text)


def test_a_page_tells_the_conversation(pages: dict[str, str]) -> None:
    """Turns in order, the type, the model, the tokens; an anchor for each row, and links to it."""
    found = read(pages["show"])
    text = "".join(found.text)
    order = [
        "Label (model)",
        'label: "billing" | "bug" | "other"',
        "You label support tickets.",
        "Dear Sirs,",
        "Label the ticket.",
        '{"label": 1}',
        "That reply does not fit",
        '{"label": "billing", "urgency": 2}',
        "tokens in",
    ]
    at = 0
    for said in order:
        assert said in text[at:], said
        at = text.index(said, at)

    assert "label_ticket" in text
    assert "5 is now" in text
    assert "temperature" in text
    assert "ProviderRateLimitError" in text
    anchors = {attrs["id"] for _, attrs in found.tags if "id" in attrs}
    assert {attrs["href"] for t, attrs in found.tags if t == "a"} <= {f"#{a}" for a in anchors}
    assert 4 == len([a for a in anchors if a is not None and a.startswith("row-k1-")])


def test_a_page_of_a_drift_marks_what_changed(pages: dict[str, str]) -> None:
    """Both sides stand next to each other, the words that differ are marked."""
    page = pages["diff"]

    assert "<mark>, again</mark>" in page
    assert 2 == page.count('class="head old"')  # the request, and the repair that followed it
    assert "unchanged: model, type, system" in page
    assert 'class="old del">' in page
    assert 'class="new ins">' in page


def test_what_cannot_be_seen_is_named() -> None:
    """A text that turns the direction of writing, or steers a terminal, does not in a page."""
    row: dict[str, Any] = {
        "kind": "human",
        "key": "k1:1",
        "question": ["a\u202eb\x1b[31m\u200bc"],
        "answers": [{"value": "x\ud800".encode("utf-8", "replace").decode()}],
    }
    tape = Tape()
    tape.add({k: v for k, v in row.items() if k != "answers"}, {}, 0, row["answers"][0])
    page = page_of(tape, title="t")

    assert "a[U+202E]b�[31m[U+200B]c" in page
    assert page.encode()


def test_nothing_and_no_drift() -> None:
    """An empty cassette has a page, and so have two equal ones."""
    empty = parse(b'{"ingot_cassette": 1, "rows": []}', Path("a.json"))

    assert "0 conversations" in page_of(empty, title="a")
    assert "0 the same" not in page_of(empty, title="a", drift=compared(empty, empty))
    read(page_of(empty, title="a"))


# In a browser

IN_CI = bool(os.environ.get("CI"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(page: Path, *arguments: str) -> str:
    assert CHROMIUM is not None
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    data = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *flags, data, *arguments, page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["show", "diff"])
def test_a_browser_shows_it(pages: dict[str, str], name: str, tmp_path: Path) -> None:
    """Chromium draws the page wide and narrow, and finds the turns in it."""
    if CHROMIUM is None:
        if IN_CI:
            pytest.fail("chromium is not on PATH; apt-get install chromium")
        pytest.skip("chromium is not on PATH")
    file = tmp_path / "page.html"
    file.write_text(pages[name], "utf-8")
    dom = browse(file, "--dump-dom")
    for width in (1200, 420):
        picture = tmp_path / f"{width}.png"
        browse(file, f"--screenshot={picture}", f"--window-size={width},1400")

        assert (width, 1400) == struct.unpack(">II", picture.read_bytes()[16:24])
        assert picture.stat().st_size > 10_000

    assert "My invoice is wrong" in dom
    assert "<script" not in dom
    assert not re.search(r"<img\b", dom)
    said = ["That reply does not fit", "How many?"] if name == "show" else ["<mark>, again</mark>"]
    assert [words for words in said if words not in dom] == []
