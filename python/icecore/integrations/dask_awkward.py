"""Tables as dask-awkward collections, which read the columns that a computation uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cluster.tasks import Sealed
from icecore.tables.query.event_columns import is_glob
from icecore.tables.query.row_ranges import row_ranges
from icecore.tables.query.scan_options import ArraysOptions

try:
    from dask_awkward import from_map
    from dask_awkward.lib.io.columnar import ColumnProjectionMixin
except ImportError:
    raise errors.make(
        "unsupported", "to_dask_awkward needs the package dask-awkward", "pip install dask-awkward"
    ) from None

if TYPE_CHECKING:
    from icecore.tables.query.table import Table


@dataclass(frozen=True)
class _Partition(ColumnProjectionMixin):
    """Reads a range of entries.

    Attributes:
        table: the table; a worker opens it.
        form: form of the records.
        fields: names of the columns that are read.
        options: options of :meth:`icecore.Table.arrays`.
    """

    table: Sealed
    form: Any
    fields: tuple[str, ...]
    options: dict[str, Any]
    behavior = None
    attrs = None
    use_optimization = True

    def __call__(self, rows: tuple[int, int]) -> Any:
        start, stop = rows
        options = ArraysOptions(list(self.fields), entry_start=start, entry_stop=stop, **self.options)
        return self.table.value._events.arrays(options)

    def project_columns(self, columns: frozenset[str]) -> _Partition:
        """Return the function for a part of the columns; fields of records have names with dots."""
        wanted = [
            name
            for name in self.fields
            if any(each == name or each.startswith(f"{name}.") for each in columns)
        ]
        return replace(self, fields=tuple(wanted or self.fields[:1]))


def table_to_dask_awkward(table: Table, columns: Any, options: dict[str, Any]) -> Any:
    """Return a dask-awkward collection; see :meth:`icecore.Table.to_dask_awkward`."""
    empty = table._events.arrays(ArraysOptions(columns, entry_stop=0, **options))
    kept = {name: value for name, value in options.items() if not name.startswith("filter_")}
    names = [name for name in empty.fields if name in table and not is_glob(name)]
    ranges = row_ranges(table, names)
    divisions = None if "cut" in kept else (ranges[0][0], *(stop for _, stop in ranges))
    read = _Partition(Sealed(table), empty.layout.form, tuple(empty.fields), kept)
    return from_map(read, ranges, label="icecore", divisions=divisions)
