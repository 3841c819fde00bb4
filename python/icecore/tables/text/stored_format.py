"""Columns and print formats as a table's attributes state them: what is said already is left out.

Formats mostly say of a column what its array says, and for a small table the text of that would be a good
part of what is stored.
"""

from __future__ import annotations

from typing import Any

from icecore import errors

Column = dict[str, Any]
_STATED = ("style", "scale", "size")
_DEFAULTS: Column = {"scale": 0, "size": 0}
#: a column without any value so far, which may become one of any kind
_BLANK = "blank"


def arrays(columns: list[Column]) -> list[Column]:
    """What is kept of each column, beside its name."""
    return [
        {
            key: column[key]
            for key in (*_STATED, _BLANK)
            if column.get(key, False) != _DEFAULTS.get(key, False)
        }
        for column in columns
    ]


def columns(table: dict[str, Any]) -> list[Column]:
    """The columns again.

    Raises:
        Error: ``corrupt``.
    """
    names, kept = table.get("columns"), table.get("arrays")
    if not isinstance(names, list) or not isinstance(kept, list) or len(names) != len(kept):
        raise errors.make("corrupt", "a table's attributes don't say what its columns hold")
    return [{**_DEFAULTS, **column, "name": name} for name, column in zip(names, kept, strict=True)]


def shorter(formats: list[dict[str, Any]], columns: list[Column]) -> list[dict[str, Any]]:
    """Formats without what is the same in the table's columns."""
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
    """The formats again."""
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
