"""Scan of a table with lists: the engine selects rows by flat columns, and the lists are read for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.tables.query.event_read import Rows, arrow_table, output
from icecore.tables.query.scan import Batches, Scan, arrow, arrow_type, metadata

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table

#: rows per batch without a where-clause
_ROWS = 1 << 16


class EventScan(Batches):
    """A scan whose columns include lists; they become large lists in Arrow."""

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        where: str | None = None,
        *,
        within: Any = None,
        **options: Any,
    ) -> None:
        if within is not None:
            message = (
                f"{table.path}: within selects rows of flat columns, and {columns[0]} is not the only one"
            )
            raise errors.make("unsupported", message, "leave out the columns of lists, or select with a cut")
        self._every = where is None and not any(
            options.get(name) for name in ("limit", "source", "unsure_only")
        )
        self._rows = options.get("rows") or (0, len(table))
        if not table._columns and not self._every:
            message = f"{table.path} has no flat columns that could select rows"
            raise errors.make("unsupported", message, "use a cut: arrays(cut=…)")
        super().__init__(table, columns, where)
        #: selects the rows by the flat columns
        self._flat = Scan(table, [], where, **options) if table._columns else None

    def report(self) -> dict[str, Any]:
        """Return the cost of selecting rows so far.

        Raises:
            Error: ``unsupported`` if the table has only columns of lists.
        """
        if self._flat is None:
            message = f"{self._table.path} has only columns of lists, which no summary describes"
            raise errors.make("unsupported", message, "leave out --explain")
        return self._flat.report()

    def _numbers(self) -> Iterator[Rows]:
        """Yield the numbers of the selected rows, batch by batch."""
        if self._every or self._flat is None:
            first, stop = self._rows
            for start in range(first, stop, _ROWS):
                yield slice(start, min(start + _ROWS, stop))
            return
        while (rows := self._flat.next_rows()) is not None:
            found = rows.astype("i8")
            whole = len(found) == found[-1] - found[0] + 1
            yield slice(int(found[0]), int(found[-1]) + 1) if whole else found

    def _batches(self, stored: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the batches; null values keep their stored value."""
        for rows in self._numbers():
            yield from self._made(rows).cast(self.schema).combine_chunks().to_batches()

    def _made(self, rows: Rows) -> pa.Table:
        pa = arrow()
        values = self._table._events.read(self.columns, rows)
        made = arrow_table({name: values[name] for name in self.columns})
        for at, name in enumerate(self.columns):
            width = self._table._kind(name)[1] if name in self._table._columns else None
            if width is not None:
                items = pa.array(np.ascontiguousarray(values[name]).reshape(-1))
                made = made.set_column(at, name, pa.FixedSizeListArray.from_arrays(items, width))
        return made

    @cached_property
    def _fields(self) -> dict[str, pa.Field]:
        """Return the fields: flat columns as in other scans, lists by their content."""
        pa, table = arrow(), self._table
        fields = {field.name: field for field in self._made(slice(0, 0)).schema}
        for name in filter(table._columns.__contains__, self.columns):
            about = metadata(table._array_of(name).attrs)
            fields[name] = pa.field(name, arrow_type(pa, *table._kind(name)), metadata=about)
        return fields

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all rows: name → array; a list column is an object array of arrays."""
        parts = [self._table._events.read(self.columns, rows) for rows in self._numbers()]
        parts = parts or [self._table._events.read(self.columns, slice(0, 0))]
        made = [output(part, "np", 0) for part in parts]
        return {name: np.concatenate([part[name] for part in made]) for name in self.columns}

    def count(self) -> int:
        """Return the number of selected rows."""
        return sum(r.stop - r.start if isinstance(r, slice) else len(r) for r in self._numbers())
