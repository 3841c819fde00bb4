"""``icecore relink``: link a moved directory at its new place."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.batch import Message
from icecore.cli.console import Json, Progress, StorageOption, emit, examples, persistent, settings


def relink(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Directory, file or URL before the move.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same after the move.")],
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="REPO",
            help="The repository; default: the only one at or below NEW.",
            callback=lambda repo: repo if repo is None else persistent(repo),
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Relink the other files if some are missing or differ.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Compare the files and write nothing.")] = False,
    message: Message = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Link files of a moved directory at its new place.

    Changes the references to files in OLD to the same files in NEW, in one commit. Each file must have the
    recorded size, and the recorded modification time or the same content. Exit status 1 if a file is missing
    or differs; without --keep-going nothing is committed then.
    """
    from icecore.ingest.relink import RelinkOptions, run

    with Progress("relink", nbytes=False) as progress:
        report = run(
            RelinkOptions(
                old, new, into, keep_going, dry_run, message, storage=settings(storage), progress=progress
            )
        )
    where = f"snapshot {report.snapshot}" if report.snapshot else "nothing was committed"
    done = f"{report.repository}: {where}, {report.seconds:.2f} s"
    emit(report.as_dict(), json, f"{report.table()}\n\n{report.counts}\n{done}", done=where)
    raise typer.Exit(1 if report.refused else 0)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore relink icecore-demo icecore-demo --into icecore-demo/demo.icecore --dry-run",
            "icecore relink icecore-demo icecore-demo --into icecore-demo/demo.icecore --dry-run --json",
        )
    )(relink)
