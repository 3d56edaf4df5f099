"""Two sides of a cassette become one: by the keys of its rows, never by the places of its lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_equal, is_object
from ingot.cassette.errors import CassetteFormatError
from ingot.cassette.rows import is_row, text_of
from ingot.cassette.store import parse
from ingot.cassette.tape import Row, Tape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["merged", "resolve", "sides"]


def sides(text: str) -> tuple[str, str] | None:
    """
    Take the two sides of a text apart that git left with conflict markers, also in diff3 style.

    Returns:
        Both as whole files, ours first; None where there are no markers.

    Raises:
        ValueError: The markers do not pair.
    """
    ours: list[str] = []
    theirs: list[str] = []
    part = "both"
    found = False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = _mark(line)
        follows = _FOLLOWS[part].get(mark) if mark else None
        if follows is not None:
            part, found = follows, True
        elif part == "base":
            pass  # what both sides came from, perhaps with markers of its own
        elif mark:
            raise ValueError(f"line {number} is a conflict marker that belongs to no other")
        else:
            if part != "theirs":
                ours.append(line)
            if part != "ours":
                theirs.append(line)
    if part != "both":
        raise ValueError("its last conflict has no end")
    return ("".join(ours), "".join(theirs)) if found else None


_FOLLOWS: dict[str, dict[str, str]] = {
    "both": {"<": "ours"},
    "ours": {"|": "base", "=": "theirs"},
    "base": {"=": "theirs"},
    "theirs": {">": "both"},
}
"""Which marker leads from where to where."""


def _mark(line: str) -> str | None:
    bare = line.rstrip("\r\n")
    sign = bare[:1]
    if sign in ("<", "|", "=", ">") and bare[:7] == sign * 7 and bare[7:8] in ("", " "):
        return sign
    return None


def resolve(text: str, path: Path) -> Tape:
    """
    Read a cassette as a merge left it, with conflict markers or rows that stand twice.

    Args:
        text: The whole file.
        path: Its name, for errors.

    Returns:
        All rows of both sides. Of a row that both have, the answers of the first side come first.

    Raises:
        CassetteFormatError: A side is no cassette, or the two recorded different answers for one
            request.
    """
    try:
        parts = sides(text)
    except ValueError as error:
        raise CassetteFormatError(str(error), path=str(path), advice=_sides_of(path)) from None
    if parts is None:
        return _read(text, path, None)
    tape = _read(parts[0], path, "our side")
    _unite(tape, _read(parts[1], path, "their side"), path)
    for row in tape:
        row.verified = False
        if not tape.is_genuine(row):
            raise CassetteFormatError(
                f"git mixed the lines of two rows; the row {row.key} ({row.site}) is neither",
                path=str(path),
                advice=_sides_of(path),
            )
    return tape


def _sides_of(path: Path) -> str:
    return f"start again from two whole sides: git checkout --merge -- {path}"


def _read(text: str, path: Path, side: str | None) -> Tape:
    """Read one side, in which rows and types may stand twice."""
    named = "" if side is None else f"{side} of the conflict: "
    try:
        value = json.loads(text, object_pairs_hook=_same)
    except RecursionError:
        raise CassetteFormatError(f"{named}it is nested too deeply", path=str(path)) from None
    except json.JSONDecodeError:
        if side is None:
            parse(text.encode(), path)  # says what is wrong with it
        raise CassetteFormatError(
            f"{named}it is no JSON, because git mixed its lines",
            path=str(path),
            advice=_sides_of(path),
        ) from None
    except ValueError as error:
        raise CassetteFormatError(f"{named}{error}", path=str(path)) from None
    if is_object(value) and is_array(value.get("rows")) and all(map(is_row, value["rows"])):
        rows: dict[tuple[str, str], list[Any]] = {}
        for row in value["rows"]:
            rows.setdefault((row["kind"], row["key"]), []).append(row)
        value["rows"] = [_one(alike, path) for alike in rows.values()]
    return parse(json.dumps(value).encode(), path)


def _same(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if not is_equal(made.setdefault(key, value), value):
            raise ValueError(f"one object names {key!r} twice, with different values")
    return made


def _one(alike: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    """One row out of those with one key."""
    if len(alike) == 1:
        return alike[0]
    first, *others = (Tape({("", ""): Row.from_json(dict(row))}) for row in alike)
    for other in others:
        _unite(first, other, path)
    return first.rows["", ""].to_json()


def _unite(tape: Tape, other: Tape, path: Path) -> None:
    for place, theirs in other.rows.items():
        ours = tape.rows.get(place)
        for number in _differing(ours, theirs):
            raise CassetteFormatError(
                f"both sides recorded the row {theirs.key} ({theirs.site}, {_said(theirs)!r}), and "
                f"its answer {number + 1} differs: {_short(ours, number)} and "
                f"{_short(theirs, number)}",
                path=str(path),
                advice="delete one of the two answers in the file, then resolve again; or take one "
                f"side, git checkout --ours -- {path}, and record what is missing",
            )
        if ours is None:
            tape.rows[place] = theirs
        else:
            for number, answer in theirs.answers.items():
                ours.answers.setdefault(number, answer)
    tape.types = {**other.types, **tape.types}
    tape.rest = {**other.rest, **tape.rest}


def _differing(ours: Row | None, theirs: Row) -> Iterator[int]:
    if ours is not None:
        for number in sorted(ours.answers.keys() & theirs.answers.keys()):
            if not is_equal(ours.answers[number], theirs.answers[number]):
                yield number


def _said(row: Row) -> str:
    return text_of(row.data.get("prompt", row.data.get("question", ""))).split("\n", 1)[0][:40]


def _short(row: Row | None, number: int) -> str:
    answer = {} if row is None else row.answers[number]
    said = {k: v for k, v in answer.items() if k in ("value", "text", "error", "calls", "empty")}
    text = canonical(said or answer)
    return text if len(text) <= 60 else text[:59] + "…"


def merged(base: Tape, ours: Tape, theirs: Tape, path: Path) -> Tape:
    """
    Merge two cassettes that came from *base*, as git's merge drivers do.

    What one side alone changed or dropped since *base* is changed or dropped; all else is united.

    Raises:
        CassetteFormatError: Both sides changed one answer, and differently.
    """
    out = Tape({}, dict(ours.types), {**theirs.rest, **ours.rest})
    for place in [*ours.rows, *(place for place in theirs.rows if place not in ours.rows)]:
        was, our, their = (tape.rows.get(place) for tape in (base, ours, theirs))
        if our is None or their is None:
            left = our or their
            if left is not None and not _is_kept(was, left):
                out.rows[place] = left
        elif _is_kept(was, our):
            out.rows[place] = their
        elif _is_kept(was, their):
            out.rows[place] = our
        else:
            one = Tape({place: our})
            _unite(one, Tape({place: their}), path)
            out.rows[place] = one.rows[place]
    out.types = {**theirs.types, **out.types}
    return out


def _is_kept(was: Row | None, row: Row) -> bool:
    """Whether *row* is as it *was*."""
    return was is not None and is_equal(was.to_json(), row.to_json())
