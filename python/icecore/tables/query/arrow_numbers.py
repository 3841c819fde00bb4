"""Convert numbers between Arrow and NumPy arrays without importing pandas.

The methods of pyarrow that do this import pandas on first use, which takes longer than reading a small table.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


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


# Restore the original Arrow types of a table that was packed from memory.
#
# The group stores the original Arrow schema. Arrays have other types if NumPy or Zarr lack one: UTC for times
# with a time zone, integers for dates, int8 for booleans with nulls, float64 for decimals.


def packed_types(table: Table) -> dict[str, pa.DataType]:
    """Return column → original Arrow type; empty if the table wasn't packed from memory."""
    import pyarrow as pa

    kept = table._group._node.ours.get("table", {}).get("arrow")
    if not isinstance(kept, str):
        return {}
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.standard_b64decode(kept)))
    except (ValueError, pa.ArrowException):
        return {}
    return {field.name: field.type for field in schema}


def restored(batches: pa.RecordBatchReader, types: dict[str, pa.DataType]) -> pa.RecordBatchReader:
    """Return the rows in their original types, as far as they can be converted."""
    import pyarrow as pa

    schema = batches.schema
    wanted = {field.name: types[field.name] for field in schema if _fits(field.type, types.get(field.name))}
    if all(schema.field(name).type == kind for name, kind in wanted.items()):
        return batches
    made = pa.schema([f.with_type(wanted.get(f.name, f.type)) for f in schema])

    def each() -> Any:
        for batch in batches:
            columns = zip(batch.columns, made.types, strict=True)
            yield pa.RecordBatch.from_arrays([_cast(*column) for column in columns], schema=made)

    return pa.RecordBatchReader.from_batches(made, each())


def _fits(stored: pa.DataType, packed: pa.DataType | None) -> bool:
    """Whether a column can be converted to its original type; not if it was replaced since."""
    import pyarrow as pa

    if packed is None:
        return False
    is_list = (
        pa.types.is_list(packed) or pa.types.is_large_list(packed) or pa.types.is_fixed_size_list(packed)
    )
    if isinstance(stored, pa.FixedSizeListType):
        return bool(is_list and _fits(stored.value_type, packed.value_type))
    tests: list[Any] = [pa.types.is_large_string, pa.types.is_timestamp, pa.types.is_duration]
    kind = next((i for i, test in enumerate(tests) if test(stored)), len(tests))
    value = packed.value_type if pa.types.is_dictionary(packed) else packed
    if pa.types.is_boolean(value):
        return bool(pa.types.is_boolean(stored) or stored == pa.int8())
    if pa.types.is_decimal(value):
        return bool(stored == pa.float64())
    if pa.types.is_integer(value):
        return bool(pa.types.is_integer(stored))
    expected = 3
    if pa.types.is_null(value) or value in (pa.string(), pa.large_string()) or "string" in str(value):
        expected = 0
    elif pa.types.is_timestamp(value) or pa.types.is_date(value):
        expected = 1
    elif pa.types.is_duration(value) or pa.types.is_time(value):
        expected = 2
    elif stored != value:
        return False
    return kind == expected


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if column.type == kind:
        return column
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    if pa.types.is_dictionary(kind):
        values = _cast(column, kind.value_type)
        found = values.dictionary_encode()
        indices = found.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, found.dictionary, ordered=kind.ordered)
    if pa.types.is_time(kind):
        ticks = column.cast(pa.int64())
        return ticks.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    if isinstance(column.type, pa.FixedSizeListType):
        values = pa.FixedSizeListArray.from_arrays(
            _cast(column.flatten(), kind.value_type), column.type.list_size
        )
        return values if values.type == kind else values.cast(kind)
    return column.cast(kind)
