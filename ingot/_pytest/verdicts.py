"""How a test fails for what it asked, though its own code had nothing against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ingot._pytest.standin import StandIn
    from ingot.cassette.ledger import Entry

__all__ = ["fail", "first_line", "left_over", "report_of", "shown"]


def report_of(entries: list[Entry]) -> str:
    """Return what must not be swallowed, each once."""
    errors = dict.fromkeys(str(entry.error) for entry in entries if entry.error is not None)
    return "\n".join(errors)


def first_line(text: str) -> str:
    """Return the first line of a report."""
    return text.partition("\n")[0]


def left_over(stand_in: StandIn, who: str, left: list[dict[str, Any]]) -> str:
    """Name the answers that nobody asked for, and say how they are dropped."""
    count = "a recorded answer was" if len(left) == 1 else f"{len(left)} recorded answers were"
    lines = [f"{stand_in.path}: {count} not asked for"]
    lines += [f"  {row['site']}  {row['prompt']!r}" for row in left[:10]]
    return "\n".join([*lines, f"  drop what is not asked for:  pytest {who!r} --ingot=refresh"])


def fail(report: pytest.TestReport, text: str) -> None:
    """Let a test fail with *text*; one that failed already says it as well."""
    if report.failed:
        report.sections.append(("ingot", text))
        return
    report.outcome = "failed"
    report.longrepr = shown(text)
    if hasattr(report, "wasxfail"):
        del report.wasxfail


def shown(text: str) -> Any:
    """Return a failure that says *text*, and shows no line of this plugin."""
    with pytest.raises(pytest.fail.Exception) as caught:
        pytest.fail(text, pytrace=False)
    return caught.getrepr(style="value")
