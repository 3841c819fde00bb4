"""``icecore log``: the commits."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo


def log(
    repo: RepoArgument,
    limit: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="Only the newest N.")] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """List the commits.

    Those of a branch or version, newest first.
    """
    from icecore import text

    opened = open_repo(repo, storage)
    commits = opened.log(limit)
    names: dict[str, list[str]] = {}
    for name, snapshot in [*opened.branches.items(), *opened.tags.items()]:
        names.setdefault(snapshot, []).append(name)
    rows = [
        {**commit, "time": text.time_us(commit["time_us"]), "names": names.get(commit["id"], [])}
        for commit in commits
    ]
    lines = [f"{row['id']}  {row['time']}  {row['message']}{_names(row['names'])}" for row in rows]
    emit(rows, json, "\n".join(lines))


def _names(names: list[str]) -> str:
    return f"  ({', '.join(names)})" if names else ""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore log icecore-demo/demo.icecore", "icecore log icecore-demo/demo.icecore -n 1 --json"
        )
    )(log)
