"""Columns and print formats in a table's attributes, without redundant entries.

Most entries of a print format repeat those of the column's array. In a small table they would make up a good
part of the stored bytes.
"""

from __future__ import annotations

from typing import Any

from icecore import errors

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
