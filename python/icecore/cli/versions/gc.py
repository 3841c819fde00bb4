"""``icecore gc``: delete unused objects."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Annotated

import typer

from icecore.cli.console import (
    Json,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    open_repo,
    print_stderr,
)

EXAMPLES = (
    "icecore gc icecore-demo/demo.icecore --dry-run",
    "icecore gc icecore-demo/demo.icecore --older-than 7d",
)


def gc(
    repo: RepoArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the objects that would be deleted.")
    ] = False,
    older_than: Annotated[
        str,
        typer.Option(
            metavar="AGE",
            help="Keep younger objects, because a running writer may need them to commit: 30m, 12h, 7d.",
        ),
    ] = "1d",
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Delete unused objects.

    Deletes objects that no version refers to, and old copies of the list of versions (each commit creates
    one).
    """
    from icecore.display import text

    seconds = min(text.parse_seconds(older_than), time.time())  # at most the time since 1970
    with Progress("gc"):
        report = open_repo(repo, storage).gc(timedelta(seconds=seconds), dry_run)
    emit(report.to_dict(), json, str(report))
    for problem in report.errors:
        print_stderr(f"could not delete {problem}")
    raise typer.Exit(1 if report.failed else 0)
