"""``icecore restore``: reproduce the text that a table was packed from."""

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
    open_repo,
    print_stderr,
)

EXAMPLES = (
    "icecore restore icecore-demo/demo.icecore /diviner -o original.tab",
    "icecore restore icecore-demo/demo.icecore /diviner --source diviner.tab -o original.tab --json",
)


def restore(
    repo: RepoArgument,
    table: Annotated[str, typer.Argument(metavar="/TABLE", help="A table that was packed from text.")],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File, or directory for several files; - for stdout."
        ),
    ],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of one of the table's source files.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Restore the original file of a table.

    Writes the text or binary records that were packed, byte for byte, and checks their SHA-256.
    """
    from icecore.tables.text.restore import restore

    if json and output == "-":
        raise errors.make("invalid", "--json and -o - both write to stdout", "remove one of them")
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
        print_stderr("\n".join(written))
