"""Handles as answers: with tools that return files, a type may have `File` in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from ingot import File
from ingot._handles import Handles
from ingot._shape.dialects import DIALECTS
from ingot._shape.shape import shape_of
from ingot._workspace import Workspace
from ingot.errors import MismatchedAnswerError, UnsupportedTypeError

HANDLE = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
A, B = File("a.txt", pages=2), File("out/b.txt")


@dataclass
class Report:
    title: str
    document: File
    sources: list[File]
    cover: File | None = None


class Doc(BaseModel):
    path: str
    title: str


ASKED: list[tuple[Any, Any, Any]] = [
    (File, A, {"path": "a.txt"}),
    (list[File], [A, B], {"value": [{"path": "a.txt"}, {"path": "out/b.txt"}]}),
    (File | None, None, {"value": None}),
    (File | str, A, {"value": {"path": "a.txt"}}),
    (dict[str, list[File]], {"x": [B]}, None),
    (tuple[File, int], (A, 3), None),
    (
        Report,
        Report("t", A, [B]),
        {"title": "t", "document": {"path": "a.txt"}, "sources": [{"path": "out/b.txt"}]},
    ),
    (Doc | File, A, {"value": {"path": "a.txt"}}),
    (File | Doc, Doc(path="a.txt", title="t"), {"value": {"path": "a.txt", "title": "t"}}),
]


@pytest.fixture
def handles() -> Handles:
    known = Handles(Workspace())
    known.restore([A.to_dict(), B.to_dict()])
    return known


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("t", "value", "wire"), ASKED, ids=[str(t) for t, _, _ in ASKED])
def test_a_handle_travels_as_its_path(
    t: Any, value: Any, wire: Any, dialect: str, handles: Handles
) -> None:
    """What a model would write reads as what was produced, with all that is known of it."""
    shape = shape_of(t, dialect, files=True)
    text = shape.encode(value)
    written = json.loads(text)

    assert "pages" not in text
    if wire is not None:
        assert {**written, "cover": None} == {**wire, "cover": None}
    assert shape.read(text, handles) == value
    tree = shape.target.adapter.dump_python(value, mode="json")
    assert json.loads(shape.to_wire(tree)) == written
    assert shape.natural(text)[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_handle_is_asked_for_as_a_path(dialect: str) -> None:
    """No other key is allowed, and the words say where handles come from."""
    schema = dict(shape_of(File, dialect, files=True).wire.schema)

    assert schema.pop("description") == "(a file: a handle that a tool returned)"
    assert schema == HANDLE
    assert not shape_of(Report, dialect, files=True).obstacles


def test_what_a_field_says_of_its_file_is_told() -> None:
    """A description stands before the words of ours."""
    field = Annotated[File, Field(description="The scan.")]
    schema = shape_of(list[field], "anthropic", files=True).wire.schema

    words = schema["properties"]["value"]["items"]["description"]
    assert words == "The scan. (a file: a handle that a tool returned)"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_made_up_handle_does_not_fit(dialect: str, handles: Handles) -> None:
    """The problem names the field and lists the known; a repair can be asked for."""
    shape = shape_of(Report, dialect, files=True)
    reply = {"title": "t", "document": {"path": "/etc/passwd"}, "sources": [{"path": "c"}]}
    reply["cover"] = None
    with pytest.raises(MismatchedAnswerError) as caught:
        shape.read(json.dumps(reply), handles)

    first, second = caught.value.problems
    assert first.path == ("document",)
    assert first.message == "no tool returned the file '…/passwd'; known: 'out/b.txt', 'a.txt'"
    assert second.path == ("sources", 0)


def test_what_a_model_says_of_a_handle_does_not_count(handles: Handles) -> None:
    """What is known of a file is what its producer said; what nobody said is refused."""
    shape = shape_of(File, "open", files=True)

    assert shape.read('{"path": "a.txt", "pages": 900}', handles) == A
    with pytest.raises(MismatchedAnswerError, match="'a.txt' has no 'size'; give its path alone"):
        shape.read('{"path": "a.txt", "size": 900}', handles)


def test_without_handles_any_is_taken() -> None:
    """Who reads with no run at hand gets what stands there."""
    assert shape_of(File, "open", files=True).read('{"path": "x", "a": 1}') == File("x", a=1)


def test_files_are_refused_unless_tools_return_them() -> None:
    """The one shape is not taken for the other, in whichever order they are made."""
    for t in (File, list[File], Report):
        for _ in range(2):
            assert shape_of(t, "openai", files=True).constrained
            with pytest.raises(UnsupportedTypeError, match="let a tool write the file"):
                shape_of(t, "openai")


@pytest.mark.parametrize("t", [bytes, list[bytes | File], dict[str, tuple[File, bytearray]]])
def test_bytes_are_refused_all_the_same(t: Any) -> None:
    """It is the bytes that are named, not the file beside them."""
    with pytest.raises(UnsupportedTypeError, match="a model cannot write binary") as caught:
        shape_of(t, "openai", files=True)
    assert "`File`:" not in str(caught.value)


def test_the_description_of_the_type_is_the_same() -> None:
    """A recording knows the type by it."""
    assert shape_of(File, "openai", files=True).descriptor == "file"
    assert shape_of(list[File], "openai", files=True).descriptor == {"list": "file"}
