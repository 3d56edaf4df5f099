"""What is sent along on purpose: how it is read, named, typed and refused."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ingot import File
from ingot._attach import MAX_BYTES, attachment, attachments
from ingot._request import Request
from ingot._workspace import Workspace
from ingot.errors import FileAccessError

if TYPE_CHECKING:
    from collections.abc import Callable

PNG = b"\x89PNG\r\n\x1a\n" + b"SECRET" * 9
PDF = b"%PDF-1.7\n" + b"SECRET" * 9

CONTENTS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0 SECRET",
    "image/gif": b"GIF89a SECRET",
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 SECRET",
    "application/pdf": PDF,
}


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("name", ["x", "x.png", "x.txt", "x.bin"])
def test_the_content_says_what_it_is(kind: str, name: str) -> None:
    """Whatever its name says."""
    made = attachment(CONTENTS[kind], name=name)

    assert (made.media_type, made.name) == (kind, name)
    assert (made.size, made.sha256) == (made.size, sha256(CONTENTS[kind]).hexdigest())
    assert made.content == CONTENTS[kind]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a", "text/plain"),
        ("a.txt", "text/plain"),
        ("README.MD", "text/markdown"),
        ("a.csv", "text/csv"),
        ("a.json", "application/json"),
        ("a.svg", "image/svg+xml"),
        ("a.py", "text/plain"),
        (".env", "text/plain"),
    ],
)
def test_text_is_what_its_name_says(name: str, kind: str) -> None:
    """It is plain where the name says nothing; the same on every machine, as keys hold it."""
    made = attachment("Malmö".encode(), name=name)

    assert (made.media_type, made.is_text) == (kind, True)


def test_a_document_may_begin_late() -> None:
    """Some printers write lines of their own before a PDF."""
    assert attachment(b"\n\n" + PDF, name="a.pdf").media_type == "application/pdf"


def test_the_caller_knows_best() -> None:
    """A media type that is given is taken, in the one way to write it."""
    assert attachment(b"x", media_type="Audio/WAV").media_type == "audio/wav"
    assert attachment(b"x", media_type="text/plain; charset=utf-8").media_type == "text/plain"
    assert attachment(PDF, media_type="application/pdf").name == "attachment.pdf"


@pytest.mark.parametrize(
    ("content", "given", "said"),
    [
        (b"\0\1\2", {"name": "a.bin"}, "PNG, JPEG"),
        (b"\0\0\0\x20ftypisom", {"name": "clip.mp4"}, "clip.mp4"),
        (b"", {"name": "clip.mp4"}, "'clip.mp4' cannot be used: it is empty"),
        (b"caf\xe9", {"name": "a.txt"}, "UTF-8"),
        (b"\xff\xfea\0", {"name": "a.txt"}, "UTF-8"),
        (b"Not found", {"name": "a.png"}, "image/png, and its content is none"),
        (b"Not found", {"name": "a.pdf"}, "media_type='text/plain'"),
        (b"caf\xe9", {"media_type": "text/csv"}, "text/csv in UTF-8"),
        (b"x", {"media_type": "png"}, "'image/png'"),
        (b"x", {}, "name="),
        (b"x" * 11, {"name": "a", "max_bytes": 10}, "larger than 10 bytes"),
    ],
)
def test_what_cannot_be_sent_is_told(content: bytes, given: dict[str, Any], said: str) -> None:
    """F07: with the name of the file and the way out, and never an empty type."""
    with pytest.raises(FileAccessError) as caught:
        attachment(content, **given)

    assert said in str(caught.value)
    assert "''" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "C:\\Users\\me\\a.png",
        "C:a.png",
        "\\\\host\\Users\\a.png",
        "/home/Users/a.png",
        "Users/a.png",
        "Users\\a.png",
        "../Users/a.png/",
    ],
)
def test_a_name_tells_no_folder(name: str) -> None:
    """F14: it is the last part, under the conventions of all platforms."""
    assert attachment(PNG, name=name).name == "a.png"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\nb\x1b.png", "a_b_.png"), ("\ud800.png", "_.png"), ("///", "attachment")],
)
def test_a_name_can_be_shown(name: str, shown: str) -> None:
    """It is printable and not empty."""
    assert attachment(PNG, name=name).name == shown


def test_a_file_is_opened_in_its_workspace(tmp_path: Path) -> None:
    """Its name is the last part of its path."""
    with Workspace(tmp_path) as workspace:
        file = workspace.write_bytes("in/scan.pdf", PDF, pages=3)
        made = attachment(file)

    assert (made.name, made.media_type, made.content) == ("scan.pdf", "application/pdf", PDF)


def test_a_file_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle without a workspace is opened where the program works, and not above."""
    (tmp_path / "work").mkdir()
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "work" / "b.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path / "work")

    assert attachment(File("b.png")).name == "b.png"
    for path in ("../a.png", str(tmp_path / "a.png")):
        with pytest.raises(FileAccessError):
            attachment(File(path))
    assert attachment(Path("../a.png")).name == "a.png"


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda path: None, "No such file"),
    "a directory": (lambda path: path.mkdir(), "it is a directory"),
    "a pipe": (os.mkfifo, "it is a device or a pipe"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "it is a device or a pipe"),
    "an empty file": (lambda path: path.touch(), "it is empty"),
    "a circle": (lambda path: path.symlink_to(path), "symbolic links"),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes and devices")
@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_leads_to_no_file_is_told(place: str, tmp_path: Path) -> None:
    """F10: before any request, by its base name, and at once."""
    make, said = PLACES[place]
    make(tmp_path / "d.png")
    with pytest.raises(FileAccessError) as caught:
        attachment(tmp_path / "d.png")

    assert said in str(caught.value)
    assert "'d.png'" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes and devices")
@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_leads_to_no_file_is_told(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handle is told no less."""
    PLACES[place][0](tmp_path / "d.png")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileAccessError) as caught:
        attachment(File("d.png"))

    assert "'d.png'" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    """Its size is looked at first; this one would take a while, and all memory."""
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileAccessError, match="larger than 20,971,520 bytes"):
        attachment(tmp_path / "a.txt")


def test_a_file_that_grows_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system said of its size does not bind it."""
    path = tmp_path / "a.txt"

    class Growing(File):
        def stat(self) -> os.stat_result:
            path.write_text("x")
            found = path.stat()
            path.write_text("x" * 6)
            return found

    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileAccessError, match="larger than 5 bytes"):
        attachment(Growing("a.txt"), max_bytes=5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("file:///etc/hostname", "file://"),
        ("https://example.org/a.png", "https://"),
        ("data:image/png;base64,U0VDUkVU", "data:"),
        ("/home/me/scan.pdf", "'scan.pdf'"),
        ("The SECRET of this text", "Path("),
    ],
)
def test_a_text_is_never_opened(text: str, said: str) -> None:
    """F02: not as a path and not as an address; the error repeats neither folders nor content."""
    for given in (lambda: attachment(text), lambda: attachments([text])):  # type: ignore[arg-type, list-item]
        with pytest.raises(FileAccessError) as caught:
            given()

        assert said in str(caught.value)
        assert "Path('…')" in str(caught.value)
        for hidden in ("hostname", "example", "U0VD", "SECRET", "home"):
            assert hidden not in str(caught.value)


def test_a_list_is_read_in_order(tmp_path: Path) -> None:
    """Paths, pairs and attachments, each as it is."""
    (tmp_path / "a.png").write_bytes(PNG)
    made = attachments([tmp_path / "a.png", ("b.txt", b"b"), attachment(PDF, name="c.pdf")])

    assert [file.name for file in made] == ["a.png", "b.txt", "c.pdf"]
    assert attachments([]) == ()


@pytest.mark.parametrize(
    "given",
    ["a.png", b"x", Path("a.png"), File("a.png"), attachment(PNG, name="a.png")],
    ids=lambda given: type(given).__name__,
)
def test_a_lone_file_is_no_list(given: Any) -> None:
    """It would be taken apart."""
    with pytest.raises(FileAccessError, match=r"attach=\[…\]"):
        attachments(given)


@pytest.mark.parametrize("item", [5, None, b"x", ("a.png", "x"), ("a",), {"path": "a.png"}])
def test_what_is_no_content_is_told(item: Any) -> None:
    """With what is."""
    with pytest.raises(FileAccessError):
        attachments([item])


def test_all_together_are_bounded() -> None:
    """Vendors bound the whole request."""
    text = ("a.txt", b"x" * (MAX_BYTES - 1))
    with pytest.raises(FileAccessError, match="together"):
        attachments([text, text])


def test_an_attachment_tells_nothing_of_its_content() -> None:
    """Neither do those who hold it."""
    file = attachment(PNG, name="a.png")
    request = Request(provider="p", model="m", target=None, prompt="p", attachments=(file,))

    for shown in (repr(file), repr(request), str(request.key_parts())):
        assert "SECRET" not in shown
        assert file.base64()[:40] not in shown
        assert file.sha256 in shown


def test_text_stands_before_the_prompt_under_its_name() -> None:
    """Each in its block, after the context."""
    request = Request(
        provider="p",
        model="m",
        target=None,
        prompt="Compare.",
        context=(("tone", "dry"),),
        attachments=attachments(
            [("a.txt", b"\xef\xbb\xbfone"), ("b.png", PNG), ('"<b>.md', "två".encode())]
        ),
    )

    assert request.user_text() == (
        "<tone>\ndry\n</tone>\n\n"
        '<file name="a.txt">\none\n</file>\n\n'
        '<file name="&quot;&lt;b&gt;.md">\ntvå\n</file>\n\n'
        "Compare."
    )
    assert [file.name for file in request.media()] == ["b.png"]
