"""Whether what a file's label says of its columns is what the table's attributes say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from icecore import errors
from icecore.sources.tablefile import Field, TableFile

#: what changes values, and what says how to read them
_SCALES, _TOLD = ("scale_factor", "add_offset"), ("units", "missing_value")


def differing(
    path: str, known: Mapping[str, Mapping[str, Any]], file: TableFile, fields: Iterable[Field]
) -> list[str]:
    """What a file's columns have other than the table, in words.

    Args:
        path: the table.
        known: by column its attributes.
        file: one that comes to the table.
        fields: its columns.

    Raises:
        Error: ``mismatch`` where a number would stand for another one.
    """
    found = []
    for field in fields:
        old = known.get(field.name, {})
        for key in (*_SCALES, *_TOLD):
            ours, theirs = old.get(key), field.attrs.get(key)
            if ours == theirs or (key in _TOLD and theirs is None):
                continue
            here = f"column {field.name} of {file.place} has {_shown(key, theirs)}"
            about = f"{here}, in {path} it has {_shown(key, ours)}"
            if key in _SCALES:
                raise errors.make("mismatch", about, "pack it into a group of its own")
            found.append(f"{about}, which stays")
    return found


def _shown(key: str, value: Any) -> str:
    return f"no {key}" if value is None else f"{key} {value}"
