"""The files of a state: whatever was acknowledged is there, and damage is refused."""

from __future__ import annotations

import errno
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from zlib import crc32

import pytest
from runtime_kit import journal

from ingot.rill.errors import RillLockedError, RillStateError
from ingot.rill.store import Entry, Found, Store, look

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = [b'{"a": 1}', b'{"b": "\xc3\xa4"}', b'{"c": 3}']
TERMS = {"b": None, "a": 1}
ENTRIES = tuple(Entry(now=number, line=line) for number, line in enumerate(LINES, 1_000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def written(path: Path) -> Path:
    """A state whose runtime died: a snapshot, and three requests since."""
    store = Store(path)
    store.checkpoint(b"one", TERMS)
    for entry in ENTRIES:
        store.append(entry.now, entry.line)
    store.close()
    return path


def found(path: Path) -> Found | None:
    store = Store(path)
    try:
        assert look(path) == store.found
        return store.found
    finally:
        store.close()


def test_there_is_nothing_at_first(path: Path) -> None:
    """A state begins where there is none, and its folder is made."""
    assert found(path.parent / "deep" / "state") is None


@pytest.mark.parametrize("durable", [False, True])
def test_what_was_appended_is_found(path: Path, durable: bool) -> None:
    """The snapshot, and the requests since with their times."""
    store = Store(path, durable=durable)
    store.checkpoint(b"one", TERMS)
    for entry in ENTRIES:
        store.append(entry.now, entry.line)

    assert look(path) == Found(snapshot=b"one", terms=TERMS, entries=ENTRIES)
    store.close()


def test_a_checkpoint_begins_the_journal_anew(written: Path) -> None:
    """What is in the snapshot is in the journal no more, also after a start."""
    store = Store(written)
    store.checkpoint(b"two", TERMS)
    store.append(2_000, b"{}")
    store.close()

    assert found(written) == Found(
        snapshot=b"two", terms=TERMS, entries=(Entry(now=2_000, line=b"{}"),)
    )
    assert journal(written).read_bytes().count(b"\n") == 2


def test_a_checkpoint_is_due_after_some_megabytes(path: Path) -> None:
    """It bounds both files."""
    store = Store(path)
    store.checkpoint(b"one", TERMS)
    assert not store.is_due
    for _ in range(5):
        store.append(0, b"x" * 2**20)
    assert store.is_due
    store.checkpoint(b"two", TERMS)

    assert not store.is_due
    store.close()


def test_a_journal_that_is_cut_anywhere_ends_with_its_last_whole_line(written: Path) -> None:
    """A line without its end was never acknowledged."""
    whole = journal(written).read_bytes()
    for cut in range(len(whole)):
        journal(written).write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        kept = ENTRIES[: max(lines - 1, 0)]

        cut_off = look(written)
        assert cut_off is not None
        assert cut_off.entries == kept


def test_the_journal_goes_on_after_a_cut(written: Path) -> None:
    """What is written next stands on a line of its own."""
    journal(written).write_bytes(journal(written).read_bytes()[:-3])
    store = Store(written)
    store.append(9, b"{}")
    store.close()

    assert found(written) == Found(
        snapshot=b"one", terms=TERMS, entries=(*ENTRIES[:2], Entry(now=9, line=b"{}"))
    )


def test_any_byte_of_a_journal_is_missed(written: Path) -> None:
    """A changed byte is damage, the last one too: a line that is cut has no byte in its place."""
    whole = bytearray(journal(written).read_bytes())
    for place in range(len(whole)):
        whole[place] ^= 1
        journal(written).write_bytes(whole)
        whole[place] ^= 1

        with pytest.raises(RillStateError, match="journal"):
            look(written)


def _drop_a_line(path: Path) -> None:
    lines = journal(path).read_bytes().splitlines(keepends=True)
    journal(path).write_bytes(b"".join(lines[:2] + lines[3:]))


def _swap_lines(path: Path) -> None:
    lines = journal(path).read_bytes().splitlines(keepends=True)
    journal(path).write_bytes(b"".join([lines[0], lines[2], lines[1], lines[3]]))


def _exchange_the_snapshot(path: Path) -> None:
    path.write_bytes(b"another")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a line is missing": (_drop_a_line, "line 3 of its journal is not as it was written"),
    "lines are swapped": (_swap_lines, "line 2 of its journal is not as it was written"),
    "the snapshot is gone": (Path.unlink, "the snapshot before it is not"),
    "the snapshot is empty": (lambda path: path.write_bytes(b""), "from another snapshot"),
    "the snapshot is another": (_exchange_the_snapshot, "from another snapshot"),
    "the journal is another file": (
        lambda path: journal(path).write_bytes(b"Dear diary,\n"),
        "line 1 of its journal is not as it was written",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_refused_with_the_ways_out(written: Path, what: str) -> None:
    """Nothing is guessed, and nothing of the files is changed."""
    damage, reason = DAMAGE[what]
    damage(written)
    left = {file.name: file.read_bytes() for file in written.parent.iterdir()}

    with pytest.raises(RillStateError) as refused:
        Store(written)

    assert reason in refused.value.reason
    assert refused.value.code == "rill_state"
    assert f"ingot rill reset --force --state {written}" in str(refused.value)
    assert {file.name: file.read_bytes() for file in written.parent.iterdir()} == left


@pytest.mark.parametrize(
    "line", [b"now {}", b"0 base 1 %b {" % sha256(b"one").hexdigest().encode()]
)
def test_a_journal_of_another_make_is_refused(written: Path, line: bytes) -> None:
    """Though its checksums are right."""
    journal(written).write_bytes(b"%08x %b\n" % (crc32(line + b"\n"), line))

    with pytest.raises(RillStateError, match="not one that is written here"):
        look(written)


@pytest.fixture
def stopped(written: Path) -> Path:
    """A state whose runtime died in a checkpoint, when it had not replaced the snapshot yet."""
    store = Store(written)
    written.unlink()
    written.mkdir()  # which no file can replace
    with pytest.raises(RillStateError, match="cannot be read or written"):
        store.checkpoint(b"two", TERMS)
    store.close()
    written.rmdir()
    written.write_bytes(b"one")
    return written


def test_before_the_snapshot_is_replaced_the_journal_counts(stopped: Path) -> None:
    """That another snapshot was on its way changes nothing."""
    assert found(stopped) == Found(snapshot=b"one", terms=TERMS, entries=ENTRIES)


def test_after_the_snapshot_was_replaced_the_journal_is_in_it(stopped: Path) -> None:
    """Nothing is done twice, though the journal is still there."""
    stopped.write_bytes(b"two")

    assert found(stopped) == Found(snapshot=b"two")


def test_a_checkpoint_that_failed_is_no_end(stopped: Path) -> None:
    """What is accepted later goes on from the old snapshot."""
    store = Store(stopped)
    store.append(9, b"{}")
    store.close()

    entries = (*ENTRIES, Entry(now=9, line=b"{}"))
    assert found(stopped) == Found(snapshot=b"one", terms=TERMS, entries=entries)


@pytest.mark.parametrize("line", ["base", "{}"])
@pytest.mark.parametrize("there", [0, 12])
def test_what_was_not_written_whole_makes_a_checkpoint_due(
    written: Path, monkeypatch: pytest.MonkeyPatch, line: str, there: int
) -> None:
    """Nothing is accepted after it, and the checkpoint begins with taking it away."""
    store = Store(written)
    write, truncate = os.write, os.ftruncate

    def full(descriptor: int, data: bytes) -> int:
        if line.encode() not in bytes(data):
            return write(descriptor, data)
        write(descriptor, bytes(data)[:there])
        return _no_room()

    def stuck(descriptor: int, length: int) -> None:
        if line == "{}":
            _no_room()
        truncate(descriptor, length)

    with monkeypatch.context() as patch, pytest.raises(RillStateError, match="No space"):
        patch.setattr(os, "write", full)
        patch.setattr(os, "ftruncate", stuck)
        store.append(8, b"{}")
        store.checkpoint(b"two", TERMS)

    assert store.is_due
    store.checkpoint(b"three", TERMS)
    assert not store.is_due
    store.append(9, b"{}")
    store.close()
    entries = (Entry(now=9, line=b"{}"),)
    assert found(written) == Found(snapshot=b"three", terms=TERMS, entries=entries)


def _no_room() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_was_half_written_is_cleared_away(written: Path) -> None:
    """A snapshot on its way to its place belongs to nobody once its runtime died."""
    half = written.with_name(f".{written.name}.tmp-1-abcd")
    half.write_bytes(b"o")
    found(written)

    assert not half.exists()


def test_one_runtime_has_a_state(written: Path) -> None:
    """Another one is refused, and looking needs no lock."""
    store = Store(written)
    with pytest.raises(RillLockedError, match="another runtime uses this state"):
        Store(written)
    looked = look(written)
    store.close()

    assert looked == Found(snapshot=b"one", terms=TERMS, entries=ENTRIES)
    assert found(written) == looked


def test_a_folder_that_cannot_be_made_is_told(path: Path) -> None:
    """The path of the state stands in the error, and what to do."""
    path.write_text("a file")
    with pytest.raises(RillStateError, match="cannot be read or written") as refused:
        Store(path / "state")

    assert refused.value.path == str(path / "state")


def test_a_file_that_is_no_state_is_not_read_whole(path: Path) -> None:
    """The size of what is there is bounded."""
    with path.open("wb") as file:
        os.truncate(file.fileno(), 2**30)

    with pytest.raises(RillStateError, match="larger than any state"):
        found(path)
