"""Read what a picture can show of a long line or a large map, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from icecore.repository.array import Array

#: bytes of a block that is read at once
_BLOCK = 16 << 20


def places(item: Any, length: int) -> range | np.ndarray:
    """Return the indexes that a slice or a list selects along an axis of ``length`` elements."""
    if isinstance(item, slice):
        return range(*item.indices(length))
    return np.arange(length)[np.asarray(item)]


def thinned(found: range | np.ndarray, step: int) -> Any:
    """Return an index for every ``step``-th of the indexes."""
    return _index(found[::step])


def rows(array: Array, sel: Sequence[Any], axis: int, step: int) -> Iterator[np.ndarray]:
    """Yield the elements along an axis in blocks of shape (pixels, ``step``); the last may be shorter.

    Args:
        array: the array.
        sel: an index for each axis; those of the other axes select one element.
        axis: the axis of the line.
        step: elements per pixel.
    """
    found = places(sel[axis], array.shape[axis])
    count = max(_BLOCK // (array.dtype.itemsize * step), 1) * step
    for start in range(0, len(found), count):
        part = (*sel[:axis], _index(found[start : start + count]), *sel[axis + 1 :])
        data = array.read(part).reshape(-1)
        whole = len(data) // step * step
        if whole:
            yield data[:whole].reshape(-1, step)
        if whole < len(data):
            yield data[None, whole:]


def _index(found: range | np.ndarray) -> Any:
    if not isinstance(found, range):
        return found
    if not len(found):
        return slice(0, 0)
    stop = found[-1] + (1 if found.step > 0 else -1)
    return slice(found[0], None if stop < 0 else stop, found.step)
