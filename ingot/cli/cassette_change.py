"""Commands that make one cassette of another: resolve, migrate, import, export."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ingot._json import Unreadable
from ingot._spelling import counted
from ingot.cassette import store, upstream
from ingot.cassette.errors import CassetteError, CassetteFormatError, CassetteSecretError
from ingot.cassette.interop import export_tape, import_tape
from ingot.cassette.merge import merged, resolve, sides
from ingot.cassette.secrets import Scanner
from ingot.cassette.tape import VERSION, Tape
from ingot.cassette.upstream_file import no_writing
from ingot.cli import show
from ingot.cli.cassette_files import content, opened, refuse_malformed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["export_cassette", "import_cassette", "migrate", "resolve_file", "run_driver"]


def resolve_file(path: Path, *, whole: bool) -> None:
    """Settle the conflicts that git left in a cassette."""
    before = content(path)
    counts: list[int] = []

    def settle(data: bytes) -> bytes:
        tape = resolve(_text(data, path), path)
        refuse_malformed(store.dump(tape), path)
        counts[:] = [len(tape.rows), len(tape)]
        return store.dump(tape)

    after = store.rewrite(path, settle)
    rows, answers = counts
    had_markers = _has_markers(before, path)
    if whole:
        told = {"file": str(path), "rows": rows, "answers": answers, "changed": before != after}
        show.tree({**told, "conflicts": had_markers})
    elif had_markers:
        what = f"{counted(rows, 'row')} with {counted(answers, 'answer')}"
        show.prose(f"{path}: resolved, {what}; now: git add {path}")
    else:
        show.prose(f"{path}: nothing to resolve")


def _has_markers(data: bytes, path: Path) -> bool:
    try:
        return sides(_text(data, path)) is not None
    except ValueError:
        return True


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CassetteFormatError(f"it is not UTF-8 (byte {error.start})", path=str(path)) from None


def run_driver(base: Path, ours: Path, theirs: Path) -> None:
    """Merge *theirs* into *ours*, as git calls a merge driver: the result stands in *ours*."""
    tape = merged(_side(base), _side(ours), _side(theirs), ours)
    store.rewrite(ours, lambda _: store.dump(tape))


def _side(path: Path) -> Tape:
    # Git gives an empty file for the base of a file that both sides added.
    data = content(path)
    return store.parse(data, path) if data.strip() else Tape()


def migrate(files: Iterable[Path], *, whole: bool) -> None:
    """Bring cassettes of older versions to the current one; there are none yet."""
    found = [*files]
    for path in found:
        tape = opened(path)
        if tape.upstream is not None:
            raise no_writing(tape, path)
    if whole:
        show.tree({"version": VERSION, "migrated": [], "current": [str(path) for path in found]})
    else:
        count = counted(len(found), "cassette")
        show.prose(f"{count} of version {VERSION}, which is the current one; nothing to do")


def import_cassette(source: Path, out: Path, *, force: bool) -> None:
    """Write one of Ingot's own cassettes, 0.1 to 0.3, in our form."""
    text = _text(content(source), source)
    if '"ingot_cassette"' in text[:512]:
        raise CassetteError(
            "it is a cassette of this ingot already", path=str(source), advice="nothing to do"
        )
    _absent(out, force=force)
    tape = import_tape(upstream.loads(text, path=str(source)))
    scanner = Scanner(os.environ)
    for row in tape:
        found = scanner.find(row.to_json())
        if found is not None:
            raise CassetteSecretError(row.key, found.kind, path=str(source))
    store.rewrite(out, lambda _: store.dump(tape))
    show.note(
        f"written: {out}, {counted(len(tape), 'answer')}. Each is played for the request that its "
        "digest is of; a run with mode='record' writes that request down"
    )


def export_cassette(source: Path, out: Path, *, agent: str, force: bool) -> None:
    """Write a cassette in the form of Ingot 0.3."""
    tape = opened(source)
    _absent(out, force=force)
    try:
        made = export_tape(tape, agent)
        upstream.check(made)
        text = upstream.dumps(made)
    except (TypeError, ValueError, Unreadable) as error:
        raise CassetteError(f"it cannot be exported: {error}", path=str(source)) from None
    store.rewrite(out, lambda _: text.encode())
    show.note(
        f"written: {out}. Ingot plays it by position, in this order; the file it came from has none"
    )


def _absent(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        raise CassetteError("it is there already", path=str(path), advice="--force writes over it")
