"""Content that is sent along on purpose: read, measured, named and typed before any request."""

from __future__ import annotations

import ntpath
import re
from hashlib import sha256
from os import PathLike, fsdecode
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from ingot._request import Attachment, is_text_type
from ingot._shape.content import File
from ingot.errors import FileAccessError

if TYPE_CHECKING:
    from collections.abc import Iterable

    Attachable: TypeAlias = "File | PathLike[str] | Attachment | tuple[str, bytes]"

__all__ = ["MAX_BYTES", "MAX_TOTAL", "attachment", "attachments"]

MAX_BYTES = 20 * 2**20
"""Largest attachment unless *max_bytes* says otherwise, in bytes."""

MAX_TOTAL = 22 * 2**20
"""Most that one ask sends along, in bytes: base64 makes it 31 MB, and vendors take 32 in all."""

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}

_SUFFIXES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".csv": "text/csv",
    ".htm": "text/html",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
    ".tsv": "text/tab-separated-values",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""A table of our own: that of the system differs from machine to machine, and so would the keys."""

_SENT = "PNG, JPEG, GIF and WebP images, PDF, and text in UTF-8"


def attachment(
    source: File | PathLike[str] | bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Attachment:
    """
    Return the content of a file, or of bytes, to be sent along with an ask.

    The media type is what the content shows. Text is told by its name, and is plain text where the
    name says nothing.

    Args:
        source: A `File`, which is opened in its workspace; a path of the caller's own, such as a
            `Path`; or the bytes themselves, which need a *name* or a *media_type*. A text is none
            of these: no path and no address in a text is ever opened.
        name: Shown to the model, without its folders; None for the file's own.
        media_type: Such as `image/png`; None to find out.
        max_bytes: What is larger is refused, a file before it is read.

    Raises:
        FileAccessError: It is missing, a directory, a device, empty, too large or of a type that is
            not sent.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        if name is None and media_type is None:
            raise FileAccessError(
                "bytes", "neither name nor media_type is given", advice="write name='scan.pdf'"
            )
        suffixes = [suffix for suffix, kind in _SUFFIXES.items() if kind == media_type]
        name, content = _base(name or "".join(["attachment", *suffixes[:1]])), bytes(source)
        _check_size(name, len(content), max_bytes)
    elif isinstance(source, File):
        name = _base(name or source.path)
        content = _read(source, name, max_bytes)
    elif _is_path(source):
        path = Path(fsdecode(source))
        name = _base(name or str(path))
        content = _read(path, name, max_bytes)
    else:
        raise _no_source(source)
    kind = _sniffed(content, name) if media_type is None else _named(media_type, content, name)
    return Attachment(
        media_type=kind,
        size=len(content),
        sha256=sha256(content).hexdigest(),
        name=name,
        content=content,
    )


def attachments(
    items: Iterable[Attachable], *, max_total: int = MAX_TOTAL
) -> tuple[Attachment, ...]:
    """
    Return what the setting `attach=` lists, read and checked.

    Args:
        items: Files and paths as of `attachment`, (name, bytes) pairs, and attachments.
        max_total: Most bytes of all of them together.

    Raises:
        FileAccessError: One of them cannot be sent, or they are too large together.
    """
    if isinstance(items, str | bytes | PathLike | File | Attachment):
        raise FileAccessError(
            _shown(items), "attach= takes a list", advice="write attach=[…], also for one file"
        )
    made: list[Attachment] = []
    total = 0
    for item in items:
        made.append(_attached(item))
        total += made[-1].size
        if total > max_total:
            raise FileAccessError(
                made[-1].name,
                f"with it, the attachments are larger than {max_total:,} bytes together",
                advice="attach less, or let a tool read the files and return what matters",
            )
    return tuple(made)


def _attached(item: Any) -> Attachment:
    match item:
        case Attachment():
            return item
        case (str() as name, bytes() as content):
            return attachment(content, name=name)
        case _:
            return attachment(item)


def _no_source(source: Any) -> FileAccessError:
    return FileAccessError(
        _shown(source),
        "a text is never taken for a path or an address"
        if isinstance(source, str)
        else f"{type(source).__name__} is no content",
        advice=(
            "attach Path('…') or a File for a file, ('name.png', data) for bytes; "
            "what an address leads to must be fetched first"
        ),
    )


def _shown(source: Any) -> str:
    """What was given, without telling content or folders."""
    if isinstance(source, Attachment):
        return source.name
    if _is_path(source):
        return _base(fsdecode(source))
    if not isinstance(source, str):
        return type(source).__name__
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:(//)?", source)
    if scheme is not None:
        return scheme[0] + "…"
    is_name = len(source) <= 100 and re.fullmatch(r"\S+\.\w{1,8}", source)
    return _base(source) if is_name else "text"


def _is_path(source: Any) -> TypeGuard[PathLike[str]]:
    return isinstance(source, PathLike)


def _base(path: str) -> str:
    """The last part of *path* under the conventions of both Windows and the others."""
    base = ntpath.basename(path.rstrip("/\\"))
    return "".join(char if char.isprintable() else "_" for char in base)[-255:] or "attachment"


def _read(source: File | Path, name: str, most: int) -> bytes:
    try:
        status = source.stat()
        if S_ISDIR(status.st_mode):
            raise FileAccessError(name, "it is a directory", advice="attach the files in it")
        if not S_ISREG(status.st_mode):
            raise FileAccessError(name, "it is a device or a pipe, and no file")
        _check_size(name, status.st_size, most)
        with source.open("rb") as file:
            content: bytes = file.read(most + 1)
    except FileAccessError:
        raise
    except (OSError, ValueError) as error:
        # The system's own message tells the folders.
        why = getattr(error, "strerror", None) or "its path cannot be one"
        raise FileAccessError(name, why) from None
    # It may have grown or shrunk meanwhile.
    _check_size(name, len(content), most)
    return content


def _check_size(name: str, size: int, most: int) -> None:
    if size == 0:
        raise FileAccessError(name, "it is empty")
    if size > most:
        raise FileAccessError(
            name,
            f"it is larger than {most:,} bytes",
            advice="attach less, or let a tool read the file and return what matters",
        )


def _sniffed(content: bytes, name: str) -> str:
    """The type that the content shows, or the name tells if the content is text."""
    for signature, kind in _SIGNATURES.items():
        if content.startswith(signature):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    told = _SUFFIXES.get(ntpath.splitext(name)[1].lower(), "text/plain")
    if told == "application/pdf" and b"%PDF-" in content[:1024]:
        return told
    if not is_text_type(told):
        raise FileAccessError(
            name,
            f"its name says {told}, and its content is none",
            advice="see whether the file is whole; media_type='text/plain' sends text as text",
        )
    if not _is_text(content):
        raise FileAccessError(
            name,
            f"its content is of no type that is sent; these are: {_SENT}",
            advice="convert it; or say media_type=… if its provider takes others",
        )
    return told


def _named(media_type: str, content: bytes, name: str) -> str:
    """The type that the caller says, in the one way to write it."""
    kind = media_type.partition(";")[0].strip().lower()
    if not re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", kind):
        raise FileAccessError(
            name, f"{media_type!r:.60} is no media type", advice="write one such as 'image/png'"
        )
    if is_text_type(kind) and not _is_text(content):
        raise FileAccessError(
            name, f"it is not {kind} in UTF-8", advice="save it as UTF-8, or leave media_type out"
        )
    return kind


def _is_text(content: bytes) -> bool:
    if b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
