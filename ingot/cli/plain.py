"""The command line without typer and rich: what sets ingot up, and how to get the rest."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ingot.cli import show
from ingot.cli.exits import NOT_CONFIGURED, USAGE, guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]

_COMMAND = "pip install 'ingot-ask[cli]'"


def run(arguments: Sequence[str] | None = None) -> None:
    """
    Run one command.

    Args:
        arguments: Those of the command line; None for the process's own.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in given if not word.startswith("-")), None)
    if command in ("ask", "schema", "cassette", "exec"):
        show.error(f"`ingot {command}` needs typer and rich; {_COMMAND}")
        raise SystemExit(USAGE)
    chosen = _parser().parse_args(given)
    with guarded():
        if chosen.command == "doctor":
            from ingot.cli.doctor import show_survey, survey

            found = survey()
            show_survey(found, whole=chosen.json)
            raise SystemExit(0 if found.ready else NOT_CONFIGURED)
        from ingot.cli.weights import pull_weights

        show.prose(pull_weights(force=chosen.force))


def _parser() -> argparse.ArgumentParser:
    from ingot.cli.extras import release

    parser = argparse.ArgumentParser(
        prog="ingot",
        description="Typed values out of language models.",
        epilog=f"`ingot ask` and `ingot schema` need typer and rich: {_COMMAND}",
    )
    parser.add_argument("--version", action="version", version=release())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    doctor = commands.add_parser("doctor", help="say what there is to ask with")
    doctor.add_argument("--json", action="store_true", help="print it as JSON")
    model = commands.add_parser("model", help="the local model").add_subparsers(
        dest="action", required=True, metavar="COMMAND"
    )
    pull = model.add_parser("pull", help="fetch the weights of the local model")
    pull.add_argument("--force", action="store_true", help="fetch them again if they are there")
    return parser
