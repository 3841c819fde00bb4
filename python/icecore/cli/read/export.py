"""``icecore export``: references that other programs open without icecore."""

from __future__ import annotations

import os
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
    print_stderr,
)


def export(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The group that becomes the root.")] = "/",
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file of references: *.json.")
    ] = "",
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Write the references of linked files as Kerchunk JSON.

    Linked chunks become file, offset and length; arrays up to 1 MiB that are stored in the repository are
    written with their values. Other arrays are listed on stderr, and the exit status is 1. The result is a
    Zarr v3 hierarchy for fsspec's reference file system.
    """
    from icecore.filesystem.atomic_output import landing

    if not output.endswith(".json"):
        message = f"export writes *.json (got {output or 'no -o'})"
        raise errors.make("invalid", message, f"icecore export {repo} -o refs.json")
    from icecore.integrations.kerchunk_references import references

    with Progress("export"):
        found = references(open_repo(repo, storage), path)
        with landing(output) as place, open(place, "w", encoding="utf-8") as file:
            file.write(found.to_json())
    counts = {"linked": found.linked, "inline": found.inline, "left_out": len(found.left_out)}
    size = os.path.getsize(output)
    plain = f"{output}: {found.linked:,} linked arrays, {found.inline:,} with values, {size:,} bytes"
    emit({"output": output, **counts, "bytes": size}, json, plain)
    for array, reason in found.left_out.items():
        print_stderr(f"left out: {array}: {reason}")
    if found.left_out:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore export icecore-demo/demo.icecore@linked /photons -o refs.json",
            "icecore export icecore-demo/demo.icecore@linked /photons -o refs.json --json",
        )
    )(export)
