"""Rows of a product: a schema and a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.tables.query.scan import arrow, to_pandas

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Rows:
    """Columns that are known, and batches that are computed as they are read. They can be read once.

    ``pyarrow.table(rows)``, ``polars.DataFrame(rows)`` and DuckDB read them as an Arrow stream.

    Example:
        >>> import pyarrow as pa
        >>> batch = pa.record_batch({"h": [1.0, 2.0]})
        >>> Rows(batch.schema, [batch]).to_pandas()["h"].tolist()
        [1.0, 2.0]
    """

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self._schema = schema
        self._batches = iter(batches)

    @classmethod
    def of(cls, name: str, result: Any) -> Rows:
        """Return the rows that a product's function returned: rows, or an Arrow table, stream or batch.

        Raises:
            Error: ``unsupported`` for another result.
        """
        if isinstance(result, Rows):
            return result
        pa = arrow()
        if isinstance(result, pa.RecordBatch):
            return cls(result.schema, [result])
        if not hasattr(result, "__arrow_c_stream__"):
            message = f"product {name} returned {type(result).__name__}"
            raise errors.make("unsupported", message, "return icecore.products.Rows, or a pyarrow Table")
        reader = pa.RecordBatchReader.from_stream(result)
        return cls(reader.schema, reader)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches."""
        return self._schema

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches that are not empty."""
        return (batch for batch in self._batches if batch.num_rows)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def reader(self) -> pa.RecordBatchReader:
        """Return the batches as an Arrow stream."""
        return arrow().RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return an Arrow stream."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def read_all(self) -> pa.Table:
        """Return all rows as a pyarrow Table."""
        return arrow().Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> Any:
        """Return all rows as a pandas DataFrame."""
        return to_pandas(self.read_all())

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all rows: name → array."""
        table = self.read_all()
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    def close(self) -> None:
        """Stop computing; work that has not started is cancelled."""
        if hasattr(self._batches, "close"):
            self._batches.close()
