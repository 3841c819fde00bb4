"""Read regions of in-memory and lazy arrays; dask computes only the chunks of a region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.array_map import Region


@dataclass(frozen=True)
class RegionReader:
    """Reads an array with ``shape``, ``dtype`` and slicing.

    Attributes:
        path: of the array, for errors.
        array: sliced with one ``slice`` an axis.
        dtype: of what is returned, in native byte order; ``object`` for strings.
        convert: applied to each region before its dtype is checked.
    """

    path: str
    array: Any
    dtype: np.dtype
    convert: Callable[[np.ndarray], np.ndarray] = np.asarray

    def __call__(self, region: Region) -> np.ndarray:
        """The elements of a region, C-contiguous.

        Raises:
            Error: ``dtype`` for an object that is not a string.
        """
        data = self.convert(np.asarray(self.array[region]))
        if self.dtype.kind == "O":
            data = data.astype(object)
            wrong = [type(item).__name__ for item in data.ravel() if not isinstance(item, str)]
            if wrong:
                message = f"{self.path}: objects can't be stored, only strings (got {wrong[0]})"
                raise errors.make("dtype", message, "convert it to numbers or strings, and fill missing ones")
        return np.asarray(data, self.dtype, order="C")


def chunk_grid(array: Any) -> tuple[int, ...] | None:
    """The regular chunk shape of a dask array; None for any other array, or other chunks."""
    chunks = getattr(array, "chunks", None)
    if not chunks or not all(isinstance(axis, tuple) and axis for axis in chunks):
        return None
    regular = all(len(set(axis[:-1])) <= 1 and axis[-1] <= axis[0] for axis in chunks)
    return tuple(max(int(axis[0]), 1) for axis in chunks) if regular else None
