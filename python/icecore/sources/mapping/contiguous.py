"""Split arrays that are one contiguous run of raw elements in a file into chunks of a useful size."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from icecore import errors

_TARGET = 1 << 20
_WHOLE = 4 << 20


@dataclass
class Located:
    """Locations of the chunks of one array.

    ``chunks`` are flat indices in C order over the grid of ``chunk``; chunks in ``copied`` can't be linked.
    """

    chunk: tuple[int, ...]
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    copied: np.ndarray


def nothing(chunk: tuple[int, ...]) -> Located:
    """Return no chunks: all elements have the fill value."""
    empty = np.empty(0, "u8")
    return Located(chunk, empty, empty, empty, empty)


def grid_of(shape: tuple[int, ...], chunk: tuple[int, ...]) -> tuple[int, ...]:
    """Number of chunks along each axis."""
    return tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))


def contiguous(offset: int | None, shape: tuple[int, ...], itemsize: int, available: int) -> Located:
    """Split one contiguous array into chunks of about 1 MiB; ``available`` is the size in bytes of its data.

    Lengths that divide the axis are preferred, so that each chunk is one exact byte range of the file. If
    there are none, the partial chunk at the end is copied: its byte range would extend past the array, and a
    later append would expose bytes that do not belong to it.
    """
    chunk = split(shape, itemsize)
    if offset is None or prod(shape) == 0:
        return nothing(chunk)
    if available < prod(shape) * itemsize:
        raise errors.make(
            "corrupt",
            f"the array takes {prod(shape) * itemsize} bytes, the file has {available}",
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
    """Return a chunk shape of about 1 MiB that is one run of a C-order array and divides it if possible."""
    chunk = [max(n, 1) for n in shape]
    for axis in range(len(chunk)):
        if prod(chunk) * itemsize <= _TARGET:
            break
        row = prod(chunk[axis + 1 :]) * itemsize
        if row >= _TARGET:
            chunk[axis] = 1
            continue
        chunk[axis] = _divisor(chunk[axis], max(_TARGET // row, 1), row)
        break
    return tuple(chunk)


def _divisor(length: int, wanted: int, row: int) -> int:
    """Return the divisor of ``length`` nearest to ``wanted`` (chunks of 64 KiB to 4 MiB), else ``wanted``."""
    low, high = max(1, (64 << 10) // row), max(1, _WHOLE // row)
    found = wanted
    best = 0.0
    for n in range(low, min(high, length) + 1):
        if length % n == 0:
            nearness = min(n, wanted) / max(n, wanted)
            if nearness > best:
                found, best = n, nearness
    return found
