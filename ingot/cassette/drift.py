"""What changed: the nearest recording of a request, and the parts in which the two differ."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, is_array, is_equal, is_object
from ingot._spelling import counted
from ingot.cassette.compare import likeness
from ingot.cassette.errors import CassetteError, CassetteMissError
from ingot.cassette.rows import first_line
from ingot.cassette.typetext import type_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ingot.cassette.recorder import Cassette
    from ingot.cassette.tape import Row

__all__ = ["changes", "report_drift", "report_miss", "report_unused"]

_LINES = 40
_WIDTH = 200
_PARTS = (
    *("system", "prompt", "context", "messages", "tools", "files", "model", "params", "sample"),
    *("tool", "args", "question", "choices", "repeat"),
)


def report_miss(
    cassette: Cassette, row: dict[str, Any], types: Mapping[str, Any], recorded: int
) -> CassetteMissError:
    """
    Say why a request has no answer: the reason in a sentence, then what changed.

    Args:
        cassette: Where it was looked for.
        row: The request, or the call or question in an ask, without answers.
        types: The types in it.
        recorded: How many answers are recorded for it, all of which were played.
    """
    site = str(row["site"])
    if recorded:
        reason = f"{site}: recorded {_times(recorded)}, and {_ASKED[row['kind']]} once more"
        out: list[str] = []
    else:
        reason, out = _changed(cassette, row, types)
    if row["kind"] != "ask":
        out.insert(0, f"  {first_line(row)}")
    out.append(
        f"  {'re-record' if recorded else 're-record just this'}:  {_command(cassette, row)}"
    )
    report = "\n".join(cassette.gate.shown(line)[:_WIDTH] for line in _bounded(out))
    return CassetteMissError(reason, path=str(cassette.path), key=row["key"], report=report)


_ASKED = {"ask": "asked for", "tool": "called", "human": "asked"}
_WHAT = {"ask": "request", "tool": "call", "human": "question to a person"}


def _changed(
    cassette: Cassette, row: dict[str, Any], types: Mapping[str, Any]
) -> tuple[str, list[str]]:
    near = _nearest(cassette, row)
    out: list[str] = []
    reason = f"{row['site']}: no recording for this {_WHAT[row['kind']]}"
    if not len(cassette.tape):
        missing = "" if cassette.path.exists() else " (no such file)"
        reason = f"{row['site']}: nothing is recorded{missing}"
    if near is not None:
        out.append(f"  nearest: {near.key[:11]} ({_alike(near, row)})")
        out += [f"    {line}" for line in changes(near.data, row, cassette.tape.types, types)]
    next_in_place = None if cassette.places is None else cassette.places.told()
    if next_in_place is not None:
        out.append(f"  {next_in_place}")
    tape = cassette.tape
    opening = str(row["ask"]) if "ask" in row else "" if near is None else tape.first_key(near)
    left = [other for other in cassette.unused() if tape.first_key(other) != opening]
    if left:
        said = left[0].first_line
        more = counted(len(left), "more recorded answer was", "more recorded answers were")
        out.append(f"  {more} not used: {left[0].site}  {said!r}")
    return reason, out


def _bounded(out: list[str]) -> list[str]:
    """At most so many lines, the last ones, which say what to do, among them."""
    over = len(out) - _LINES
    return out if over <= 0 else [*out[: _LINES - 3], f"    … {over + 1} more lines", *out[-2:]]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _command(cassette: Cassette, row: Mapping[str, Any]) -> str:
    """What to run; a call or a question alone is added, without asking the model anew."""
    site, is_ask = row["site"].rpartition(":")[2], row["kind"] == "ask"
    if not cassette.automatic:
        return f"mode='refresh', only={site!r}" if is_ask else "mode='record'"
    flags = f"--ingot=refresh --ingot-only={quote(site)}" if is_ask else "--ingot=record"
    test = cassette.about.get("test")
    return flags if test is None else f"pytest {quote(test)} {flags}"


def _nearest(cassette: Cassette, row: Mapping[str, Any]) -> Row | None:
    """The row of the same place, else of the same type, else the one with the most alike text."""
    rows = [other for other in cassette.tape if other.data["kind"] == row["kind"]]
    if not rows:
        return None
    unused = {other.key for other in cassette.unused()}
    turns = len(row.get("messages", ()))

    def near(other: Row) -> tuple[bool, ...]:
        same_turn = len(other.data.get("messages", ())) == turns
        same = all(other.data.get(name) == row.get(name) for name in ("type", "tool", "ask"))
        return other.site == row["site"], same_turn, other.key in unused, same

    best = max(map(near, rows))
    # Texts are compared where nothing else decides, and not without end.
    nearest = [other for other in rows if near(other) == best][:500]
    return max(nearest, key=lambda other: likeness(other.data, row))


def _alike(near: Row, row: Mapping[str, Any]) -> str:
    place = "same site" if near.site == row["site"] else near.site
    what = "prompt" if "prompt" in row else _WHAT[row["kind"]]
    return f"{place}, {likeness(near.data, row):.0%} of the {what}"


def changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    old_types: Mapping[str, Any],
    new_types: Mapping[str, Any],
) -> list[str]:
    """Say in lines how the request of *new* differs from that of *old*, part by part."""
    out: list[str] = []
    same: list[str] = []
    name, other = old.get("type", ""), new.get("type", "")  # an imported row has a name alone
    before, after = old_types.get(name, name), new_types.get(other, other)
    for part in _PARTS:
        if is_equal(old.get(part), new.get(part)):
            if part in old:
                same.append(part)
            continue
        pair = _readable(part, old, old_types), _readable(part, new, new_types)
        said = list(_part(*pair))
        if said or pair[0] is not pair[1]:
            out.append(part)
            out += [f"  {line}" for line in said or ["its order changed"]]
    if not is_equal(before, after):
        out.append("type")
        told = [*_lines(type_lines(before), type_lines(after))] if before and after else []
        out += [f"  {line}" for line in told or _tree(before, after, "")]
    elif before:
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
            described = types.get(said.pop("type", ""))
            out[name] = said | _arguments(described)
    return out


def _arguments(described: Any) -> dict[str, Any]:
    """The parameters of a tool by name, without the class that was made of them."""
    classes = described.get("classes") if is_object(described) else None
    if not is_object(classes):
        return {"type": described}
    made = classes[described["type"]["ref"]]
    others = {name: one for name, one in classes.items() if one is not made}
    return {"parameters": made["fields"], **({"classes": others} if others else {})}


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
    if is_equal(old, new):
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


def report_unused(cassette: Cassette, rows: list[Row]) -> CassetteError:
    """Say which *rows* have answers that nobody asked for."""
    count = counted(len(rows), "recorded answer was", "recorded answers were")
    shown = "; ".join(f"{row.site} {row.first_line!r}" for row in rows[:5])
    people = any(row.of == "human" for row in rows)
    human = ", and human=True as it keeps what people answered" if people else ""
    return CassetteError(
        f"{count} not asked for: {shown}",
        path=str(cassette.path),
        advice=f"ask for them, or record with mode='refresh'{human}, to drop them",
    )


def report_drift(
    path: Path, site: str, key: str, recorded: Mapping[str, Any] | None, answer: Mapping[str, Any]
) -> CassetteError | None:
    """Compare a live answer with its recording; None where they say the same."""
    if recorded is None:
        return CassetteError(f"{site}: nothing is recorded for this request", path=str(path))
    parts = ("value", "text", "calls", "empty", "error")
    old = {part: recorded[part] for part in parts if part in recorded}
    new = {part: answer[part] for part in parts if part in answer}
    if is_equal(old, new):
        return None
    lines = list(_tree(old, new, ""))[:_LINES]
    return CassetteError(
        f"{site}: the live answer differs from the recording {key[:11]}\n  " + "\n  ".join(lines),
        path=str(path),
    )
