"""Columns of a table: which arrays of a group they are, by name and by number."""

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
from icecore.tables.query.event_columns import ENTRIES

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.tables.query.events import Events
    from icecore.tables.query.list_column import ListColumn


#: largest number of columns that an error lists
_NAMES = 20


class TableColumns:
    """The part of a :class:`icecore.Table` that is a mapping from names to columns."""

    def __init__(self, group: Group, columns: Sequence[str] | None = None) -> None:
        self._group = group
        arrays = group.arrays
        self._is_all = columns is None
        self._chosen: list[str] = []
        if columns is not None:
            names = listed(columns)
            self._chosen = [n for n in names if n not in arrays and self._events.columns.is_list(n)]
            self._columns = {n: self._named(arrays, n) for n in names if n not in self._chosen}
            self._left_out: dict[str, str] = {}
        else:
            self._columns, self._left_out = group_columns(group, arrays)
        if not self._columns and not self._chosen and not (columns is None and self._events.is_one_table):
            why = "; ".join(f"{name}: {reason}" for name, reason in self._left_out.items())
            raise errors.make(
                "mismatch",
                f"{group.path} has no array that can be a column" + (f" ({why})" if why else ""),
                tables_below(group)
                or "a table is a group of 1-D arrays of equal length: `icecore ls` lists the groups",
            )

    @cached_property
    def _events(self) -> Events:
        from icecore.tables.query.events import Events

        return Events(self._group)

    @property
    def path(self) -> str:
        """The group's path."""
        return self._group.path

    @property
    def columns(self) -> dict[str, Array | ListColumn]:
        """name → array, or column of lists."""
        return {name: self[name] for name in self}

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """name → NumPy dtype; that of lists is ``object``."""
        return {name: self._columns[name].dtype if name in self._columns else np.dtype("O") for name in self}

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
        """Names of the columns with lists of any length."""
        return self._events.lists if self._is_all else self._chosen

    @cached_property
    def _expressions(self) -> dict[str, list[str]]:
        """Expression → the columns that it is computed from; reductions use expressions as columns."""
        return {}

    def _computed(self, text: str) -> str:
        """Make an expression a column of float64, whose name is its text.

        Raises:
            Error: as a mistake in a where-clause.
        """
        if text not in self._expressions:
            names = list(self._numbers)
            self._expressions[text] = [names[i] for i in self._native.columns_of_expression(text)]
        return text

    def _array_of(self, name: str) -> Array:
        """Return the array of a column or item."""
        return self._columns[name] if name in self._columns else self._items[name]

    def _kind(self, name: str) -> tuple[np.dtype[Any], int | None]:
        """Return the dtype of a column or item and its items per row (None if it is not a list)."""
        if name in self._expressions:
            return np.dtype("f8"), None
        if name in self._columns:
            return self._columns[name].dtype, width(self._columns[name])
        return self._items[name].dtype, None

    def __len__(self) -> int:
        return next(iter(self._columns.values())).shape[0] if self._columns else len(self._events)

    def __iter__(self) -> Iterator[str]:
        yield from self._columns
        yield from self._lists

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._columns or self._has_lists(name))

    def _has_lists(self, name: str) -> bool:
        return self._events.columns.is_list(name) if self._is_all else name in self._chosen

    def __getitem__(self, name: str) -> Array | ListColumn:
        """Return a column: an array, or a column of lists, which is read by indexing too."""
        if isinstance(name, str) and name in self._columns:
            return self._columns[name]
        (name,) = listed([name])
        arrays = self._group.arrays
        if name not in arrays and self._events.columns.is_list(name):
            from icecore.tables.query.list_column import ListColumn

            return ListColumn(self._events, name)
        return self._named(arrays, name)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(self)
        wanted = listed(columns)
        for name in wanted:
            if name in self._columns or name in self._items or self._has_lists(name):
                continue
            if name in self._left_out:
                raise errors.make(
                    "unsupported",
                    f"{self.path}/{name} can't be a column: {self._left_out[name]}",
                    f'read it as an array: repo["{self.path}/{name}"]',
                )
            hint = suggestion(name, [*self._numbers, *self._lists], f"there are {_few(self)}")
            raise errors.make("not-found", f"{self.path} has no column {name}", hint)
        return wanted

    def _named(self, arrays: Mapping[str, Array], name: str) -> Array:
        if name not in arrays:
            hint = suggestion(name, [*arrays, *self._events.columns], f"there are {_few(arrays)}")
            raise errors.make("not-found", f"{self.path} has no array {name}", hint)
        reason = fits(arrays[name])
        if reason:
            raise errors.make("unsupported", f"{self.path}/{name} can't be a column: {reason}")
        return arrays[name]

    def __repr__(self) -> str:
        rows = [text.pairs((f"  {text.label(name)}", kind) for name, kind in self._labels())]
        if self._left_out:
            rows.append(f"  (left out: {', '.join(map(text.label, self._left_out))})")
        head = f"<icecore.Table {text.label(self.path)} {len(self):,} rows, {len(list(self))} columns>"
        return "\n".join([head, *rows])

    def _repr_html_(self) -> str:
        from icecore.display import html

        rows = self._labels()
        return html.table(f"{self.path}: {len(self):,} rows, {len(rows)} columns", rows)

    def _labels(self) -> list[tuple[str, str]]:
        """Return (name, type) of each column."""
        lists = [(name, "  ".join(self[name]._node.labels)) for name in self._lists]
        return [*((name, _label(array)) for name, array in self._columns.items()), *lists]


def _few(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:_NAMES]) + (f", … ({len(shown):,} in all)" if len(shown) > _NAMES else "")


def _label(array: Array) -> str:
    several = width(array)
    return array._node.dtype_label + ("" if several is None else f"[{several}]")


# Choose the arrays of a group that are columns of one table.

#: largest number of tables that an error lists
_SHOWN = 5


def listed(columns: Sequence[str]) -> list[str]:
    """Return names of columns as a list."""
    several = isinstance(columns, Iterable) and not isinstance(columns, (str, bytes))
    names: list[Any] = list(columns) if several else [columns]
    if not several or not all(isinstance(name, str) for name in names):
        shown = [name.decode("latin-1") if isinstance(name, bytes) else str(name) for name in names]
        raise errors.make("invalid", f"columns must be a list of names (got {columns!r})", f"columns={shown}")
    return names


def tables_below(group: Group) -> str:
    """Return a hint that lists the tables below a group; empty if there are none."""
    arrays = (group.repo._array(node.path) for node in group.repo._below(group.path) if node.is_array)
    inside = (a for a in arrays if a.ndim == 1 and not fits(a))
    found = list(dict.fromkeys(a._node.parent for a in inside))
    if not found:
        return ""
    more = f", … ({len(found):,} in all)" if len(found) > _SHOWN else ""
    return f"name a table below it: {', '.join(found[:_SHOWN])}{more}"


def group_columns(group: Group, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the columns of a group, in its stated order or by name, and the arrays left out with reasons."""
    left_out = {name: reason for name, array in arrays.items() if (reason := fits(array))}
    found = {name: array for name, array in arrays.items() if name not in left_out}
    stated = group._node.ours.get("table", {})
    order = stated.get("columns", []) if isinstance(stated, dict) else []
    place = {name: i for i, name in enumerate(order) if isinstance(name, str)}
    lengths = Counter(array.shape[0] for array in found.values() if array.ndim == 1)
    if not lengths:  # columns of lists alone are rows where the group says so
        lengths = Counter(array.shape[0] for name, array in found.items() if name in place)
    entries = group._node.attrs.get(ENTRIES)
    # The arrays of a tree that are shorter leave the others alone.
    if len(lengths) > 1 and isinstance(entries, int) and entries in lengths:
        for name in [name for name, array in found.items() if array.shape[0] != entries]:
            left_out[name] = f"it has {found.pop(name).shape[0]:,} entries, the tree has {entries:,}"
        lengths = Counter({entries: lengths[entries]})
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
