"""Convert columns of events to Awkward, NumPy, pandas, Arrow and Polars values."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.tables.query.event_read import Values

LIBRARIES = ("ak", "np", "pd", "arrow", "pl")


def awkward() -> Any:
    """Return the module awkward.

    Raises:
        Error: ``unsupported`` if it is not installed.
    """
    try:
        import awkward
    except ModuleNotFoundError as error:
        message = "jagged columns need the package awkward"
        raise errors.needs("root", message) from error
    return awkward


def event_array(values: Values) -> Any:
    """Return a column as a NumPy array if it has no lists, otherwise as an Awkward array."""
    if values.column.kind == "array" and values.data.dtype.kind != "O":
        return values.data
    return awkward().Array(_layout(values))


def _layout(values: Values) -> Any:
    ak = awkward()
    if values.column.kind == "array":
        data = values.data
        if data.dtype.kind == "O":
            return ak.from_iter(data.tolist(), highlevel=False) if len(data) else _no_strings(ak)
        return ak.contents.NumpyArray(np.ascontiguousarray(data))
    if values.column.kind == "record":
        names = list(values.members)
        fields = None if values.column.is_tuple else names
        members = [_layout(values.members[name]) for name in names]
        return ak.contents.RecordArray(members, fields, length=values.data)
    lists = ak.contents.ListOffsetArray(ak.index.Index64(values.data), _layout(values.members[""]))
    return ak.firsts(lists, highlevel=False) if values.column.is_optional else lists


def _no_strings(ak: Any) -> Any:
    characters = ak.contents.NumpyArray(np.empty(0, "u1"), parameters={"__array__": "char"})
    offsets = ak.index.Index64(np.zeros(1, "i8"))
    return ak.contents.ListOffsetArray(offsets, characters, parameters={"__array__": "string"})


def output(columns: dict[str, Any], library: str, rows: int) -> Any:
    """Convert columns for ``library``: Awkward records, a dictionary of NumPy arrays, or a data frame."""
    if library == "np":
        return {name: _numpy(value) for name, value in columns.items()}
    if library == "ak":
        ak = awkward()
        layouts = [ak.to_layout(value) for value in columns.values()]
        return ak.Array(ak.contents.RecordArray(layouts, list(columns), length=rows))
    if library not in LIBRARIES:
        raise errors.make("invalid", f"library is {library!r}", f"one of {', '.join(LIBRARIES)}")
    table = arrow_table(columns)
    if library == "arrow":
        return table
    if library == "pd":
        try:
            return table.to_pandas()
        except ModuleNotFoundError as error:
            raise errors.needs("table", "library 'pd' needs pandas") from error
    try:
        import polars
    except ModuleNotFoundError as error:
        raise errors.needs("table", "library 'pl' needs polars") from error
    return polars.from_arrow(table)


def arrow_table(columns: dict[str, Any]) -> Any:
    """Return a pyarrow Table; lists become Arrow's large lists."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        message = "Arrow tables need the package pyarrow"
        raise errors.needs("table", message) from error
    return pa.table({name: _arrow(pa, value) for name, value in columns.items()})


def _arrow(pa: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind != "O":
        return pa.array(value)
    ak = awkward()
    return ak.to_arrow(
        ak.from_regular(value, axis=None) if isinstance(value, np.ndarray) else value, extensionarray=False
    )


def _numpy(value: Any) -> np.ndarray:
    """Return a NumPy array; lists become an object array of arrays, as in uproot."""
    if isinstance(value, np.ndarray):
        return value
    ak = awkward()
    if not ak.fields(value) and value.ndim == 1:
        return np.array(value.to_list(), object)
    result = np.empty(len(value), object)
    for i, item in enumerate(value):
        result[i] = np.asarray(item) if not ak.fields(value) and value.ndim == 2 else item.to_list()
    return result
