"""``icecore tag``: list, create and delete tags."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, RepoArgument, StorageOption, name_version, open_repo

EXAMPLES = (
    "icecore tag icecore-demo/demo.icecore",
    "icecore tag icecore-demo/demo.icecore --json",
)


def tag(
    repo: RepoArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of the tag; without it, list all.")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the tag; its name can't be used again.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Create a tag.

    A tag is a permanent name for the version REPO@REF. Without NAME the tags are listed.
    """
    name_version(open_repo(repo, storage), "tag", name, delete, json)
