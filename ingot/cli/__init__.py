"""The command line, `ingot`: all of it with the extra `cli`, and what sets ingot up without."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line; this is the console script."""
    try:
        import rich  # noqa: F401 (the extra is typer and rich)
        import typer  # noqa: F401
    except ImportError:
        from ingot.cli.plain import run

        run()
    else:
        from ingot.cli.commands import app

        app(prog_name="ingot")
