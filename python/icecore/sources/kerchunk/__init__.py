"""Reference files of kerchunk and VirtualiZarr: a Zarr store in JSON or Parquet, its chunks in other files.

``refs`` and ``parquet`` read one, ``targets`` finds the files that it names, ``table`` tells where each chunk
of an array lies, ``codecs`` how it is decoded, ``store`` shows all of it to zarr-python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from math import prod
from typing import Any

from icecore import errors
from icecore.repository import address
from icecore.repository.json_attributes import to_json
from icecore.repository.nodes import hidden
from icecore.sources.files.identity import identity, unchanged
from icecore.sources.kerchunk.codecs import codecs_of
from icecore.sources.kerchunk.reference_file import main_file
from icecore.sources.kerchunk.store import ReferenceStore, opened
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, damage
from icecore.sources.mapping.stitched_array import is_raw
from icecore.sources.zarr import store as zarr_store
from icecore.sources.zarr.store import ZarrReader

_STAMPS = count()


def open(source: str) -> ArrayMap:
    """Index a reference file (path or http(s) URL), or a folder of references in Parquet: the arrays of its
    store, linked to the files that it names.

    Arrays that it describes wrongly, or whose files are missing, are in the map's ``failed``.

    Raises:
        Error: ``unsupported`` without zarr-python (Parquet: pyarrow), or for references that are made by
            formulas; ``corrupt`` if it is not valid.
    """
    return index(source, opened)


def index(source: str, opener: Callable[[str, int], ReferenceStore]) -> ArrayMap:
    """Index references of any form; ``opener`` returns their store.

    Raises:
        Error: see :func:`open`.
    """
    before = identity(main_file(source))
    stamp = next(_STAMPS)
    store = opener(source, stamp)
    result = ArrayMap(source)
    for path, node in store.nodes.items():
        if hidden(path):
            result.dropped.append(Note(f"/{path}", "name", "icecore keeps this name for itself"))
        elif isinstance(node, Exception):
            _refused(result, path, node)
        elif hasattr(node, "shape"):
            try:
                result.add(_entry(source, path, node, store, stamp, opener))
            except errors.Error as error:
                _refused(result, path, error)
        else:
            result.groups[f"/{path}"] = to_json(dict(node.attrs))
    for path, unused in store.unused.items():
        if unused:
            what = f"{len(unused):,} references belong to no chunk of it, the first of them {unused[0]!r}"
            result.dropped.append(Note(f"/{path}", "reference", what))
    unchanged(main_file(source), before)
    return result


def _refused(result: ArrayMap, path: str, error: Exception) -> None:
    name = f"/{path}"
    if isinstance(error, errors.Error):
        if error.kind == "dtype":
            result.dropped.append(Note(name, "unsupported", error.message))
        else:
            result.failed.append(error)
    elif zarr_store.is_unknown(error):
        result.dropped.append(Note(name, "unsupported", zarr_store.reason(error)))
    else:
        result.failed.append(damage(f"{result.source}:{name}: {zarr_store.reason(error)}"))


def _entry(
    source: str,
    path: str,
    node: Any,
    store: ReferenceStore,
    stamp: int,
    opener: Callable[[str, int], ReferenceStore],
) -> ArrayEntry:
    """An array: linked, with copies of the chunks that the reference file holds itself; or copied."""
    table = store.tables[path]
    reader = ZarrReader(source, path, stamp, zarr_store.dtype_of(node), opener)
    entry = zarr_store.entry_of(f"/{path}" if path else f"/{address.stem(source)}", node, reader)
    chunk = tuple(max(int(n), 1) for n in node.shards or node.chunks)
    if entry.shape != tuple(node.shape):  # a scalar of netCDF-C, of one element
        return entry
    codecs, entry.note = codecs_of(node, entry)
    if not entry.note and table.inline:
        entry.note = f"{len(table.inline):,} of its chunks are in the reference file itself"
    if not codecs or (table.inline and not len(table)):
        entry.held = partial(table.held, entry.shape, chunk)
        return entry
    if is_raw([codec for codec in codecs if codec["name"] != "transpose"]):
        table.check(prod(chunk) * entry.dtype.itemsize)
    entry.codecs, entry.links = codecs, table.links()
    entry.native = entry.copied(sorted(table.inline))
    return entry
