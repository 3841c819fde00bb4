"""Choose one value for null in joined columns: of in-memory tables, and of the table they extend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute, fill_of_attribute
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap

#: attributes with the value for null: of numbers, of strings
NULL = ("_FillValue", "missing_value")
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
        found = _joined(entries, known[:1] if is_fixed else known, holds)
        if found is None:
            raise errors.make(
                "mismatch",
                f"{path}: {known[0]!r} represents null in {maps[0].source} and is a value of other rows",
                "replace that value, or pack these rows into another group",
            )
        for each, entry in zip((each for each in maps if path in each.arrays), found, strict=True):
            each.arrays[path] = entry


def _differ(nulls: Sequence[Any]) -> bool:
    return any(null is not None for null in nulls) and any(null is None or null != nulls[0] for null in nulls)


def _joined(
    entries: Sequence[ArrayEntry], candidates: Iterable[Any], holds: Holds
) -> list[ArrayEntry] | None:
    """Return the columns with the first candidate that none of them contains as a value."""
    dtype = np.result_type(*(entry.dtype for entry in entries))
    for null in candidates:
        found = []
        for entry in entries:
            if entry.renulled is not None:
                new = entry.renulled(null, dtype)
            elif null_of(entry) is not None:
                new = entry if null_of(entry) == null else None
            else:
                new = None if holds(entry.path, null) else marked(entry, null)
            if new is None:
                break
            found.append(new)
        else:
            return found
    return None
