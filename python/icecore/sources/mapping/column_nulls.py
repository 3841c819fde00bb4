"""Choose one value for null in joined columns: of in-memory tables, and of the table they extend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute, fill_of_attribute
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note
from icecore.sources.mapping.netcdf_fill import reals_for_null

#: attributes with the value for null: of numbers, of strings
NULL = ("_FillValue", "missing_value")
#: number of numbers that are tried to represent null in floats
_TRIED = 16
#: maps (path of an array, value) to whether the stored rows contain the value
Holds = Callable[[str, Any], bool]


def null_of(entry: ArrayEntry) -> Any:
    """Return the value for null in a column, or None."""
    found = [value_of(entry, name) for name in NULL if name in entry.attrs]
    return found[0] if found else None


def value_of(entry: ArrayEntry, name: str) -> Any:
    """Return the decoded value of an attribute for null."""
    value = entry.attrs[name]
    return value if entry.dtype.kind == "O" else fill_of_attribute(value, entry.dtype)


def marked(entry: ArrayEntry, null: Any) -> ArrayEntry:
    """Return a column with an attribute for its value for null."""
    if entry.dtype.kind == "O":
        return replace(entry, attrs={**entry.attrs, "missing_value": null})
    return replace(entry, attrs={**entry.attrs, "_FillValue": fill_attribute(null, entry.dtype)})


def with_one_null(maps: Sequence[ArrayMap], holds: Holds) -> None:
    """Give the columns of each path one value for null, if one of them has nulls.

    Args:
        maps: sources in order; the first may be the repository.
        holds: tests the rows of the repository.

    Raises:
        Error: ``mismatch`` if a column holds the value that represents null in the stored table.
    """
    for path in maps[0].arrays:
        entries = [each.arrays[path] for each in maps if path in each.arrays]
        nulls = [null_of(entry) for entry in entries]
        if not any(entry.renulled for entry in entries) or not _differ(nulls):
            continue
        is_fixed = entries[0].renulled is None and nulls[0] is not None
        known = [null for null in nulls if null is not None]
        found = _joined(entries, known[:1] if is_fixed else _candidates(known, entries), holds)
        if found is None and is_fixed and _is_nan(known[0]):
            found = _joined(entries, known[:1], holds, merges=True)
            for each in maps if found is not None else ():
                if path in each.arrays and each.arrays[path].renulled is not None:
                    each.dropped.append(
                        Note(path, "converted", "NaN is missing in it, as in the stored rows")
                    )
        if found is None:
            raise errors.make(
                "mismatch",
                f"{path}: {known[0]!r} represents null in {maps[0].source} and is a value of other rows",
                "replace that value, or pack these rows into another group",
            )
        for each, entry in zip((each for each in maps if path in each.arrays), found, strict=True):
            each.arrays[path] = entry


def _candidates(known: Sequence[Any], entries: Sequence[ArrayEntry]) -> Iterator[Any]:
    """Yield values for null: those of the columns, then numbers for floats, which may hold NaN."""
    yield from known
    dtype = np.result_type(*(entry.dtype for entry in entries))
    if dtype.kind == "f":
        yield from islice(reals_for_null(dtype), _TRIED)


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _equal(one: Any, other: Any) -> bool:
    return (_is_nan(one) and _is_nan(other)) or one == other


def _differ(nulls: Sequence[Any]) -> bool:
    some = any(null is not None for null in nulls)
    return some and any(null is None or not _equal(null, nulls[0]) for null in nulls)


def _joined(
    entries: Sequence[ArrayEntry], candidates: Iterable[Any], holds: Holds, merges: bool = False
) -> list[ArrayEntry] | None:
    """Return the columns with the first candidate that none of them contains as a value.

    With ``merges`` such values become missing in columns in memory.
    """
    dtype = np.result_type(*(entry.dtype for entry in entries))
    for null in candidates:
        found = []
        for entry in entries:
            if entry.renulled is not None:
                new = entry.renulled(null, dtype, merges)
            elif null_of(entry) is not None:
                new = entry if _equal(null_of(entry), null) else None
            else:
                new = None if holds(entry.path, null) else marked(entry, null)
            if new is None:
                break
            found.append(new)
        else:
            return found
    return None
