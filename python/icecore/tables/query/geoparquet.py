"""GeoParquet: rows with longitude and latitude as points.

Source: GeoParquet specification 1.1. The points are well-known binary in the column ``geometry``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables.query.arrow_numbers import floats
from icecore.tables.query.region import X, Y

if TYPE_CHECKING:
    import pyarrow as pa

GEOMETRY = "geometry"
#: a point in well-known binary, little-endian
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])


def coordinates(schema: pa.Schema) -> tuple[str, str]:
    """Return the columns of longitude and latitude.

    Raises:
        Error: ``unsupported`` if the rows have none.
    """
    if GEOMETRY in schema.names:
        message = f"a column is named {GEOMETRY} already"
        raise errors.make("unsupported", f"can't write GeoParquet: {message}", "-o out.parquet")
    lower = {name.lower(): name for name in schema.names}
    found = [next((lower[name] for name in names if name in lower), None) for names in (X, Y)]
    if found[0] is None or found[1] is None:
        message = f"GeoParquet needs columns of longitude and latitude (got {', '.join(schema.names)})"
        raise errors.make("unsupported", message, "select them too, or -o out.parquet")
    return found[0], found[1]


class Points:
    """Adds the column of points to batches, and collects their extent."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow

        self._names = coordinates(schema)
        self.schema = schema.append(pyarrow.field(GEOMETRY, pyarrow.binary()))
        self._low = np.full(2, math.inf)
        self._high = np.full(2, -math.inf)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with points; the point of a row without a coordinate is null."""
        import pyarrow

        for batch in batches:
            xy = [floats(batch[name]) for name in self._names]
            both = np.column_stack(xy)
            known = np.isfinite(both).all(axis=1)
            if known.any():
                self._low = np.minimum(self._low, both[known].min(axis=0))
                self._high = np.maximum(self._high, both[known].max(axis=0))
            arrays = [*batch.columns, _points(both, known)]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def metadata(self) -> dict[str, str]:
        """Return the file's metadata ``geo``; the coordinates are WGS 84 (OGC:CRS84, the default)."""
        column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
        if np.isfinite(self._low).all():
            column["bbox"] = [*self._low.tolist(), *self._high.tolist()]
        return {
            "geo": json.dumps({"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}})
        }


def _points(both: np.ndarray, known: np.ndarray) -> pa.Array:
    import pyarrow

    points = np.empty(len(both), _POINT)
    points["order"], points["type"], points["x"], points["y"] = 1, 1, both[:, 0], both[:, 1]
    offsets = np.arange(len(both) + 1, dtype="i4") * _POINT.itemsize
    valid = np.packbits(known, bitorder="little")
    buffers = [pyarrow.py_buffer(each.tobytes()) for each in (valid, offsets, points)]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(both), buffers)
