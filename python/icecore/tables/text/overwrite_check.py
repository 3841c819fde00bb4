"""Check that a table's columns were not overwritten since they were packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables.text import column_types, stored_format

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


def written_over(path: str, what: str, further: str = "") -> errors.Error:
    """Return the error for a table whose columns no longer match its text."""
    message = f"{what}: columns of {path} were written over since"
    hint = "restore an earlier version, REPO@REF (`icecore log` names them)"
    return errors.make("mismatch", f"{message}{', ' if further else ''}{further}", hint)


def columns(repo: Repo, path: str, table: dict[str, Any], rows: int) -> Sequence[Array]:
    """Return the arrays of a table's columns, which must have at least ``rows`` rows.

    Raises:
        Error: ``mismatch`` if an array is missing, too short, or of another type than the packed column.
    """
    found = []
    for column in stored_format.columns(table):
        name, kind = f"{path}/{column['name']}", column_types.dtype(column)
        node = repo._nodes.get(name)
        if node is None or not node.is_array:
            raise written_over(path, f"{name} is {'gone' if node is None else 'a group'}")
        array = repo._array(name)
        if not _alike(array.dtype, kind) or array.ndim != 1 or array.shape[0] < rows:
            is_ = f"{_named(array.dtype)} of shape {array.shape}"
            raise written_over(path, f"{name} is {is_}, packed were {rows:,} rows of {_named(kind)}")
        found.append(array)
    return found


def _named(kind: np.dtype[Any]) -> str:
    return "text" if kind.kind in "OT" else str(kind)


def _alike(is_: np.dtype[Any], was: np.dtype[Any]) -> bool:
    if was.kind in "OT":
        return is_.kind in "OT"
    return is_.kind == was.kind and (was.kind in "iuMm" or is_.itemsize == was.itemsize)
