"""Tables in memory as a source: pandas and Polars data frames, pyarrow tables, any Arrow stream.

A table becomes a group of one-dimensional arrays of one length, as packed text tables are. The group keeps
the order of the columns and their Arrow types, so that a scan returns the types that were packed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.nodes import OURS, hidden
from icecore.sources.mapping.array_map import ArrayMap, Note

if TYPE_CHECKING:
    import pyarrow as pa


def accepts(item: Any) -> bool:
    """Whether an object is a table: a pandas data frame, or what exports Arrow streams. Imports nothing."""
    return hasattr(item, "__arrow_c_stream__") or _is_frame(item)


def _is_frame(item: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(item, pandas.DataFrame)


def open(item: Any, name: str) -> ArrayMap:
    """Index a table in memory; a stream is read to its end.

    Raises:
        Error: ``unsupported`` where pyarrow is missing; ``invalid`` for an object that is not a table, or
            names that no array can have; ``dtype`` for columns whose values can't be stored without loss.
    """
    table = _table(item)
    from icecore.sources.memory.arrow_columns import column_entry  # needs pyarrow

    result = ArrayMap(name)
    _check_names(table.column_names)
    for field, column in zip(table.schema, table.columns, strict=True):
        entry, note = column_entry(f"/{field.name}", column)
        result.add(entry)
        if note:
            result.dropped.append(Note(entry.path, "converted", note))
    result.groups["/"] = {OURS: {"table": {"columns": table.column_names, "arrow": _types(table.schema)}}}
    return result


def _table(item: Any) -> pa.Table:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        message = f"packing a table in memory ({type(item).__name__}) needs pyarrow"
        raise errors.needs("table", message) from None
    try:
        if _is_frame(item):
            return pa.Table.from_pandas(_indexed(item), preserve_index=False)
        return item if isinstance(item, pa.Table) else pa.table(item)
    except (pa.ArrowException, TypeError, ValueError) as error:
        found = f"{type(item).__module__}.{type(item).__qualname__}"
        message = f"{found} can't be read as an Arrow table: {error}"
        hint = "convert its columns to numbers, strings or times; a GeoDataFrame: frame.to_wkt()"
        raise errors.make("invalid", message, hint) from error


def _indexed(frame: Any) -> Any:
    """The frame with its index as columns, unless it only counts rows."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return frame
    return frame.reset_index()


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise errors.make("invalid", "the table has no columns", "pack a table with one column at least")
    seen: set[str] = set()
    for name in names:
        if not name.strip() or "/" in name or name in (".", "..") or hidden(name):
            message = f"a column can't be named {name!r}: it names an array"
            raise errors.make("invalid", message, "rename it, without '/'")
        if name in seen:
            raise errors.make("invalid", f"two columns are named {name!r}", "rename one of them")
        seen.add(name)


def _types(schema: pa.Schema) -> str:
    """The Arrow schema as Parquet keeps it: the IPC message in base64, without metadata of other programs."""
    import base64

    import pyarrow as pa

    plain = pa.schema([pa.field(field.name, field.type) for field in schema])
    return base64.standard_b64encode(plain.serialize()).decode()
