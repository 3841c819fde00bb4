"""``icecore branch``: list, create and delete branches."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, name_version, open_repo

EXAMPLES = (
    "icecore branch icecore-demo/demo.icecore",
    "icecore branch icecore-demo/demo.icecore --json",
)


def branch(
    repo: RepoArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of the branch; without it, list all.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the branch.")] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Create a branch.

    The branch starts at the version REPO@REF. Without NAME the branches are listed.
    """
    name_version(open_repo(repo, storage), "branch", name, delete, json)
