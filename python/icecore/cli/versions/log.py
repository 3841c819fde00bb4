"""``icecore log``: list the commits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, open_repo

EXAMPLES = (
    "icecore log icecore-demo/demo.icecore",
    "icecore log icecore-demo/demo.icecore -n 1 --json",
)


def log(
    repo: RepoArgument,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", metavar="N", min=1, help="Only the newest N.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """List the commits.

    Lists the commits of a branch or version, newest first.
    """
    opened = open_repo(repo, storage)
    commits = opened.log(limit)
    names: dict[str, list[str]] = {}
    for name, snapshot in [*opened.branches.items(), *opened.tags.items()]:
        names.setdefault(snapshot, []).append(name)
    rows = [
        {**commit.to_dict(), "time": f"{commit.time:%Y-%m-%dT%H:%M:%SZ}", "names": names.get(commit.id, [])}
        for commit in commits
    ]
    emit(rows, json, "\n".join(map(_line, rows)))


def _line(row: dict[str, Any]) -> str:
    """Format a commit: first line of the message, branch and tag names, then the rest of the message."""
    head = f"{row['id']}  {row['time']}  "
    first, *more = row["message"].replace("\r\n", "\n").rstrip().split("\n")
    names = f"  ({', '.join(row['names'])})" if row["names"] else ""
    return "\n".join([f"{head}{first}{names}", *(" " * len(head) * bool(line) + line for line in more)])
