"""Tables: groups of arrays of equal length, queried with where-clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.options import accepts_method
from icecore.repository.upper_rooms import provider
from icecore.tables.query.scan_options import ArraysOptions, IterateOptions, ScanOptions
from icecore.tables.query.table_columns import TableColumns, listed

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import polars

    from icecore.repository.group import Group
    from icecore.tables.query.event_scan import EventScan
    from icecore.tables.query.reduction import Reduced
    from icecore.tables.query.scan import Scan


class Table(TableColumns):
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

    @accepts_method(ScanOptions)
    def scan(self, options: ScanOptions) -> Scan | EventScan:
        """Select rows, in the order of the table, as a stream of Arrow record batches.

        Iterating over the scan yields the batches. ``pyarrow.table(scan)``, ``polars.DataFrame(scan)`` and
        DuckDB (by the variable's name) read it as an Arrow stream; ``to_numpy()`` and ``read_all()`` read
        all rows. A scan can be read once. Attributes of columns, such as units, are in the metadata of the
        Arrow fields.

        Zones are skipped if their summary (`icecore.tables.summaries`) rules out a match. In the other zones
        the columns of the where-clause are read first, then the chunks that contain matching rows.

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
        return self._scan(**vars(options))

    def _scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        limit: int | None = None,
        unsure_only: bool = False,
        prune: bool = True,
        client: Any = None,
        **options: Any,
    ) -> Scan | EventScan:
        """Scan; ``unsure_only`` leaves out zones whose summary proves that all rows match."""
        from icecore.tables.query.scan import Scan

        asked = None if columns is None else listed(columns)
        given = None if asked is None else [name for name in asked if name not in self._expressions]
        names = list(self) if given is None else self._names(given)
        names += [name for name in asked or () if name in self._expressions]
        if client is not None:
            if any(name in self._lists for name in names):
                message = f"{self.path}: columns of lists of any length can't be scanned on a cluster"
                raise errors.make("unsupported", message, "scan them without client, or the other columns")
            from icecore.tables.query.cluster import ClusterScan

            return ClusterScan(self, names, where, client, limit=limit, prune=prune, **options)
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
        try:
            import pandas  # noqa: F401
        except ModuleNotFoundError:
            raise errors.needs("table", "to_pandas needs pandas") from None
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
        client: Any = None,
    ) -> Reduced:
        """Compute functions of columns over the selected rows, optionally grouped by key columns.

        Null and NaN are ignored. If there are no keys and no histograms and every column has a summary, zones
        in which all rows match are computed from the summaries without reading the data.

        Args:
            what: functions of columns, then key columns: ``"count, mean:tb, max:tb by c"``. A column may
                also be an expression, which is computed in float64, and ``as NAME`` names a result:
                ``"mean:tb - 273.15 as celsius by floor(lat * 2) / 2 as y, hour(time) as h"``. Expressions
                have ``+ - * / %``, ``abs ceil cos exp floor log log10 radians round sin sqrt``, ``min`` and
                ``max`` of several numbers, and ``year month day hour minute second`` of times. ``log`` is
                the natural logarithm, and ``round`` rounds half to even, as in NumPy. Null and NaN give null.
                ``count`` counts rows, ``count:tb`` values. ``sum``, ``mean``, ``std`` (of the population) and
                ``rms`` need numbers. ``min`` and ``max`` also take times and strings (in the order of code
                points). ``histogram:tb:40:0:400`` counts values in 40 bins of equal width from 0 to 400, both
                ends included. Default ends are the minimum and maximum; the default number of bins is 100.
            where: a where-clause, see :class:`Table`.
            within, xy, source, prune: as for :meth:`scan`.
            limit: the largest number of rows of the result.
            client: compute on a Dask cluster: a ``distributed.Client`` or the address of a scheduler. Partial
                results are merged in a tree; sums and means of floats may differ by rounding.

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
        return reduced(self, what, where, limit=limit, client=client, **options)

    @accepts_method(ArraysOptions)
    def arrays(self, options: ArraysOptions) -> Any:
        """Read columns of events, including variable-length lists.

        Returns:
            The columns, in the form that ``library`` names.

        Raises:
            Error: ``not-found``, ``invalid``, ``dtype``, ``mismatch`` (counter and lists), ``selection``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> table.arrays(["MET_pt"], cut="nMuon >= 2", library="np")["MET_pt"].tolist()
            [20.0, 40.0]
        """
        return self._events.arrays(options)

    @accepts_method(IterateOptions)
    def iterate(self, options: IterateOptions) -> Iterator[Any]:
        """Read like :meth:`arrays`, batch by batch; batches without passing events are skipped.

        Returns:
            An iterator over batches, in the form that ``library`` names.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> [batch["MET_pt"].tolist() for batch in table.iterate("MET_pt", step_size=2, library="np")]
            [[10.0, 20.0], [40.0]]
        """
        return self._events.iterate(options)

    def skim(self, path: str, columns: Any = None, cut: str | None = None, **options: Any) -> int:
        """Write columns of events that pass a cut to a ``.parquet`` or ``.root`` file; return their number.

        ``options`` are those of :meth:`iterate`: the file is written batch by batch. A ``.root`` file has a
        tree ``Events``, or an RNTuple if a column can't be a branch: strings, lists of lists or of arrays,
        records. Slashes in names become dots in a tree; slashes and dots become underscores in an RNTuple.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/nMuon", "i4", (3,))[...] = [0, 2, 3]
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [10, 20, 40]
            >>> table = repo.at("main").table("/Events")
            >>> table.skim("muons.parquet", cut="nMuon >= 2")
            2
        """
        from icecore.tables.query.skim import skim

        return skim(self._events, path, columns, cut, options)

    @property
    def bytes_read(self) -> int:
        """Number of stored bytes that the last :meth:`arrays` or :meth:`iterate` read."""
        return self._events.bytes_read

    def to_dask(self, columns: Sequence[str] | None = None, where: str | None = None) -> Any:
        """Return a dask DataFrame with a partition for each range of whole shards.

        Lists of any length have pandas' Arrow type.

        Args:
            columns: names, in the order of the result; all by default.
            where: a where-clause, see :class:`Table`; each partition selects its rows.

        Raises:
            Error: ``unsupported`` if dask's DataFrame is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("moon.icecore")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> repo.at("main").table("/rdr").to_dask().tb.mean().compute().item()
            250.0
        """
        made: Any = provider("table_to_dask")(self, columns, where)
        return made

    def to_dask_awkward(self, columns: Any = None, **options: Any) -> Any:
        """Return a dask-awkward collection with a partition for each range of whole shards.

        A computation reads the columns that it uses.

        Args:
            columns: names, globs or expressions, as for :meth:`arrays`; all columns by default.
            **options: ``cut``, ``aliases``, ``filter_name`` and ``filter_typename`` of :meth:`arrays`.

        Raises:
            Error: ``unsupported`` if dask-awkward is not installed; as :meth:`arrays`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [20, 25, 30]
            >>> events = repo.at("main").table("/Events")
            >>> events.to_dask_awkward().MET_pt.compute()  # doctest: +SKIP
            <Array [20, 25, 30] type='3 * float32'>
        """
        return provider("table_to_dask_awkward")(self, columns, options)

    def to_nanoevents(self, schemaclass: Any = None, **options: Any) -> Any:
        """Return the events as coffea's NanoEvents; a column is read when it is used.

        Args:
            schemaclass: a schema of ``coffea.nanoevents``: ``NanoAODSchema`` (the default),
                ``PHYSLITESchema``, …
            **options: ``entry_start``, ``entry_stop``, ``metadata`` and ``access_log`` of coffea's
                ``NanoEventsFactory.from_root``.

        Raises:
            Error: ``unsupported`` if coffea is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/Events/MET_pt", "f4", (3,))[...] = [20, 25, 30]
            >>> events = repo.at("main").table("/Events")
            >>> events.to_nanoevents().MET.pt  # doctest: +SKIP
            <Array [20, 25, 30] type='3 * float32'>
        """
        return provider("table_to_nanoevents")(self, schemaclass, **options)

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
        columns = None if self._is_all else list(self)
        return (_with_expressions, (self._group, columns, list(self._expressions)))


def _with_expressions(group: Group, columns: Sequence[str] | None, expressions: Sequence[str]) -> Table:
    table = Table(group, columns)
    for text in expressions:
        table._computed(text)
    return table
