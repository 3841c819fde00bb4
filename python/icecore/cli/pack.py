"""``icecore pack``: re-encode arrays into a repository."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.batch import (
    Append,
    Concat,
    Group,
    Into,
    KeepGoing,
    Message,
    Replace,
    SkipExisting,
    Sources,
    finish,
    lengths,
)
from icecore.cli.console import Json, Progress, StorageOption, examples, settings


def pack(
    sources: Sources,
    into: Into,
    group: Group = None,
    concat: Concat = None,
    chunk: Annotated[
        str | None, typer.Option(metavar="SHAPE", help='Unit of decoding: "16,64,64" or "time=16,lat=64".')
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="SHAPE", help="Unit of I/O, a multiple of the chunk.")
    ] = None,
    codec: Annotated[
        str,
        typer.Option(
            help="auto (measured), default (by type), planes (floats that --rtol can read in part), none, gzip, "
            "zlib, zstd, lz4, bz2, lzma, blosc, shuffle+NAME, NAME:LEVEL, or JSON."
        ),
    ] = "auto",
    goal: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="GOAL",
            help="What auto looks for: archive (least bytes), balanced (least time to data) or speed "
            "(fastest to read).",
        ),
    ] = "balanced",
    bandwidth: Annotated[
        str | None,
        typer.Option(metavar="SPEED", help="Of the store, for --for balanced.", show_default="200MB/s"),
    ] = None,
    access: Annotated[
        str | None,
        typer.Option(
            metavar="READS", help='How it will be read: "time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3".'
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Try the best layouts for --access, take the fastest.")
    ] = False,
    portable: Annotated[
        bool, typer.Option("--portable", help="Only codecs that other Zarr readers have.")
    ] = False,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Data held at once.")] = "1GB",
    append: Append = False,
    replace: Replace = False,
    skip_existing: SkipExisting = False,
    keep_going: KeepGoing = False,
    no_restore: Annotated[
        bool,
        typer.Option("--no-restore", help="Keep only the values of text tables, not their print format."),
    ] = False,
    trust: Annotated[
        str | None, typer.Option(metavar="data", help="Where label and text disagree on the record length.")
    ] = None,
    message: Message = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Re-encode files into a repository.

    Packs arrays of HDF5, NetCDF and NumPy files, Zarr folders, or repositories (REPO or REPO:/path) into
    sharded and compressed Zarr; tables of text (PDS labels, CSV; also zipped) into columns that `icecore
    restore` prints again byte for byte.
    """
    from icecore.packing import pack

    with Progress("pack") as progress:
        report = pack(
            sources,
            into,
            group,
            concat,
            chunk=lengths(chunk),
            shard=lengths(shard),
            codec=codec,
            goal=goal,
            bandwidth=bandwidth,
            portable=portable,
            access=access,
            measure=measure,
            memory=memory,
            append=append,
            replace=replace,
            skip_existing=skip_existing,
            keep_going=keep_going,
            restore=not no_restore,
            trust=trust,
            message=message,
            storage=settings(storage),
            progress=progress,
        )
    finish("packed", report, into, json)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore pack icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /packed --replace "
            "--for archive",
            "icecore pack icecore-demo/demo.icecore:/photons --into icecore-demo/mine.icecore --replace "
            "--codec shuffle+zstd:9",
        )
    )(pack)
