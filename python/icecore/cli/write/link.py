"""``icecore link``: index arrays of files in place."""

from __future__ import annotations

from typing import Any

from icecore.cli.console import Json, Progress, Verbose, finish, takes
from icecore.cli.write.following import POLL, Follow, Glob, Poll, UntilIdle, followed
from icecore.ingest.options import LinkOptions

EXAMPLES = (
    "icecore link icecore-demo/photons.h5 --into icecore-demo/mine.icecore --replace",
    "icecore link icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /wind --dry-run",
    "icecore link --follow icecore-demo --glob '*.nc' --until-idle 2s --into icecore-demo/n.icecore",
)


@takes(LinkOptions, optional=("sources",))
def link(
    values: dict[str, Any],
    follow: Follow = None,
    glob: Glob = "*",
    until_idle: UntilIdle = None,
    poll: Poll = POLL,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Index files in place.

    Links arrays of HDF5, NetCDF, NumPy, ROOT and frame files, of Zarr stores, and of reference files
    (kerchunk, VirtualiZarr), into a repository. The data stays in the files, on disk, on servers and in
    buckets. Arrays that can't be linked are copied and listed with the reason.

    With --follow a file is linked when it is complete: two checks found the same size and time, or a file
    NAME.done exists; objects of a bucket are complete when they are listed. With --concat, and for frames,
    late files are inserted where they belong.
    """
    if followed(LinkOptions, values, follow, glob, poll, until_idle, json):
        return
    from icecore.ingest.link import run

    with Progress("link", nbytes=values["commit_every"] is None) as progress:
        report = run(LinkOptions(**values, progress=progress))
    finish("linked", report, values["into"], json, verbose, values["storage"])
