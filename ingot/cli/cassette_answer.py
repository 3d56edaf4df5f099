"""The answers of one row: print them, or write one by hand where there is nobody to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import Unreadable, read
from ingot._spelling import counted
from ingot.cassette import store
from ingot.cassette.errors import CassetteKeyError
from ingot.cassette.fit import is_prose, misfits
from ingot.cassette.gate import Gate
from ingot.cassette.rows import lines, text_of
from ingot.cli import inputs, show
from ingot.cli.cassette_files import one_row, opened
from ingot.cli.exits import MisuseError

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.cassette.tape import Row, Tape

__all__ = ["show_answers", "write_answer"]

_MOST = 2 * 1024 * 1024
"""Largest cassette, in bytes, as in `Cassette`."""


def show_answers(path: Path, key: str, *, whole: bool) -> None:
    """Print the answers of a row: values as JSON, texts as they are."""
    row = one_row(opened(path), key, path)
    if whole:
        show.tree(list(row.answers.values()))
        return
    for answer in row.answers.values():
        if "value" in answer:
            show.tree(answer["value"])
        elif "text" in answer:
            show.prose(text_of(answer["text"]))
        else:
            show.tree(answer)


def write_answer(path: Path, key: str, value: Path, *, number: int | None, whole: bool) -> None:
    """
    Write the answer of a row, as a person or a model would have given it.

    Args:
        path: The cassette.
        key: The beginning of the key of the row.
        value: The file of the answer: JSON, or for prose the text; `-` for stdin.
        number: Which answer, from 1 on; None for the only one, or for all if they are equal.
        whole: Say what was written as JSON.

    Raises:
        MisuseError: The answer does not fit the row.
        CassetteError: The cassette cannot be read or written, or there is a secret in the answer.
    """
    given = inputs.text(str(value), "VALUE")
    written: dict[str, Any] = {}

    def change(tape: Tape) -> Tape:
        row = one_row(tape, key, path)
        if not tape.is_genuine(row):
            raise CassetteKeyError(row.key, tape.actual_key(row), path=str(path))
        answer = _answer(row, tape, given, value)
        Gate(path, (), _MOST).check(row.data, {}, answer)
        numbers = _numbers(row, number)
        for n in numbers:
            row.answers.pop(n, None)  # the one that is there would stay
            row.add(n, answer)
        written.update(key=row.key, site=row.site, numbers=[n + 1 for n in numbers])
        return tape

    opened(path)
    store.save(path, change)
    if whole:
        show.tree({"file": str(path), **written})
    else:
        which = ", ".join(map(str, written["numbers"]))
        show.note(f"{path}: answer {which} of {written['key'][:11]} ({written['site']}) is written")


def _answer(row: Row, tape: Tape, given: str, value: Path) -> dict[str, Any]:
    """The answer as it stands in the file; nobody served it, and it took no tokens."""
    kind = row.data["kind"]
    if kind not in ("ask", "human", "tool"):
        raise MisuseError(f"{row.key[:11]} is of the kind `{kind}`; its answers are not written")
    described = tape.types.get(row.data.get("type", ""), "any")
    if is_prose(described):
        return {"text": lines(given.removesuffix("\n")), "stop": "stop"}
    try:
        tree, faults = read(given)
    except Unreadable as error:
        raise MisuseError(f"{value} is not JSON: {error}") from None
    if faults:
        raise MisuseError(f"{value} holds {faults[0][1]}, which JSON has no number for")
    choices = row.data.get("choices")
    if choices and tree not in choices:
        raise MisuseError(f"{value}: the answer is none of the choices: {', '.join(choices)}")
    problems = misfits(described, tree)
    if problems:
        raise MisuseError(f"{value} does not fit the type of the row: {problems[0]}")
    if kind == "ask":
        return {"value": tree, "stop": "stop"}
    if kind == "human" and not isinstance(tree, str):
        raise MisuseError(f"{value}: what a person answers is a text, in quotes")
    # The text of a tool is told to the model as it is, without quotes.
    is_told = kind == "tool" and isinstance(tree, str)
    return {"text": lines(tree)} if is_told else {"value": tree}


def _numbers(row: Row, number: int | None) -> list[int]:
    """Which answers are written, from 0 on."""
    count = len(row.answers)
    if number is None:
        if not row.alike:
            raise MisuseError(f"the row has {count} different answers; say which: --number 1")
        return sorted(row.answers) or [0]
    if number - 1 not in row.answers and number != count + 1:
        raise MisuseError(f"--number {number}: the row has {counted(count, 'answer')}")
    return [number - 1]
