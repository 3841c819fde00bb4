"""Options of a scan, which ``Table.scan`` and ``icecore query`` share, and of reads of events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore.options import option

if TYPE_CHECKING:
    import numpy as np

    from icecore.tables.query.event_columns import Filter


@dataclass(frozen=True)
class ScanOptions:
    """Arguments of :meth:`icecore.Table.scan`."""

    columns: Sequence[str] | None = option(
        None,
        "names, in the order of the result; all by default. Lists of any length become Arrow's large lists.",
        help="Columns, in this order; default: all. Put a name with a comma in double quotes.",
        metavar="A,B",
        kind=str,
        is_positional=True,
    )
    where: str | None = option(
        None,
        "a where-clause, see :class:`Table`; it selects rows by flat columns.",
        help='"lon between 120 and 120.1 and tb > 90"',
        metavar="CLAUSE",
        is_positional=True,
    )
    within: Any = option(
        None,
        "select rows inside a shapely geometry, a GeoJSON mapping or a GeoJSON file (its path). Longitudes "
        "may use any range, such as -180 to 180, 0 to 360 or 170 to 190. Rings may have either orientation."
        " Exception: a clockwise GeoJSON ring within -180 to 180 with a side longer than 180 degrees is "
        "interpreted as crossing the antimeridian, with a warning.",
        help="Only rows inside the polygons of a GeoJSON file.",
        metavar="FILE",
        kind=str,
    )
    xy: tuple[str, str] | None = option(
        None,
        "the columns of x and y for ``within``. By default they are found by name (lon, lat, …) or by the "
        "attribute ``standard_name``.",
        help="Columns of x and y for --within; default: found by name (lon, lat, …).",
        metavar="X,Y",
        kind=str,
    )
    source: str | None = option(
        None,
        'only rows from this source file, or from the files that a glob matches (``"2009*.TAB"``).',
        help="Only rows of this source file; may be a glob.",
        metavar="NAME",
    )
    limit: int | None = option(
        None, "the largest number of rows.", help="Largest number of rows.", metavar="N"
    )
    prune: bool = option(True, "use summaries to skip zones.", help="Don't use summaries.")
    memory: int | None = option(None, "approximate limit for columns in memory, in bytes.")
    client: Any = option(
        None,
        "select on a Dask cluster: a ``distributed.Client`` or the address of a scheduler.",
        help="Work on the cluster of this Dask scheduler.",
        flags=("--dask",),
        metavar="ADDRESS",
        kind=str,
    )


@dataclass(frozen=True)
class EventOptions:
    """Options that :meth:`icecore.Table.arrays` and :meth:`icecore.Table.iterate` share."""

    columns: str | Iterable[str] | None = option(
        None,
        'names, globs (``"Muon_*"``) or expressions (``"Muon_pt * 2"``); all columns by default. ``MET.fX`` '
        "is the column ``MET/fX``, and the result has the name that was asked for.",
        is_positional=True,
    )
    cut: str | None = option(
        None,
        'an expression with one boolean per event: ``"nMuon >= 2 and Muon_pt[:,0] > 20"``. Parts joined by '
        "``and`` are tested in order; further columns are read only for the remaining events. Other names "
        'than words with dots are written between backquotes or as ``get("MET/fX")``. The ``max`` of an '
        "empty list compares like NaN: only ``!=`` is true.",
        is_positional=True,
    )
    aliases: Mapping[str, str] | None = option(
        None,
        'name → expression, for columns and the cut: ``{"pt2": "Muon_pt**2"}``. Aliases may use others.',
    )
    filter_name: Filter = option(
        None,
        'a name, a glob, a regular expression between slashes (``"/^Jet_/"``), a function of names, or a '
        "list of them. The last part of a column's path, or its whole path, has to match.",
    )
    filter_typename: Filter = option(
        None,
        'the same for types, in C++ or NumPy: ``"float[]"``, ``"std::vector<float>"``, ``"float32"``.',
    )
    entry_start: int | None = option(None, "the first entry, as in a slice.")
    entry_stop: int | None = option(None, "the end of the entries, as in a slice.")
    library: str = option(
        "ak",
        "``ak`` (an Awkward record array), ``np`` (a dictionary of NumPy arrays), ``pd``, ``arrow`` or "
        "``pl`` (a data frame of pandas, a table of pyarrow, a data frame of Polars).",
    )
    how: Any = option(
        None,
        'with library ``ak``: ``"zip"`` makes one list of records of lists with equal lengths, named by '
        "their common beginning (``Muon_pt``, ``Muon_eta``: ``Muon`` with ``pt`` and ``eta``); ``tuple``, "
        "``list`` or ``dict`` return the columns in one of these.",
    )


@dataclass(frozen=True)
class ArraysOptions(EventOptions):
    """Arguments of :meth:`icecore.Table.arrays`."""

    step: int | None = option(None, "every ``step``-th entry of the range.")
    entries: Sequence[int] | np.ndarray | None = option(
        None, "entry numbers in any order, in place of a range."
    )


@dataclass(frozen=True)
class IterateOptions(EventOptions):
    """Arguments of :meth:`icecore.Table.iterate`."""

    step_size: int | str = option("100 MB", 'entries per batch, or bytes (``"100 MB"``), before the cut.')
    shuffle: int | None = option(
        None, "random seed; batches are read in random order, which the seed determines."
    )
