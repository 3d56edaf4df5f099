"""Calls of tools and answers of people in one ask: played, or recorded as rows of their own."""

from __future__ import annotations

import json
from collections import Counter
from contextvars import ContextVar
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ingot._effects import Invocation, RecalledError, Returned
from ingot._json import encoder
from ingot._people import Approval
from ingot.cassette.errors import CassetteError
from ingot.cassette.rows import key_of_deed, lines, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._effects import Consult
    from ingot.cassette.veil import Veil

__all__ = ["Deeds", "answer_of_deed", "inside", "result_of", "run_in"]

_running: ContextVar[tuple[object, str] | None] = ContextVar("running", default=None)
"""The cassette in which the call of a tool will be recorded that runs now, and its key."""

_YES_NO = {True: "yes", False: "no"}

_encode = encoder(allow_nan=False, separators=(",", ":"))
"""Writes results as tools do."""


def run_in(cassette: object, key: str) -> None:
    """Let what is asked from now on, in this context, be part of the call with *key*."""
    _running.set((cassette, key))


def inside(cassette: object) -> dict[str, str]:
    """Return what a row says of the call of a tool in which it is asked; nothing for none."""
    running = _running.get()
    return {"inside": running[1]} if running is not None and running[0] is cassette else {}


class Deeds:
    """
    The calls and questions of one ask as rows without answers; equal ones are numbered.

    Args:
        ask: The key of the ask.
        site: Where it was asked.
        veil: Hides what must not be recorded.
    """

    def __init__(self, ask: str, site: str, veil: Veil) -> None:
        self._ask = ask
        self._site = site
        self._veil = veil
        self._made: Counter[str] = Counter()
        self._files: list[tuple[int, str]] = []

    def row(self, asked: Invocation | Consult) -> dict[str, Any]:
        """Write a call, or a question to a person, that is made now."""
        facts = _call(asked) if isinstance(asked, Invocation) else _question(asked)
        row = {"kind": facts["kind"], "site": self._site, "key": "", "ask": self._ask}
        row |= self._veil.deed(facts)
        row["key"] = key = key_of_deed(row)
        # They are numbered as they are written: two may be equal that were not before.
        if self._made[key]:
            row["repeat"] = self._made[key]
            row["key"] = key_of_deed(row)
        self._made[key] += 1
        return row

    def played(self, asked: Invocation | Consult, answer: dict[str, Any]) -> Any:
        """Return what the written *answer* tells of; files of a call may not be there any more."""
        result = result_of(asked, self._veil.played(answer))
        if isinstance(asked, Invocation):
            self._files += ((asked.context.turn, file["path"]) for file in result.files)
        return result

    def check_files(self, asked: Invocation, path: str) -> None:
        """
        Refuse to run a call that may need files of calls that were played, not run.

        Args:
            asked: The call.
            path: The cassette, for the error.

        Raises:
            CassetteError: Such a file is not there; what the tool made of that would be recorded.
        """
        for turn, file in self._files:
            if turn < asked.context.turn and not asked.context.workspace.exists(file):
                raise _absent(asked.tool.name, file, self._site, path)


def _absent(tool: str, file: str, site: str, path: str) -> CassetteError:
    """The error for a call that would run without a file which a recorded call returned."""
    return CassetteError(
        f"{site}: the tool `{tool}` was not run, because the file {file!r:.200}, which a call "
        "returned whose result was played, is not in the workspace",
        path=path,
        advice="pass the workspace=… of the recording, or ask anew with "
        f"mode='refresh', only={site.rpartition(':')[2]!r}",
    )


def _call(asked: Invocation) -> dict[str, Any]:
    return {"kind": "tool", "tool": asked.tool.name, "args": asked.tree}


def _question(asked: Consult) -> dict[str, Any]:
    question = asked.question
    row: dict[str, Any] = {"kind": "human", "question": lines(question.question)}
    if isinstance(question, Approval):
        row |= {"tool": question.tool, "args": deepcopy(dict(question.arguments))}
        row["choices"] = list(_YES_NO.values())
    elif question.choices:
        row["choices"] = list(question.choices)
    return row


def answer_of_deed(asked: Invocation | Consult, result: Any) -> dict[str, Any]:
    """Write what came of it: a result, an error, or what a person said."""
    if not isinstance(asked, Invocation):
        return {"value": _YES_NO[result] if isinstance(result, bool) else result}
    returned: Returned = result
    if returned.failed:
        # Names with modules: a class of the same name is another.
        name, *bases = RecalledError.names_of(returned.error)
        return {"error": {"class": name, "bases": bases, "message": lines(returned.text)}}
    files = {"files": [dict(file) for file in returned.files]} if returned.files else {}
    tree = _json(returned.text)
    return {"text": lines(returned.text), **files} if tree is None else {"value": tree, **files}


def _json(text: str) -> Any:
    """The value of which *text* is the JSON, to the letter; None where it is that of none."""
    try:
        tree = json.loads(text)
        return tree if _encode(tree) == text else None
    except (ValueError, RecursionError):
        return None


def result_of(asked: Invocation | Consult, answer: Mapping[str, Any]) -> Any:
    """Return what *answer* tells of: a `Returned`, or what a person said."""
    if not isinstance(asked, Invocation):
        approves = isinstance(asked.question, Approval)
        return answer["value"] == _YES_NO[True] if approves else str(answer["value"])
    if "error" in answer:
        told = answer["error"]
        text = text_of(told["message"])
        error = RecalledError.named((told["class"], *told.get("bases", ())), text)
        return Returned(text=text, failed=True, error=error)
    text = text_of(answer["text"]) if "text" in answer else _encode(answer["value"])
    return Returned(text=text, files=tuple(answer.get("files", ())))
