"""``icecore pack``: re-encode files into a repository."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from icecore import errors
from icecore.cli.batch import (
    SOURCES,
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
    Variables,
    Verbose,
    finish,
    lengths,
)
from icecore.cli.console import (
    DaskOption,
    DurabilityOption,
    Json,
    Progress,
    StorageOption,
    examples,
    settings,
)
from icecore.cli.follow import follow as follow_directory
from icecore.display import text

_POLL = "1s"
#: options that are the same for files and for a directory to follow
_HOW = (
    *("codec", "goal", "bandwidth", "portable", "access", "measure", "memory", "trust", "header", "units"),
    *("summaries", "variables", "exclude", "coord_tolerance", "windows"),
)
#: options that exclude --follow
_ONCE = ("append", "replace", "skip_existing", "dry_run", "message")


def pack(
    into: Into,
    sources: Annotated[list[str] | None, SOURCES] = None,
    group: Group = None,
    concat: Concat = None,
    chunk: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE", help='Unit of decoding: "16,64,64" or "time=16,lat=64"; default: planned.'
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="SHAPE", help="Unit of I/O, a multiple of the chunk; default: planned."),
    ] = None,
    codec: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (measured), default (by dtype), planes (reads with reduced precision), none, gzip, "
            "zlib, zstd, lz4, bz2, lzma, blosc, shuffle+NAME, NAME:LEVEL, or JSON.",
        ),
    ] = "auto",
    goal: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="GOAL",
            help="Goal of auto: archive (smallest), balanced (least time from store to data), speed "
            "(fastest decoding) or random (single entries without the rest of their chunk).",
        ),
    ] = "balanced",
    bandwidth: Annotated[
        str | None,
        typer.Option(metavar="SPEED", help="Speed of the store, for --for balanced; default 200MB/s."),
    ] = None,
    access: Annotated[
        str | None,
        typer.Option(metavar="READS", help='Expected reads: "time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3".'),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the best layouts for --access and use the fastest.")
    ] = False,
    portable: Annotated[
        bool, typer.Option("--portable", help="Only codecs that other Zarr readers have.")
    ] = False,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Largest amount of data in memory.")] = "1GB",
    follow: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Instead of SRC: pack the files of this directory as they are completed.",
        ),
    ] = None,
    glob: Annotated[str, typer.Option(metavar="PATTERN", help="With --follow: file names to pack.")] = "*",
    until_idle: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --follow: exit after 30s, 5m, … without new files."),
    ] = None,
    poll: Annotated[
        str, typer.Option(metavar="TIME", help="With --follow: interval between two checks of the directory.")
    ] = _POLL,
    append: Append = False,
    replace: Replace = False,
    skip_existing: SkipExisting = False,
    keep_going: KeepGoing = False,
    allow_missing: AllowMissing = False,
    variables: Variables = None,
    exclude: Exclude = None,
    coord_tolerance: CoordTolerance = None,
    dry_run: DryRun = False,
    no_restore: Annotated[
        bool,
        typer.Option("--no-restore", help="Keep only the values of text tables, not their print format."),
    ] = False,
    trust: Annotated[
        str | None,
        typer.Option(metavar="data", help="data: trust the text if the label's record length is wrong."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV is a header; default: inferred from its cells.",
        ),
    ] = None,
    units: Annotated[
        bool | None,
        typer.Option(
            "--units/--no-units",
            help="Whether units or types stand below the names of a CSV; default: if they are known.",
        ),
    ] = None,
    summaries: Annotated[
        bool,
        typer.Option("--summaries", help="Summarize 1-D arrays: trends of time series, zones of columns."),
    ] = False,
    windows: Annotated[
        str | None,
        typer.Option("--windows", metavar="1s,60s", help="Windows of trends, or none; default for channels."),
    ] = None,
    message: Message = None,
    dask: DaskOption = None,
    verbose: Verbose = False,
    json: Json = False,
    storage: StorageOption = None,
    durability: DurabilityOption = None,
) -> None:
    """Re-encode files into a repository.

    Packs arrays of HDF5, NetCDF and NumPy files, Zarr directories, or repositories (REPO or REPO:/path) into
    sharded and compressed Zarr. Text tables (PDS labels, CSV; also zipped) become columns from which `icecore
    restore` reproduces the original file byte for byte. If --concat joins files with different scale factors,
    the numbers are stored as unscaled floats.

    With --follow a file is packed when it is complete: two checks found the same size and time, or a file
    NAME.done exists. Names that begin with a dot or end in .tmp, .part or .partial are ignored. Each check
    makes one commit (at most 256 files or 256 MiB); --json prints one line per file. A restarted command
    continues where it stopped. Subdirectories are ignored. With --concat a file that fails blocks the
    following ones; --keep-going skips it.
    """
    asked = locals()
    how: dict[str, Any] = {name: asked[name] for name in (*_HOW, "keep_going", "durability")}
    how |= {"chunk": lengths(chunk), "shard": lengths(shard)}
    how |= {"restore": not no_restore, "storage": settings(storage)}
    if follow is not None:
        if sources or dask or any(asked[name] for name in _ONCE):
            clash = "SRC, --append, --replace, --skip-existing, --dry-run, --dask and -m exclude --follow"
            raise errors.make("invalid", clash, "remove them")
        idle = None if until_idle is None else text.parse_seconds(until_idle)
        _follow((follow, into, group, concat, glob, text.parse_seconds(poll)), how, idle, json)
        return
    if until_idle is not None or glob != "*" or poll != _POLL:
        clash = "--glob, --until-idle and --poll need a directory to watch"
        raise errors.make("invalid", clash, "name it: --follow DIR")
    if not sources:
        raise errors.make("invalid", "nothing to pack", "name files, or a directory to watch: --follow DIR")
    once = {name: asked[name] for name in (*_ONCE, "allow_missing")}
    _pack_once((sources, into, group, concat), {**once, **how, "client": dask}, into, json, verbose)


def _follow(watched: tuple[Any, ...], how: dict[str, Any], idle: float | None, json: bool) -> None:
    from icecore.ingest.follow import Follower

    follow_directory(Follower(*watched, **how), idle, json)


def _pack_once(what: tuple[Any, ...], how: dict[str, Any], into: str, json: bool, verbose: bool) -> None:
    from icecore.ingest.options import PackOptions
    from icecore.ingest.pack import run

    with Progress("pack") as progress:
        report = run(PackOptions(*what, **{**how, "progress": progress}))
    finish("packed", report, into, json, verbose)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "icecore pack icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /packed --replace "
            "--for archive",
            "icecore pack --follow icecore-demo --glob '*.nc' --until-idle 2s --into icecore-demo/n.icecore",
            "icecore pack icecore-demo/demo.icecore:/photons --into icecore-demo/mine.icecore --replace "
            "--codec shuffle+zstd:9",
        )
    )(pack)
