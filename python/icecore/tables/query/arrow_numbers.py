"""Convert numbers between Arrow and NumPy arrays without importing pandas.

The methods of pyarrow that do this import pandas on first use, which takes longer than reading a small table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def stored_numbers(column: pa.Array) -> np.ndarray:
    """Return the numbers of an array without a copy; values behind nulls are arbitrary."""
    dtype = np.dtype(column.type.to_pandas_dtype())
    buffer = column.buffers()[1]
    if buffer is None:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype, len(column), column.offset * dtype.itemsize)


def floats(column: pa.Array) -> np.ndarray:
    """Return a column of numbers as float64; null is NaN."""
    if not column.null_count:
        return stored_numbers(column).astype("f8")
    return stored_numbers(column.cast("float64").fill_null(float("nan")))


def arrow_array(values: np.ndarray, kind: Any = None) -> pa.Array:
    """Return numbers, booleans or times as an Arrow array without nulls.

    Args:
        values: shape (rows,).
        kind: the Arrow type; by default that of the NumPy dtype.
    """
    import pyarrow as pa

    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    packed = (
        np.packbits(native, bitorder="little") if native.dtype.kind == "b" else np.ascontiguousarray(native)
    )
    made_kind = pa.from_numpy_dtype(native.dtype)
    made = pa.Array.from_buffers(made_kind, len(native), [None, pa.py_buffer(packed)])
    return made if kind is None or made_kind == kind else made.cast(kind)
