"""The report of a miss: exactly what changed, in few lines, and how to mend it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from cassette_kit import Bomb, Echo
from pydantic import BaseModel, Field

from ingot import Cassette, ask
from ingot.cassette.drift import changes
from ingot.cassette.errors import CassetteError, CassetteMissError


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


def label(kind: Any, urgency: Any, doc: str | None = None, **more: Any) -> Any:
    """A class of tickets."""
    space = {"__annotations__": {"kind": kind, "urgency": urgency, **more}, "__doc__": doc}
    return type("Label", (BaseModel,), {"__module__": __name__, **space})


KIND = Literal["billing", "bug"]
LABEL = label(KIND, int)
PROMPT = "\n".join(f"Line {n} of the prompt." for n in range(30))
BASE: dict[str, Any] = {
    "t": LABEL,
    "prompt": PROMPT,
    "system": "Be brief.",
    "context": {"customer": {"tier": "gold", "since": 2001}, "note": "First.\nSecond."},
    "model": "echo/echo-1",
    "temperature": 0.5,
    "params": {"top_p": 1},
    "sample": 1,
}


def put(provider: Any, **parts: Any) -> Any:
    """Ask what *BASE* and *parts* say."""
    given = {**BASE, **parts}
    t, prompt = given.pop("t"), given.pop("prompt")
    with provider_of(provider):
        return ask(t, prompt, **{k: v for k, v in given.items() if v is not None})


def provider_of(provider: Any) -> Any:
    """Whatever is asked reaches *provider*, under whatever name."""
    from contextlib import contextmanager

    from ingot import _registry

    @contextmanager
    def below() -> Any:
        _registry.stand_ins.insert(0, provider)
        try:
            yield
        finally:
            _registry.stand_ins.remove(provider)

    return below()


def answer(_: str) -> dict[str, Any]:
    return {"kind": "bug", "urgency": 1, "lang": "en", "level": 1}


def missed(path: Path, **parts: Any) -> list[str]:
    """Record the base, ask the changed one, and return the lines of the report."""
    with Cassette(path, "record"):
        put(Echo(lambda _: {"kind": "bug", "urgency": 1}))
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        put(Bomb(), **parts)
    return str(caught.value).split("\n")


CONTEXT = BASE["context"]
ONE: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "prompt": (
        {"prompt": PROMPT.replace("Line 7 ", "Line seven ")},
        "prompt",
        ["@@ line 8", "- Line 7 of the prompt.", "+ Line seven of the prompt."],
    ),
    "prompt, a line more": (
        {"prompt": PROMPT + "\nAnd more."},
        "prompt",
        ["@@ line 31", "+ And more."],
    ),
    "system": (
        {"system": "Be kind."},
        "system",
        ["@@ line 1", "- Be brief.", "+ Be kind."],
    ),
    "no system": ({"system": None}, "system", ['~ value: ["Be brief."] -> nothing']),
    "context value": (
        {"context": {**CONTEXT, "customer": {"tier": "tin", "since": 2001}}},
        "context",
        ['~ customer.tier: "gold" -> "tin"'],
    ),
    "context text": (
        {"context": {**CONTEXT, "note": "First.\nThird."}},
        "context",
        ["note:", "@@ line 2", "- Second.", "+ Third."],
    ),
    "context name": (
        {"context": {"customer": CONTEXT["customer"]}},
        "context",
        ['- note: ["First.","Second."]'],
    ),
    "context order": (
        {"context": dict(reversed(CONTEXT.items()))},
        "context",
        ["its order changed"],
    ),
    "model": (
        {"model": "echo/echo-2"},
        "model",
        ['~ value: "echo/echo-1" -> "echo/echo-2"'],
    ),
    "temperature": ({"temperature": 0.6}, "params", ["~ temperature: 0.5 -> 0.6"]),
    "params": ({"params": {"top_p": 2}}, "params", ["~ params.top_p: 1 -> 2"]),
    "sample": ({"sample": 2}, "sample", ["~ value: 1 -> 2"]),
    "a field more": (
        {"t": label(KIND, int, lang=str)},
        "type",
        ["@@ line 3", "+     lang: str"],
    ),
    "a value of an enum": (
        {"t": label(Literal["billing", "other"], int)},
        "type",
        ["@@ line 2", '-     kind: "billing" | "bug"', '+     kind: "billing" | "other"'],
    ),
    "a bound": (
        {"t": label(KIND, Annotated[int, Field(ge=1)])},
        "type",
        ["@@ line 3", "-     urgency: int", "+     urgency: int (≥ 1)"],
    ),
    "a docstring": (
        {"t": label(KIND, int, "How it is filed.")},
        "type",
        ["@@ line 2", "+     # How it is filed."],
    ),
}
PARTS = {"prompt", "system", "context", "model", "params", "sample", "type", "tools", "files"}


@pytest.mark.parametrize("name", ONE)
def test_the_report_names_what_changed_and_nothing_else(path: Path, name: str) -> None:
    """One change, one part, in at most 40 lines."""
    parts, named, said = ONE[name]
    report = missed(path, **parts)
    bare = [line.strip() for line in report]

    assert {line for line in bare if line in PARTS} == {named}
    assert [line for line in bare if line in said] == said
    unchanged = next(line for line in bare if line.startswith("unchanged: "))
    assert set(unchanged.removeprefix("unchanged: ").split(", ")) == (
        {"prompt", "system", "context", "model", "params", "sample", "type"} - {named}
    )
    assert len(report) <= 41
    assert all(len(line) <= 200 for line in report[1:])


def test_two_changes_are_both_named(path: Path) -> None:
    """Neither hides the other."""
    report = [line.strip() for line in missed(path, system="Be kind.", temperature=0.7)]

    assert {line for line in report if line in PARTS} == {"system", "params"}


def test_a_long_report_is_cut_and_keeps_what_to_do(path: Path) -> None:
    """What was left out is counted."""
    report = missed(path, prompt="\n".join(f"Other {n}" for n in range(500)))

    assert len(report) <= 41
    assert "more lines" in report[-3]
    assert report[-1].startswith("  re-record just this:")


def test_the_difference_of_a_long_line_is_in_sight(path: Path) -> None:
    """A prompt of one long line is shown from where it differs."""
    long = "word " * 400
    with Cassette(path, "record"):
        ask(str, long + "a", model=Echo())
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        ask(str, long + "b", model=Bomb())

    assert "word a\n" in str(caught.value)
    assert "word b\n" in str(caught.value)


def test_the_nearest_is_of_the_same_place_then_the_most_alike(path: Path) -> None:
    """The row that this call site lost, not one that is still in use."""

    def here(prompt: str, model: Any) -> str:
        return ask(str, prompt, model=model)

    with Cassette(path, "record"):
        here("Alpha one.", Echo())
        here("Beta two.", Echo())
        ask(str, "Beta three?", model=Echo())
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        here("Alpha one.", Bomb())
        here("Beta three.", Bomb())
    report = str(caught.value)

    assert "- Beta two." in report
    assert "same site" in report
    assert "1 more recorded answer was not used" in report
    assert "'Beta three?'" in report


def test_secrets_are_not_in_a_report(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of the environment, nor what looks like one."""
    monkeypatch.setenv("SHOP_TOKEN", "tok-9f8e7d6c5b4a39281706")
    with Cassette(path, "record"):
        ask(str, "Use the shop.", model=Echo())
    with pytest.raises(CassetteMissError) as caught, Cassette(path):
        ask(str, "Use the shop with tok-9f8e7d6c5b4a39281706.", model=Bomb())

    assert "tok-9f8e" not in str(caught.value)
    assert "is not shown" in str(caught.value)


def test_a_report_of_a_large_cassette_does_not_take_long(path: Path) -> None:
    """Ten thousand rows are looked through, not compared letter by letter."""
    import time

    from ingot.cassette.store import save
    from ingot.cassette.tape import Tape

    def big(_: Tape) -> Tape:
        tape = Tape()
        for n in range(10_000):
            row = {"kind": "ask", "site": "a:f", "key": f"k1:{n}", "type": "t", "model": "m"}
            tape.add({**row, "prompt": [f"Question {n} " + "word " * 100]}, {}, 0, {"value": 1})
        return tape

    save(path, big)
    with pytest.raises(CassetteMissError), Cassette(path) as cassette:
        _ = cassette.tape
        began = time.process_time()
        ask(str, "Question " + "word " * 100, model=Bomb())
    assert time.process_time() - began < 2


def test_tools_are_told_by_their_names() -> None:
    """A changed tool is shown with its arguments, not with a digest of them."""
    old = {"tools": [{"name": "find", "description": ["Finds."], "type": "t1:a"}]}
    new = {"tools": [{"name": "find", "description": ["Finds."], "type": "t1:b"}]}

    assert changes(old, new, {"t1:a": {"x": "int"}}, {"t1:b": {"x": "str"}}) == [
        "tools",
        '  ~ find.type.x: "int" -> "str"',
    ]


def test_verify_reports_what_drifted_and_writes_nothing(path: Path) -> None:
    """A live answer that differs fails the block; an equal one does not."""
    with Cassette(path, "record"):
        ask(dict[str, int], "p", model=Echo(lambda _: {"a": 1}))
    before = path.read_bytes()
    with Cassette(path, "verify"):
        ask(dict[str, int], "p", model=Echo(lambda _: {"a": 1}))
    with pytest.raises(CassetteError, match="~ value.a: 1 -> 2"), Cassette(path, "verify") as c:
        assert ask(dict[str, int], "p", model=Echo(lambda _: {"a": 2})) == {"a": 2}
    with pytest.raises(CassetteError, match="nothing is recorded"), Cassette(path, "verify"):
        ask(str, "other", model=Echo())

    assert c.ledger.count("drifted") == 1
    assert path.read_bytes() == before
