"""``icecore export``: references that other programs open without icecore."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import (
    Json,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    open_repo,
    print_stderr,
    reject_linked,
)

EXAMPLES = (
    "icecore export icecore-demo/demo.icecore@linked /photons -o refs.json",
    "icecore export icecore-demo/demo.icecore@linked /photons -o photons.icechunk --json",
)


def export(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The group that becomes the root.")] = "/",
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="*.json or *.parquet: Kerchunk references; *.icechunk: an Icechunk repository with virtual "
            "chunks; *.dmrpp: a DMR++ document.",
        ),
    ] = "",
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Write the references of linked files for other programs.

    Linked chunks become file, offset and length; arrays up to 1 MiB that are stored in the repository are
    written with their values. Arrays that the format can't express are listed on stderr, and the exit status
    is 1.
    """
    from icecore.filesystem.atomic_output import size_of
    from icecore.integrations.references.targets import writer

    write = writer(output)
    opened = open_repo(repo, storage)
    reject_linked(opened, output)
    with Progress("export"):
        found = write(opened, path, output)
    counts = {"linked": found.linked, "inline": found.inline, "left_out": len(found.left_out)}
    size = size_of(output)
    plain = f"{output}: {found.linked:,} linked arrays, {found.inline:,} with values, {size:,} bytes"
    emit({"output": output, **counts, "bytes": size}, json, plain)
    for array, reason in found.left_out.items():
        print_stderr(f"left out: {array}: {reason}")
    if found.left_out:
        raise typer.Exit(1)
