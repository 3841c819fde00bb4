"""Choose the arrays of a group that are columns of one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.array import Array
from icecore.tables.query.column import fits
from icecore.tables.query.event_columns import ENTRIES

if TYPE_CHECKING:
    from icecore.repository.group import Group

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
    arrays = (Array(group.repo, node) for node in group.repo._below(group.path) if node.is_array)
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
