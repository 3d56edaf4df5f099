"""An answer as it is printed: the value alone, or all that is known of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ingot._shape.target import target_of
from ingot.cli import show

if TYPE_CHECKING:
    from ingot import Answer

__all__ = ["show_answer"]


def show_answer(t: Any, answer: Answer[Any], *, whole: bool) -> None:
    """
    Print *answer* on stdout: JSON, or prose as it is.

    Args:
        t: The type that was asked for.
        answer: The answer.
        whole: Print what it took, too; prose is then a string in JSON.
    """
    target, _ = target_of(t)
    if target.kind == "prose" and not whole:
        show.prose(str(answer.value))
        return
    value = target.adapter.dump_python(answer.value, mode="json", by_alias=True)
    show.tree(_whole(answer, value) if whole else value)


def _whole(answer: Answer[Any], value: Any) -> dict[str, Any]:
    cost = answer.cost
    return {
        "value": value,
        "model": answer.model,
        "usage": None if answer.usage is None else asdict(answer.usage),
        "cost": None if cost is None else float(cost),
        "request_id": answer.request_id,
        "attempts": answer.attempts,
        "repairs": answer.repairs,
        "constrained": answer.constrained,
        "note": answer.note,
        "seconds": round(answer.seconds, 3),
    }
