"""``icecore expire``: take old versions out of the histories."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, RepoArgument, StorageOption, emit, open_repo

EXAMPLES = (
    "icecore expire icecore-demo/demo.icecore --keep-last 30 --keep-daily 90 --keep-tags --dry-run",
    "icecore expire icecore-demo/demo.icecore --keep-last 30 --json",
)


def expire(
    repo: RepoArgument,
    keep_last: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Keep the newest N versions of each branch.")
    ] = None,
    keep_daily: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Keep the last version of each of the newest N days (UTC)."),
    ] = None,
    keep_tags: Annotated[
        bool, typer.Option("--keep-tags", help="Keep versions with tags; this is always so.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report.")] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Remove old versions from the histories of all branches.

    Tips of branches, versions with tags and the first version stay. `icecore gc` then frees the objects that
    only removed versions need, an hour later at the earliest.
    """
    with Progress("expire"):
        report = open_repo(repo, storage).expire(keep_last, keep_daily, dry_run)
    emit(report.to_dict(), json, str(report))
