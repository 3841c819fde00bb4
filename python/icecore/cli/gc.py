"""``icecore gc``: delete what no version refers to."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, RepoArgument, StorageOption, emit, examples, open_repo, talk


def gc(
    repo: RepoArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    older_than: Annotated[
        str,
        typer.Option(
            metavar="AGE",
            help="Spare younger objects, which a writer may still need (it can't commit without them): 30m, "
            "12h, 7d.",
        ),
    ] = "1d",
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Delete unused objects.

    Those that no branch, tag or other version refers to, and old copies of the list of versions: each commit
    makes one.
    """
    from icecore.display import text

    seconds = min(text.parse_seconds(older_than), time.time())  # nothing is from before 1970
    with Progress("gc"):
        report = open_repo(repo, storage).gc(timedelta(seconds=seconds), dry_run)
    emit(report.to_dict(), json, str(report))
    for problem in report.errors:
        talk(f"could not delete {problem}")
    raise typer.Exit(1 if report.failed else 0)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore gc icecore-demo/demo.icecore --dry-run",
            "icecore gc icecore-demo/demo.icecore --older-than 7d",
        )
    )(gc)
