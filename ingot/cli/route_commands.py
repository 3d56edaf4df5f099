"""The commands of `ingot route`, as typer declares them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingot.cli import exits, show

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app"]

app = typer.Typer(
    help="Routers, which choose among models.", no_args_is_help=True, rich_markup_mode=None
)

_DAYS = 14
"""Days that the table of shares shows."""


@app.callback()
def _group() -> None:
    """Routers, which choose among models."""


@app.command("report")
def _report(
    *,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The state of a router; all in your folder for state unless given.",
            show_default=False,
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """
    Say of each model how often routers asked it, and how well that went.

    Means are of one ask. A program that is running may go on asking.
    """
    with exits.guarded():
        from ingot.rill.errors import RillStateError
        from ingot.rill.places import folder
        from ingot.rill.report import report_of

        files = [state] if state is not None else sorted(folder().glob("*.json"))
        reports: dict[str, Any] = {}
        refused: RillStateError | None = None
        for file in files:
            try:
                reports[str(file)] = report_of(file)
            except RillStateError as error:
                if state is not None:
                    raise
                refused = refused or error  # once the others are told
        if not files:
            show.note(f"no router has learned anything in {folder()}")
        if whole:
            show.tree(reports)
        else:
            for name, report in reports.items():
                _show(name, report)
        if refused is not None:
            raise refused


def _show(file: str, report: dict[str, Any]) -> None:
    head = ["model", "asks", "share", "valid", "failed", "repairs", "cost", "seconds", "rating"]
    rows = [
        [
            one["model"],
            str(one["asks"]),
            *(_percent(one[name]) for name in ("share", "valid", "failed")),
            _number(one["repairs"], ".2f"),
            _number(one["cost"], ".6f", "$"),
            *(_number(one[name], ".2f") for name in ("seconds", "rating")),
        ]
        for one in report["models"]
    ]
    show.table(file, head, rows)
    days: Sequence[dict[str, Any]] = report["days"][-_DAYS:]
    if days:
        names = [one["model"] for one in report["models"]]
        shares = [[day["day"], *(_percent(one["share"]) for one in day["models"])] for day in days]
        show.table("share by day (UTC)", ["day", *names], shares)


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{unit}{value:{form}}"
