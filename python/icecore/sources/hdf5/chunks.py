"""Where the chunks of an HDF5 dataset lie: flat index, offset, length, and which of them can't be linked."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from icecore import errors

_UNDEFINED = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_TARGET = 1 << 20
_WHOLE = 4 << 20


@dataclass
class Located:
    """Chunks of one dataset. ``chunks`` is flat in C order over the grid of ``chunk``; ``copied`` can't be linked."""

    chunk: tuple[int, ...]
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    copied: np.ndarray


def grid_of(shape: tuple[int, ...], chunk: tuple[int, ...]) -> tuple[int, ...]:
    """Number of chunks along each axis."""
    return tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))


def chunked(dsid: Any, shape: tuple[int, ...], stored: tuple[int, ...], chunk: tuple[int, ...], raw: int, plain: bool) -> Located:
    """The chunks of a chunked dataset.

    ``shape`` is the array's, ``stored`` the dataset's (shorter where netCDF fills up to an unlimited dimension),
    ``raw`` the bytes of a decoded chunk, ``plain`` whether there are no filters.
    """
    infos: list[Any] = []
    dsid.chunk_iter(infos.append)
    if not infos:
        empty = np.empty(0, "u8")
        return Located(chunk, empty, empty, empty, empty)
    starts, masks, offsets, lengths = (np.array(column) for column in zip(*infos, strict=True))
    return select(shape, stored, chunk, raw, plain, (starts, masks, offsets, lengths))


def select(
    shape: tuple[int, ...], stored: tuple[int, ...], chunk: tuple[int, ...], raw: int, plain: bool, table: tuple[Any, ...]
) -> Located:
    """Sort out a chunk index: ``table`` is starts (n × rank, elements), filter masks, byte offsets, byte lengths."""
    starts, masks, offsets, lengths = table
    index = np.asarray(starts, "u8").reshape(len(masks), len(chunk)) // np.array(chunk, "u8")
    grid = np.array(grid_of(shape, chunk), "u8")
    offsets, lengths = np.asarray(offsets, "u8"), np.asarray(lengths, "u8")
    inside = (index < grid).all(axis=1) & (offsets != _UNDEFINED) & (lengths > 0)
    flat = np.ravel_multi_index(tuple(index[inside].T), tuple(int(n) for n in grid)).astype("u8")
    masks, offsets, lengths = np.asarray(masks)[inside], offsets[inside], lengths[inside]
    edge = ((index[inside] + 1) * np.array(chunk, "u8") > np.array(stored, "u8")).any(axis=1)
    if plain:
        copied = lengths != raw
    else:
        # Newer files may leave the filters out of partial edge chunks without saying so in the mask.
        copied = (masks != 0) | (edge & (lengths == raw))
    if stored != shape:
        # What such a chunk holds beyond the dataset's end becomes visible: only the library knows it.
        copied |= edge
    order = np.argsort(flat, kind="stable")
    flat, offsets, lengths, copied = flat[order], offsets[order], lengths[order], copied[order]
    keep = ~copied
    return Located(chunk, flat[keep], offsets[keep], lengths[keep], flat[copied])


def contiguous(offset: int | None, shape: tuple[int, ...], itemsize: int, available: int) -> Located:
    """One contiguous dataset cut into chunks of about 1 MiB; ``available`` is the bytes that the file has for it.

    Lengths that a chunk divides are preferred, so that each chunk is one exact range of the file; where none does, the
    partial chunk at the end is copied: reading past the dataset would show foreign bytes to whoever appends later.
    """
    chunk = split(shape, itemsize)
    empty = np.empty(0, "u8")
    if offset is None or prod(shape) == 0:
        return Located(chunk, empty, empty, empty, empty)
    if available < prod(shape) * itemsize:
        raise errors.make(
            "corrupt",
            f"the dataset takes {prod(shape) * itemsize} bytes, the file has {available}",
            "compare the file with its original",
        )
    grid = grid_of(shape, chunk)
    axes = [np.arange(n, dtype="u8") * np.uint64(c) for n, c in zip(grid, chunk, strict=True)]
    strides = [prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape))]
    starts = np.zeros(grid, "u8")
    partial = np.zeros(grid, bool)
    for axis, (positions, stride) in enumerate(zip(axes, strides, strict=True)):
        along = [1] * len(grid)
        along[axis] = -1
        starts = starts + (positions * np.uint64(stride)).reshape(along)
        partial |= (positions + np.uint64(chunk[axis]) > shape[axis]).reshape(along)
    flat = np.arange(prod(grid), dtype="u8")
    whole = ~partial.reshape(-1)
    offsets = starts.reshape(-1)[whole] + np.uint64(offset)
    lengths = np.full(len(offsets), prod(chunk) * itemsize, "u8")
    return Located(chunk, flat[whole], offsets, lengths, flat[~whole])


def split(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """A chunk shape of about 1 MiB that is one run of a C-order array, and that divides its shape where possible."""
    chunk = [max(n, 1) for n in shape]
    for axis in range(len(chunk)):
        if prod(chunk) * itemsize <= (_WHOLE if axis == 0 else _TARGET):
            break
        row = prod(chunk[axis + 1 :]) * itemsize
        if row >= _TARGET:
            chunk[axis] = 1
            continue
        chunk[axis] = _divisor(chunk[axis], max(_TARGET // row, 1), row)
        break
    return tuple(chunk)


def _divisor(length: int, wanted: int, row: int) -> int:
    """The divisor of ``length`` nearest to ``wanted`` that keeps chunks between 64 KiB and 4 MiB, else ``wanted``."""
    low, high = max(1, (64 << 10) // row), max(1, _WHOLE // row)
    found = wanted
    best = 0.0
    for n in range(low, min(high, length) + 1):
        if length % n == 0:
            nearness = min(n, wanted) / max(n, wanted)
            if nearness > best:
                found, best = n, nearness
    return found
