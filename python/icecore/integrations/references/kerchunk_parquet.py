"""Kerchunk references as a directory of Parquet files, which fsspec reads without loading all of them.

The directory has the keys of Zarr version 2, because fsspec's reader of this layout knows no other. Source:
``LazyReferenceMapper`` in fsspec.
"""

from __future__ import annotations

import json
import os
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing_folder
from icecore.integrations.references import zarr2_metadata
from icecore.integrations.references.inventory import Exported, Item, items, plain_address

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.repository.repo import Repo

#: chunks of a file, as fsspec writes them
_RECORD = 10_000
#: a reader decodes values that begin so
_BASE64 = b"base64:"


def write(repo: Repo, path: str, output: str) -> Exported:
    """Write the references of a group to a new directory.

    Raises:
        Error: ``exists``; ``unsupported`` if pyarrow is missing; ``invalid`` if ``path`` is an array.
    """
    if repo[path]._node.is_array:
        message = f"{path} is an array: references in Parquet need a group"
        raise errors.make("invalid", message, f"name its group: {repo[path]._node.parent}")
    result = Exported()
    metadata: dict[str, Any] = {}
    with landing_folder(output) as folder:
        for item in items(repo, path, result):
            try:
                documents = (
                    _array(item, folder) if item.array is not None else {".zgroup": {"zarr_format": 2}}
                )
            except errors.UnsupportedError as error:
                result.left_out[item.node.path] = error.message
                continue
            result.linked += item.links is not None
            result.inline += item.array is not None and item.links is None
            documents[".zattrs"] = zarr2_metadata.attributes(item)
            metadata.update((item.key(name), document) for name, document in documents.items())
        with open(os.path.join(folder, ".zmetadata"), "w", encoding="utf-8") as file:
            json.dump({"metadata": metadata, "record_size": _RECORD}, file)
    return result


def _array(item: Item, folder: str) -> dict[str, Any]:
    assert item.array is not None
    pa = _arrow()
    if item.links is None:
        document, data = zarr2_metadata.values(item.array)
        if prod(item.array.shape):
            _save(folder, item.name, 0, pa.table({"raw": pa.array([_raw(data)], pa.binary())}))
        return {".zarray": document}
    document = zarr2_metadata.linked(item)
    _linked(item, folder)
    return {".zarray": document}


def _linked(item: Item, folder: str) -> None:
    """Write the files of a linked array; one without any chunk is left out."""
    links = item.links
    assert links is not None
    urls = np.array([plain_address(url) for url in links.urls], "O")
    held = {
        int(np.ravel_multi_index(place, links.counts)) if place else 0: data for place, data in item.held()
    }
    numbers = np.concatenate([links.chunks.astype("i8"), np.array([*held], "i8")])
    for record in np.unique(numbers // _RECORD).tolist():
        first = record * _RECORD
        rows = min(_RECORD, prod(links.counts) - first)
        mine = (links.chunks >= first) & (links.chunks < first + rows)
        at = links.chunks[mine].astype("i8") - first
        paths, offsets, sizes = np.full(rows, None, "O"), np.zeros(rows, "i8"), np.zeros(rows, "i8")
        paths[at], offsets[at], sizes[at] = urls[links.files[mine]], links.offsets[mine], links.lengths[mine]
        values = {number - first: _raw(data) for number, data in held.items() if 0 <= number - first < rows}
        _save(folder, item.name, record, _table(paths, offsets, sizes, values))


def _table(paths: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, values: dict[int, bytes]) -> pa.Table:
    pa = _arrow()
    columns = {"path": pa.array(paths, pa.string()), "offset": pa.array(offsets), "size": pa.array(sizes)}
    if values:
        columns["raw"] = pa.array([values.get(i) for i in range(len(paths))], pa.binary())
    return pa.table(columns)


def _raw(data: bytes) -> bytes:
    from base64 import b64encode

    return _BASE64 + b64encode(data) if data.startswith(_BASE64) else data


def _save(folder: str, name: str, record: int, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    place = os.path.join(folder, *name.split("/"))
    os.makedirs(place, exist_ok=True)
    pq.write_table(table, os.path.join(place, f"refs.{record}.parq"), compression="zstd", store_schema=False)


def _arrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise errors.needs("table", "references in Parquet need pyarrow") from None
    return pyarrow
