"""Files: read strictly, written whole or not at all, and cleaned up after those who died."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from cassette_kit import Bomb, Echo, child, names

from ingot import Cassette, Text, ask
from ingot import _locks as locks
from ingot.cassette.errors import (
    CassetteError,
    CassetteFormatError,
    CassetteKeyError,
    CassetteSizeError,
)
from ingot.cassette.store import Journal, dump, load, parse, recover, save
from ingot.cassette.tape import Tape

ENTRY = {
    "row": {"kind": "tool", "site": "a:f", "key": "k1:1", "tool": "t", "args": {}},
    "types": {},
    "n": 0,
    "answer": {"value": 1},
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


@pytest.fixture
def good(path: Path) -> Path:
    """A cassette with two rows."""
    with Cassette(path, "record"):
        ask(str, "One?", model=Echo())
        ask(int, "Two?", model=Echo(lambda _: 2))
    return path


def twice(tree: Any) -> str:
    """The same row under one key with another answer."""
    row = {**tree["rows"][0], "answers": [{"value": "other"}]}
    return json.dumps({**tree, "rows": [*tree["rows"], row]})


def changed(**parts: Any) -> Any:
    return lambda tree: json.dumps({**tree, **parts})


BAD: dict[str, tuple[Any, str, str]] = {
    "conflict": (
        lambda t: f"{{\n<<<<<<< ours\n{json.dumps(t)[1:]}\n=======\n>>>>>>> b\n",
        "conflict markers",
        "ingot cassette resolve",
    ),
    "a key twice": (
        lambda t: json.dumps(t)[:-1] + ', "rows": []}',
        "names 'rows' twice",
        "ingot cassette resolve",
    ),
    "two answers": (twice, "two rows have the key", "ingot cassette resolve"),
    "a later version": (changed(ingot_cassette=2), "has version 2", "pip install --upgrade"),
    "an older version": (changed(ingot_cassette=0), "has version 0", "ingot cassette migrate"),
    "no version": (lambda t: '{"a": 1}', "no cassette", ""),
    "another thing": (lambda t: "[1]", "no cassette", ""),
    "nothing": (lambda t: "", "it breaks off", "record it anew"),
    "half of it": (lambda t: json.dumps(t)[:200], "it breaks off", "record it anew"),
    "trailing text": (lambda t: json.dumps(t) + "x", "no JSON", "version control"),
    "no rows": (changed(rows={}), "a row lacks", "version control"),
    "half a row": (changed(rows=[{"kind": "ask"}]), "a row lacks", "version control"),
    "an answer that is none": (
        changed(rows=[{"kind": "ask", "key": "k", "answers": [1]}]),
        "a row lacks",
        "version control",
    ),
    "a number that is none": (
        changed(rows=[{"kind": "ask", "key": "k", "answers": [{"times": "x"}]}]),
        "a row lacks",
        "version control",
    ),
}


@pytest.mark.parametrize("mode", ["replay", "record", "refresh", "verify"])
@pytest.mark.parametrize("name", BAD)
def test_a_broken_file_is_refused_and_stays_as_it_is(good: Path, name: str, mode: Any) -> None:
    """The file, what is wrong and the way out are named; nobody is asked, no byte is changed."""
    spoil, says, advice = BAD[name]
    good.write_text(spoil(json.loads(good.read_text())))
    before = good.read_bytes()
    with pytest.raises(CassetteFormatError) as caught, Cassette(good, mode):
        ask(str, "One?", model=Bomb())

    assert says in str(caught.value)
    assert advice in str(caught.value)
    assert str(good) in str(caught.value)
    assert good.read_bytes() == before
    assert names(good.parent) == ["a.json"]


def test_a_file_that_breaks_off_anywhere_is_refused(good: Path) -> None:
    """There is no shorter cassette in it."""
    whole = good.read_bytes()
    for end in range(0, len(whole.rstrip()) - 1, 7):
        with pytest.raises(CassetteFormatError):
            parse(whole[:end], good)


def test_bytes_that_are_no_text_are_refused(good: Path) -> None:
    """A file in another encoding is named as such."""
    with pytest.raises(CassetteFormatError, match="not UTF-8"):
        parse(b'{"a": "\xff"}', good)


@pytest.mark.parametrize("mode", ["replay", "record", "verify"])
def test_an_edited_request_is_refused_by_its_key(good: Path, mode: Any) -> None:
    """A row answers what it was recorded for, or nothing; the file and the fix are named."""
    tree = json.loads(good.read_text())
    row = next(row for row in tree["rows"] if row["prompt"] == ["One?"])
    row["prompt"] = ["Edited?"]
    good.write_text(json.dumps(tree))
    before = good.read_bytes()
    with pytest.raises(CassetteKeyError, match=row["key"]) as caught, Cassette(good, mode):
        ask(str, "One?", model=Echo())

    assert str(good) in str(caught.value)
    assert "undo the edit of the request, or record it again" in str(caught.value)
    assert good.read_bytes() == before
    assert names(good.parent) == ["a.json"]


def test_what_was_written_is_read_and_written_again_the_same(good: Path) -> None:
    """The form has one spelling."""
    assert dump(load(good)) == good.read_bytes()


def test_a_surrogate_that_a_model_sends_is_kept(path: Path) -> None:
    """Half of a pair has no UTF-8, and is written as its escape."""
    with Cassette(path, "record"):
        ask(Text, "p", model=Echo(lambda _: "a\ud800b"))
    path.read_text(encoding="utf-8")
    with Cassette(path):
        assert ask(Text, "p", model=Bomb()) == "a\ud800b"


# Journals


def test_a_journal_of_the_living_is_left_alone(path: Path) -> None:
    """Its recorder will write it."""
    journal = Journal(path)
    journal.append(ENTRY)

    assert recover(path) == 0
    assert names(path.parent) == [journal.path.name]
    journal.close()
    assert names(path.parent) == []


@pytest.mark.parametrize("torn", ["", '{"row": {"kind": "to', "\x00\x00", "{}\n", "[1]\n"])
def test_a_journal_of_the_dead_is_saved_up_to_where_it_is_torn(path: Path, torn: str) -> None:
    """The last line may be in pieces; its answer was not returned."""
    journal = Journal(path)
    journal.append(ENTRY)
    os.write(journal._descriptor, torn.encode())
    journal.close(keep=True)

    assert recover(path) == 1
    assert len(load(path)) == 1
    assert names(path.parent) == ["a.json"]


def test_an_empty_journal_makes_no_file(path: Path) -> None:
    """One who died before the first answer leaves nothing."""
    Journal(path).close(keep=True)

    assert recover(path) == 0
    assert names(path.parent) == []


def test_a_line_that_could_not_be_written_leaves_no_piece(path: Path) -> None:
    """The next line is not spoilt by it."""
    journal = Journal(path)
    journal.append(ENTRY)
    with pytest.raises(TypeError):
        journal.append({"x": object()})
    journal.append({**ENTRY, "n": 1})
    journal.close(keep=True)

    assert recover(path) == 2


def test_leftovers_of_a_writer_that_died_are_removed(path: Path) -> None:
    """Half a file and a lock that nobody holds go with the next who writes or recovers."""
    left = [path.with_name(".a.json.tmp-1-ab"), path.with_name("a.json.lock")]
    for file in left:
        file.write_text("x")
    recover(path)
    assert names(path.parent) == []
    left[0].write_text("x")
    save(path, lambda _: Tape())

    assert names(path.parent) == ["a.json"]


def test_names_that_are_patterns_are_names(tmp_path: Path) -> None:
    """A bracket in the name of a test is no pattern of files."""
    path = tmp_path / "a[1]*.json"
    Journal(path).close(keep=True)
    journal = Journal(path)
    journal.append(ENTRY)
    journal.close(keep=True)

    assert recover(path) == 1
    assert names(tmp_path) == ["a[1]*.json"]


def test_the_lock_is_held_by_one(path: Path) -> None:
    """Threads of one process exclude each other too."""
    inside: list[int] = []

    def one() -> None:
        for _ in range(20):
            with locks.held(path):
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert names(path.parent) == []


def test_a_file_that_has_grown_enough_takes_no_more(path: Path) -> None:
    """The answer is returned, the file stays within its size, and the block fails."""
    provider = Echo(lambda _: "x" * 400)
    with pytest.raises(CassetteSizeError, match="2,000 bytes"):
        with Cassette(path, "record", max_bytes=2000):
            for n in range(8):
                assert ask(str, f"p{n}", model=provider) == "x" * 400
    first = path.stat().st_size
    with pytest.raises(CassetteSizeError), Cassette(path, "record", max_bytes=2000):
        ask(str, "another", model=provider)

    assert path.stat().st_size == first <= 2000


def test_a_folder_in_the_place_of_a_file_is_told(path: Path) -> None:
    """What cannot be read is no empty cassette."""
    path.mkdir()
    with pytest.raises(CassetteError, match="cannot be read"), Cassette(path):
        ask(str, "p", model=Bomb())


def test_a_killed_writer_leaves_the_old_or_the_new_bytes(path: Path) -> None:
    """A process that rewrites without end is killed somewhere in it."""
    code = """
        import sys
        from pathlib import Path
        from ingot.cassette.store import save
        from ingot.cassette.tape import Tape
        row = {"kind": "tool", "site": "s", "key": "k", "tool": "t"}
        def change(before):
            tape = Tape()
            number = len(before) % 50 + 1
            for n in range(number):
                tape.add(row, {}, n, {"value": "x" * 1000, "k": n})
            return tape
        print("go", flush=True)
        while True:
            save(Path(sys.argv[1]), change)
    """
    process = child(code, path)
    assert process.stdout is not None
    process.stdout.readline()
    while not path.exists() and process.poll() is None:
        pass
    for _ in range(100):
        load(path)
    process.kill()
    process.communicate()
    recover(path)

    assert len(load(path)) > 0
    assert names(path.parent) == ["a.json"]
