"""``icecore restore``: the text that a table was packed from."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, examples, settings


def restore(
    repository: Annotated[
        str, typer.Argument(metavar="REPO", help="The repository, REPO@REF for a version.")
    ],
    table: Annotated[str, typer.Argument(metavar="/TABLE", help="A table that was packed from text.")],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="File, or folder for several.")
    ],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="One of the files that the table was made of.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Print a packed text table again.

    The original file, byte for byte, checked against its SHA-256; also a table of binary records.
    """
    from icecore.repo import open
    from icecore.tables.restore import restore

    with Progress("restore") as progress:
        written = restore(
            open(repository, storage=settings(storage)),
            table,
            output,
            source,
            progress=lambda done, total: progress(table, done, total),
        )
    emit({"files": written}, json, "\n".join(written))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore restore icecore-demo/demo.icecore /diviner -o original.tab",
            "icecore restore icecore-demo/demo.icecore /diviner --source diviner.tab -o original.tab --json",
        )
    )(restore)
