"""The command line, `ingot`: all of it with the extra `cli`, and what sets ingot up without."""

from __future__ import annotations

from importlib import import_module

__all__ = ["main"]


def main() -> None:
    """Run the command line; this is the console script."""
    try:
        for module in ("typer", "rich"):
            import_module(module)
    except ImportError:
        from ingot.cli.plain import run

        run()
    else:
        from ingot.cli.commands import app

        app(prog_name="ingot")
