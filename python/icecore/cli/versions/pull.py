"""``icecore pull``: bring a copy up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, persistent, settings

EXAMPLES = (
    "icecore clone icecore-demo/demo.icecore icecore-demo/mirror.icecore",
    "icecore pull icecore-demo/mirror.icecore",
)


def pull(
    copy: Annotated[
        str, typer.Argument(metavar="COPY", help="A repository that icecore clone made.", callback=persistent)
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="SRC", help="The original; default: where the copy was made from."),
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Copy what is new in the original of a copy.

    Branches and tags become those of the original. A copy that has commits of its own is refused.
    """
    from icecore.repository.history.copies import pull as run

    with Progress("pull") as progress:
        report = run(copy, source, storage=settings(storage), progress=progress)
    emit(report.to_dict(), json, str(report))
