"""Handles: a model may name what was produced in this run, and nothing else."""

from __future__ import annotations

import asyncio
import random
import string
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ingot import File, FileAccessError
from ingot._handles import Handles
from ingot._workspace import Workspace


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    (tmp_path / "work").mkdir()
    workspace = Workspace(tmp_path / "work")
    for path in ("a.txt", "out/b.txt"):
        workspace.write_text(path, path)
    return Handles(workspace)


def test_what_a_tool_returned_is_known(handles: Handles) -> None:
    """With all that the tool said of it, by any spelling of its path."""
    admitted = handles.admit(File("./out/b.txt", size=9, name="B"))

    assert admitted == File("out/b.txt", size=9, name="B")
    assert admitted.read_text() == "out/b.txt"
    spellings = ["out/b.txt", "./out//b.txt", "out/../out/b.txt", {"path": "out/b.txt", "size": 1}]
    spellings += [File("out/b.txt"), str(handles.workspace.root / "out" / "b.txt")]
    for spelling in spellings:
        assert handles.resolve(spelling) is admitted


def test_an_absolute_path_becomes_one_of_the_workspace(handles: Handles) -> None:
    """A tool that knows nothing of workspaces returns where it wrote."""
    inside = str(handles.workspace.root / "a.txt")

    assert handles.admit(File(inside, pages=2)) == File("a.txt", pages=2)


def test_a_tool_returns_what_is_there(handles: Handles, tmp_path: Path) -> None:
    """Not a file outside, none that is missing, no folder, and none of another workspace."""
    (tmp_path / "outside.txt").write_text("x")
    with Workspace() as other:
        elsewhere = other.write_text("a.txt", "x")
        for file in (File(tmp_path / "outside.txt"), File("c.txt"), File("out"), elsewhere):
            with pytest.raises(FileAccessError):
                handles.admit(file)

    assert handles.known == ()


def test_a_made_up_handle_is_an_error_that_lists_the_known(handles: Handles) -> None:
    """So that the model can choose again; what exists and was not produced is made up, too."""
    with pytest.raises(ValueError, match=r"'a.txt'; no tool has returned a file yet"):
        handles.resolve("a.txt")
    handles.admit(File("out/b.txt"))
    for path in ("a.txt", "/etc/passwd", "../a.txt", "b.txt", "", "\0", "out", "out/b.txt\n"):
        with pytest.raises(ValueError, match=r"known: 'out/b.txt'$"):
            handles.resolve(path)


def test_the_list_is_bounded(handles: Handles) -> None:
    """The newest come first, long names are cut, and the rest is counted."""
    handles.restore({"path": f"{number:0200}.txt"} for number in range(300))
    with pytest.raises(ValueError, match=r"and 280 more$") as caught:
        handles.resolve("x" * 10_000)

    assert len(str(caught.value)) < 3000
    assert str(caught.value).count("…") == 21


def test_none_of_two_thousand_made_up_paths_is_taken(handles: Handles) -> None:
    """Whatever a model writes, it gets a known file or an error."""
    known = handles.admit(File("out/b.txt"))
    chosen = random.Random(7)
    pieces = ["out", "b.txt", "a.txt", "..", ".", "", "/", "C:", "\\", "\0", "\ud800", "~", "é"]
    for _ in range(2000):
        path = "/".join(chosen.choices([*pieces, *string.printable], k=chosen.randrange(1, 6)))
        try:
            assert handles.resolve(path) is known
        except ValueError as error:
            assert "known: 'out/b.txt'" in str(error)


def test_what_is_produced_anew_is_the_newest(handles: Handles) -> None:
    """One path is one handle, which says what was last said of it."""
    for file in (File("a.txt", v=1), File("out/b.txt"), File("a.txt", v=2)):
        handles.admit(file)

    assert handles.known == ("out/b.txt", "a.txt")
    assert handles.produced == [File("out/b.txt"), File("a.txt", v=2)]


def test_a_recording_brings_its_handles(handles: Handles) -> None:
    """Though the files are gone; but no path that leads out."""
    handles.restore([{"path": "gone/c.txt", "size": 3}])

    assert handles.resolve("gone/c.txt") == File("gone/c.txt", size=3)
    with pytest.raises(FileAccessError, match="no such file"):
        handles.resolve("gone/c.txt").open()
    for path in ("../c.txt", "/etc/passwd", "C:\\c.txt"):
        with pytest.raises(FileAccessError):
            handles.restore([{"path": path}])


def test_what_is_admitted_is_noted_where_it_happens(handles: Handles) -> None:
    """Calls that run at once each note their own, on threads and in tasks."""
    barrier = threading.Barrier(2)

    def call(path: str) -> list[File]:
        with handles.noting() as noted:
            barrier.wait()
            handles.admit(File(path))
        return noted

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, ["a.txt", "out/b.txt"])) == [
            [File("a.txt")],
            [File("out/b.txt")],
        ]

    async def task(path: str) -> list[File]:
        with handles.noting() as noted:
            await asyncio.sleep(0)
            handles.admit(File(path))
            await asyncio.sleep(0)
        return noted

    async def both() -> list[list[File]]:
        return await asyncio.gather(task("a.txt"), task("out/b.txt"))

    assert asyncio.run(both()) == [[File("a.txt")], [File("out/b.txt")]]


def test_another_run_notes_for_itself(handles: Handles) -> None:
    """A tool that asks has handles of its own."""
    inner = Handles(handles.workspace)
    with handles.noting() as noted:
        inner.admit(File("a.txt"))
        handles.admit(File("out/b.txt"))

    assert noted == [File("out/b.txt")]


def test_threads_share_the_handles(handles: Handles) -> None:
    """What one admits, all know."""
    files = [handles.workspace.write_text(f"{number}.txt", "") for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(handles.admit, files))

    assert set(handles.known) == {file.path for file in files}


def test_pydantic_reads_and_writes_by_the_handles(handles: Handles) -> None:
    """Results of tools are written as known handles; arguments are read as one of them."""
    adapter = TypeAdapter(dict[str, list[File]])
    context = {"handles": handles}
    result = {"made": [File(handles.workspace.root / "a.txt", pages=2)]}
    written = adapter.serializer.to_json(result, context=context)

    assert written == b'{"made":[{"path":"a.txt","pages":2}]}'
    read = adapter.validate_json('{"x": [{"path": "./a.txt"}]}', strict=True, context=context)
    assert read == {"x": [File("a.txt", pages=2)]}
    with pytest.raises(ValueError, match=r"no tool returned the file 'b.txt'; known: 'a.txt'"):
        adapter.validate_json('{"x": [{"path": "b.txt"}]}', context=context)


def test_other_contexts_are_none_of_ours() -> None:
    """A program that keeps something of its own under that name is left alone."""
    adapter = TypeAdapter(File)
    for context in ({"handles": ["mine"]}, {}, ["handles"], None):
        assert adapter.validate_python({"path": "a", "x": 1}, context=context) == File("a", x=1)
        assert adapter.serializer.to_python(File("a"), context=context) == {"path": "a"}
