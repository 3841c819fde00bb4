"""``icecore compact``: merge short chunks of arrays that grew."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, RepoArgument, StorageOption, emit, open_repo

EXAMPLES = (
    "icecore compact icecore-demo/demo.icecore",
    "icecore compact icecore-demo/demo.icecore /grid --older 7d --json",
)


def compact(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="An array or a group.")] = "/",
    older: Annotated[
        str,
        typer.Option(
            metavar="AGE",
            help="Leave arrays alone that changed since, because a running writer would meet a conflict.",
        ),
    ] = "1h",
    budget: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Write at most so many bytes again; the next call goes on."),
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Merge short chunks of arrays that grew by small appends.

    One commit; values and attributes stay. The old chunks belong to older versions until these expire.
    """
    from icecore.display import text

    age = timedelta(seconds=text.parse_seconds(older))
    most = None if budget is None else text.parse_size(budget)
    with Progress("compact"):
        report = open_repo(repo, storage).compact(path, age, most)
    emit(report.to_dict(), json, str(report))
