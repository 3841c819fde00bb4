"""Scan of a table: Arrow batches from the engine's buffers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.repository.cached_property import cached_property
from icecore.repository.json_attributes import to_json
from icecore.tables.query.arrow_numbers import packed_types, restored, stored_numbers
from icecore.tables.query.column import no_epoch, nulls
from icecore.tables.query.row_ranges import of_source, overlap

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


#: upper limit of row and byte counts in the engine
_MOST = 2**63 - 1


class Batches:
    """Selected rows of a table as Arrow batches, which can be iterated once."""

    def __init__(self, table: Table, columns: Sequence[str], where: str | None) -> None:
        self._table = table
        self.columns = list(columns)
        self._where = where

    def __repr__(self) -> str:
        where = f" where {self._where}" if self._where is not None else ""
        return (
            f"<icecore.Scan {text.label(self._table.path)} {text.plural(len(self.columns), 'column')}{where}>"
        )

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches."""
        return self._schema(self.columns)

    def reader(self) -> pa.RecordBatchReader:
        """Return the batches as an Arrow stream."""
        return arrow().RecordBatchReader.from_batches(self.schema, self.batches())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches that are not empty."""
        return self._batches()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return an Arrow stream, for ``pyarrow.table(scan)``, ``polars.DataFrame(scan)`` and DuckDB."""
        return self._packed().__arrow_c_stream__(requested_schema)

    def read_all(self) -> pa.Table:
        """Return all rows as a pyarrow Table; a table packed from memory gets its original types."""
        return self._packed().read_all()

    def _packed(self) -> pa.RecordBatchReader:
        """Return the batches in the types of the table in memory that was packed, if one was."""
        return restored(self.reader(), packed_types(self._table))

    def read_pandas(self) -> Any:
        """Return all rows as a pandas DataFrame; each item of a list becomes a column."""
        return to_pandas(flat(self._packed()).read_all())

    def report(self) -> dict[str, Any]:
        """Return the cost so far; see :class:`Scan`."""
        raise NotImplementedError

    def whole(self) -> list[tuple[int, int]]:
        """Return the row ranges that are known to match completely; see :meth:`Scan.whole`."""
        return []

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all rows: name → array."""
        raise NotImplementedError

    def count(self) -> int:
        """Return the number of selected rows."""
        return sum(batch.num_rows for batch in self.batches())

    def _batches(self, stored: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the batches; with ``stored`` null values keep their stored value."""
        raise NotImplementedError

    def _schema(self, columns: Sequence[str]) -> pa.Schema:
        return arrow().schema([self._fields[name] for name in columns])

    @cached_property
    def _fields(self) -> dict[str, pa.Field]:
        """Return name → field, for at least the columns."""
        raise NotImplementedError


class Scan(Batches):
    """Selected rows of a table as Arrow batches. A scan can be iterated once.

    ``report()`` returns the cost so far: skipped zones, tested rows, and the requests, bytes and chunks of
    the summaries, of the where-clause's columns (``predicate``) and of the other columns (``data``).
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        where: str | None = None,
        *,
        within: Any = None,
        xy: tuple[str, str] | None = None,
        limit: int | None = None,
        prune: bool = True,
        memory: int | None = None,
        unsure_only: bool = False,
        source: str | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(table, columns, where)
        if twice := [name for name, times in Counter(columns).items() if times > 1]:
            raise errors.make("invalid", f"columns contains {twice[0]} twice", "list it once")
        self._read = list(columns)
        self._inside = None
        limit, memory = _most("limit", limit, "rows"), _most("memory", memory, "bytes")
        if not isinstance(prune, (bool, np.bool_)):
            raise errors.make("invalid", f"prune must be True or False (got {prune!r})", "prune=False")
        self._limit = limit
        if where is not None:
            _check(table, where)
        if within is not None:
            from icecore.tables.query.region import Region

            self._inside = Region(table, within, xy)
            self._read += [name for name in self._inside.xy if name not in self._read]
            where = f"({where}) and ({self._inside.clause})" if where else self._inside.clause
            limit = None  # applied after the polygon test
        parts = None if source is None else of_source(table, source)
        if rows is not None:
            parts = overlap(parts or [(0, len(table))], rows)
        self._computed = [name for name in self._read if name in table._expressions]
        needed = [column for name in self._computed for column in table._expressions[name]]
        # The engine returns the columns, then the expressions.
        self._read = list(dict.fromkeys(name for name in self._read if name not in self._computed))
        self._read += [name for name in dict.fromkeys(needed) if name not in self._read]
        numbers = [table._numbers[name] for name in self._read]
        self._native = table._native.scan(
            numbers, where, bool(prune), limit, memory, unsure_only, parts, self._computed
        )

    def report(self) -> dict[str, Any]:
        """Return the cost so far; see the class."""
        return self._native.report()

    def whole(self) -> list[tuple[int, int]]:
        """Return (start, stop) of the row ranges in which all rows match according to the summaries.

        They are whole zones; the last one may be shorter. With ``unsure_only`` the batches leave them out.
        """
        return list(self._native.whole())

    def next_rows(self) -> np.ndarray | None:
        """Return the numbers of the next selected rows, in ascending order; None at the end."""
        return self._native.next_rows()

    def _batches(self, stored: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the batches; with ``stored`` null values keep their stored value."""
        left = self._limit
        while left != 0 and (found := self._native.next_arrow()) is not None:
            batch = self._batch(*found, stored)
            if self._inside is not None:  # the polygon test must see nulls
                inside = self._inside.mask(self._batch(*found) if stored else batch)
                batch = batch.filter(inside).slice(0, left)
                if batch.num_rows == 0:
                    continue
            if batch.schema.names != self.columns:
                batch = batch.select(self.columns)
            if left is not None:
                left -= batch.num_rows
            yield batch

    def _batch(self, rows: int, columns: Sequence[Any], stored: bool = False) -> pa.RecordBatch:
        pa, schema, arrays = arrow(), self._schema([*self._read, *self._computed]), []
        for field, buffers in zip(schema, columns, strict=True):
            texts = [] if stored else self._null_texts.get(field.name, [])
            array = _array(pa, field.type, rows, buffers, stored, texts)
            arrays.append(_without_nan(array) if not stored and field.name in self._nan_nulls else array)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    @cached_property
    def _nan_nulls(self) -> set[str]:
        """Columns of a table packed from memory in which NaN represents null."""
        if "arrow" not in self._table._group._node.ours.get("table", {}):
            return set()
        arrays = {name: self._table._array_of(name) for name in self._read}
        floats = {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
        marks = {name: np.frombuffer(b"".join(nulls(array)), array.dtype) for name, array in floats.items()}
        return {name for name, values in marks.items() if np.isnan(values).any()}

    @cached_property
    def _null_texts(self) -> dict[str, list[str]]:
        """column → strings that mean null; the engine's batches contain them unchanged."""
        arrays = {name: self._table._array_of(name) for name in self._read}
        texts = {name: array for name, array in arrays.items() if array.dtype.kind in "SUO"}
        return {name: [_text(null, array.dtype) for null in nulls(array)] for name, array in texts.items()}

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all rows: name → array of the column's dtype, of shape (rows,) or (rows, items)."""
        kinds = [self._table._kind(name) for name in self.columns]
        if self._inside is not None or self._computed or any(dtype.kind == "O" for dtype, _ in kinds):
            table = arrow().Table.from_batches(self._batches(stored=True), self.schema)
            return {name: plain(table[name], *kind) for name, kind in zip(self.columns, kinds, strict=True)}
        parts: list[list[np.ndarray]] = [[] for _ in self.columns]
        while (found := self._native.next_bytes()) is not None:
            for part, data in zip(parts, found[1], strict=True):
                part.append(data)
        result = {}
        for name, part, (dtype, width) in zip(self.columns, parts, kinds, strict=True):
            joined = part[0] if len(part) == 1 else np.concatenate([np.empty(0, "u1"), *part])
            values = joined.view(dtype)
            result[name] = values if width is None else values.reshape(-1, width)
        return result

    def count(self) -> int:
        """Return the number of selected rows."""
        if self._inside is not None:
            return super().count()
        rows = 0
        while (found := self._native.next_bytes()) is not None:
            rows += found[0]
        return rows

    @cached_property
    def _fields(self) -> dict[str, pa.Field]:
        pa, fields = arrow(), {}
        for name in self._read:
            attrs = self._table._array_of(name).attrs
            fields[name] = pa.field(name, arrow_type(pa, *self._table._kind(name)), metadata=metadata(attrs))
        fields |= {name: pa.field(name, pa.float64()) for name in self._computed}
        return fields


def null_numbers(rows: Any) -> dict[str, np.ndarray]:
    """Return column → the numbers that mean null in it, for the rows of a scan; NaN is not listed."""
    table: Any = getattr(rows, "_table", None)
    found: dict[str, np.ndarray] = {}
    for name in rows.columns if table is not None else ():
        array = table._array_of(name) if name in table._columns or name in table._items else None
        if array is not None and array.dtype.kind in "iuf":
            found[name] = np.frombuffer(b"".join(nulls(array)), array.dtype)
    return {name: marks for name, marks in found.items() if len(marks) and not np.isnan(marks).all()}


def metadata(attrs: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return a column's attributes as metadata for Arrow and Parquet; other types than strings as JSON."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(to_json(value)) for name, value in attrs.items()
    }
    encoded = {name.encode(errors="replace"): value.encode(errors="replace") for name, value in texts.items()}
    return {
        name: value for name, value in encoded.items() if not name.startswith(b"ARROW:")
    }  # reserved by Arrow


def _most(name: str, most: Any, what: str) -> int | None:
    """Return a checked limit; None if it is not given."""
    if most is None:
        return None
    try:
        number = index(most)
    except TypeError:
        raise errors.make(
            "invalid", f"{name} must be an integer number of {what} (got {most!r})", "give 0 or more"
        ) from None
    if number < 0:
        raise errors.make("invalid", f"{name} must not be negative (got {number} {what})", "give 0 or more")
    return min(number, _MOST)


def _check(table: Table, where: str) -> None:
    """Check a clause before others are joined to it, so that errors point into the user's text."""
    if not isinstance(where, str):
        hint = 'for example "tb > 90"; for Polars expressions use table.to_polars().filter(…)'
        raise errors.make("invalid", f"the where-clause must be a string (got {type(where).__name__})", hint)
    try:
        where.encode()
    except UnicodeEncodeError as error:
        message = f"character {error.start + 1} of the where-clause is not valid UTF-8"
        raise errors.make("invalid", message, "write the clause in UTF-8") from None
    try:
        table._native.columns_of(where)
    except errors.Error as error:
        for name in table.left_out:
            if f"there is no column {name} " in str(error):
                table._names([name])  # raises with the reason
        for name in table._numbers:
            if error.kind == "dtype" and error.message.startswith(f"{name} holds "):
                hint = no_epoch(table._array_of(name)) or error.hint
                raise errors.make("dtype", error.message, hint) from None
        raise


def arrow() -> Any:
    """Return the module pyarrow.

    Raises:
        Error: ``unsupported`` if it is not installed.
    """
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise errors.needs("table", "scanning a table as Arrow needs pyarrow") from None
    return pyarrow


def arrow_type(pa: Any, dtype: np.dtype[Any], width: int | None = None) -> Any:
    """Return the Arrow type of a column.

    Numbers keep their type, strings become ``large_string``, times get the nearest finer unit, and columns of
    several values per row become fixed-size lists.
    """
    if width is not None:
        return pa.list_(arrow_type(pa, dtype), width)
    if dtype.kind in "OSU":
        return pa.large_string()
    if dtype.kind in "mM":
        unit = np.datetime_data(dtype)[0]
        unit = unit if unit in ("s", "ms", "us", "ns") else "s"
        return pa.timestamp(unit) if dtype.kind == "M" else pa.duration(unit)
    return pa.from_numpy_dtype(dtype)


def _array(
    pa: Any, kind: Any, rows: int, buffers: tuple[Any, Any, Any], stored: bool, nulls: Sequence[str]
) -> Any:
    """Build an Arrow array from the engine's buffers; strings in ``nulls`` become null unless ``stored``."""
    if isinstance(kind, pa.FixedSizeListType):
        values = _array(pa, kind.value_type, rows * kind.list_size, buffers, stored, nulls)
        return pa.FixedSizeListArray.from_arrays(values, kind.list_size)
    validity, offsets = (None if b is None else pa.py_buffer(b) for b in buffers[:2])
    values = pa.py_buffer(buffers[2])
    if validity is not None and not stored and pa.types.is_duration(kind):
        # DuckDB also converts the values behind nulls, and fails for not-a-time.
        ticks = np.frombuffer(values, "m8[s]")
        values = pa.py_buffer(np.where(np.isnat(ticks), np.timedelta64(0, "s"), ticks))
    parts = [values] if offsets is None else [offsets, values]
    array = pa.Array.from_buffers(kind, rows, [None if stored else validity, *parts])
    if not nulls:
        return array
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(array, pa.array(nulls, kind)), pa.scalar(None, kind), array)


def _without_nan(array: Any) -> Any:
    """Return an array of floats, or of lists of them, with null for NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array.type, pa.FixedSizeListType):
        return pa.FixedSizeListArray.from_arrays(_without_nan(array.flatten()), array.type.list_size)
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def _text(null: bytes, dtype: np.dtype[Any]) -> str:
    """Decode a string that means null as the engine does for Arrow."""
    if dtype.kind == "O":
        return null.decode("utf-8", "replace")
    item = np.frombuffer(null, dtype)[0]
    return item.decode("utf-8", "replace") if dtype.kind == "S" else str(item)


def plain(column: pa.ChunkedArray, dtype: np.dtype[Any], width: int | None) -> np.ndarray:
    """Return an Arrow column as an array of the stored dtype."""
    chunks = column.chunks if width is None else [part.flatten() for part in column.chunks]
    convert = stored_numbers if dtype.kind in "iuf" else lambda part: part.to_numpy(zero_copy_only=False)
    parts = [convert(part) for part in chunks]
    values = np.concatenate(parts) if parts else np.empty(0, dtype)
    if dtype.kind == "S" and values.dtype.kind == "O":
        values = np.char.encode(values.astype("U"), "utf-8")
    return values.astype(dtype, copy=False).reshape(-1, *(() if width is None else (width,)))


def to_pandas(table: pa.Table) -> Any:
    """Return a pandas DataFrame; integers and booleans with nulls get pandas' nullable dtypes, not floats."""
    import pandas as pd
    import pyarrow as pa

    frame = table.to_pandas()
    exact = {pa.bool_(): pd.BooleanDtype()}
    for bits in (8, 16, 32, 64):
        exact[getattr(pa, f"int{bits}")()] = getattr(pd, f"Int{bits}Dtype")()
        exact[getattr(pa, f"uint{bits}")()] = getattr(pd, f"UInt{bits}Dtype")()
    for number, column in enumerate(table.columns):
        if column.null_count and column.type in exact:
            frame.isetitem(number, column.to_pandas(types_mapper=exact.get))
    return frame


def flat(batches: pa.RecordBatchReader) -> Any:
    """Split list columns into one column per item: ``spectrum_0``, ``spectrum_1``, …

    If another column has such a name, the item is named ``spectrum[0]``.
    """
    import pyarrow as pa

    schema = batches.schema
    if not any(isinstance(field.type, pa.FixedSizeListType) for field in schema):
        return batches
    import pyarrow.compute as pc

    fields: list[Any] = []
    for field in schema:
        several = isinstance(field.type, pa.FixedSizeListType)
        items = range(field.type.list_size) if several else []
        names = [(f"{field.name}_{i}", f"{field.name}[{i}]") for i in items]
        single = [own if plain in schema.names else plain for plain, own in names]
        fields += [field.with_name(name).with_type(field.type.value_type) for name in single] or [field]

    def split(batch: pa.RecordBatch) -> Iterator[Any]:
        for column in batch.columns:
            if isinstance(column.type, pa.FixedSizeListType):
                yield from (pc.list_element(column, i) for i in range(column.type.list_size))
            else:
                yield column

    made = pa.schema(fields)
    return pa.RecordBatchReader.from_batches(
        made, (pa.RecordBatch.from_arrays(list(split(batch)), schema=made) for batch in batches)
    )
