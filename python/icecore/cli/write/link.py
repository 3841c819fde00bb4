"""``icecore link``: index arrays of files in place."""

from __future__ import annotations

from typing import Any

from icecore.cli.console import Json, Progress, Verbose, finish, takes
from icecore.ingest.options import LinkOptions

EXAMPLES = (
    "icecore link icecore-demo/photons.h5 --into icecore-demo/mine.icecore --replace",
    "icecore link icecore-demo/grid.nc --into icecore-demo/mine.icecore --group /wind --dry-run",
)


@takes(LinkOptions)
def link(values: dict[str, Any], verbose: Verbose = False, json: Json = False) -> None:
    """Index files in place.

    Links arrays of HDF5, NetCDF and NumPy files, and arrays of reference files (kerchunk, VirtualiZarr), into
    a repository. The data stays in the files. Arrays that can't be linked (such as those of a Zarr store) are
    copied and listed with the reason.
    """
    from icecore.ingest.link import run

    with Progress("link", nbytes=values["commit_every"] is None) as progress:
        report = run(LinkOptions(**values, progress=progress))
    finish("linked", report, values["into"], json, verbose, values["storage"])
