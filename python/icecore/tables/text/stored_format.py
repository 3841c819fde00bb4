"""Columns and print formats in a table's attributes, without redundant entries.

Most entries of a print format repeat those of the column's array. In a small table they would make up a good
part of the stored bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


Column = dict[str, Any]
_STATED = ("style", "scale", "size")
_DEFAULTS: Column = {"scale": 0, "size": 0}
#: marks a column without values so far; its type may still become any other
_BLANK = "blank"


def arrays(columns: list[Column]) -> list[Column]:
    """Return the stored entries of each column, except its name."""
    return [
        {
            key: column[key]
            for key in (*_STATED, _BLANK)
            if column.get(key, False) != _DEFAULTS.get(key, False)
        }
        for column in columns
    ]


def columns(table: dict[str, Any]) -> list[Column]:
    """Return the columns with all entries.

    Raises:
        Error: ``corrupt`` if the attributes are inconsistent.
    """
    names, kept = table.get("columns"), table.get("arrays")
    if not isinstance(names, list) or not isinstance(kept, list) or len(names) != len(kept):
        raise errors.make("corrupt", "a table's attributes don't say what its columns hold")
    return [{**_DEFAULTS, **column, "name": name} for name, column in zip(names, kept, strict=True)]


def shorter(formats: list[dict[str, Any]], columns: list[Column]) -> list[dict[str, Any]]:
    """Return formats without the entries that equal those of the table's columns."""
    stated = [{key: column[key] for key in ("name", *_STATED)} for column in columns]
    return [
        {
            **fmt,
            "columns": [
                {key: value for key, value in own.items() if value != known.get(key, {})}
                for own, known in zip(fmt["columns"], stated, strict=True)
            ],
        }
        for fmt in formats
    ]


def formats(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the formats with all entries."""
    kept = table.get("text", {}).get("formats", [])
    if not kept:
        return []
    known = [{key: value for key, value in column.items() if key != _BLANK} for column in columns(table)]
    frame: Column = {"frame": {}}
    return [
        {
            **fmt,
            "columns": [
                {**({} if "binary" in fmt["layout"] else frame), **column, **own}
                for column, own in zip(known, fmt["columns"], strict=True)
            ],
        }
        for fmt in kept
    ]


# Check that a table's columns were not overwritten since they were packed.


def written_over(path: str, what: str, further: str = "") -> errors.Error:
    """Return the error for a table whose columns no longer match its text."""
    message = f"{what}: columns of {path} were written over since"
    hint = "restore an earlier version, REPO@REF (`icecore log` names them)"
    return errors.make("mismatch", f"{message}{', ' if further else ''}{further}", hint)


def stored_columns(repo: Repo, path: str, table: dict[str, Any], rows: int) -> Sequence[Array]:
    """Return the arrays of a table's columns, which must have at least ``rows`` rows.

    Raises:
        Error: ``mismatch`` if an array is missing, too short, or of another type than the packed column.
    """
    from icecore.tables.text import column_types

    found = []
    for column in columns(table):
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
