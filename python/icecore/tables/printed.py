"""What rows look like as text: a structure as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def cells(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows with structures as JSON text: one cell of a CSV file."""
    import pyarrow as pa

    def kind(of: Any) -> Any:
        return pa.large_string() if pa.types.is_struct(of) else of

    return _changed(
        batches, kind, lambda column: pa.array(map(json.dumps, column.to_pylist()), pa.large_string())
    )


def _changed(
    batches: pa.RecordBatchReader, kind: Callable[[Any], Any], change: Callable[[Any], Any]
) -> pa.RecordBatchReader:
    """Rows of which the columns with another ``kind`` are changed."""
    import pyarrow as pa

    schema = batches.schema
    made = pa.schema([field.with_type(kind(field.type)) for field in schema])
    if made.equals(schema):
        return batches

    def each() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            both = zip(batch.columns, made, strict=True)
            columns = [column if column.type == field.type else change(column) for column, field in both]
            yield pa.RecordBatch.from_arrays(columns, schema=made)

    return pa.RecordBatchReader.from_batches(made, each())
