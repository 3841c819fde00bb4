"""``icecore branch``: branches."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore import errors
from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo, talk


def branch(
    repo: RepoArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="List all without it.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Forget the branch.")] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Start a branch.

    At the version REPO@REF; or lists the branches.
    """
    opened = open_repo(repo, storage)
    if name is None:
        if delete:
            raise errors.make("invalid", "--delete needs a name", "icecore branch REPO NAME --delete")
        names = opened.branches
        emit(names, json, "\n".join(f"{snapshot}  {known}" for known, snapshot in names.items()) or "none")
    elif delete:
        opened.delete_branch(name)
        if json:
            emit({"branch": name, "deleted": True}, json, "")
        else:
            talk(f"deleted branch {name}")
    else:
        opened.branch(name)
        emit({"branch": name, "snapshot": opened.snapshot_id}, json, f"{opened.snapshot_id}  {name}")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore branch icecore-demo/demo.icecore", "icecore branch icecore-demo/demo.icecore --json"
        )
    )(branch)
