"""``icecore pack``: re-encode files into a repository."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import (
    Json,
    Progress,
    Verbose,
    emit,
    finish,
    once,
    print_notes,
    print_stderr,
    print_stdout,
    takes,
)
from icecore.display import text
from icecore.ingest.options import PackOptions

if TYPE_CHECKING:
    from icecore.ingest.follow.follower import Event, Follower

_POLL = "1s"
_COMMITTED = "the files packed so far are committed"

EXAMPLES = (
    "icecore pack icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /packed --replace "
    "--for archive",
    "icecore pack --follow icecore-demo --glob '*.nc' --until-idle 2s --into icecore-demo/n.icecore",
    "icecore pack icecore-demo/demo.icecore:/photons --into icecore-demo/mine.icecore --replace "
    "--codec shuffle+zstd:9",
)


@takes(PackOptions, optional=("sources",))
def pack(
    values: dict[str, Any],
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
    verbose: Verbose = False,
    json: Json = False,
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
    if follow is not None:
        single, names = once(PackOptions)
        if values["sources"] or any(values[name] for name in single):
            raise errors.make("invalid", f"SRC, {names} exclude --follow", "remove them")
        idle = None if until_idle is None else text.parse_seconds(until_idle)
        _follow(follow, glob, text.parse_seconds(poll), values, idle, json)
        return
    if until_idle is not None or glob != "*" or poll != _POLL:
        clash = "--glob, --until-idle and --poll need a directory to watch"
        raise errors.make("invalid", clash, "name it: --follow DIR")
    if not values["sources"]:
        raise errors.make("invalid", "nothing to pack", "name files, or a directory to watch: --follow DIR")
    from icecore.ingest.pack import run

    with Progress("pack") as progress:
        report = run(PackOptions(**values, progress=progress))
    finish("packed", report, values["into"], json, verbose, values["storage"])


def _follow(
    folder: str, glob: str, poll: float, values: dict[str, Any], idle: float | None, json: bool
) -> None:
    from icecore.ingest.follow.follower import Follower

    how = {name: value for name, value in values.items() if name not in ("sources", *once(PackOptions)[0])}
    _follow_directory(Follower(folder, pattern=glob, poll=poll, **how), idle, json)


def _follow_directory(follower: Follower, until_idle: float | None, as_json: bool) -> None:
    """Print a line for each file until no new files arrive or Ctrl-C; exit with status 2 if files failed."""
    packed = 0
    failed: set[str] = set()
    how = "no new files"
    try:
        for event in follower.run(until_idle):
            packed += event.report is not None
            (failed.add if event.failure is not None else failed.discard)(event.name)
            _print_event(event, as_json)
    except KeyboardInterrupt as error:
        how = str(error) or "stopped"
    if as_json:
        end = {"event": "end", "why": how, "packed": packed, "failed": sorted(failed)}
        print_stdout(dumps(end), _COMMITTED)
    else:
        print_stderr(f"{how}: {text.plural(packed, 'file')} packed, {len(failed)} failed")
    if failed:
        raise typer.Exit(2)


def _print_event(event: Event, as_json: bool) -> None:
    if as_json:
        print_stdout(dumps(event.as_dict()), _COMMITTED)
    elif event.failure is not None:
        print_stderr(f"icecore: error[{event.failure.kind}]: {event.name}: {event.failure.message}")
        if event.failure.hint:
            print_stderr(f"  try: {event.failure.hint}")
    elif event.report is None:
        print_stderr(
            f"{event.name} is not complete: {text.plural(event.later, 'later file')} must wait for it"
        )
    elif event.is_last:
        report = event.report
        print_notes(report)
        ratio = text.ratio(report.bytes_raw, report.bytes_stored)
        arrays = text.plural(report.count("packed"), "array")
        size = f"{text.size(report.bytes_raw)} raw, {text.size(report.bytes_stored)} stored ({ratio})"
        names = event.name
        if len(event.together) > 1:
            names = f"{event.together[0]} … {event.name} ({len(event.together):,} files)"
        line = f"{names}: {arrays}, {size}, snapshot {report.snapshot}, {report.seconds:.2f} s"
        emit(None, False, line, fold=False, done=_COMMITTED)
