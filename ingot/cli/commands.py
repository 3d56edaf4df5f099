"""The commands of `ingot`, as typer declares them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from ingot.cli import cassette, exec_commands, exits, inputs, rill_commands, route_commands, show

__all__ = ["app"]

app = typer.Typer(
    help="Typed values out of language models.",
    no_args_is_help=True,
    # Square brackets are types here, not markup; a traceback must not show the values of variables.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_model = typer.Typer(help="The local model.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(_model, name="model")
app.add_typer(cassette.app, name="cassette")
app.add_typer(exec_commands.app, name="exec")
app.add_typer(rill_commands.app, name="rill")
app.add_typer(route_commands.app, name="route")

_EXITS = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {says}" for code, says in exits.meanings())


class Constrain(StrEnum):
    """Whether the server must hold the model to the type."""

    auto = "auto"
    strict = "strict"
    prompt = "prompt"


class Server(StrEnum):
    """Whom a type is written for."""

    openai = "openai"
    anthropic = "anthropic"
    local = "local"
    prompt = "prompt"


Type = Annotated[
    str,
    typer.Argument(
        metavar="TYPE",
        show_default=False,
        help="A type: list[str], dict[str, int], 'int | None', 'Literal[\"a\", \"b\"]', Text, …; "
        "module:Name for one of your own; or an Ingot name such as string[].",
    ),
]
Prompt = Annotated[
    str, typer.Argument(metavar="PROMPT", show_default=False, help="What to say; - reads stdin.")
]
Json = Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")]


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it)
    if wanted:
        from ingot.cli.extras import release

        show.prose(release())
        raise typer.Exit


@app.callback()
def _ingot(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which this is."
        ),
    ] = False,
) -> None:
    """Typed values out of language models."""


@app.command("ask", epilog=_EXITS)
def _ask(
    type_: Type,
    prompt: Prompt,
    *,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="A named value to show to the model; NAME=@FILE for a file's text. Repeatable.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER/MODEL", help="Who is asked; `ingot doctor` says who else."),
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Bound of the answer, in tokens.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="How freely the model chooses its words.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes sampling repeatable.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that the server may be silent.")
    ] = None,
    retry: Annotated[
        int | None, typer.Option(help="How often a request that failed in passing is sent again.")
    ] = None,
    repair: Annotated[
        int | None, typer.Option(help="How often the model is told that its reply does not fit.")
    ] = None,
    constrain: Annotated[
        Constrain | None,
        typer.Option(
            help="Whether the server holds the model to the type: auto is where it can.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the server is.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=JSON", help="A vendor-specific extra of the request. Repeatable."
        ),
    ] = None,
    answer: Annotated[
        bool, typer.Option("--answer", help="Print model, usage and cost, too, as JSON.")
    ] = False,
    show_reply: Annotated[
        bool,
        typer.Option(
            "--show-reply", help="If it is no answer, print what the model wrote on stderr."
        ),
    ] = False,
) -> None:
    """
    Ask for a value of a type, and print it: JSON, or prose as it is.

    A key is read from the environment alone (ANTHROPIC_API_KEY, OPENAI_API_KEY, INGOT_API_KEY): an
    option would stay in the history of the shell.
    """
    with exits.guarded(reply=show_reply):
        from ingot import ask
        from ingot.cli.answers import show_answer
        from ingot.cli.types import parse_type

        t = parse_type(type_)
        settings = inputs.settings(
            {
                "model": model,
                "system": system,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "seed": seed,
                "timeout": timeout,
                "retry": retry,
                "repair": repair,
                "constrain": None if constrain is None else str(constrain),
                "base_url": base_url,
                "params": inputs.params(param) if param else None,
            }
        )
        values: dict[str, Any] = inputs.context(context or ())
        said = inputs.prompt(prompt)
        with show.waiting("waiting for the model"):
            found = ask.using(**settings).answer(t, said, context=values)
        show_answer(t, found, whole=answer)


@app.command("schema", epilog=f"\b\n{exits.USAGE} and 4 as exit codes: see `ingot ask --help`.")
def _schema(
    type_: Type,
    *,
    server: Annotated[
        Server, typer.Option("--for", help="Whose form of the schema; prompt: shown, not enforced.")
    ] = Server.openai,
    whole: Json = False,
) -> None:
    """Print the schema that is sent for a type, and on stderr who checks which part of it."""
    with exits.guarded():
        from ingot.cli.schema import sent_to, show_sent
        from ingot.cli.types import parse_type

        show_sent(sent_to(str(server), parse_type(type_)), whole=whole)


@app.command("doctor")
def _doctor(*, whole: Json = False) -> None:
    """Say what there is to ask with, and which model is asked; exit code 3 if none."""
    with exits.guarded():
        from ingot.cli.doctor import show_survey, survey

        found = survey()
        show_survey(found, whole=whole)
        raise typer.Exit(0 if found.ready else exits.NOT_CONFIGURED)


@_model.callback()
def _group() -> None:
    """The local model."""


@_model.command("pull")
def _pull(
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch them again if they are there.")
    ] = False,
) -> None:
    """Fetch the weights of the local model, and print where they are."""
    with exits.guarded():
        from ingot.cli.weights import pull_weights

        show.prose(pull_weights(force=force))
