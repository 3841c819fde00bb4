"""Choose a value for null in a column: one that the column does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from icecore.sources.mapping.netcdf_fill import reals_for_null, texts_for_null

_WIDER = {8: 16, 16: 32}


def number_for_null(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """A column of integers, widened where it holds every number of its type, and its value for null.

    The least number of a signed type and the greatest of an unsigned one are tried first.
    """
    limits = np.iinfo(column.type.to_pandas_dtype())
    low, high = int(limits.min), int(limits.max)
    found = _free(column, (low, high) if low else (high, low))
    if found is None:
        held = set(pc.unique(column).to_pylist())
        found = next((number for number in range(low, high + 1) if number not in held), None)
    if found is not None:
        return column, found
    wide = f"{'int' if low else 'uint'}{_WIDER[column.type.bit_width]}"
    return number_for_null(column.cast(pa.type_for_alias(wide)))


def real_for_null(column: pa.ChunkedArray) -> Any:
    """Return the value for null in a column of floats, in their dtype.

    It is NaN if the column has none, so that programs that read the array without its attributes skip it;
    otherwise a number, so that NaN stays NaN.
    """
    dtype = np.dtype(column.type.to_pandas_dtype())
    held = column.drop_null().to_numpy()
    if not np.isnan(held).any():
        return dtype.type(np.nan)
    return next(value for value in reals_for_null(dtype) if not (held == value).any())


def text_for_null(column: pa.ChunkedArray) -> str:
    """Return the value for null in a column of strings."""
    found = _free(column, texts_for_null())
    assert found is not None
    return str(found)


def _free(column: pa.ChunkedArray, candidates: Iterable[Any]) -> Any:
    """The first candidate that a column doesn't hold; None where it holds them all."""
    for value in candidates:
        if not pc.any(pc.equal(column, pa.scalar(value, column.type))).as_py():
            return value
    return None
