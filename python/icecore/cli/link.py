"""``icecore link``: index arrays of files in place."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.batch import (
    AllowMissing,
    Append,
    Concat,
    CoordTolerance,
    DryRun,
    Exclude,
    Group,
    Into,
    KeepGoing,
    Message,
    Replace,
    SkipExisting,
    Sources,
    Variables,
    Verbose,
    finish,
)
from icecore.cli.console import (
    AllowLinks,
    DaskOption,
    DurabilityOption,
    Json,
    Progress,
    StorageOption,
    examples,
    settings,
)


def link(
    sources: Sources,
    into: Into,
    group: Group = None,
    concat: Concat = None,
    append: Append = False,
    replace: Replace = False,
    skip_existing: SkipExisting = False,
    keep_going: KeepGoing = False,
    allow_missing: AllowMissing = False,
    variables: Variables = None,
    exclude: Exclude = None,
    coord_tolerance: CoordTolerance = None,
    dry_run: DryRun = False,
    allow_links: AllowLinks = None,
    summaries: Annotated[
        bool,
        typer.Option("--summaries", help="Summarize 1-D arrays: trends of time series, zones of columns."),
    ] = False,
    windows: Annotated[
        str | None,
        typer.Option(
            "--windows", metavar="1s,60s", help="Windows of trends; default with --summaries: 1s,60s,3600s."
        ),
    ] = None,
    commit_every: Annotated[
        int | None,
        typer.Option(
            "--commit-every", metavar="N", help="Commit every N files; a second run skips committed files."
        ),
    ] = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also verify the checksums that the files state (frame files)."),
    ] = False,
    message: Message = None,
    dask: DaskOption = None,
    verbose: Verbose = False,
    json: Json = False,
    storage: StorageOption = None,
    durability: DurabilityOption = None,
) -> None:
    """Index files in place.

    Links arrays of HDF5, NetCDF and NumPy files, and arrays of reference files (kerchunk, VirtualiZarr), into
    a repository. The data stays in the files. Arrays that can't be linked (such as those of a Zarr store) are
    copied and listed with the reason.
    """
    from icecore.ingest.link import run
    from icecore.ingest.options import LinkOptions

    with Progress("link", nbytes=commit_every is None) as progress:
        options = LinkOptions(
            sources,
            into,
            group,
            concat,
            variables,
            exclude,
            append=append,
            replace=replace,
            skip_existing=skip_existing,
            keep_going=keep_going,
            allow_missing=allow_missing,
            coord_tolerance=coord_tolerance,
            dry_run=dry_run,
            allow_links=allow_links,
            commit_every=commit_every,
            summaries=summaries,
            windows=windows,
            deep=deep,
            message=message,
            storage=settings(storage),
            durability=durability,
            progress=progress,
            client=dask,
        )
        report = run(options)
    finish("linked", report, into, json, verbose)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore link icecore-demo/photons.h5 --into icecore-demo/mine.icecore --replace",
            "icecore link icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /wind --dry-run",
        )
    )(link)
