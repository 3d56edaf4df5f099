"""A file handle as a value: frozen, plain to compare and to send, and opened where it belongs."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from ingot import File, FileAccessError
from ingot._workspace import Workspace


def test_a_handle_is_a_path_and_what_is_known() -> None:
    """It is equal by both, and shows both."""
    file = File("out/a.pdf", pages=3, media_type="application/pdf")

    assert file.to_dict() == {"path": "out/a.pdf", "pages": 3, "media_type": "application/pdf"}
    assert repr(file) == "File('out/a.pdf', pages=3, media_type='application/pdf')"
    assert (file.pages, file["pages"], file["path"]) == (3, 3, "out/a.pdf")
    assert {"pages", "open"} <= set(dir(file))
    assert file != File("out/a.pdf")
    assert len({file, File("out/a.pdf", media_type="application/pdf", pages=3)}) == 1
    with pytest.raises(AttributeError, match="frozen"):
        file.pages = 4
    with pytest.raises(AttributeError, match="no 'size'; it has: path, pages, media_type"):
        _ = file.size
    with pytest.raises(KeyError):
        file["size"]


@pytest.mark.parametrize(
    ("path", "name", "suffix"),
    [
        ("a.txt", "a.txt", ".txt"),
        ("out/a.tar.gz", "a.tar.gz", ".gz"),
        ("C:\\Users\\me\\a.png", "a.png", ".png"),
        ("out/.hidden", ".hidden", ""),
        ("out.d/plain", "plain", ""),
        ("ends.", "ends.", ""),
        ("folder/", "folder", ""),
    ],
)
def test_name_and_suffix_are_the_paths(path: str, name: str, suffix: str) -> None:
    """Under the conventions of both platforms."""
    assert (File(path).name, File(path).suffix) == (name, suffix)


def test_extras_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `File` has itself stays; the producer's is found by name, and travels."""
    (tmp_path / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    extras = {"open": 1, "stat": 2, "name": "Title", "self": 3, "read_text": 4, "_workspace": 5}
    extras |= {"suffix": 6, "to_dict": 7, "_extra": 8, "not a name": 9}
    file = File("a.txt", **extras)

    assert file.read_text() == "text"
    assert (file.name, file["name"]) == ("a.txt", "Title")
    assert file.to_dict() == {"path": "a.txt", **extras}
    assert TypeAdapter(File).validate_python(file.to_dict()) == file
    assert pickle.loads(pickle.dumps(file)) == file


def test_without_a_workspace_it_is_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And does not lead out of it either."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("SECRET")
    monkeypatch.chdir(tmp_path / "work")
    file = File("a/b.txt")
    with file.open("w") as opened:
        opened.write("hé")

    assert file.read_bytes() == "hé".encode()
    assert file.stat().st_size == 3
    assert os.fspath(file) == "a/b.txt"
    for path in ("../secret.txt", tmp_path / "secret.txt"):
        with pytest.raises(FileAccessError):
            File(path).read_text()


def test_its_workspace_shows_nowhere(tmp_path: Path) -> None:
    """It is neither compared, printed, pickled nor written; but copies keep it."""
    file = Workspace(tmp_path).write_text("a.txt", "x")

    assert file == File("a.txt")
    assert str(tmp_path) not in repr(file)
    assert str(tmp_path).encode() not in pickle.dumps(file)
    assert TypeAdapter(File).dump_json(file) == b'{"path":"a.txt"}'
    assert copy.deepcopy([file])[0].read_text() == "x"
    assert copy.copy(file).read_text() == "x"
    assert os.fspath(file) == str(tmp_path.resolve() / "a.txt")


def test_an_absolute_path_is_checked_when_it_is_made(tmp_path: Path) -> None:
    """A link that came to lead out is not handed to others."""
    (tmp_path / "work").mkdir()
    file = Workspace(tmp_path / "work").write_text("a.txt", "x")
    (tmp_path / "work" / "a.txt").unlink()
    (tmp_path / "work" / "a.txt").symlink_to("../secret.txt")

    with pytest.raises(FileAccessError, match="leads out"):
        os.fspath(file)


def test_a_union_writes_its_other_members() -> None:
    """What is no file is written as what it is."""
    adapter = TypeAdapter(list[File | int | dict[str, int]])

    assert adapter.dump_json([File("a"), 3, {"x": 1}]) == b'[{"path":"a"},3,{"x":1}]'


def test_models_and_dataclasses_hold_handles(tmp_path: Path) -> None:
    """As a field like any other; copied deep, a handle still opens."""

    class Report(BaseModel):
        document: File

    @dataclasses.dataclass
    class Result:
        document: File

    file = Workspace(tmp_path).write_text("a.txt", "x", pages=1)
    report = Report(document=file)

    assert Report.model_validate({"document": {"path": "a.txt", "pages": 1}}) == report
    assert report.model_dump(mode="json") == {"document": {"path": "a.txt", "pages": 1}}
    assert report.model_copy(deep=True).document.read_text() == "x"
    assert dataclasses.asdict(Result(file))["document"].read_text() == "x"
    for value in ("a.txt", 3, None, {}, {"path": 3}, {"Path": "a"}):
        with pytest.raises(ValidationError, match="expected `file` \\(an object with a `path`\\)"):
            Report(document=value)
