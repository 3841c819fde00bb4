"""Restore the original Arrow types of a table that was packed from memory.

The group stores the original Arrow schema. Arrays have other types if NumPy or Zarr lack one: UTC for times
with a time zone, integers for dates, int8 for booleans with nulls, float64 for decimals.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


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
