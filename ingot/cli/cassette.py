"""The commands of `ingot cassette`, as typer declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingot.cli import exits
from ingot.cli.exits import MisuseError

__all__ = ["app"]

app = typer.Typer(
    help="Recordings: read them, check them, compare them, tidy them up.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A cassette.")]
Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR",
        show_default=False,
        help="A folder of cassettes; by default the project's, such as tests/cassettes.",
    ),
]
Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATHS",
        show_default=False,
        help="Cassettes and folders of them; by default the project's folder.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
Html = Annotated[
    Path | None,
    typer.Option(metavar="OUT", help="Write a page for a browser instead, all in one file."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Key = Annotated[
    str | None,
    typer.Option("--row", metavar="KEY", help="The row whose key begins so, k1: or not."),
]


def _files(paths: list[Path] | None) -> list[Path]:
    from ingot.cli.cassette_files import default_folder, files_of

    return files_of(paths or [default_folder()])


def _folder(path: Path | None) -> Path:
    from ingot.cli.cassette_files import default_folder, files_of

    if path is not None:
        files_of([path])  # refuses what is not there
        return path
    return default_folder()


@app.callback()
def _group() -> None:
    """Recordings: read them, check them, compare them, tidy them up."""


@app.command("ls")
def _ls(folder: Folder = None, *, whole: Json = False) -> None:
    """List the cassettes: rows, answers, size, the model that answered last, what is wrong."""
    with exits.guarded():
        from ingot.cli.cassette_lists import show_list

        show_list(_files([_folder(folder)]), whole=whole)


@app.command("show")
def _show(file: File, *, row: Key = None, html: Html = None, whole: Json = False) -> None:
    """Show the conversations of a cassette for reading."""
    with exits.guarded():
        from ingot.cli.cassette_show import show_cassette

        show_cassette(file, key=row, html=html, whole=whole)


@app.command("answer")
def _answer(
    file: File,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY", show_default=False, help="The row whose key begins so, k1: or not."
        ),
    ],
    value: Annotated[
        Path | None,
        typer.Argument(
            metavar="VALUE",
            show_default=False,
            help="A file with the answer to write, as this command prints it; - reads stdin.",
        ),
    ] = None,
    *,
    number: Annotated[
        int | None,
        typer.Option(
            min=1, help="Which answer to write, of a row that has several; one more adds one."
        ),
    ] = None,
    whole: Json = False,
) -> None:
    """Print the answers of one row, values as JSON, texts as they are; or write one by hand."""
    with exits.guarded():
        from ingot.cli.cassette_answer import show_answers, write_answer

        if value is not None:
            write_answer(file, key, value, number=number, whole=whole)
        elif number is not None:
            raise MisuseError("--number goes with VALUE, the file of the answer to write")
        else:
            show_answers(file, key, whole=whole)


@app.command("check")
def _check(paths: Paths = None, *, whole: Json = False) -> None:
    """Look for edited rows, unknown types, secrets, conflicts and leftovers; exit code 1 if any."""
    with exits.guarded():
        from ingot.cli.cassette_lists import show_check

        if not show_check(_files(paths), whole=whole):
            raise typer.Exit(1)


@app.command("diff")
def _diff(
    old: Annotated[Path, typer.Argument(metavar="A", show_default=False, help="A cassette.")],
    new: Annotated[Path, typer.Argument(metavar="B", show_default=False, help="Another.")],
    *,
    html: Html = None,
    whole: Json = False,
) -> None:
    """Say what changed from one cassette to another; exit code 1 if anything did."""
    with exits.guarded():
        from ingot.cli.cassette_show import show_difference

        if not show_difference(old, new, html=html, whole=whole):
            raise typer.Exit(1)


@app.command("stats")
def _stats(folder: Folder = None, *, whole: Json = False) -> None:
    """Sum up rows, answers, tokens and cost, by model and by site."""
    with exits.guarded():
        from ingot.cli.cassette_lists import show_stats

        show_stats(_files([_folder(folder)]), whole=whole)


@app.command("prune")
def _prune(
    paths: Paths = None,
    *,
    unused_from: Annotated[
        Path | None,
        typer.Option(
            metavar="REPORT", help="Drop the rows that this --ingot-report file lists as unused."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be dropped.")
    ] = False,
    whole: Json = False,
) -> None:
    """Drop types that no row needs, and rows that no test asked for."""
    with exits.guarded():
        from ingot.cli.cassette_tidy import prune, unused_of

        unused = [] if unused_from is None else unused_of(unused_from)
        prune(_files(paths), unused, dry=dry_run, whole=whole)


@app.command("orphans")
def _orphans(folder: Folder = None, *, whole: Json = False) -> None:
    """List cassettes whose test is gone, without importing a test; exit code 1 if there are any."""
    with exits.guarded():
        from ingot.cli.cassette_orphans import show_orphans

        base = _folder(folder)
        if not base.is_dir():
            raise MisuseError(f"{base} is no folder; name the folder that the cassettes are in")
        if not show_orphans(_files([base]), base, whole=whole):
            raise typer.Exit(1)


@app.command("recover")
def _recover(folder: Folder = None, *, whole: Json = False) -> None:
    """Put the answers that a crash left in journals into their cassettes."""
    with exits.guarded():
        from ingot.cli.cassette_tidy import recover

        recover(_folder(folder), whole=whole)


@app.command("resolve")
def _resolve(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="A cassette with conflict markers; with --driver: %O %A %B.",
        ),
    ],
    *,
    driver: Annotated[
        bool, typer.Option("--driver", help="Run as git's merge driver; writes %A.")
    ] = False,
    whole: Json = False,
) -> None:
    """Settle a merge conflict: all rows of both sides, and no answer lost."""
    with exits.guarded():
        from ingot.cli.cassette_change import resolve_file, run_driver

        if not driver:
            for file in files:
                resolve_file(file, whole=whole)
        elif len(files) == 3:
            run_driver(*files)
        else:
            raise MisuseError("--driver takes three files: %O %A %B")


@app.command("migrate")
def _migrate(paths: Paths = None, *, whole: Json = False) -> None:
    """Rewrite cassettes of older versions in the current one."""
    with exits.guarded():
        from ingot.cli.cassette_change import migrate

        migrate(_files(paths), whole=whole)


@app.command("import")
def _import(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="UPSTREAM", show_default=False, help="A cassette of Ingot 0.1, 0.2 or 0.3."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", show_default=False, help="What to write.")],
    *,
    force: Force = False,
) -> None:
    """Read a cassette of Ingot itself, and write it in our form."""
    with exits.guarded():
        from ingot.cli.cassette_change import import_cassette

        import_cassette(source, out, force=force)


@app.command("export")
def _export(
    file: File,
    out: Annotated[Path, typer.Argument(metavar="OUT", show_default=False, help="What to write.")],
    *,
    agent: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The full name of the agent; that of an imported file if absent."
        ),
    ] = "",
    force: Force = False,
) -> None:
    """Write a cassette as one of Ingot 0.3."""
    with exits.guarded():
        from ingot.cli.cassette_change import export_cassette

        export_cassette(file, out, agent=agent, force=force)
