"""Check of what a file states of its columns (label, header, zones) against those of the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile

#: attributes that change values, and attributes that describe them
_SCALES, _MISSING = ("scale_factor", "add_offset"), "missing_value"
_TOLD = ("units", _MISSING)
#: UTC offset at the end of a time pattern
_ZONE = re.compile(r"(?: ?(?:Z|UTC|GMT)|[-+]\d\d:?(?:\d\d)?)$")


def differing(
    path: str, known: Mapping[str, Mapping[str, Any]], file: TableFile, fields: Iterable[Field]
) -> list[str]:
    """Return messages about attributes that differ between a file's columns and the table.

    Args:
        path: path of the table.
        known: column → attributes of the table's column.
        file: file that is added to the table.
        fields: columns of the file.

    Raises:
        Error: ``mismatch`` if a number would get another value.
    """
    found = []
    for field in fields:
        old = known.get(field.name, {})
        for key in (*_SCALES, *_TOLD):
            ours, theirs = old.get(key), field.attrs.get(key)
            if ours == theirs or (key in _TOLD and theirs is None):
                continue
            if key == _MISSING and len(constants(old, field)) == len(_listed(ours)):
                continue
            here = f"column {field.name} of {file.place} has {_shown(key, theirs)}"
            about = f"{here}, in {path} it has {_shown(key, ours)}"
            if key in _SCALES and (theirs is not None or (file.spec is not None and file.spec.label)):
                raise errors.make("mismatch", about, "pack it into a group of its own")
            found.append(f"{about}, {'to which that is added' if key == _MISSING else 'which stays'}")
    return found


def zones(
    path: str, held: Sequence[Mapping[str, Any]], columns: Sequence[Mapping[str, Any]], file: TableFile
) -> list[str]:
    """Return messages about columns of times with a UTC offset in the table or in a file, but not in both."""
    found = []
    for old, new in zip(held, columns, strict=False):
        if "time" not in old["style"] or "time" not in new["style"] or "blank" in old or "blank" in new:
            continue
        ours, theirs = _zone(old), _zone(new)
        if bool(ours) != bool(theirs):
            here = f"column {new['name']} of {file.place} has times {_offset(theirs)}"
            found.append(f"{here}, in {path} they are {_offset(ours)}; those without are read as UTC")
    return found


def _zone(column: Mapping[str, Any]) -> str:
    match = _ZONE.search(column["style"]["time"]["pattern"])
    return match[0] if match is not None else ""


def _offset(zone: str) -> str:
    return f"with an offset ({zone.strip()})" if zone else "without an offset"


def joined(known: Mapping[str, Mapping[str, Any]], fields: Iterable[Field]) -> dict[str, dict[str, Any]]:
    """Return the table's attributes by column, including the missing constants of a file's columns."""
    result = {name: dict(attrs) for name, attrs in known.items()}
    for field in fields:
        if _listed(field.attrs.get(_MISSING)):
            old = result.setdefault(field.name, {})
            old[_MISSING] = constants(old, field)
    return result


def constants(old: Mapping[str, Any], field: Field) -> list[Any]:
    """Return the missing constants of a column, followed by the additional ones of a file's column."""
    return list(dict.fromkeys([*_listed(old.get(_MISSING)), *_listed(field.attrs.get(_MISSING))]))


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _shown(key: str, value: Any) -> str:
    return f"no {key}" if value is None else f"{key} {value}"
