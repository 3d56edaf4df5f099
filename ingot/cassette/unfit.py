"""Where a placeholder stands in the way: what is hidden must still be read when it is played."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ingot.cassette.errors import CassetteSecretError
from ingot.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingot._calls import Toolbox
    from ingot.cassette.answers import Reading

__all__ = ["misfit", "no_placeholder"]


def misfit(
    answer: Mapping[str, Any],
    played: Mapping[str, Any],
    shape: Reading,
    tools: Toolbox | None,
) -> str | None:
    """
    Return the place in an answer that fits its type no more, such as `value.card`.

    Args:
        answer: The answer as it was given.
        played: The same as it will be played, with placeholders.
        shape: How it is read.
        tools: What it may call, and how arguments are read; None for nothing.
    """
    if "value" in played and played["value"] != answer["value"]:
        place = _unread(partial(shape.read, shape.to_wire(played["value"])))
        if place is not None:
            return f"value{place}"
    calls = zip(answer.get("calls", ()), played.get("calls", ()), strict=True)
    for number, (before, call) in enumerate(calls):
        tool = None if tools is None else tools.tools.get(call["tool"])
        if tool is None or tools is None or before["arguments"] == call["arguments"]:
            continue
        if _unread(partial(tool.read, before["arguments"], tools.dialect)) is None:
            place = _unread(partial(tool.read, call["arguments"], tools.dialect))
            if place is not None:
                return f"calls[{number}].arguments{place}"
    return None


def no_placeholder(place: str, *, path: str) -> CassetteSecretError:
    """The error for an answer that can be written neither as it is nor with a placeholder."""
    return CassetteSecretError(
        place,
        "a value that `redact` hides, and no placeholder fits its type",
        path=path,
        advice="declare a type there that takes a text, such as `str`, or narrow the rule",
    )


def _unread(read: Callable[[], Any]) -> str | None:
    """Where the first thing is that *read* cannot take; None where it takes all."""
    try:
        read()
    except InvalidAnswerError as error:
        first = error.problems[0].path if error.problems else ()
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first)
    except Exception:  # noqa: BLE001 (a fault in a validator of the caller's)
        return ""
    return None
