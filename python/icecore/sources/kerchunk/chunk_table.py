"""Locate the chunks of an array of references, and check their byte ranges against the files."""

from __future__ import annotations

import numpy as np

from icecore import errors
from icecore.sources.files.identity import Identity
from icecore.sources.kerchunk.reference_file import WHOLE, Columns
from icecore.sources.zarr.chunk_table import Table


def located(name: str, columns: Columns, found: list[tuple[str, Identity]]) -> Table:
    """Return the table of the array ``name``, whose addresses were resolved to the files ``found``.

    Raises:
        Error: ``corrupt`` if a range is outside its file.
    """
    sizes = np.array([file.size for _, file in found], "i8")
    order = np.argsort(columns.chunks, kind="stable")
    ids, chunks, offsets, lengths = (
        column[order] for column in (columns.ids, columns.chunks, columns.offsets, columns.lengths)
    )
    room = sizes[ids] if len(ids) else np.empty(0, "i8")
    lengths = np.where(lengths == WHOLE, room, lengths)
    bad = np.flatnonzero((offsets + lengths > room) | (lengths == 0))
    if len(bad):
        at = bad[0]
        message = (
            f"{name}: chunk {chunks[at]} is said to be {lengths[at]} bytes from {offsets[at]} on of "
            f"{found[ids[at]][0]}, which has {room[at]} ({len(bad):,} such)"
        )
        raise errors.make("corrupt", message, "write the references anew: the file is another one now")
    names, files = [name for name, _ in found], [file for _, file in found]
    return Table(name, names, files, ids, chunks, offsets, lengths, columns.inline)
