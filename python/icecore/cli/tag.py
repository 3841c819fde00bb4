"""``icecore tag``: tags."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, examples, open_repo
from icecore.cli.version_names import name_version


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
    name_version(open_repo(repo, storage), "tag", name, delete, json)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore tag icecore-demo/demo.icecore", "icecore tag icecore-demo/demo.icecore --json"
        )
    )(tag)
