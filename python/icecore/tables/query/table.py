"""Tables: groups of arrays of one length, asked with where-clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.repository.cached_property import cached_property
from icecore.repository.nodes import suggestion
from icecore.tables.query.column import column, fits, items, width
from icecore.tables.query.event_table import EventTable

if TYPE_CHECKING:
    import pandas
    import polars

    from icecore import _icecore
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.tables.query.reduction_result import Reduced
    from icecore.tables.query.scan import Scan

#: tables that an error names
_SHOWN = 5


class Table(EventTable):
    """The columns of a group, linked or packed. Use :meth:`icecore.Repo.table`.

    where-clauses read like SQL's: comparisons (``tb > 90``, also ``90 < tb <= 120``), ``between A and B``,
    ``in (…)``, ``is [not] null``, ``like 'abc%'``, ``and``, ``or``, ``not``, parentheses, arithmetic on
    columns in float64, ``wrap(lon, 350, 10)`` for longitudes from 350 eastwards to 10. Texts, ISO times and
    durations, times of day above all (``'00:05:00.25'``), stand in single quotes, names that are no plain
    words in double quotes. Columns are compared with columns too: texts with texts, times with times,
    whatever their units; arithmetic sees the numbers that are stored.

    NaN, not-a-time and the values of the attributes ``_FillValue`` and ``missing_value`` are null:
    comparisons with null are neither true nor false, and only rows for which the clause is true are kept.
    Constants are rounded to the type of a float column, as in NumPy. Values are those that are stored:
    ``scale_factor`` and ``add_offset`` are not applied, but count where a time is compared with numbers of
    units such as ``seconds since 2018-01-01``.

    An array with a second axis is a column of several values a row: a list of fixed size in Arrow, shape
    (rows, items) in NumPy, columns ``name_0``, ``name_1``, … in pandas and CSV. One value of it is called
    ``name[3]`` in clauses, among columns and in reductions.
    """

    def __init__(self, group: Group, columns: Sequence[str] | None = None) -> None:
        self._group = group
        arrays = group.arrays
        self._is_all = columns is None
        if columns is not None:
            self._columns = {name: self._named(arrays, name) for name in _listed(columns)}
            self._left_out: dict[str, str] = {}
        else:
            self._columns, self._left_out = _members(group, arrays)
        if not self._columns and not (columns is None and self._events.columns):
            why = "; ".join(f"{name}: {reason}" for name, reason in self._left_out.items())
            raise errors.make(
                "mismatch",
                f"{group.path} has no column that a table can have" + (f" ({why})" if why else ""),
                _below(group)
                or "a table is a group of 1-D arrays of one length: `icecore ls` shows the groups",
            )

    @property
    def path(self) -> str:
        """The group's path."""
        return self._group.path

    @property
    def columns(self) -> dict[str, Array]:
        """name → array."""
        return dict(self._columns)

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """name → NumPy dtype."""
        return {name: array.dtype for name, array in self._columns.items()}

    @property
    def left_out(self) -> dict[str, str]:
        """Arrays of the group that are no columns, and why."""
        return dict(self._left_out)

    @property
    def attrs(self) -> dict[str, Any]:
        """The group's attributes (a copy)."""
        return self._group.attrs

    @cached_property
    def _native(self) -> _icecore.Table:
        from icecore import _icecore

        single = [
            column(item, array, i)
            for name, array in self._columns.items()
            for i, item in enumerate(items(name, array))
        ]
        return _icecore.Table([*(column(name, array) for name, array in self._columns.items()), *single])

    @cached_property
    def _items(self) -> dict[str, Array]:
        """``name[i]`` → the array that it is a value of."""
        return {item: array for name, array in self._columns.items() for item in items(name, array)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The engine's number of each column and item."""
        return {name: i for i, name in enumerate([*self._columns, *self._items])}

    def _array_of(self, name: str) -> Array:
        """The array that a column or item is of."""
        return self._columns[name] if name in self._columns else self._items[name]

    def _kind(self, name: str) -> tuple[np.dtype[Any], int | None]:
        """The dtype of a column or item, and how many values make a row (None: one, and no list)."""
        if name in self._columns:
            return self._columns[name].dtype, width(self._columns[name])
        return self._items[name].dtype, None

    def __len__(self) -> int:
        return next(iter(self._columns.values())).shape[0] if self._columns else len(self._events)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._columns

    def __getitem__(self, name: str) -> Array:
        """A column, as an array."""
        if name in self:
            return self._columns[name]
        (name,) = _listed([name])
        return self._named(self._group.arrays, name)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        within: Any = None,
        xy: tuple[str, str] | None = None,
        source: str | None = None,
        limit: int | None = None,
        prune: bool = True,
        memory: int | None = None,
    ) -> Scan:
        """Select rows, in the order of the table, to be read as a stream of Arrow record batches.

        Iterating over the scan gives the batches; ``pyarrow.table(scan)``, ``polars.DataFrame(scan)`` and
        DuckDB (by the variable's name) read it as an Arrow stream; ``to_numpy()`` and ``read_all()`` read
        all of it. A scan can be read once. Attributes of columns, such as units, are in their fields'
        metadata.

        Zones whose summaries (`icecore.tables.summaries`) say that no row can match are not read; of
        the others the where-clause's columns are read first, and then only the chunks with rows that match.

        Args:
            columns: names, in the order wanted; all by default.
            where: see :class:`Table`.
            within: a shapely geometry, a GeoJSON mapping, or the path of a GeoJSON file: rows inside it.
                Longitudes may be given in any turn: -180 to 180, 0 to 360, or 170 to 190. Rings may run
                either way round; only a GeoJSON ring within -180 to 180 that runs clockwise and has a side of
                more than 180 degrees is taken to cross the antimeridian, with a warning.
            xy: the columns of x and y that ``within`` is about; found by their names (lon, lat, …) or their
                attribute ``standard_name`` if None.
            source: only rows that came from this file, or from those that a glob names (``"2009*.TAB"``).
            limit: at most so many rows.
            prune: use summaries.
            memory: bytes of columns held at once, about.

        Raises:
            Error: ``invalid`` with the place of a mistake in the clause, ``not-found`` for unknown columns,
                ``dtype`` where texts meet numbers, ``unsupported`` where pyarrow (or shapely) is missing.
        """
        return self._scan(
            columns, where, within=within, xy=xy, source=source, limit=limit, prune=prune, memory=memory
        )

    def _scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        limit: int | None = None,
        unsure_only: bool = False,
        prune: bool = True,
        **options: Any,
    ) -> Scan:
        """Scan; with ``unsure_only`` without the rows of zones that match by their summaries alone."""
        from icecore.tables.query.scan import Scan

        names = self._names(columns)
        return Scan(self, names, where, limit=limit, prune=prune, unsure_only=unsure_only, **options)

    def to_numpy(
        self, columns: Sequence[str] | None = None, where: str | None = None, **options: Any
    ) -> dict[str, np.ndarray]:
        """Rows as NumPy arrays: name → array of the column's dtype, of shape (rows,) or (rows, items); nulls
        are the values stored. ``options`` are those of :meth:`scan`.
        """
        names = list(dict.fromkeys(self._names(columns)))
        if where is None and not options and all(name in self._columns for name in names):
            read = self._group.repo.read({self._columns[name].path: None for name in names})
            return dict(zip(names, read.values(), strict=True))
        return self._scan(names, where, **options).to_numpy()

    def to_pandas(
        self, columns: Sequence[str] | None = None, where: str | None = None, **options: Any
    ) -> pandas.DataFrame:
        """Rows as a pandas DataFrame; ``options`` are those of :meth:`scan`."""
        return self.scan(columns, where, **options).read_pandas()

    def reduce(
        self,
        what: str,
        where: str | None = None,
        *,
        within: Any = None,
        xy: tuple[str, str] | None = None,
        source: str | None = None,
        prune: bool = True,
        limit: int | None = None,
    ) -> Reduced:
        """Functions of columns over all rows that match, or by key columns.

        Nulls and NaN are left out. Without keys and histograms, zones of which every row matches (all of them
        without a clause) are taken from summaries, where every column has one: nothing else of them is read.

        Args:
            what: ``"count, mean:tb, max:tb by c"``: functions of columns, then key columns. ``count`` counts
                rows, ``count:tb`` values, also texts; ``sum``, ``mean``, ``min``, ``max``, ``std`` (of the
                population) and ``rms`` are of numbers, ``min`` and ``max`` of times too, and of texts in the
                order of their characters' code points.
                ``histogram:tb:40:0:400`` counts values in 40 bins of one width from 0 to 400, both ends
                included; without ends from the least to the greatest value, without a number in 100 bins.
            where: see :class:`Table`.
            within, xy, source, prune: as for :meth:`scan`.
            limit: at most so many of the first keys.

        Returns:
            A sequence of one dictionary per key, in order, which is also an Arrow stream
            (``pyarrow.table(r)``, ``polars.DataFrame(r)``) and has ``to_numpy()``. Key columns (null
            comes last, and NaN counts as null; times and durations beyond Python's as NumPy's), then one
            entry per function.

        Raises:
            Error: ``invalid`` for what can't be understood, ``not-found``, ``dtype`` for other functions of
                texts than ``count``, ``min`` and ``max``.
        """
        from icecore.tables.query.reduce import reduced

        options = {"within": within, "xy": xy, "source": source, "prune": prune}
        return reduced(self, what, where, limit=limit, **options)

    def to_polars(self) -> polars.LazyFrame:
        """A Polars LazyFrame that reads only the columns and, where it can, the zones that a query needs.

        Raises:
            Error: ``unsupported`` where polars is missing.
        """
        from icecore.tables.query.polars import lazy

        return lazy(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows for what takes Arrow streams: ``pyarrow.table(t)``, ``polars.DataFrame(t)``, and DuckDB by
        the variable's name; :meth:`scan` leaves columns and rows out before they are read. DuckDB has no
        float16 ("Unsupported Internal Arrow Type e"): name the other columns, ``t.scan(columns)``.
        """
        return self.scan().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Table, (self._group, None if self._is_all else list(self._columns)))

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(self._columns)
        wanted = _listed(columns)
        for name in wanted:
            if name in self._columns or name in self._items:
                continue
            if name in self._left_out:
                raise errors.make(
                    "unsupported",
                    f"{self.path}/{name} can't be a column: {self._left_out[name]}",
                    f'read it as an array: repo["{self.path}/{name}"]',
                )
            hint = suggestion(name, self._numbers, f"there are {', '.join(self._columns)}")
            raise errors.make("not-found", f"there is no column {name} in {self.path}", hint)
        return wanted

    def _named(self, arrays: Mapping[str, Array], name: str) -> Array:
        if name not in arrays:
            hint = suggestion(name, arrays, f"there are {', '.join(arrays)}")
            raise errors.make("not-found", f"there is no array {name} in {self.path}", hint)
        reason = fits(arrays[name])
        if reason:
            raise errors.make("unsupported", f"{self.path}/{name} can't be a column: {reason}")
        return arrays[name]

    def __repr__(self) -> str:
        columns = [(f"  {text.label(name)}", _label(array)) for name, array in self._columns.items()]
        rows = [text.pairs(columns)]
        if self._left_out:
            rows.append(f"  (left out: {', '.join(map(text.label, self._left_out))})")
        head = f"<icecore.Table {text.label(self.path)} {len(self):,} rows, {len(self._columns)} columns>"
        return "\n".join([head, *rows])

    def _repr_html_(self) -> str:
        from icecore.display import html

        rows = [(name, _label(array)) for name, array in self._columns.items()]
        return html.table(f"{self.path}: {len(self):,} rows, {len(self._columns)} columns", rows)


def _listed(columns: Sequence[str]) -> list[str]:
    several = isinstance(columns, Iterable) and not isinstance(columns, (str, bytes))
    names: list[Any] = list(columns) if several else [columns]
    if not several or not all(isinstance(name, str) for name in names):
        shown = [name.decode("latin-1") if isinstance(name, bytes) else str(name) for name in names]
        raise errors.make("invalid", f"columns is {columns!r}, no list of names", f"columns={shown}")
    return names


def _label(array: Array) -> str:
    several = width(array)
    return array._node.dtype_label + ("" if several is None else f"[{several}]")


def _below(group: Group) -> str:
    """The groups below that have columns, as a hint; empty where there are none."""
    prefix = group.path.rstrip("/") + "/"
    arrays = group.repo.arrays.values()
    inside = (a for a in arrays if a.path.startswith(prefix) and a.ndim == 1 and not fits(a))
    found = list(dict.fromkeys(a._node.parent for a in inside))
    if not found:
        return ""
    more = f", … ({len(found):,} in all)" if len(found) > _SHOWN else ""
    return f"name one below it: {', '.join(found[:_SHOWN])}{more}"


def _members(group: Group, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, str]]:
    """The columns of a group, in the order that it states (else that of their names), and what is none."""
    left_out = {name: reason for name, array in arrays.items() if (reason := fits(array))}
    found = {name: array for name, array in arrays.items() if name not in left_out}
    lengths = Counter(array.shape[0] for array in found.values() if array.ndim == 1)
    if len(lengths) > 1:
        sample = {array.shape[0]: name for name, array in found.items() if array.ndim == 1}
        raise errors.make(
            "mismatch",
            f"the arrays of {group.path} differ in length, so they are no table: "
            + ", ".join(f"{sample[n]} has {n:,}" for n, _ in lengths.most_common(3)),
            "name columns of one length: --columns A,B; in Python repo.table(path, columns=[…])",
        )
    for name, array in list(found.items()):
        if array.ndim == 2 and array.shape[0] not in lengths:
            rows = f"the other columns {next(iter(lengths)):,}" if lengths else "no 1-D array says how many"
            left_out[name] = f"it has 2 dimensions and {array.shape[0]:,} rows, {rows}"
            del found[name]
    stated = group._node.ours.get("table", {})
    order = stated.get("columns", []) if isinstance(stated, dict) else []
    place = {name: i for i, name in enumerate(order) if isinstance(name, str)}
    names = sorted(found, key=lambda name: place.get(name, len(place)))
    return {name: found[name] for name in names}, left_out
