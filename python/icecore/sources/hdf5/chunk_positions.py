"""Correct chunk positions that the HDF5 library reports wrongly.

In the newer file format, a dataset with one unlimited axis is indexed by an extensible array, in which that
axis comes first. If it is not the first axis of the dataset, the library (seen in 2.0) counts chunks in the
order of the array but converts the numbers in the order of the dataset: every chunk gets position 0 along the
axes before the unlimited one. Reading is not affected, so the true position is the one of the two that the
library can read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from h5py import h5s


def positions(dsid: Any, starts: np.ndarray, chunk: tuple[int, ...]) -> np.ndarray:
    """Return the true first elements of chunks, shape (chunks, axes); ``starts`` are the reported ones."""
    limits = dsid.get_space().get_simple_extent_dims(True)
    free = [axis for axis, limit in enumerate(limits) if limit is None or limit == h5s.UNLIMITED]
    if len(free) != 1 or free[0] == 0 or starts[:, : free[0]].any():
        return starts
    others = [
        -(-limit // c) for axis, (limit, c) in enumerate(zip(limits, chunk, strict=True)) if axis != free[0]
    ]
    lengths = np.array(chunk, "i8")
    corrected = _corrected(starts // lengths, others, free[0]) * lengths
    # Both lists ascend; the first chunk that only one of them contains decides which is right.
    for row in np.flatnonzero((corrected != starts).any(axis=1)):
        if not _exists(dsid, starts[row]):
            return corrected
        if not _exists(dsid, corrected[row]):
            return starts
    return starts


def _corrected(reported: np.ndarray, others: list[int], free: int) -> np.ndarray:
    """Return chunk numbers per axis from reported ones; ``others`` are the counts along all other axes."""
    number = reported[:, free].astype("i8")
    for axis in range(free + 1, reported.shape[1]):
        number = number * others[axis - 1] + reported[:, axis]
    result = np.empty(reported.shape, "i8")
    for place in reversed(range(len(others))):
        number, result[:, place + (place >= free)] = np.divmod(number, max(others[place], 1))
    result[:, free] = number
    return result


def _exists(dsid: Any, start: np.ndarray) -> bool:
    try:
        dsid.read_direct_chunk(tuple(int(n) for n in start))
    except (OSError, RuntimeError, ValueError):
        return False
    return True
