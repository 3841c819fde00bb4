"""Stored bytes of several arrays, each byte range counted once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from icecore.repository.array import Array


def stored_bytes(arrays: Iterable[Array]) -> int:
    """Return the stored bytes of these arrays; byte ranges that columns share are counted once.

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
    distinct = (np.unique(np.concatenate(rows), axis=0) for rows in ranges.values())
    return total + sum(int(rows[:, 1].sum()) for rows in distinct)
