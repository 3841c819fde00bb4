"""``icecore link``: index arrays where they lie."""

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
)
from icecore.cli.console import AllowLinks, Json, Progress, StorageOption, examples, settings


def link(
    sources: Sources,
    into: Into,
    group: Group = None,
    concat: Concat = None,
    append: Append = False,
    replace: Replace = False,
    skip_existing: SkipExisting = False,
    keep_going: KeepGoing = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be linked, copied, refused.")
    ] = False,
    allow_links: AllowLinks = None,
    summaries: Annotated[
        bool,
        typer.Option("--summaries", help="Summarise 1-D arrays: queries then leave out what can't match."),
    ] = False,
    message: Message = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Index files in place.

    Links arrays of HDF5, NetCDF and NumPy files, and of what reference files (kerchunk, VirtualiZarr) point
    at, into a repository: their data stays where it is. What can't be linked (all of a Zarr store) is copied,
    and listed with the reason.
    """
    from icecore.ingest.link import link

    with Progress("link") as progress:
        report = link(
            sources,
            into,
            group,
            concat,
            append=append,
            replace=replace,
            skip_existing=skip_existing,
            keep_going=keep_going,
            dry_run=dry_run,
            allow_links=allow_links,
            summaries=summaries,
            message=message,
            storage=settings(storage),
            progress=progress,
        )
    finish("linked", report, into, json)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            "icecore link icecore-demo/photons.h5 --into icecore-demo/mine.icecore --replace",
            "icecore link icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /wind --dry-run",
        )
    )(link)
