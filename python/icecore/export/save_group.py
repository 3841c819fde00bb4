"""A group written to a file: netCDF-4, HDF5 or Zarr, in blocks, so that it may be larger than the memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from icecore import errors
from icecore.display.progress import ProgressCall
from icecore.export.group_plan import Select, Storage, variables
from icecore.filesystem.atomic_output import landing, landing_folder

if TYPE_CHECKING:
    from icecore.repository.group import Group

#: ends of the names of files and directories
SUFFIXES = (".nc", ".h5", ".hdf5", ".zarr")


def save_group(
    group: Group, select: Select, path: str, storage: Storage, version: int, progress: ProgressCall
) -> dict[str, str]:
    """Write a group and all groups below it to a file, which appears when it is complete.

    Args:
        group: the group, which becomes the root of the file.
        select: returns the index of an array, one item for each axis.
        path: a ``.nc``, ``.h5`` or ``.hdf5`` file, or a new ``.zarr`` directory.
        storage: chunks and compression.
        version: of the Zarr format, 2 or 3.
        progress: called with path, bytes done and all bytes.

    Returns:
        Path → reason, of the arrays that the format can't hold.

    Raises:
        Error: ``unsupported`` for another suffix or a missing package; ``codec`` for a compressor that the
            format doesn't have; ``io`` or ``permission`` if the file can't be written; ``exists`` for a
            directory that exists.
    """
    suffix = os.path.splitext(path.rstrip("/"))[1].lower()
    if suffix not in SUFFIXES:
        message = f"a group can't be written to {suffix or path!r} files"
        raise errors.make(
            "unsupported", message, f"one of {', '.join(SUFFIXES)}; a table also to .parquet or .csv"
        )
    found = variables(group, select, storage)
    if suffix == ".zarr":
        from icecore.export.zarr_group import write as write_zarr

        with landing_folder(path) as part:
            return write_zarr(group, found, part, storage, version, progress)
    from icecore.export.hdf5_group import write

    with landing(path) as part:
        return write(group, found, part, storage, suffix == ".nc", progress)
