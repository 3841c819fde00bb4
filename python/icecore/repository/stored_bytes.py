"""Stored bytes of several arrays, each byte range counted once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from icecore.repository.array import Array


def stored_bytes(arrays: Iterable[Array]) -> int:
    """Return the stored bytes of these arrays; bytes that columns share are counted once.

    Args:
        arrays: arrays of one version of a repository.

    Returns:
        Number of bytes in the repository and in linked files.
    """
    total, ranges = 0, dict[str, list[np.ndarray]]()
    for array in arrays:
        places = {name: flat.reshape(-1, 2) for name, flat in array._native.places().items()}
        total += array.nbytes_stored - sum(int(rows[:, 1].sum()) for rows in places.values())
        for name, rows in places.items():
            ranges.setdefault(name, []).append(rows)
    return total + sum(_covered(np.concatenate(rows)) for rows in ranges.values())


def _covered(places: np.ndarray) -> int:
    """Bytes of an object that ranges cover, (n, 2) int64 of offset and length; they may overlap."""
    starts, ends = places[np.argsort(places[:, 0], kind="stable")].T
    ends = np.maximum.accumulate(starts + ends)
    before = np.concatenate(([0], ends[:-1]))
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())
