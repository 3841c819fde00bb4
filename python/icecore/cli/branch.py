"""``icecore branch``: branches."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, examples, open_repo
from icecore.cli.version_names import name_version


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
    name_version(open_repo(repo, storage), "branch", name, delete, json)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore branch icecore-demo/demo.icecore", "icecore branch icecore-demo/demo.icecore --json"
        )
    )(branch)
