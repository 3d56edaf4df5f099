"""What changed: the nearest recording of a request, and the parts in which the two differ."""

from __future__ import annotations

from difflib import SequenceMatcher, ndiff
from shlex import quote
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_object
from ingot.cassette.errors import CassetteError
from ingot.cassette.rows import row_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ingot._request import Request
    from ingot.cassette.recorder import Cassette
    from ingot.cassette.tape import Row

__all__ = ["changes", "report_drift", "report_miss"]

_LINES = 40
_WIDTH = 200
_PARTS = ("system", "prompt", "context", "messages", "tools", "files", "model", "params", "sample")


def report_miss(
    cassette: Cassette, request: Request, key: str, site: str, recorded: int, made: int
) -> tuple[str, str]:
    """
    Say why a request has no answer.

    Args:
        cassette: Where it was looked for.
        request: The request.
        key: Its key.
        site: Where it was asked.
        recorded: How many answers are recorded for it.
        made: How often it was asked for before.

    Returns:
        The reason in a sentence, and a report of some lines on what changed.
    """
    if recorded:
        reason = f"{site}: recorded {_times(recorded)}, and asked for once more (call {made + 1})"
        return reason, f"  re-record:  {_command(cassette, site)}"
    row, types = row_of(request, key, site)
    near = _nearest(cassette, row)
    out: list[str] = []
    if near is None:
        reason = f"{site}: no recording for this request"
        if not len(cassette.tape):
            reason = f"{site}: nothing is recorded" + (
                "" if cassette.path.exists() else " (no such file)"
            )
    else:
        reason = f"{site}: no recording for this request"
        out.append(f"  nearest: {near.key[:11]} ({_alike(near, row)})")
        out += [f"    {line}" for line in changes(near.data, row, cassette.tape.types, types)]
    left = [other for other in cassette.unused() if near is None or other.key != near.key]
    if left:
        said = _first(left[0])
        more = "answer was" if len(left) == 1 else "answers were"
        out.append(f"  {len(left)} more recorded {more} not used: {left[0].site}  {said!r}")
    out.append(f"  re-record just this:  {_command(cassette, site)}")
    return reason, "\n".join(line[:_WIDTH] for line in out[:_LINES])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _command(cassette: Cassette, site: str) -> str:
    only = f"--ingot=refresh --ingot-only={quote(site.rpartition(':')[2])}"
    test = cassette.about.get("test")
    return f"{only}, or mode='record'" if test is None else f"pytest {quote(test)} {only}"


def _first(row: Row) -> str:
    return text_of(row.data.get("prompt", [""])).split("\n", 1)[0][:60]


def _nearest(cassette: Cassette, row: Mapping[str, Any]) -> Row | None:
    """The row of the same place, else of the same type, else the one with the most alike text."""
    rows = [other for other in cassette.tape if other.data["kind"] == row["kind"]]
    if not rows:
        return None
    return max(rows, key=lambda other: _closeness(other, row))


def _closeness(other: Row, row: Mapping[str, Any]) -> tuple[bool, bool, float]:
    same_type = other.data.get("type") == row["type"]
    return other.site == row["site"], same_type, _ratio(other.data, row)


def _ratio(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    return SequenceMatcher(None, _said(one), _said(two), autojunk=False).quick_ratio()


def _said(row: Mapping[str, Any]) -> str:
    return text_of(row.get("prompt", []))[:4000]


def _alike(near: Row, row: Mapping[str, Any]) -> str:
    place = "same site" if near.site == row["site"] else near.site
    return f"{place}, {_ratio(near.data, row):.0%} of the prompt"


def changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    old_types: Mapping[str, Any],
    new_types: Mapping[str, Any],
) -> list[str]:
    """Say in lines how the request of *new* differs from that of *old*, part by part."""
    out: list[str] = []
    same: list[str] = []
    before, after = old_types.get(old.get("type", "")), new_types.get(new.get("type", ""))
    for part in _PARTS:
        if old.get(part) == new.get(part):
            if part in old:
                same.append(part)
            continue
        out.append(part)
        out += [f"  {line}" for line in _part(old.get(part), new.get(part))]
    if before != after:
        out.append("type")
        out += [f"  {line}" for line in _tree(before, after, "")]
    else:
        same.append("type")
    if same:
        out.append(f"unchanged: {', '.join(same)}")
    return out


def _part(old: Any, new: Any) -> Iterator[str]:
    lines = [
        part if is_array(part) and all(isinstance(x, str) for x in part) else None
        for part in (old, new)
    ]
    if lines[0] is not None and lines[1] is not None:
        yield from _lines(lines[0], lines[1])
    else:
        yield from _tree(old, new, "")


def _lines(old: list[str], new: list[str]) -> Iterator[str]:
    before = after = 1
    for line in ndiff(old, new):
        if line[:2] in ("- ", "+ "):
            yield f"@@ line {before if line[0] == '-' else after}: {line}"
        before += line[:2] in ("  ", "- ")
        after += line[:2] in ("  ", "+ ")


def _tree(old: Any, new: Any, path: str) -> Iterator[str]:
    """Each place in which two JSON values differ."""
    if old == new:
        return
    if is_object(old) and is_object(new):
        for key in [*old, *(k for k in new if k not in old)]:
            where = f"{path}.{key}" if path else key
            if key not in new:
                yield f"- {where}: {_short(old[key])}"
            elif key not in old:
                yield f"+ {where}: {_short(new[key])}"
            else:
                yield from _tree(old[key], new[key], where)
    elif is_array(old) and is_array(new) and len(old) == len(new):
        for index, (one, two) in enumerate(zip(old, new, strict=True)):
            yield from _tree(one, two, f"{path}[{index}]")
    else:
        yield f"~ {path or 'value'}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = "nothing" if value is None else canonical(value)
    return text if len(text) <= 80 else text[:77] + "…"


def report_drift(
    path: Path, site: str, key: str, recorded: Mapping[str, Any] | None, answer: Mapping[str, Any]
) -> CassetteError | None:
    """Compare a live answer with its recording; None where they say the same."""
    if recorded is None:
        return CassetteError(f"{site}: nothing is recorded for this request", path=str(path))
    parts = ("value", "text", "calls", "empty", "error")
    old = {part: recorded[part] for part in parts if part in recorded}
    new = {part: answer[part] for part in parts if part in answer}
    if old == new:
        return None
    lines = list(_tree(old, new, ""))[:_LINES]
    return CassetteError(
        f"{site}: the live answer differs from the recording {key[:11]}\n  " + "\n  ".join(lines),
        path=str(path),
    )
