"""``icecore repair``: mend a repository from a copy."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, persistent, settings

EXAMPLES = (
    "icecore clone icecore-demo/demo.icecore icecore-demo/backup.icecore",
    "icecore repair icecore-demo/demo.icecore --from icecore-demo/backup.icecore",
)


def repair(
    repo: Annotated[str, typer.Argument(metavar="REPO", help="The repository to mend.", callback=persistent)],
    copy: Annotated[str, typer.Option("--from", metavar="COPY", help="A copy of it, or its original.")],
    trust_copy: Annotated[
        bool,
        typer.Option("--trust-copy", help="Where objects differ and both can be decoded, take the copy's."),
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Replace damaged objects by those of a copy.

    Compares every object of all versions. Exit status 1 if damage remains.
    """
    from icecore.repository.history.copies import repair as run

    with Progress("repair") as progress:
        report = run(repo, copy, trust_copy=trust_copy, storage=settings(storage), progress=progress)
    emit(report.to_dict(), json, str(report))
    raise typer.Exit(0 if report.is_whole else 1)
