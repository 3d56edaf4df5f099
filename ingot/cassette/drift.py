"""What changed: the nearest recording of a request, and the parts in which the two differ."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_object
from ingot.cassette.errors import CassetteError
from ingot.cassette.rows import row_of, text_of
from ingot.cassette.typetext import type_lines

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
        said = left[0].first_line
        more = "answer was" if len(left) == 1 else "answers were"
        out.append(f"  {len(left)} more recorded {more} not used: {left[0].site}  {said!r}")
    out.append(f"  re-record just this:  {_command(cassette, site)}")
    return reason, "\n".join(cassette.gate.shown(line)[:_WIDTH] for line in _bounded(out))


def _bounded(out: list[str]) -> list[str]:
    """At most so many lines, the last ones, which say what to do, among them."""
    over = len(out) - _LINES
    return out if over <= 0 else [*out[: _LINES - 3], f"    … {over + 1} more lines", *out[-2:]]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _command(cassette: Cassette, site: str) -> str:
    only = f"--ingot=refresh --ingot-only={quote(site.rpartition(':')[2])}"
    test = cassette.about.get("test")
    return f"{only}, or mode='record'" if test is None else f"pytest {quote(test)} {only}"


def _nearest(cassette: Cassette, row: Mapping[str, Any]) -> Row | None:
    """The row of the same place, else of the same type, else the one with the most alike text."""
    rows = [other for other in cassette.tape if other.data["kind"] == row["kind"]]
    if not rows:
        return None
    unused = {other.key for other in cassette.unused()}
    turns = len(row.get("messages", ()))

    def near(other: Row) -> tuple[bool, ...]:
        same_turn = len(other.data.get("messages", ())) == turns
        same_type = other.data.get("type") == row["type"]
        return other.site == row["site"], same_turn, other.key in unused, same_type

    best = max(map(near, rows))
    # Texts are compared where nothing else decides, and not without end.
    nearest = [other for other in rows if near(other) == best][:500]
    return max(nearest, key=lambda other: _ratio(other.data, row))


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
        pair = _readable(part, old, old_types), _readable(part, new, new_types)
        said = list(_part(*pair))
        if said or pair[0] is not pair[1]:
            out.append(part)
            out += [f"  {line}" for line in said or ["its order changed"]]
    if before != after:
        out.append("type")
        told = [*_lines(type_lines(before), type_lines(after))] if before and after else []
        out += [f"  {line}" for line in told or _tree(before, after, "")]
    else:
        same.append("type")
    if same:
        out.append(f"unchanged: {', '.join(same)}")
    return out


def _readable(part: str, row: Mapping[str, Any], types: Mapping[str, Any]) -> Any:
    """A part of *row* so that a place in it has a name."""
    value = row.get(part)
    if value is None or part not in ("context", "tools"):
        return value
    out: dict[str, Any] = {}
    for number, entry in enumerate(value, 1):
        name = entry["name"] if entry["name"] not in out else f"{entry['name']} ({number})"
        said = {k: v for k, v in entry.items() if k != "name"}
        if part == "context":
            out[name] = said["text"] if "text" in said else said.get("value")
        else:
            out[name] = {**said, "type": types.get(said.get("type", ""))}
    return out


def _part(old: Any, new: Any) -> Iterator[str]:
    if _is_text(old) and _is_text(new):
        yield from _lines(old, new)
    else:
        yield from _tree(old, new, "")


def _is_text(value: Any) -> bool:
    return is_array(value) and len(value) > 0 and all(isinstance(line, str) for line in value)


def _lines(old: list[str], new: list[str]) -> Iterator[str]:
    """The lines in which two texts differ."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        yield f"@@ line {a + 1}"
        left, right = old[a:b], new[c:d]
        pairs = zip(left[0], right[0], strict=False) if left and right else ()
        start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) - 60
        yield from (f"- {_from(line, start)}" for line in left[:_LINES])
        yield from (f"+ {_from(line, start)}" for line in right[:_LINES])


def _from(line: str, start: int) -> str:
    """*line* without what a long one has in common with the other."""
    return line if start <= 0 or len(line) < 140 else f"…{line[start:]}"


def _tree(old: Any, new: Any, path: str) -> Iterator[str]:
    """Each place in which two JSON values differ."""
    if old == new and canonical(old) == canonical(new):
        return
    if _is_text(old) and _is_text(new) and path:
        yield f"{path}:"
        yield from _lines(old, new)
    elif is_object(old) and is_object(new):
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
