"""Link the chunks and shards of a Zarr array where they are."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry
from icecore.sources.mapping.stitched_array import is_raw
from icecore.sources.zarr.chunk_table import Table, numbers
from icecore.sources.zarr.containers import PROBED, Container, Server, chunk_names
from icecore.sources.zarr.stored_codecs import codecs_of


def link(entry: ArrayEntry, node: Any, stored: Container, path: str) -> None:
    """Replace an entry that is copied by one whose chunks are linked; else its note states why not."""
    if entry.shape != tuple(node.shape):  # a scalar of netCDF-C, of one element
        return
    codecs, why = codecs_of(node, entry)
    if not codecs:
        entry.note = why
        return
    table = _table(entry, node, stored, path)
    if isinstance(table, str):
        entry.note = table
        return
    if is_raw([codec for codec in codecs if codec["name"] != "transpose"]):
        exact = prod(max(int(n), 1) for n in node.shards or node.chunks) * entry.dtype.itemsize
        if (table.lengths != exact).any():
            return  # zarr-python names the damaged chunk
    if (table.lengths == 0).any():
        return
    entry.codecs, entry.links, entry.note = codecs, table.links(), ""


def _table(entry: ArrayEntry, node: Any, stored: Container, path: str) -> Table | str:
    number, grid = numbers(node)
    if isinstance(stored, Server) and not stored.has_names():
        if prod(grid) > PROBED:
            return "a web server has no list of its chunks: put the store into a bucket"
        names = list(chunk_names(node, grid))
    else:
        names = [name for name in stored.names(path) if number(name) is not None]
    found = stored.places(path, names)
    if isinstance(found, str):
        return found
    flats = {name: number(name) for name in found}
    order = sorted(found, key=lambda name: flats[name] or 0)
    files: dict[str, tuple[int, Identity]] = {}
    for place, known, _, _ in found.values():
        files.setdefault(place, (len(files), known))
    rows = [(files[found[name][0]][0], flats[name], *found[name][2:]) for name in order]
    ids, chunks, offsets, lengths = np.array(rows, "i8").reshape(len(rows), 4).T
    identities = [each for _, each in files.values()]
    return Table(entry.path, [*files], identities, ids, chunks, offsets, lengths, {})
