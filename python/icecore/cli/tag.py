"""``icecore tag``: tags."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore import errors
from icecore.cli.console import Json, RepoArgument, StorageOption, emit, examples, open_repo, talk


def tag(
    repo: RepoArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="List all without it.")] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Forget the tag; its name can't be used again.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Name a version.

    Gives the version REPO@REF a name that never moves, or lists these names.
    """
    opened = open_repo(repo, storage)
    if name is None:
        if delete:
            raise errors.make("invalid", "--delete needs a name", "icecore tag REPO NAME --delete")
        names = opened.tags
        emit(names, json, "\n".join(f"{snapshot}  {known}" for known, snapshot in names.items()) or "none")
    elif delete:
        opened.delete_tag(name)
        if json:
            emit({"tag": name, "deleted": True}, json, "")
        else:
            talk(f"deleted tag {name}")
    else:
        opened.tag(name)
        emit({"tag": name, "snapshot": opened.snapshot_id}, json, f"{opened.snapshot_id}  {name}")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore tag icecore-demo/demo.icecore", "icecore tag icecore-demo/demo.icecore --json"
        )
    )(tag)
