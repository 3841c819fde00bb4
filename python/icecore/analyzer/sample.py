"""Sample of whole chunks, spread over the array, on which codecs are measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from icecore.repository import zarr_dtypes
from icecore.sources.mapping.stored_chunks import StoredChunks

Reader = Callable[[tuple[slice, ...]], np.ndarray]
#: size of the part of a chunk for a quick measurement, in bytes
PIECE = 128 << 10


@dataclass(frozen=True)
class Kind:
    """Element type of an array: Zarr v3 ``data_type``, NumPy dtype, Zarr v3 ``fill_value``."""

    data_type: Any
    dtype: np.dtype[Any]
    fill_value: Any


@dataclass
class Sample:
    """Chunks in the form in which they are encoded.

    Attributes:
        blocks: whole chunks in the order of measurement; chunks at the array's edge are padded with the fill
            value.
        raw: number of bytes of the array in each block.
        empty: number of bytes of the array in chunks that contain only the fill value; these are not stored.
        chunks: number of chunks that were read.
        of: number of chunks of the array.
    """

    blocks: list[np.ndarray] = field(default_factory=list)
    raw: list[int] = field(default_factory=list)
    empty: int = 0
    chunks: int = 0
    of: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the array in the chunks that were read."""
        return sum(self.raw) + self.empty


def take(
    kind: Kind,
    shape: Sequence[int],
    chunk: Sequence[int],
    read: Reader,
    whole: int,
    most: int,
    held: StoredChunks | None = None,
) -> Sample:
    """Read a sample of chunks that represents the array.

    The sample has the first chunk, the last, and others evenly along each axis: at least 8 or 1 % of them.
    It has all chunks if they fit into ``whole`` bytes, and at most ``most`` bytes (but at least two chunks).

    Args:
        kind: data type and fill value of the elements.
        shape: shape of the array.
        chunk: shape of a chunk.
        read: returns the elements of a region.
        whole: largest array, in bytes, that is read completely.
        most: largest number of bytes to read.
        held: chunks that the source stores, if it is sparse; the others are left out.
    """
    from icecore import _icecore

    counts = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    size = zarr_dtypes.itemsize(kind.dtype)
    result = Sample(of=prod(counts))
    fill = _fill(kind)
    places = held.places(chunk) if held is not None else None
    grid = list(counts) if places is None else [len(places)]
    for flat in _icecore.sample_chunks(grid, prod(chunk) * size, whole, most):
        index = places[flat] if places is not None else np.unravel_index(flat, counts) if counts else ()
        start = [int(i) * c for i, c in zip(index, chunk, strict=True)]
        region = tuple(slice(s, min(s + c, n)) for s, c, n in zip(start, chunk, shape, strict=True))
        data = np.ascontiguousarray(read(region)).reshape([part.stop - part.start for part in region])
        block = _padded(data, tuple(chunk), fill)
        result.chunks += 1
        if _is_fill(block, fill):
            result.empty += data.size * size
        else:
            result.blocks.append(block)
            result.raw.append(data.size * size)
    return result


def within(chunk: Sequence[int], itemsize: int, most: int) -> tuple[int, ...]:
    """Return the shape of a part of a chunk of about ``most`` bytes; the longest axes are halved."""
    part = list(chunk)
    while part and prod(part) * itemsize > most and max(part) > 1:
        axis = part.index(max(part))
        part[axis] = -(-part[axis] // 2)
    return tuple(part)


def _fill(kind: Kind) -> np.ndarray:
    """Return the fill value as an array of one element."""
    from icecore import _icecore

    raw = _icecore.fill_element(json.dumps(kind.data_type), json.dumps(kind.fill_value))
    if kind.dtype.kind not in "OT":
        return np.frombuffer(raw, kind.dtype, 1)
    one = np.empty(1, "O")
    one[0] = raw.decode("utf-8", "replace") if kind.data_type == "string" else bytes(raw)
    return one


def _padded(data: np.ndarray, chunk: tuple[int, ...], fill: np.ndarray) -> np.ndarray:
    if data.shape == chunk:
        return data
    block = np.empty(chunk, data.dtype)
    block[...] = fill[0]
    block[tuple(slice(0, n) for n in data.shape)] = data
    return block


def _is_fill(block: np.ndarray, fill: np.ndarray) -> bool:
    """Return whether every element equals the fill value bit for bit."""
    if block.dtype.kind in "OT":
        return bool((block == fill[0]).all())
    if block.size and block.flat[0].tobytes() != fill.tobytes():
        return False
    return block.tobytes() == fill.tobytes() * block.size
