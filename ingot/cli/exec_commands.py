"""The commands of `ingot exec`, as typer declares them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ingot.cli import exits, inputs

__all__ = ["app"]

app = typer.Typer(
    help="Be a program of the exec protocol: one request on stdin, one document on stdout.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_EXITS = """\b
Exit codes:
    0  there is a document
    1  there is none: what was to be done failed
    2  the request or the command line cannot be used"""

Model = Annotated[
    str | None,
    typer.Option(metavar="PROVIDER/MODEL", help="Who is asked; `ingot doctor` says who else."),
]
MaxTokens = Annotated[int | None, typer.Option(help="Bound of the answer, in tokens.")]
Temperature = Annotated[float | None, typer.Option(help="How freely the model chooses its words.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds that the server may be silent.")]
Url = Annotated[str | None, typer.Option(metavar="URL", help="Where the server is.")]


@app.callback()
def _group() -> None:
    """Be a program of the exec protocol: one request on stdin, one document on stdout."""


@app.command("provider", epilog=_EXITS)
def _provider(
    *,
    model: Model = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    timeout: Timeout = None,
    base_url: Url = None,
) -> None:
    """
    Answer a prompt with what a model says to it.

    The request is sent once, and tools that it offers are not run: what failed or was called is
    told to the host. A key is read from the environment alone, which the host must pass on.
    """
    with exits.guarded():
        from ingot.exec.child import Child
        from ingot.exec.relays import relay

        settings = inputs.settings(
            {
                "model": model,
                "system": system,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "timeout": timeout,
                "base_url": base_url,
            }
        )
        Child()(provider=relay(settings))


@app.command("assert", epilog=_EXITS)
def _assert(
    criteria: Annotated[
        str,
        typer.Argument(
            metavar="CRITERIA", show_default=False, help="What an output must be like, in words."
        ),
    ],
    *,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="The verdict, as a type: bool; float or int, with --at-least; "
            '\'Literal["good", "bad"]\', with --pass; module:Name with a field `pass`, `score` '
            "or both. By default a reason and a bool.",
        ),
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(metavar="SCORE", help="The least score that passes.")
    ] = None,
    passing: Annotated[
        list[str] | None,
        typer.Option("--pass", metavar="WORD", help="A word that passes. Repeatable."),
    ] = None,
    model: Model = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    timeout: Timeout = None,
    retry: Annotated[
        int | None, typer.Option(help="How often a request that failed in passing is sent again.")
    ] = None,
    repair: Annotated[
        int | None, typer.Option(help="How often the model is told that its verdict does not fit.")
    ] = None,
    base_url: Url = None,
) -> None:
    """
    Let a model judge an output; whatever is not a clear pass is none.

    A reply that is no verdict fails the output, and says so; where no model can be asked, the
    program fails.
    """
    with exits.guarded():
        from ingot.cli.exec_judge import Rule, judge
        from ingot.exec.child import Child

        settings: dict[str, Any] = inputs.settings(
            {
                "model": model,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "timeout": timeout,
                "retry": retry,
                "repair": repair,
                "base_url": base_url,
            }
        )
        rule = Rule(at_least=at_least, passing=tuple(passing or ()))
        Child()(assert_=judge(criteria, type_, rule, settings))
