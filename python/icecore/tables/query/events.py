"""Events: tables with variable-length lists, read into Awkward, NumPy, pandas, Arrow or Polars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.tables.query.event_columns import (
    EventColumn,
    EventColumns,
    accept_names,
    accept_types,
    choose,
    find,
    is_glob,
    resolve,
)
from icecore.tables.query.event_cut import CutPruner, Expression
from icecore.tables.query.event_read import LIBRARIES, Log, Rows, event_array, output, read_events

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.tables.query.scan_options import ArraysOptions, EventOptions, IterateOptions

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
#: number of blocks of entries that are mixed for shuffled batches
_POOL = 8


class Events:
    """The columns of a group with their lists, for :meth:`Table.arrays` and :meth:`Table.iterate`."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._log: Log = []
        self._pruner = CutPruner(self._array_of)

    @cached_property
    def columns(self) -> EventColumns:
        """Columns by name."""
        return EventColumns(self._group)

    def __len__(self) -> int:
        return self.columns.rows

    @property
    def is_one_table(self) -> bool:
        """Whether the columns, including those of subgroups, share rows: they have lists or equal lengths."""
        repo = self._group.repo
        lengths = {repo._array(self.columns[name].path).shape[:1] for name in self.columns.arrays}
        return len(self.columns.arrays) < len(self.columns) or len(lengths) == 1

    @property
    def bytes_read(self) -> int:
        """Number of stored bytes that the last :meth:`arrays` or :meth:`iterate` read."""
        self._log[:] = [each() if callable(each) else each for each in self._log]
        return sum(each for each in self._log if isinstance(each, int))

    @property
    def lists(self) -> list[str]:
        """Names of the list columns."""
        return self.columns.lists

    def read(self, names: Sequence[str], rows: Rows) -> dict[str, Any]:
        """Read columns at ``rows``: a range, or increasing entry numbers."""
        loaded: dict[str, Any] = {}
        self._log.clear()
        self._load(list(names), rows, loaded)
        return loaded

    def arrays(self, options: ArraysOptions) -> Any:
        """Read columns; see :meth:`icecore.tables.query.table.Table.arrays`."""
        library = options.library
        if library not in LIBRARIES:
            raise errors.make("invalid", f"library is {library!r}", f"one of {', '.join(LIBRARIES)}")
        self._log.clear()
        rows, order = self.rows(options.entry_start, options.entry_stop, options.step, options.entries)
        cut = self._cut(options)
        found, count = self._selected(self._wanted(options), cut, rows)
        if order is not None:
            if cut is not None:
                raise errors.make("invalid", "entries out of order together with a cut", "sort the entries")
            found = {name: value[order] for name, value in found.items()}
            count = len(order)
        return output(found, library, count, options.how)

    def iterate(self, options: IterateOptions) -> Iterator[Any]:
        """Read batch by batch; see :meth:`icecore.tables.query.table.Table.iterate`."""
        self._log.clear()
        rows, _ = self.rows(options.entry_start, options.entry_stop, None, None)
        assert isinstance(rows, slice)
        wanted, cut = self._wanted(options), self._cut(options)
        library, how = options.library, options.how
        names = list(dict.fromkeys(name for each in wanted.values() for name in each.names))
        count = self._per_step(options.step_size, names)
        if options.shuffle is not None:
            for found, number in self._shuffled(wanted, cut, rows, count, options.shuffle):
                yield output(found, library, number, how)
            return
        for start in range(rows.start, rows.stop, count):
            found, number = self._selected(wanted, cut, slice(start, min(start + count, rows.stop)))
            if number:
                yield output(found, library, number, how)

    def _shuffled(
        self, wanted: dict[str, Expression], cut: Expression | None, rows: slice, count: int, seed: int
    ) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield batches in an order that ``seed`` determines: random blocks, mixed in pools of blocks."""
        random = np.random.default_rng(seed)
        block = max(count // _POOL, 1)
        starts = random.permutation(np.arange(rows.start, rows.stop, block))
        for low in range(0, len(starts), _POOL):
            ranges = [
                np.arange(s, min(s + block, rows.stop)) for s in np.sort(starts[low : low + _POOL]).tolist()
            ]
            found, number = self._selected(wanted, cut, np.concatenate(ranges))
            order = random.permutation(number)
            if number:
                yield {name: value[order] for name, value in found.items()}, number

    def _wanted(self, options: EventOptions) -> dict[str, Expression]:
        """Return name of the result → expression over columns.

        Columns are named as they were asked for, so that ``result["MET.fX"]`` works; those of a glob have
        their own names.
        """
        columns, aliases = options.columns, options.aliases or {}
        by_name = accept_names(options.filter_name)
        by_type = accept_types(self.columns, options.filter_typename)

        def accepts(name: str) -> bool:
            return by_name(name) and by_type(name)

        if columns is None:
            return {name: Expression.of_column(name) for name in choose(self.columns, None, accepts)}
        result: dict[str, Expression] = {}
        for item in [columns] if isinstance(columns, str) else columns:
            if item in aliases:
                result[item] = Expression.of_column(item).with_aliases(aliases)
                continue
            if item in self.columns or self.columns.is_record(item):
                result[item] = Expression.of_column(item)
                continue
            try:
                names = choose(self.columns, item, accepts)
            except errors.Error:
                expression = self._expression(item, aliases)
                if expression is None:
                    raise
                result[item] = expression
            else:
                result |= {name if is_glob(item) else item: Expression.of_column(name) for name in names}
        return result

    @staticmethod
    def _cut(options: EventOptions) -> Expression | None:
        return (
            None if options.cut is None else Expression.parse(options.cut).with_aliases(options.aliases or {})
        )

    def _expression(self, text: str, aliases: Mapping[str, str]) -> Expression | None:
        """Parse an expression over existing columns; None if ``text`` isn't one."""
        try:
            expression = Expression.parse(text).with_aliases(aliases)
            for name in expression.names:
                resolve(self.columns, name)
        except errors.Error:
            return None
        return expression if len(expression.names) and expression.names != [text.strip()] else None

    def rows(
        self, start: int | None, stop: int | None, step: int | None, entries: Any
    ) -> tuple[Rows, np.ndarray | None]:
        """Return the entries to read, and their positions in the result if they are not in order."""
        total = len(self)
        if entries is None:
            low, high, _ = slice(start, stop).indices(total)
            if step is None or step == 1:
                return slice(low, max(high, low)), None
            if step < 1:
                raise errors.make("invalid", f"step is {step}", "1 or more")
            return np.arange(low, high, step), None
        asked = np.asarray(entries)
        if (asked.size and asked.dtype.kind not in "iu") or asked.ndim != 1:
            raise errors.make("selection", f"entries is {entries!r:.60}", "a list of entry numbers")
        asked = asked.astype("i8")
        asked = np.where(asked < 0, asked + total, asked)
        if asked.size and (asked.min() < 0 or asked.max() >= total):
            raise errors.make(
                "selection", f"entries has numbers outside of 0 to {total - 1:,}", "see len(table)"
            )
        rows, order = np.unique(asked, return_inverse=True)
        return rows, None if np.array_equal(rows, asked) else order

    def _selected(
        self, wanted: dict[str, Expression], cut: Expression | None, rows: Rows
    ) -> tuple[dict[str, Any], int]:
        """Return the columns of the passing entries, and their number.

        The parts of a cut are tested one after another, so that later columns are only read for the remaining
        entries.
        """
        loaded: dict[str, Any] = {}
        if cut is not None:
            rows = self._pruner.pruned(cut.tree, rows, self._log)
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        for part in cut.conjuncts() if cut is not None and count else ():
            self._load(part.names, rows, loaded)
            mask = part.mask({name: loaded[name] for name in part.names})
            if mask.all():
                continue
            index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            rows = kept = index[mask]
            loaded = {name: value[mask] for name, value in loaded.items()}
            count = len(kept)
            if not count:
                break
        names = list(dict.fromkeys(name for each in wanted.values() for name in each.names))
        self._load(names, rows, loaded)
        return {name: each.evaluate(loaded) for name, each in wanted.items()}, count

    def _array_of(self, name: str) -> Array | None:
        """Return the array of a plain column; None for another column."""
        column = self._column(name)
        return self._group.repo._array(column.path) if column.kind == "array" else None

    def _load(self, names: list[str], rows: Rows, loaded: dict[str, Any]) -> None:
        missing = {}
        for name in names:
            if name not in loaded:
                missing[name] = self._column(name)
        if missing:
            read = read_events(self._group.repo, missing, rows, self._log)
            loaded |= {name: event_array(values) for name, values in read.items()}

    def _column(self, name: str) -> EventColumn:
        """Return a column, a group of columns as records, or a field of records."""
        return find(self.columns, name)

    def _per_step(self, step_size: int | str, names: list[str]) -> int:
        """Return the entries per batch for ``step_size``: a number, or bytes such as ``"100 MB"``."""
        if isinstance(step_size, int):
            if step_size < 1:
                raise errors.make("invalid", f"step_size is {step_size}", "1 or more entries, or '100 MB'")
            return step_size
        found = re.fullmatch(r"\s*([\d.]+)\s*([kmg]?i?b)\s*", step_size, re.IGNORECASE)
        if found is None:
            raise errors.make("invalid", f"step_size is {step_size!r}", "a number of entries, or '100 MB'")
        total = sum(self.nbytes(name) for name in names)
        wanted = float(found[1]) * _UNITS[found[2].lower()]
        return max(int(wanted / max(total / max(len(self), 1), 1)), 1)

    def nbytes(self, name: str) -> int:
        """Return the number of decoded bytes of a column, with its lengths."""
        return self._nbytes(self._column(name))

    def _nbytes(self, column: EventColumn) -> int:
        if column.kind == "array":
            array = self._group.repo._array(column.path)
            return int(np.prod(array.shape, dtype="i8")) * max(array.dtype.itemsize, 1)
        return 8 * len(self) + sum(self._nbytes(member) for member in column.members.values())
