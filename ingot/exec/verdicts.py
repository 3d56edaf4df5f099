"""Verdicts of programs in tests: an output that does not pass fails the test that made it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot.exec.host import run_assert

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ingot._program import Command
    from ingot.exec.host import AssertOptions, Verdict

__all__ = ["check"]


def check(command: Command, value: Any, **options: Unpack[AssertOptions]) -> Verdict:
    """
    Have a program judge *value*, and fail if it does not pass.

    Args:
        command: The program and its arguments; see `Exec`.
        value: What is to be judged; see `run_assert`.
        options: See `run_assert`.

    Returns:
        The verdict, if it passes.

    Raises:
        AssertionError: It does not pass; the message holds the program's reason and details.
        ExecError: The program gave no verdict.
    """
    __tracebackhide__ = True  # pytest shows the line that called
    verdict = run_assert(command, value, **options)
    if not verdict.passed:
        raise AssertionError(_said(verdict))
    return verdict


def _said(verdict: Verdict) -> str:
    text = verdict.reason or "the program gave no reason"
    if verdict.score:
        text += f" (score {verdict.score:g})"
    if verdict.details is not None:
        text += f"\n{json.dumps(verdict.details, ensure_ascii=False, indent=2)}"
    return text
