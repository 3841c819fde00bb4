"""Build array entries of linked and copied columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry, Links, Reader, default_chunks

#: name of the axis of entries
ENTRY = "entry"


def copied(
    path: str, shape: tuple[int, ...], dtype: np.dtype, read: Reader, note: str, dim: str | None = ENTRY
) -> ArrayEntry:
    """Return the entry of an array that is decoded and re-encoded."""
    return ArrayEntry(
        path=path,
        shape=shape,
        dims=(dim, *(None,) * (len(shape) - 1)),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=default_chunks(shape, 16 if dtype.kind == "O" else dtype.itemsize),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(None, dtype),
        read=read,
        note=note,
    )


@dataclass(frozen=True)
class Baskets:
    """Places of baskets or pages.

    Attributes:
        identity: identity of their file, or of several files.
        offsets, lengths: byte range of each.
        files: number of each one's file among several.
    """

    identity: Identity | tuple[Identity, ...]
    offsets: np.ndarray
    lengths: np.ndarray
    files: np.ndarray | None = None

    def some(self, held: np.ndarray) -> Baskets:
        """Return those where ``held`` is true."""
        files = None if self.files is None else self.files[held]
        return Baskets(self.identity, self.offsets[held], self.lengths[held], files)

    def links(self) -> Links:
        """Return them as consecutive chunks of an array."""
        chunks = np.arange(len(self.offsets), dtype="u8")
        if not isinstance(self.identity, tuple):
            return Links.one_file(self.identity, chunks, self.offsets, self.lengths)
        return Links(
            [each.url for each in self.identity],
            np.array([each.size for each in self.identity], "i8"),
            np.array([each.mtime_ns for each in self.identity], "i8"),
            [each.etag for each in self.identity],
            np.ascontiguousarray(self.files, "u4"),
            chunks,
            np.ascontiguousarray(self.offsets, "u8"),
            np.ascontiguousarray(self.lengths, "u8"),
        )


def linked(
    path: str,
    rows: np.ndarray,
    row: tuple[int, ...],
    dtype: np.dtype,
    codec: dict[str, Any],
    at: Baskets,
    read: Reader | None = None,
    dim: str | None = ENTRY,
) -> ArrayEntry:
    """Return the entry of an array whose chunks are baskets or pages.

    Args:
        path: path of the array.
        rows: number of rows of each chunk; chunks without rows are left out.
        row: shape of a row.
        dtype: dtype of the elements.
        codec: the codec that decodes a chunk.
        at: places of the chunks.
        read: reads regions from the source.
        dim: name of the first axis.
    """
    held = rows > 0
    if not held.all():
        rows, at = rows[held], at.some(held)
    chunks: Any = [rows.tolist(), *([n] for n in row)]
    if len(rows) and (rows == rows[0]).all():
        chunks = (int(rows[0]), *row)
    return ArrayEntry(
        path=path,
        shape=(int(rows.sum()), *row),
        dims=(dim, *(None,) * len(row)),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunks,
        codecs=[codec],
        fill_value=fill_json(None, dtype),
        links=at.links(),
        read=read,
    )
