"""Requests to the engine for one array: selections, single elements, blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, SupportsFloat

from icecore import errors
from icecore.repository import selection

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


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


# Reads of many arrays in one plan.


def requests(repo: Repo, items: Mapping[str, Any], out: Mapping[str, np.ndarray] | None) -> list[Any]:
    """Return a request to the engine for each array, and the function that converts its result."""
    for given in (items, {} if out is None else out):
        if not isinstance(given, Mapping):
            raise errors.make(
                "invalid",
                f"items and out must be dictionaries (got {given!r:.60})",
                "path → selection: repo.read({'/a': None, …}); one array: repo['/a'][...]",
            )
    arrays = [repo._array(path) for path in items]
    asked: list[Any] = []
    for array, (path, sel) in zip(arrays, items.items(), strict=True):
        index = selection.normalize(sel, array.dims)
        index, target, finish = request(array, index, out.get(path) if out else None)
        asked.append(((array.path, index, target), finish))
    return asked


# `Array.vindex` and `Array.oindex`: indexing by coordinates, and by one index per axis.


class Vectorized:
    """``array.vindex``: elements at coordinates; the index arrays are broadcast together."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, sel: Any) -> Any:
        array = self._array
        given = sel if isinstance(sel, tuple) else (sel,)
        if any(isinstance(item, slice) or item is Ellipsis or item is None for item in given):
            raise errors.make(
                "selection",
                f"{array.path}.vindex takes integer arrays or one boolean mask, not slices",
                "a[...] mixes arrays and slices; a.oindex[...] takes one index per axis",
            )
        index = selection.normalize(sel, array.dims)
        result = array._read(index)
        return result[()] if selection.scalar(index, array.ndim) else result


class Orthogonal:
    """``array.oindex``: the outer product of one index per axis."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, sel: Any) -> Any:
        array = self._array
        index = selection.normalize(sel, array.dims)
        result = array._read(index, outer=True)
        return result[()] if selection.scalar(index, array.ndim) else result


# Options for reading floating-point numbers with reduced precision.

_MOST_BYTES = 1 << 16


def precision(rtol: float | None, leading_bytes: int | None = None) -> dict[str, Any] | None:
    """Return the engine's options for a read with reduced precision, or None for an exact read.

    Raises:
        Error: ``invalid`` if ``rtol`` is not a number or ``leading_bytes`` is not a positive integer.
    """
    if rtol is None and leading_bytes is None:
        return None
    if rtol is not None and (isinstance(rtol, (bool, str)) or not isinstance(rtol, SupportsFloat)):
        raise errors.make("invalid", f"rtol must be a number (got {rtol!r})", "for example rtol=0.001")
    if leading_bytes is not None and not selection.is_int(leading_bytes):
        raise errors.make(
            "invalid", f"leading_bytes must be an integer (got {leading_bytes!r})", "for example 2"
        )
    if leading_bytes is not None and not 1 <= leading_bytes <= _MOST_BYTES:
        raise errors.make(
            "invalid",
            f"leading_bytes must be at least 1 (got {leading_bytes})",
            "give at least 1 and less than the item size",
        )
    options: dict[str, Any] = {}
    if rtol is not None:
        options["rtol"] = rtol
    if leading_bytes is not None:
        options["bytes"] = leading_bytes
    return options
