"""Test cases that a program writes, as parameters of a test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from ingot.errors import IngotError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARK", "parametrize"]

MARK = "ingot_generate"

_CALLED = re.compile(r"^[\w.]+\(\) ")
"""The function of ours that a wrong argument is told of."""


def parametrize(metafunc: pytest.Metafunc) -> None:
    """
    Give a test that is marked the cases that its program writes.

    The program runs once, in the folder of the test's file, when tests are collected.
    """
    for mark in metafunc.definition.iter_markers(MARK):
        try:
            argument, cases = _cases(
                *mark.args, folder=metafunc.definition.path.parent, **mark.kwargs
            )
        except (IngotError, TypeError) as error:
            said = _CALLED.sub("", str(error))
            pytest.fail(f"the marker {MARK}: {said}", pytrace=False)
        if argument not in metafunc.fixturenames:
            pytest.fail(
                f"the marker {MARK}: the test has no argument `{argument}` for its case; "
                "name another one with argument=…",
                pytrace=False,
            )
        names = [str(case.get("id")) for case in cases]
        metafunc.parametrize(argument, cases, ids=names)


def _cases(
    command: str | Sequence[str],
    config: Any = None,
    *,
    argument: str = "case",
    folder: Any,
    **options: Any,
) -> tuple[str, list[dict[str, Any]]]:
    from ingot.exec.host import generate_tests  # most runs of pytest need none of it

    options.setdefault("cwd", folder)
    return argument, generate_tests(command, config, **options)
