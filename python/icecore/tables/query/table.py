"""Tables: groups of arrays of equal length, queried with where-clauses."""

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
from icecore.tables.query.event_columns import JAGGED
from icecore.tables.query.event_table import EventTable

if TYPE_CHECKING:
    import pandas
    import polars

    from icecore import _icecore
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.tables.query.reduction_result import Reduced
    from icecore.tables.query.scan import Scan

#: largest number of tables that an error lists
_SHOWN = 5


class Table(EventTable):
    """The columns of a group. :meth:`icecore.Repo.table` returns one.

    A where-clause is similar to SQL's:

    - comparisons of columns with constants and with other columns: ``tb > 90``, ``90 < tb <= 120``;
    - ``between A and B``, ``in (…)``, ``is [not] null``, ``like 'abc%'``, ``and``, ``or``, ``not``;
    - arithmetic in float64, on the stored numbers;
    - ``wrap(lon, 350, 10)`` for longitudes from 350 eastwards to 10.

    Put strings, ISO times and durations (``'00:05:00.25'``) in single quotes. Put column names that are not
    plain words in double quotes. Times are comparable whatever their units.

    NaN, not-a-time and the values of the attributes ``_FillValue`` and ``missing_value`` are null. A
    comparison with null is neither true nor false; a row is selected if the clause is true. Constants are
    rounded to the dtype of a float column, as in NumPy. ``scale_factor`` and ``add_offset`` are not applied,
    except when a column with units such as ``seconds since 2018-01-01`` is compared with a time.

    An array of shape (rows, items) is a column of lists: a fixed-size list in Arrow, shape (rows, items) in
    NumPy, columns ``name_0``, ``name_1``, … in pandas and CSV. ``name[3]`` selects one item, in clauses,
    column lists and reductions.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
        ...     w.array("/rdr/channel", "i1", (3,))[...] = [7, 8, 7]
        >>> table = repo.at("main").table("/rdr")
        >>> table.to_numpy(["tb"], where="channel = 7 and tb > 220")["tb"].tolist()
        [300.0]
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
        if not self._columns and not (columns is None and self._events.is_one_table):
            why = "; ".join(f"{name}: {reason}" for name, reason in self._left_out.items())
            raise errors.make(
                "mismatch",
                f"{group.path} has no array that can be a column" + (f" ({why})" if why else ""),
                _below(group)
                or "a table is a group of 1-D arrays of equal length: `icecore ls` lists the groups",
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
        """Arrays of the group that can't be columns: name → reason."""
        return dict(self._left_out)

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the group's attributes."""
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
        """``name[i]`` → its array."""
        return {item: array for name, array in self._columns.items() for item in items(name, array)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """column or item → its index in the engine."""
        return {name: i for i, name in enumerate([*self._columns, *self._items])}

    @cached_property
    def _lists(self) -> list[str]:
        """Names of the columns with lists of any length; none of a table of chosen columns."""
        has_any = self._is_all and any(JAGGED in node.attrs for node in self._group.repo._visible())
        return self._events.lists if has_any else []

    def _array_of(self, name: str) -> Array:
        """Return the array of a column or item."""
        return self._columns[name] if name in self._columns else self._items[name]

    def _kind(self, name: str) -> tuple[np.dtype[Any], int | None]:
        """Return the dtype of a column or item and its items per row (None if it is not a list)."""
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
        """Return a column as an array."""
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
        """Select rows, in the order of the table, as a stream of Arrow record batches.

        Iterating over the scan yields the batches. ``pyarrow.table(scan)``, ``polars.DataFrame(scan)`` and
        DuckDB (by the variable's name) read it as an Arrow stream; ``to_numpy()`` and ``read_all()`` read
        all rows. A scan can be read once. Attributes of columns, such as units, are in the metadata of the
        Arrow fields.

        Zones are skipped if their summary (`icecore.tables.summaries`) rules out a match. In the other zones
        the columns of the where-clause are read first, then the chunks that contain matching rows.

        Args:
            columns: names, in the order of the result; all by default. Lists of any length become Arrow's
                large lists.
            where: a where-clause, see :class:`Table`; it selects rows by flat columns.
            within: select rows inside a shapely geometry, a GeoJSON mapping or a GeoJSON file (its path).
                Longitudes may use any range, such as -180 to 180, 0 to 360 or 170 to 190. Rings may have
                either orientation. Exception: a clockwise GeoJSON ring within -180 to 180 with a side longer
                than 180 degrees is interpreted as crossing the antimeridian, with a warning.
            xy: the columns of x and y for ``within``. By default they are found by name (lon, lat, …) or by
                the attribute ``standard_name``.
            source: only rows from this source file, or from the files that a glob matches (``"2009*.TAB"``).
            limit: the largest number of rows.
            prune: use summaries to skip zones.
            memory: approximate limit for columns in memory, in bytes.

        Returns:
            A scan; nothing is read before it is iterated.

        Raises:
            Error: ``invalid`` for a mistake in the clause (with its position); ``not-found`` for unknown
                columns; ``dtype`` for a comparison of strings with numbers; ``unsupported`` if pyarrow or
                shapely is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> scan = repo.at("main").table("/rdr").scan(where="tb > 220")
            >>> [batch.num_rows for batch in scan]
            [2]
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
        """Scan; ``unsure_only`` leaves out zones whose summary proves that all rows match."""
        from icecore.tables.query.scan import Scan

        names = [*self._columns, *self._lists] if columns is None else self._names(columns)
        if any(name in self._lists for name in names):
            from icecore.tables.query.event_scan import EventScan

            return EventScan(self, names, where, limit=limit, prune=prune, unsure_only=unsure_only, **options)
        return Scan(self, names, where, limit=limit, prune=prune, unsure_only=unsure_only, **options)

    def to_numpy(
        self, columns: Sequence[str] | None = None, where: str | None = None, **options: Any
    ) -> dict[str, np.ndarray]:
        """Return rows as NumPy arrays. Null values keep their stored value.

        Args:
            columns: names, in the order of the result; all by default.
            where: a where-clause, see :class:`Table`.
            **options: other options of :meth:`scan`.

        Returns:
            name → array of the column's dtype, of shape (rows,) or (rows, items).

        Raises:
            Error: as :meth:`scan`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> repo.at("main").table("/rdr").to_numpy(where="tb between 220 and 260")["tb"].tolist()
            [250.0]
        """
        names = list(dict.fromkeys(self._names(columns)))
        if where is None and not options and all(name in self._columns for name in names):
            read = self._group.repo.read({self._columns[name].path: None for name in names})
            return dict(zip(names, read.values(), strict=True))
        return self._scan(names, where, **options).to_numpy()

    def to_pandas(
        self, columns: Sequence[str] | None = None, where: str | None = None, **options: Any
    ) -> pandas.DataFrame:
        """Return rows as a pandas DataFrame.

        Args:
            columns: names, in the order of the result; all by default.
            where: a where-clause, see :class:`Table`.
            **options: other options of :meth:`scan`.

        Raises:
            Error: as :meth:`scan`; ``unsupported`` if pandas or pyarrow is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> repo.at("main").table("/rdr").to_pandas(limit=1)
                  tb
            0  200.0
        """
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
        """Compute functions of columns over the selected rows, optionally grouped by key columns.

        Null and NaN are ignored. If there are no keys and no histograms and every column has a summary, zones
        in which all rows match are computed from the summaries without reading the data.

        Args:
            what: functions of columns, then key columns: ``"count, mean:tb, max:tb by c"``.
                ``count`` counts rows, ``count:tb`` values. ``sum``, ``mean``, ``std`` (of the population) and
                ``rms`` need numbers. ``min`` and ``max`` also take times and strings (in the order of code
                points). ``histogram:tb:40:0:400`` counts values in 40 bins of equal width from 0 to 400, both
                ends included. Default ends are the minimum and maximum; the default number of bins is 100.
            where: a where-clause, see :class:`Table`.
            within, xy, source, prune: as for :meth:`scan`.
            limit: the largest number of rows of the result.

        Returns:
            A sequence of one dictionary per key, sorted by key, null last (NaN counts as null). It holds the
            key columns, then one entry per function. Times and durations that Python can't represent are
            NumPy's. The result is also an Arrow stream (``pyarrow.table(r)``, ``polars.DataFrame(r)``) and
            has ``to_numpy()``.

        Raises:
            Error: ``invalid`` if ``what`` can't be parsed; ``not-found`` for an unknown column; ``dtype``
                for a function that the column's dtype does not support.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            ...     w.array("/rdr/channel", "i1", (3,))[...] = [7, 8, 7]
            >>> repo.at("main").table("/rdr").reduce("count, mean:tb by channel")[0]
            {'channel': 7, 'count': 2, 'mean:tb': 250.0}
        """
        from icecore.tables.query.reduce import reduced

        options = {"within": within, "xy": xy, "source": source, "prune": prune}
        return reduced(self, what, where, limit=limit, **options)

    def to_polars(self) -> polars.LazyFrame:
        """Return a Polars LazyFrame that reads only the columns, and if possible the zones, of a query.

        Raises:
            Error: ``unsupported`` if polars is not installed.

        Example:
            >>> import icecore, polars
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> repo.at("main").table("/rdr").to_polars().filter(polars.col("tb") > 220).collect().height
            2
        """
        from icecore.tables.query.polars import lazy

        return lazy(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all rows as an Arrow stream, for ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and DuckDB.

        :meth:`scan` does the same for some columns and rows. DuckDB does not support float16 ("Unsupported
        Internal Arrow Type e"): scan the other columns, ``t.scan(columns)``.
        """
        return self.scan().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Table, (self._group, None if self._is_all else list(self._columns)))

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(self._columns)
        wanted = _listed(columns)
        for name in wanted:
            if name in self._columns or name in self._items or name in self._lists:
                continue
            if name in self._left_out:
                raise errors.make(
                    "unsupported",
                    f"{self.path}/{name} can't be a column: {self._left_out[name]}",
                    f'read it as an array: repo["{self.path}/{name}"]',
                )
            hint = suggestion(name, self._numbers, f"there are {', '.join(self._columns)}")
            raise errors.make("not-found", f"{self.path} has no column {name}", hint)
        return wanted

    def _named(self, arrays: Mapping[str, Array], name: str) -> Array:
        if name not in arrays:
            hint = suggestion(name, arrays, f"there are {', '.join(arrays)}")
            raise errors.make("not-found", f"{self.path} has no array {name}", hint)
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
        raise errors.make("invalid", f"columns must be a list of names (got {columns!r})", f"columns={shown}")
    return names


def _label(array: Array) -> str:
    several = width(array)
    return array._node.dtype_label + ("" if several is None else f"[{several}]")


def _below(group: Group) -> str:
    """Return a hint that lists the tables below a group; empty if there are none."""
    prefix = group.path.rstrip("/") + "/"
    arrays = group.repo.arrays.values()
    inside = (a for a in arrays if a.path.startswith(prefix) and a.ndim == 1 and not fits(a))
    found = list(dict.fromkeys(a._node.parent for a in inside))
    if not found:
        return ""
    more = f", … ({len(found):,} in all)" if len(found) > _SHOWN else ""
    return f"name a table below it: {', '.join(found[:_SHOWN])}{more}"


def _members(group: Group, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the columns of a group, in its stated order or by name, and the arrays left out with reasons."""
    left_out = {name: reason for name, array in arrays.items() if (reason := fits(array))}
    found = {name: array for name, array in arrays.items() if name not in left_out}
    stated = group._node.ours.get("table", {})
    order = stated.get("columns", []) if isinstance(stated, dict) else []
    place = {name: i for i, name in enumerate(order) if isinstance(name, str)}
    lengths = Counter(array.shape[0] for array in found.values() if array.ndim == 1)
    if not lengths:  # columns of lists alone are rows where the group says so
        lengths = Counter(array.shape[0] for name, array in found.items() if name in place)
    if len(lengths) > 1:
        sample = {array.shape[0]: name for name, array in found.items() if array.shape[0] in lengths}
        raise errors.make(
            "mismatch",
            f"the arrays of {group.path} differ in length, so they are not one table: "
            + ", ".join(f"{sample[n]} has {n:,}" for n, _ in lengths.most_common(3)),
            "name columns of equal length: --columns A,B; in Python repo.table(path, columns=[…])",
        )
    for name, array in list(found.items()):
        if array.ndim == 2 and array.shape[0] not in lengths:
            rows = (
                f"the other columns have {next(iter(lengths)):,}"
                if lengths
                else "and no 1-D array defines the number of rows"
            )
            left_out[name] = f"it has 2 dimensions and {array.shape[0]:,} rows, {rows}"
            del found[name]
    names = sorted(found, key=lambda name: place.get(name, len(place)))
    return {name: found[name] for name in names}, left_out
