"""Convert numbers between Arrow and NumPy arrays without importing pandas.

The methods of pyarrow that do this import pandas on first use, which takes longer than reading a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def valid_bytes(column: pa.Array) -> np.ndarray | None:
    """Return one byte per element, 1 if it is valid; None if all are."""
    buffer = column.buffers()[0]
    if not column.null_count or buffer is None:
        return None
    bits = np.unpackbits(np.frombuffer(buffer, "u1"), count=column.offset + len(column), bitorder="little")
    return bits[column.offset :]


def arrow_array(values: np.ndarray, kind: Any = None, missing: np.ndarray | None = None) -> pa.Array:
    """Return numbers, booleans or times as an Arrow array.

    Args:
        values: shape (rows,).
        kind: the Arrow type; by default that of the NumPy dtype.
        missing: which values are null; none by default.
    """
    import pyarrow as pa

    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    packed = (
        np.packbits(native, bitorder="little") if native.dtype.kind == "b" else np.ascontiguousarray(native)
    )
    validity = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    made_kind = pa.from_numpy_dtype(native.dtype)
    made = pa.Array.from_buffers(made_kind, len(native), [validity, pa.py_buffer(packed)])
    return made if kind is None or made_kind == kind else made.cast(kind)


def arrow_list(values: Sequence[Any], kind: Any) -> pa.Array:
    """Return Python objects as an Arrow array: numbers, strings, structures and lists; None is null."""
    import pyarrow as pa

    missing = np.fromiter((value is None for value in values), bool, len(values))
    nulls = missing if missing.any() else None
    if pa.types.is_struct(kind):
        parts = [arrow_list([value[field.name] for value in values], field.type) for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind))
    if pa.types.is_list(kind):
        ends = np.cumsum([0, *map(len, values)], dtype="i4")
        flat = [item for value in values for item in value]
        return pa.ListArray.from_arrays(arrow_array(ends), arrow_list(flat, kind.value_type))
    if pa.types.is_large_string(kind):
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype="i8")
        bits = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
        parts = [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(kind, len(values), parts)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        numbers = [0 if value is None else value for value in values]
        return arrow_array(np.array(numbers, kind.to_pandas_dtype()), kind, nulls)
    return pa.array(values, kind)  # decimals; imports pandas
