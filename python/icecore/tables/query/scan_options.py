"""Options of a scan, which ``Table.scan``, ``Table.reduce`` and ``icecore query`` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icecore.options import option


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
