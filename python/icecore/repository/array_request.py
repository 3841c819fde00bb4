"""Requests to the engine for one array: selections, single elements, blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import selection

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array

#: bytes that iteration over an array reads at once
_BLOCK = 16 << 20
Finish = Callable[["np.ndarray"], "np.ndarray"]


def request(array: Array, index: Any, out: Any) -> tuple[Any, Any, Finish]:
    """Return the index and output for the engine, and a function that converts its result.

    The engine supports neither boolean masks of scalar arrays nor subarrays in structured dtypes.
    """
    if array._plain:
        return index, out, _unchanged
    if not array.shape and out is None and (mask := selection.truth(index)) is not None:
        _, _, finish = request(array, (), None)
        return (), None, lambda found: finish(found).reshape(1)[:mask]
    if not array._node.ours.get("subarrays"):
        return index, out, _unchanged
    dtype = array.dtype
    if out is None:
        return index, None, lambda found: found.view(dtype)
    target = out.view(array._native.dtype) if getattr(out, "dtype", None) == dtype else out
    return index, target, lambda _: out


def read_points(array: Array, coordinates: Any) -> np.ndarray:
    """Read single elements; see :meth:`icecore.Array.points`."""
    import numpy as np

    points = np.asarray(coordinates)
    if points.size == 0:
        points = points.reshape(0, array.ndim).astype("i8")
    if points.ndim != 2 or points.shape[1] != array.ndim or points.dtype.kind not in "iu":
        raise errors.make(
            "selection",
            f"{array.path}: points need integers of shape (n, {array.ndim}) "
            f"(got {points.dtype} of shape {points.shape})",
            "give one row of indexes per element",
        )
    if array.ndim == 0:
        return np.full(len(points), array._read(())[()], array.dtype)
    return array._read(selection.normalize(tuple(points.T), array.dims))


def rows(array: Array) -> Iterator[Any]:
    """Iterate over the rows of an array, read in blocks of whole chunks."""
    for block in row_blocks(array):
        yield from block


def row_blocks(array: Array) -> Iterator[np.ndarray]:
    """Read an array in blocks of rows: whole chunks, about 16 MiB at a time."""
    row = max(prod(array.shape[1:]) * array.dtype.itemsize, 1)
    unit = (array.chunks or (1,))[0]
    step = max(_BLOCK // row // unit, 1) * unit
    for start in range(0, array.shape[0], step):
        yield array.read(slice(start, min(start + step, array.shape[0])))


def _unchanged(found: np.ndarray) -> np.ndarray:
    return found
