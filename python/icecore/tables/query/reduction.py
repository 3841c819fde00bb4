"""Parse the specification of a reduction: ``"count, mean:tb, max:tb by c"``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.tables.query.arrow_numbers import arrow_array, arrow_list, stored_numbers
from icecore.tables.query.column import hidden, parts, quoted
from icecore.tables.query.scan import arrow, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


_FUNCTIONS = ("count", "sum", "mean", "min", "max", "std", "rms", "histogram")
#: functions of columns that are not numeric
_OTHERS = ("min", "max", "count")
_EXAMPLE = '"count, mean:tb, max:tb by c"; a histogram: "histogram:tb:40" or "histogram:tb:40:0:400"'
_BINS = 100
#: a quoted name that `hidden` replaced
_HIDDEN = re.compile("\0[0-9]+\0")


@dataclass(frozen=True)
class Wish:
    """A function of a column; ``count`` of rows has no column."""

    label: str
    function: str
    column: str | None = None
    bins: int = _BINS
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class KeyColumn:
    """A key: its name in the result, and the column or expression that it is computed from."""

    name: str
    column: str


def parse(what: str, table: Table) -> tuple[list[Wish], list[KeyColumn]]:
    """Parse functions and keys. Names that contain ``,``, ``:`` or `` by `` are in double quotes.

    Keys and arguments of functions are columns or expressions; ``as NAME`` names a column of the result.

    Raises:
        Error: ``invalid`` for a syntax error or for two result columns of the same name; ``not-found``;
            ``dtype`` for functions that the column's dtype does not support, and for list columns.
    """
    plain, names = hidden(f" {what} ")
    head, *rest = re.split(r"\sby\s", plain, maxsplit=1, flags=re.IGNORECASE)
    shown = _Shown(table, names)
    keys = [_key(part, shown) for part in parts(rest[0] if rest else "")]
    if rest and not keys:
        raise errors.make("invalid", f"{what!r}: expected a column after by", _EXAMPLE)
    wishes = [_wish(part, shown) for part in parts(head)]
    if not wishes:
        raise errors.make("invalid", f"{what!r}: expected at least one function", _EXAMPLE)
    for key in keys:
        _kind(table, f"by {key.name}", key.column)
    for wish in wishes:
        if wish.column is not None:
            kind = _kind(table, wish.label, wish.column)
            if kind.kind not in "biuf" and wish.function not in _OTHERS:
                hint = " or ".join(f"{name}:{wish.column}" for name in _OTHERS)
                found = table._array_of(wish.column)._node.dtype_label
                message = f"{wish.label}: {wish.column} must be numeric (got {found})"
                raise errors.make("dtype", message, hint)
    labels = [*(key.name for key in keys), *(wish.label for wish in wishes)]
    if twice := [name for name, times in Counter(labels).items() if times > 1]:
        known = [key.name for key in keys]
        hint = "count its values: count:count" if twice == ["count"] and "count" in known else "list it once"
        raise errors.make("invalid", f"{what!r}: two result columns would be named {twice[0]}", hint)
    return wishes, keys


@dataclass(frozen=True)
class _Shown:
    """Restores quoted names in parts of the specification; adds expressions to the table."""

    table: Table
    names: Callable[[str], str]

    def __call__(self, part: str) -> str:
        return self.names(part)

    def column(self, part: str) -> str:
        """Return the name of a column, or of an expression, which becomes a column of the table."""
        name = self.names(part)
        if name in self.table._numbers or re.fullmatch(r"[\w.\[\] ]*", name):
            return name
        text = _HIDDEN.sub(lambda found: quoted(self.names(found[0])), part)
        return self.table._computed(text)


def _aliased(part: str) -> tuple[str, str | None]:
    """Return what comes before ``as``, and the name after it."""
    found = re.fullmatch(r"(.*\S)\s+as\s+(\S+)", part, flags=re.IGNORECASE | re.DOTALL)
    return (part, None) if found is None else (found[1], found[2])


def _key(part: str, shown: _Shown) -> KeyColumn:
    value, name = _aliased(part)
    column = shown.column(value)
    return KeyColumn(column if name is None else shown(name), column)


def _kind(table: Table, label: str, column: str) -> np.dtype[Any]:
    """Return the dtype of a column that is not a list."""
    if column not in table._expressions:
        table._names([column])
    kind, several = table._kind(column)
    if several is not None:
        message = f"{label}: {column} has {several} values per row"
        raise errors.make("dtype", message, f"select one of them: {column}[0]")
    return kind


def _wish(plain: str, shown: _Shown) -> Wish:
    value, name = _aliased(plain)
    text = shown(value)
    function, *rest = parts(value, ":")
    if function not in _FUNCTIONS or (not rest and function != "count"):
        raise errors.make(
            "invalid", f"{text!r}: expected one of {', '.join(_FUNCTIONS)} of a column", _EXAMPLE
        )
    if len(rest) > (4 if function == "histogram" else 1) or len(rest) == 3:
        raise errors.make("invalid", f"{text!r} has too many or too few parts", _EXAMPLE)
    try:
        bins = int(rest[1]) if len(rest) > 1 else _BINS
        span = (float(rest[2]), float(rest[3])) if len(rest) == 4 else None
    except ValueError:
        raise errors.make("invalid", f"{text!r}: bins and ends must be numbers", _EXAMPLE) from None
    if not 1 <= bins <= 1_000_000 or (span is not None and not 0 < span[1] - span[0] < math.inf):
        message = f"{text!r}: expected 1 to 1,000,000 bins and finite ends, low before high"
        raise errors.make("invalid", message, _EXAMPLE)
    label = text if name is None else shown(name)
    return Wish(label, function, shown.column(rest[0]) if rest else None, bins, span)


# Result of a reduction: rows that can be written like those of a scan.

#: number of strings for which importing pandas is worth its time
_MANY = 100_000
_READS = ("summaries", "predicate", "data")


@dataclass(frozen=True, eq=False)
class Reduced:
    """Rows of keys and functions: a sequence of dictionaries and an Arrow stream.

    Attributes:
        table: the reduced table.
        keys: the key columns.
        wishes: the functions.
        made: name → one value per key, in order: an Arrow array, a NumPy array or a list.
        matched: number of selected rows.
        summed: columns that were computed from summaries.
        reports: one report per pass over the table.
    """

    table: Table
    keys: Sequence[KeyColumn]
    wishes: Sequence[Wish]
    made: Mapping[str, Any]
    matched: int
    summed: Sequence[str]
    reports: Sequence[dict[str, Any]]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per key, in order."""
        names, values = self.columns, [_objects(self.made[name]) for name in self.columns]
        blank = dict.fromkeys(names)
        rows = [blank.copy() for _ in values[0]]  # three times as fast as dict(pairs)
        for name, column in zip(names, values, strict=True):
            for row, value in zip(rows, column, strict=True):
                row[name] = value
        return rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Reduced):
            return self.rows == other.rows
        return self.rows == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.rows)

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        return [*(key.name for key in self.keys), *(wish.label for wish in self.wishes)]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema.

        Keys and extremes have the type of their column. A histogram is a structure of low, high and counts. A
        sum of integers that exceeds 64 bits is a decimal.
        """
        pa = arrow()
        fields = [pa.field(key.name, arrow_type(pa, *self.table._kind(key.column))) for key in self.keys]
        return pa.schema([*fields, *(pa.field(wish.label, self._type(pa, wish)) for wish in self.wishes)])

    def reader(self) -> pa.RecordBatchReader:
        """Return the rows as an Arrow stream."""
        return arrow().RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return an Arrow stream, for ``pyarrow.table(r)``, ``polars.DataFrame(r)`` and DuckDB."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in one batch."""
        schema = self.schema
        columns = [_arrow(self.made[field.name], field.type) for field in schema]
        yield arrow().RecordBatch.from_arrays(columns, schema=schema)

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return name → NumPy array; null is NaN, not-a-time or None.

        Raises:
            Error: ``unsupported`` for a histogram, and for a sum that exceeds 64 bits.
        """
        pa = arrow()
        [batch] = self.batches()
        for field in batch.schema:
            if pa.types.is_struct(field.type) or pa.types.is_decimal(field.type):
                kind = "a histogram" if pa.types.is_struct(field.type) else "a sum of more than 64 bits"
                message = f"{field.name}: {kind} can't be a column of a NumPy array"
                raise errors.make("unsupported", message, "write .csv, .json, .parquet or .arrow")
        return {name: batch[name].to_numpy(zero_copy_only=False) for name in batch.schema.names}

    def report(self) -> dict[str, Any]:
        """Return the report of a scan, summed over all passes.

        ``from_summaries`` lists the columns for which zones were computed from summaries.
        """
        report = {**self.reports[-1], "rows_out": self.matched, "from_summaries": list(self.summed)}
        for name in _READS:
            report[name] = {
                count: sum(each[name][count] for each in self.reports) for count in self.reports[-1][name]
            }
        return report

    def _type(self, pa: Any, wish: Wish) -> Any:
        if wish.function == "histogram":
            counts = pa.list_(pa.int64())
            return pa.struct([("low", pa.float64()), ("high", pa.float64()), ("counts", counts)])
        if wish.column is None or wish.function == "count":
            return pa.int64()
        kind = self.table._kind(wish.column)[0]
        if wish.function in ("min", "max"):
            return arrow_type(pa, kind)
        if wish.function != "sum" or kind.kind == "f":
            return pa.float64()
        values = self.made[wish.label]
        is_narrow = getattr(values, "dtype", None) == "i8"
        fits = is_narrow or all(-(2**63) <= (value or 0) < 2**63 for value in values)
        return pa.int64() if fits else pa.decimal128(38)


def _objects(values: Any) -> list[Any]:
    """Convert to Python objects; times and durations that Python can't represent stay NumPy's."""
    if isinstance(values, list):
        return values
    if isinstance(values, np.ndarray):
        return values.tolist()
    pa = arrow()
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if not values.null_count and is_number:
        return stored_numbers(values).tolist()  # many times faster than Arrow's to_pylist
    if not values.null_count and len(values) > _MANY and not pa.types.is_temporal(values.type):
        return values.to_numpy(zero_copy_only=False).tolist()  # imports pandas
    try:
        return values.to_pylist()
    except (OverflowError, ValueError):
        every = values.to_numpy(zero_copy_only=False)
        return [None if np.isnat(value) else value for value in every]


def _arrow(values: Any, kind: Any) -> Any:
    pa = arrow()
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if getattr(values, "dtype", np.dtype("O")).kind != "O":
        return arrow_array(values, kind)
    return arrow_list(values, kind)
