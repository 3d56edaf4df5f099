"""What is wrong with a cassette that can be read: keys, types, answers and secrets, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ingot import errors
from ingot._json import is_array, is_object
from ingot._shape.descriptor import descriptor_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingot.cassette.secrets import Scanner
    from ingot.cassette.tape import Row, Tape

__all__ = ["LARGE", "Fault", "faults", "malformed"]

LARGE = 256 * 1024
"""Bytes beyond which nobody reads a file in a review."""

_KINDS = ("ask", "tool", "human", "imported")
_PARTS = ("value", "text", "calls", "empty", "error")
_NEEDED = {"tool": frozenset({"tool", "args"}), "human": frozenset({"question"})}
_TEXTS = ("system", "prompt", "question")


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One thing that is wrong.

    Attributes:
        what: What it is, on one line.
        fix: What to do about it.
        key: The row; None for the file.
        grade: An `error` makes a check fail, a `warning` does not.
    """

    what: str
    fix: str
    key: str | None = None
    grade: Literal["error", "warning"] = "error"


def malformed(data: Mapping[str, Any]) -> str | None:
    """Say what of a row, as it stands in the file, is of another form than ingot writes."""
    for name in _TEXTS:
        if name in data and not _is_text(data[name]):
            return f"`{name}` is no list of lines"
    if data["kind"] == "ask" and not {"prompt", "type", "model"} <= data.keys():
        return "it lacks its prompt, type or model"
    lacking = _NEEDED.get(data["kind"], frozenset()) - data.keys()
    if lacking:
        return f"it lacks its {' and '.join(sorted(lacking))}"
    for name in ("context", "messages", "tools", "files"):
        if not is_array(data.get(name, [])) or not all(map(is_object, data.get(name, []))):
            return f"`{name}` is no list of objects"
    for name, needed in (
        ("context", {"name"}),
        ("tools", {"name", "type"}),
        ("messages", {"role"}),
    ):
        if not all(needed <= part.keys() for part in data.get(name, [])):
            return f"a part of `{name}` lacks its {' or '.join(sorted(needed))}"
    if not all({"type", "bytes", "sha256"} <= part.keys() for part in data.get("files", [])):
        return "a part of `files` lacks its type, bytes or sha256"
    if not is_object(data.get("params", {})):
        return "`params` is no object"
    return _bad_answer(data)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        is_array(value) and all(isinstance(line, str) for line in value)
    )


def _bad_answer(data: Mapping[str, Any]) -> str | None:
    for number, answer in enumerate(data["answers"], 1):
        numbers = answer.get("n", 0)
        for count in [answer.get("times", 1), *(numbers if is_array(numbers) else [numbers])]:
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1_000_000:
                return f"`n` or `times` of answer {number} is no small number"
        if not any(part in answer for part in _PARTS) and data["kind"] != "ask":
            return f"answer {number} says nothing; expected one of {', '.join(_PARTS)}"
        if data["kind"] == "human" and not isinstance(answer.get("value"), str):
            return f"`value` of answer {number} is no text, which is what a person said"
        if not is_array(answer.get("files", [])) or not all(
            is_object(file) and "path" in file for file in answer.get("files", [])
        ):
            return f"`files` of answer {number} is no list of handles"
        if "text" in answer and not _is_text(answer["text"]):
            return f"`text` of answer {number} is no list of lines"
        error = answer.get("error")
        if error is not None and not (is_object(error) and {"class", "message"} <= error.keys()):
            return f"the error of answer {number} lacks its class or message"
        usage = answer.get("usage", {})
        if not is_object(usage) or not all(isinstance(n, int) for n in usage.values()):
            return f"`usage` of answer {number} is no object of numbers"
        calls = answer.get("calls", [])
        if not is_array(calls) or not all(
            is_object(call) and {"call", "tool", "arguments"} <= call.keys() for call in calls
        ):
            return f"`calls` of answer {number} lack their call, tool or arguments"
    return None


def faults(tape: Tape, size: int, scanner: Scanner) -> Iterator[Fault]:
    """
    Look for all that is wrong.

    Args:
        tape: The cassette.
        size: Its size in bytes.
        scanner: Finds secrets.
    """
    if size > LARGE:
        biggest = max(tape, key=lambda row: len(str(row.to_json())))
        yield Fault(
            f"it has {size:,} bytes; more than {LARGE:,} are hard to review, and the largest row "
            f"is that of {biggest.site or biggest.key}",
            "say less, or spread the requests over several cassettes",
            biggest.key,
            "warning",
        )
    for name, described in tape.types.items():
        if descriptor_digest(described) != name:
            yield Fault(
                f"the type `{name}` was edited: its description has another name",
                "undo the edit, or record again",
            )
    for row in tape:
        yield from _of_row(row, tape, scanner)


def _of_row(row: Row, tape: Tape, scanner: Scanner) -> Iterator[Fault]:
    kind = row.data["kind"]
    where = f"row {row.key[:11]} ({row.site})" if row.site else f"row {row.key[:11]}"
    if kind not in _KINDS:
        yield Fault(
            f"{where} is of the kind `{kind}`, which this ingot does not know",
            "pip install --upgrade ingot-ask",
            row.key,
            "warning",
        )
        return
    named = [row.data["type"]] if "type" in row.data and kind != "imported" else []
    named += [tool["type"] for tool in row.data.get("tools", ())]
    missing = [name for name in named if name not in tape.types]
    if missing:
        yield Fault(
            f"{where} names the type `{missing[0]}`, which is not in `types`",
            "restore the file from version control, or record the row again",
            row.key,
        )
    else:
        row.verified = False
        if not tape.is_genuine(row):
            yield Fault(
                f"{where} holds another request than was recorded under its key; "
                f"the key of what it holds is {tape.actual_key(row)[:11]}",
                "undo the edit of the request, or record it again",
                row.key,
            )
    for answer in row.answers.values():
        told = answer.get("error")
        if kind == "ask" and told is not None and not hasattr(errors, str(told["class"])):
            yield Fault(
                f"{where} ended with `{told['class']}`, which is no error of this ingot",
                "record the row again",
                row.key,
            )
    found = scanner.find(row.to_json())
    if found is not None:
        yield Fault(
            f"{where}: `{_dotted(found.path)}` holds what looks like {found.kind}",
            "revoke it, take it out of what is said, and record the row again",
            row.key,
        )


def _dotted(path: tuple[str | int, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
