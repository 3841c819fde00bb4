"""Tables in memory as a source: pandas and Polars data frames, pyarrow tables, any Arrow stream.

A table becomes a group of one-dimensional arrays of one length, as packed text tables are. The group keeps
the order of the columns and their Arrow types, so that a scan returns the types that were packed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from icecore import errors
from icecore.repository.json_attributes import fill_attribute
from icecore.repository.nodes import OURS, hidden
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Region
from icecore.sources.mapping.netcdf_fill import reals_for_null, texts_for_null

if TYPE_CHECKING:
    from collections.abc import Callable


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

    result = ArrayMap(name)
    _check_names(table.column_names)
    for each, column in zip(table.schema, table.columns, strict=True):
        entry, note = column_entry(f"/{each.name}", column)
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


# A column of an Arrow table as an array: its NumPy dtype, the value for null, and how rows are read.

#: not-a-time, in ticks
_NAT = np.iinfo("i8").min
#: CF's words for truth values that are stored as numbers because some are missing
_TRUTH = {"flag_values": [0, 1], "flag_meanings": "false true"}


@dataclass(frozen=True)
class _Stored:
    """A column in the Arrow type that is stored.

    Attributes:
        values: numbers, booleans or strings; ticks of times.
        dtype: of the array.
        null: what is stored for null.
        width: values of a row; None where it is one.
        attrs: of the array.
        note: what a reader of the report should know.
    """

    values: pa.ChunkedArray
    dtype: np.dtype[Any]
    null: Any = None
    width: int | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def read(self, region: Region) -> np.ndarray:
        """The rows of a region, C-contiguous."""
        rows = region[0]
        part = self.values.slice(rows.start, rows.stop - rows.start)
        if self.width is not None:
            part = pa.chunked_array([chunk.flatten() for chunk in part.chunks], part.type.value_type)
        if part.null_count:
            part = part.fill_null(self.null)
        data = part.to_numpy(zero_copy_only=False) if len(part) else np.empty(0, self.dtype)
        data = data.view(self.dtype) if self.dtype.kind in "mM" else data.astype(self.dtype, copy=False)
        if self.width is not None:
            data = data.reshape(-1, self.width)[:, region[1]]
        return np.ascontiguousarray(data)


def column_entry(path: str, column: pa.ChunkedArray) -> tuple[ArrayEntry, str]:
    """The array of a column, and a note where something is stored in another form.

    Raises:
        Error: ``dtype``, naming the column and its type, where its values can't be stored without loss.
    """
    stored = _stored(path, column)
    return _entry(path, column, stored), stored.note


def _entry(path: str, column: pa.ChunkedArray, stored: _Stored) -> ArrayEntry:
    shape = (len(column),) if stored.width is None else (len(column), stored.width)
    return ArrayEntry(
        path=path,
        shape=shape,
        dims=("row", None)[: len(shape)],
        data_type=data_type(stored.dtype),
        dtype=stored.dtype,
        chunks=tuple(max(n, 1) for n in shape),
        codecs=copy_codecs(stored.dtype),
        fill_value=fill_json(None, stored.dtype),
        attrs=stored.attrs,
        read=stored.read,
        note="in memory",
        is_column=True,
        renulled=partial(_renulled, path, column) if stored.width is None else None,
    )


def _renulled(
    path: str, column: pa.ChunkedArray, null: Any, dtype: np.dtype[Any], merges: bool = False
) -> ArrayEntry | None:
    """The column with another value for null; None if it holds that value or does not fit ``dtype``.

    With ``merges`` values equal to ``null`` become missing.
    """
    values = _stored(path, column).values
    kind = values.type
    try:
        if pa.types.is_boolean(kind) and dtype.kind == "i":
            kind = pa.int8()
        elif dtype.kind in "iuf" and not pa.types.is_boolean(kind):
            kind = pa.from_numpy_dtype(dtype)
        values = values.cast(kind)
        value = pa.scalar(null, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    is_nan = pa.types.is_floating(kind) and value.as_py() != value.as_py()
    held = pc.is_nan(values) if is_nan else pc.equal(values, value)
    if not merges and pc.any(held).as_py():
        return None
    attrs = dict(_TRUTH) if pa.types.is_boolean(column.type) else {}
    is_text = _is_text(kind)
    stored = np.dtype("O") if is_text else np.dtype(kind.to_pandas_dtype())
    attrs |= {"missing_value": null} if is_text else {"_FillValue": fill_attribute(value.as_py(), stored)}
    return _entry(path, column, _Stored(values, stored, value.as_py(), attrs=attrs))


def _stored(path: str, column: pa.ChunkedArray) -> _Stored:
    kind = column.type
    for fits, convert in _KINDS:
        if fits(kind):
            return convert(path, column)
    hint = "convert it to numbers, strings, times or lists of one length; a GeoDataFrame: frame.to_wkt()"
    raise errors.make("dtype", f"{path}: a column of type {kind} can't be stored", hint)


def _dictionary(path: str, column: pa.ChunkedArray) -> _Stored:
    kind = column.type.value_type
    kind = pa.large_string() if _is_text(kind) else kind
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    stored = _stored(path, pa.chunked_array(chunks, kind))
    if not column.type.ordered:
        return stored
    note = "its categories are stored as values, without their order"
    return _Stored(stored.values, stored.dtype, stored.null, stored.width, stored.attrs, note)


def _nothing(path: str, column: pa.ChunkedArray) -> _Stored:
    return _text(path, column.cast(pa.large_string()))


def _text(path: str, column: pa.ChunkedArray) -> _Stored:
    values = column.cast(pa.large_string())
    if not values.null_count:
        return _Stored(values, np.dtype("O"))
    null = text_for_null(values)
    return _Stored(values, np.dtype("O"), null, attrs={"missing_value": null})


def _truth(path: str, column: pa.ChunkedArray) -> _Stored:
    if not column.null_count:
        return _Stored(column, np.dtype("?"))
    note = "some are missing: stored as int8, -1 is null"
    attrs = {**_TRUTH, "_FillValue": -1}
    return _Stored(column.cast(pa.int8()), np.dtype("i1"), -1, attrs=attrs, note=note)


def _integer(path: str, column: pa.ChunkedArray) -> _Stored:
    if not column.null_count:
        return _Stored(column, np.dtype(column.type.to_pandas_dtype()))
    values, null = number_for_null(column)
    note = "" if values.type == column.type else f"stored as {values.type}: no {column.type} is free for null"
    dtype = np.dtype(values.type.to_pandas_dtype())
    return _Stored(values, dtype, null, attrs={"_FillValue": null}, note=note)


def _real(path: str, column: pa.ChunkedArray) -> _Stored:
    dtype = np.dtype(column.type.to_pandas_dtype())
    if not column.null_count:
        return _Stored(column, dtype)
    null = real_for_null(column)
    return _Stored(
        column, dtype, pa.scalar(null, column.type), attrs={"_FillValue": fill_attribute(null, dtype)}
    )


def _decimal(path: str, column: pa.ChunkedArray) -> _Stored:
    try:
        values = column.cast(pa.float64())
        exact = values.cast(column.type).equals(column)
    except pa.ArrowException:
        exact = False
    if not exact:
        message = f"{path}: {column.type} has more digits than float64"
        raise errors.make("dtype", message, "cast it to strings, or to a decimal of at most 15 digits")
    return _real(path, values)


def _time(path: str, column: pa.ChunkedArray) -> _Stored:
    kind = column.type
    if pa.types.is_date32(kind):
        dtype = "M8[D]"
    elif pa.types.is_date64(kind):
        dtype = "M8[ms]"
    else:
        dtype = f"{'M8' if pa.types.is_timestamp(kind) else 'm8'}[{kind.unit}]"
    ticks = pa.int32() if kind.bit_width == 32 else pa.int64()
    chunks = [chunk.view(ticks) for chunk in column.chunks]
    values = pa.chunked_array(chunks, ticks).cast(pa.int64())
    if values.null_count == 0 or not pc.any(pc.equal(values, _NAT)).as_py():
        attrs = {"timezone": kind.tz} if getattr(kind, "tz", None) else {}
        return _Stored(values, np.dtype(dtype), _NAT, attrs=attrs)
    message = f"{path}: {_NAT} is a time in it, which is the value for null"
    raise errors.make("dtype", message, "replace it")


def _list(path: str, column: pa.ChunkedArray) -> _Stored:
    if column.null_count:
        message = f"{path}: {column.null_count:,} of its lists are null, which no row of numbers can be"
        raise errors.make("dtype", message, "fill them with lists of null")
    if not pa.types.is_fixed_size_list(column.type):
        lengths = pc.unique(pc.list_value_length(column)).to_pylist() or [0]
        if len(lengths) != 1:
            message = f"{path}: its lists have from {min(lengths)} to {max(lengths)} values"
            raise errors.make(
                "dtype", message, "only lists of one length can be stored: pad them, or explode"
            )
        column = column.cast(pa.list_(column.type.value_type, lengths[0]))
    width = column.type.list_size
    inner = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    stored = _stored(path, inner)
    if not width or stored.width is not None:
        raise errors.make(
            "dtype", f"{path}: {column.type} can't be stored", "only lists of one or more values"
        )
    values = [pa.FixedSizeListArray.from_arrays(chunk, width) for chunk in stored.values.chunks]
    kind = pa.list_(stored.values.type, width)
    return _Stored(
        pa.chunked_array(values, kind), stored.dtype, stored.null, width, stored.attrs, stored.note
    )


def _is_text(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", None)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind))
    )


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind)) and kind != pa.month_day_nano_interval()


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


#: a test of a type, and what stores columns of it
_KINDS: list[tuple[Callable[[Any], bool], Callable[[str, Any], _Stored]]] = [
    (pa.types.is_dictionary, _dictionary),
    (pa.types.is_boolean, _truth),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _real),
    (_is_text, _text),
    (_is_time, _time),
    (pa.types.is_decimal, _decimal),
    (_is_list, _list),
    (pa.types.is_null, _nothing),
]


# Choose a value for null in a column: one that the column does not hold.

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
