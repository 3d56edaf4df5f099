"""The commands of `ingot rill`, as typer declares them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ingot.cli import exits

__all__ = ["app"]

app = typer.Typer(
    help="Runtimes that learn which choice pays, and what they have learned.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_EXITS = """\b
Exit codes:
     0  there are no more requests
    19  the state cannot be used: in use, damaged, of another learner, or not to be written"""

_AB = "ab" * 32


class Surface(StrEnum):
    """Which answers are spoken."""

    v3 = "v3"
    preview = "preview"


State = Annotated[
    Path,
    typer.Option("--state", metavar="FILE", show_default=False, help="The file of the state."),
]
Decides = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="NAME",
        help="What decides there; found out unless given, but not which of linucb and thompson, "
        "whose states are alike.",
    ),
]
Hash = Annotated[
    str,
    typer.Option(metavar="SHA256", help="Of what contexts are made of.", show_default="ab, 32 ×"),
]
Generation = Annotated[int, typer.Option(min=0, help="The generation of the model.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@app.callback()
def _group() -> None:
    """Runtimes that learn which choice pays, and what they have learned."""


@app.command("serve", epilog=_EXITS)
def _serve(
    *,
    state: State,
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What decides: linucb, thompson or another that is installed; fallback, "
            "round_robin or cheapest, which learn nothing; or counters, which only counts.",
        ),
    ] = "linucb",
    surface: Annotated[
        Surface,
        typer.Option(help="Which answers are spoken: those of version 3, or some that say more."),
    ] = Surface.v3,
    durable: Annotated[
        bool,
        typer.Option(
            "--durable",
            help="Answer only when the disk has it; else it has it within 100 ms, and an answer is "
            "lost if the power goes before.",
        ),
    ] = False,
    feature_schema_hash: Hash = _AB,
    model_generation: Generation = 0,
) -> None:
    """
    Be a runtime: one request a line on stdin, one answer a line on stdout, until stdin ends.

    What was answered is kept, however the program ends. A decision whose feedback does not come
    within an hour counts as one without; of those that had it, the latest 4,096 are told apart.
    """
    with exits.guarded():
        from ingot.cli.rill_state import run

        run(
            state,
            learner,
            durable=durable,
            surface=surface.value,
            feature_schema_hash=feature_schema_hash,
            model_generation=model_generation,
        )


@app.command("preview-serve", epilog=_EXITS, hidden=True)
def _preview_serve(
    *, state: State, feature_schema_hash: Hash = _AB, model_generation: Generation = 0
) -> None:
    """Be what the source system's own program is with these options: it counts, and learns not."""
    with exits.guarded():
        from ingot.cli.rill_state import run

        run(
            state,
            "counters",
            surface="preview",
            eviction="never",
            pending_ms=None,
            feature_schema_hash=feature_schema_hash,
            model_generation=model_generation,
        )


@app.command("inspect")
def _inspect(*, state: State, learner: Decides = None, whole: Json = False) -> None:
    """Say what a runtime has learned, also while it runs."""
    with exits.guarded():
        from ingot.cli.rill_state import show_state

        show_state(state, learner, whole=whole)


@app.command("snapshot")
def _snapshot(
    *,
    state: State,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a copy of the state instead, for a runtime."),
    ] = None,
    learner: Decides = None,
) -> None:
    """Print what a runtime has learned as JSON, or make a copy of its state; also while it runs."""
    with exits.guarded():
        from ingot.cli.rill_state import snapshot

        snapshot(state, learner, out)


@app.command("reset")
def _reset(
    *,
    state: State,
    learner: Decides = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Set the files aside, as .damaged, where they cannot be used."
        ),
    ] = False,
) -> None:
    """Forget all that was learned; no runtime may be running."""
    with exits.guarded():
        from ingot.cli.rill_state import reset

        reset(state, learner, force=force)
