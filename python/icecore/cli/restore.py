"""``icecore restore``: the text that a table was packed from."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore import errors
from icecore.cli.console import (
    Json,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    examples,
    open_repo,
    talk,
)


def restore(
    repo: RepoArgument,
    table: Annotated[str, typer.Argument(metavar="/TABLE", help="A table that was packed from text.")],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="File, or folder for several; - for stdout.")
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
    from icecore.tables.text.restore import restore

    if json and output == "-":
        raise errors.make("invalid", "--json and -o - both write to stdout", "leave one of them out")
    with Progress("restore") as progress:
        written = restore(
            open_repo(repo, storage),
            table,
            output,
            source,
            progress=lambda done, total: progress(table, done, total),
        )
    if json:
        emit({"files": written}, json, "")
    elif output != "-":
        talk("\n".join(written))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore restore icecore-demo/demo.icecore /diviner -o original.tab",
            "icecore restore icecore-demo/demo.icecore /diviner --source diviner.tab -o original.tab --json",
        )
    )(restore)
