"""Two branches that both record into one cassette: what git leaves, and what comes of it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ingot import Cassette, Text, ask
from ingot.cassette.errors import CassetteFormatError
from ingot.cassette.merge import merged, resolve, sides
from ingot.cassette.store import dump, load
from ingot.cassette.tape import Tape
from ingot.cli.commands import app
from ingot.testing import Script, Value

WORDS = [
    "invoice",
    "refund",
    "ticket",
    "label",
    "urgent",
    "customer",
    "date",
    "colour",
    "name",
    "capital",
    "river",
    "city",
]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def git(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *who, *words], cwd=folder, check=check, capture_output=True, text=True
    )


def label(t: Any, prompt: str, model: Script) -> None:
    ask(t, prompt, model=model, system="You are a helper.\nBe brief.")


def reply(t: Any, prompt: str, model: Script) -> None:
    ask(t, prompt, model=model)


def read(t: Any, prompt: str, model: Script) -> None:
    ask(t, prompt, model=model, context={"letter": "Dear Sirs,\n\nno."})


def some(rng: random.Random, count: int) -> list[tuple[Any, Any, str, Any]]:
    """Asks that differ: a place, a type, a prompt of some lines, a reply."""
    found = []
    for _ in range(count):
        t, answer = rng.choice(
            [
                (list[str], rng.choices(WORDS, k=3)),
                (Text, Value("yes\nno")),
                (int, rng.randrange(99)),
            ]
        )
        lines = (
            " ".join(rng.choices(WORDS, k=rng.randint(3, 6))) for _ in range(rng.randint(1, 3))
        )
        found.append((rng.choice([label, reply, read]), t, "\n".join(lines), answer))
    return found


def record(path: Path, asks: list[tuple[Any, Any, str, Any]]) -> Tape:
    model = Script([answer for *_, answer in asks])
    with Cassette(path, "record"):
        for place, t, prompt, _ in asks:
            place(t, prompt, model)
    return load(path)


def branches(folder: Path, rng: random.Random, style: str) -> tuple[Path, Tape, bool]:
    """Merge two branches that both recorded; return the file, the union, and whether git did it."""
    file = folder / "c.json"
    git(folder, "init", "-qb", "main")
    git(folder, "config", "merge.conflictStyle", style)
    (folder / "README").write_text("x")
    base = some(rng, rng.randint(0, 6))
    if base:
        record(file, base)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    git(folder, "checkout", "-qb", "other")
    theirs = record(file, some(rng, rng.randint(1, 3)))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "theirs")
    git(folder, "checkout", "-q", "main")
    union = record(file, some(rng, rng.randint(1, 3)))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "ours")
    done = git(folder, "merge", "-q", "other", check=False)
    union.unite(theirs)
    return file, union, done.returncode == 0


def resolves(folder: Path, seed: int) -> bool:
    rng = random.Random(seed)
    folder.mkdir()
    file, union, clean = branches(folder, rng, rng.choice(["merge", "diff3", "zdiff3"]))
    done = CliRunner().invoke(app, ["cassette", "resolve", str(file)])

    assert (0, dump(union)) == (done.exit_code, file.read_bytes()), (seed, done.output)
    return clean


@needs_git
def test_branches_resolve_to_the_union(tmp_path: Path) -> None:
    """Whatever git makes of two branches, `resolve` makes all rows of both of it."""
    clean = [resolves(tmp_path / str(seed), seed) for seed in range(3)]

    assert {True, False} >= set(clean)
    assert False in clean


@needs_git
@pytest.mark.slow
def test_fifty_branches_resolve_to_the_union(tmp_path: Path) -> None:
    """50 of 50 (acceptance check 15)."""
    clean = [resolves(tmp_path / str(seed), seed) for seed in range(100, 150)]

    assert 10 < clean.count(False)


@needs_git
def test_a_merge_driver(tmp_path: Path) -> None:
    """With `--driver`, git needs nobody."""
    import sys

    code = "from ingot.cli import main; main()"
    (tmp_path / ".gitattributes").write_text("*.json merge=ingot\n")
    git(tmp_path, "init", "-qb", "main")
    driver = f'"{sys.executable}" -c "{code}" cassette resolve --driver %O %A %B'
    git(tmp_path, "config", "merge.ingot.driver", driver)
    file, union, clean = branches(tmp_path, random.Random(1), "merge")

    assert clean
    assert dump(union) == file.read_bytes()


ROW = {"kind": "human", "site": "a.py:f", "key": "k1:0", "question": ["Refund?"]}


def written(*rows: dict[str, Any], **more: Any) -> str:
    return json.dumps({"ingot_cassette": 1, **more, "types": {}, "rows": [*rows]}, indent=1)


def row(key: str, *answers: Any) -> dict[str, Any]:
    return {**ROW, "key": key, "answers": [{"value": value} for value in answers]}


def conflict(ours: str, theirs: str, base: str | None = None) -> str:
    middle = "" if base is None else f"||||||| base\n{base}\n"
    return f"<<<<<<< HEAD\n{ours}\n{middle}=======\n{theirs}\n>>>>>>> other\n"


@pytest.mark.parametrize("base", [None, written(), "<<<<<<<<< x\n=========\n>>>>>>>>> y"])
def test_the_first_side_comes_first(base: str | None, tmp_path: Path) -> None:
    """Answers of a row that both sides have are put together; nothing is dropped."""
    text = conflict(
        written(row("a", 1), row("b", 1, 2)), written(row("a", 1, 3), row("c", 4)), base
    )
    tape = resolve(text, tmp_path / "c.json")

    assert {"a": [1, 3], "b": [1, 2], "c": [4]} == {
        one.key: [answer["value"] for answer in one.answers.values()] for one in tape
    }


def test_what_else_stands_in_the_file_is_kept(tmp_path: Path) -> None:
    """Unknown keys of both sides survive; the first side's win."""
    text = conflict(written(test="a", x=1), written(test="b", y=2))

    assert {"test": "a", "x": 1, "y": 2} == resolve(text, tmp_path / "c.json").rest


def test_different_answers_are_refused(tmp_path: Path) -> None:
    """Which of two answers is the recording, only people can say."""
    file = tmp_path / "c.json"
    file.write_text(conflict(written(row("k1:77", "yes")), written(row("k1:77", "no"))))
    before = file.read_bytes()
    done = CliRunner().invoke(app, ["cassette", "resolve", str(file)])

    assert (14, before) == (done.exit_code, file.read_bytes())
    for said in (str(file), "k1:77", "a.py:f", "Refund?", '{"value":"yes"}', '{"value":"no"}'):
        assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<<<<<< HEAD\n{}\n", "no end"),
        ("{}\n=======\n{}\n", "belongs to no other"),
        ("<<<<<<< a\n{\n=======\n{}\n>>>>>>> b\n", "our side of the conflict: it is no JSON"),
        (conflict('{"ingot_cassette": 2}', '{"ingot_cassette": 2}'), "version 2"),
        (conflict("[]", "[]"), "no cassette"),
    ],
)
def test_what_cannot_be_resolved_says_why(text: str, reason: str, tmp_path: Path) -> None:
    """The file and the way out are named."""
    with pytest.raises(CassetteFormatError) as caught:
        resolve(text, tmp_path / "c.json")

    assert reason in str(caught.value)
    assert caught.value.path is not None


def test_lines_that_git_mixed_are_refused(tmp_path: Path) -> None:
    """A row that is neither side's does not hash to its key."""
    file = tmp_path / "c.json"
    record(file, some(random.Random(1), 2))
    text = file.read_text()
    value = json.loads(text)
    value["rows"][0]["prompt"] = ["something else"]
    with pytest.raises(CassetteFormatError) as caught:
        resolve(conflict(json.dumps(value), text), file)

    assert "is neither" in caught.value.reason


def test_a_file_without_conflict_is_left_alone(tmp_path: Path) -> None:
    """Rows that stand twice are put together, as a merge without conflict may leave them."""
    assert sides(written()) is None
    tape = resolve(written(row("a", 1), row("a", 1, 2)), tmp_path / "c.json")

    assert [1, 2] == [answer["value"] for answer in tape.rows["human", "a"].answers.values()]


def test_a_driver_follows_what_one_side_did(tmp_path: Path) -> None:
    """What one side alone changed or dropped is changed or dropped."""

    def tape(*rows: dict[str, Any]) -> Tape:
        return resolve(written(*rows), tmp_path / "c.json")

    base = tape(row("same", 1), row("ours", 1), row("theirs", 1), row("gone", 1), row("kept", 1))
    ours = tape(row("same", 1), row("ours", 2), row("theirs", 1), row("kept", 1, 2), row("new", 1))
    theirs = tape(row("same", 1), row("ours", 1), row("theirs", 3), row("gone", 1))
    found = merged(base, ours, theirs, tmp_path / "c.json")

    assert {"same": [1], "ours": [2], "theirs": [3], "kept": [1, 2], "new": [1]} == {
        one.key: [answer["value"] for answer in one.answers.values()] for one in found
    }
    with pytest.raises(CassetteFormatError):
        merged(tape(row("a", 1)), tape(row("a", 2)), tape(row("a", 3)), tmp_path / "c.json")
