"""``icecore clone``: copy a repository."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import (
    AllowLinks,
    Json,
    Progress,
    StorageOption,
    emit,
    persistent,
    settings,
)

EXAMPLES = (
    "icecore clone icecore-demo/demo.icecore icecore-demo/copy.icecore",
    "icecore clone icecore-demo/demo.icecore icecore-demo/grid.icecore --group /grid --shallow",
)


def clone(
    source: Annotated[str, typer.Argument(metavar="SRC", help="The repository, REPO@REF for one version.")],
    target: Annotated[
        str, typer.Argument(metavar="DST", help="A directory or bucket prefix.", callback=persistent)
    ],
    ref: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Only this branch, tag, version or time; it becomes main."),
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="/P", help="Only this group.")] = None,
    shallow: Annotated[
        bool, typer.Option("--shallow", help="The newest versions and the tags, without histories.")
    ] = False,
    pack_links: Annotated[
        bool, typer.Option("--pack-links", help="Copy the bytes of linked files instead of the links.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Copy a repository to another place.

    Copies all versions, branches and tags as they are stored, between directories and buckets. The same
    command continues a copy that was interrupted. Settings of one of two buckets are --storage
    s3://bucket.KEY=VALUE.
    """
    from icecore.repository.history.copies import clone as run

    with Progress("clone") as progress:
        report = run(
            source,
            target,
            ref=ref,
            group=group,
            shallow=shallow,
            pack_links=pack_links,
            allow_links=allow_links,
            storage=settings(storage),
            progress=progress,
        )
    emit(report.to_dict(), json, str(report))
