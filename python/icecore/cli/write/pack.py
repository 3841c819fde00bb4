"""``icecore pack``: re-encode files into a repository."""

from __future__ import annotations

from typing import Any

from icecore.cli.console import Json, Progress, Verbose, finish, takes
from icecore.cli.write.following import POLL, Follow, Glob, Poll, UntilIdle, followed
from icecore.ingest.options import PackOptions

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
    follow: Follow = None,
    glob: Glob = "*",
    until_idle: UntilIdle = None,
    poll: Poll = POLL,
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
    following ones; --keep-going skips it. Frames continue the arrays of their channels. After every 32
    commits short chunks are merged.
    """
    if followed(PackOptions, values, follow, glob, poll, until_idle, json):
        return
    from icecore.ingest.pack import run

    with Progress("pack") as progress:
        report = run(PackOptions(**values, progress=progress))
    finish("packed", report, values["into"], json, verbose, values["storage"])
