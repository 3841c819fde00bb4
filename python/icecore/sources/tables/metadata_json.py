"""Column descriptions in a JSON file beside a table: CSV on the Web, or a Frictionless data package.

Sources: W3C, *Metadata Vocabulary for Tabular Data*, section 5.2 (locations) and 5.11 (datatypes);
Frictionless, *Data Package* and *Table Schema*.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from icecore.sources.mapping.table_file import TableSpec
from icecore.sources.tables.ruled_table import missing

_MOST = 1 << 22
#: types whose digits stay text
_TEXTS = {
    "string",
    "normalizedString",
    "token",
    "language",
    "Name",
    "NMTOKEN",
    "anyURI",
    "anyAtomicType",
    "any",
    "QName",
}


def described(spec: TableSpec, place: str) -> TableSpec:
    """Return the layout of a table with the types, units and nulls that a file beside it states."""
    if spec.layout != "delimited" or not os.path.isfile(place):
        return spec
    known: dict[str, dict[str, Any]] = {}
    for column in _columns(place):
        titles = column.get("titles")
        names = titles if isinstance(titles, list) else [titles]
        for name in (column.get("name"), *names):
            if isinstance(name, str):
                known.setdefault(name, column)
    fields = []
    for field in spec.fields:
        if field.name in known:
            column = known[field.name]
            kind = column.get("datatype", column.get("type"))
            base = kind.get("base") if isinstance(kind, dict) else kind
            attrs = {**_attributes(column), **field.attrs}
            field = replace(field, kind="text" if base in _TEXTS else field.kind, attrs=attrs)
        fields.append(field)
    return replace(spec, fields=tuple(fields))


def _attributes(column: dict[str, Any]) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    nulls = column.get("null", column.get("missingValues"))
    for null in nulls if isinstance(nulls, list) else [nulls]:
        for value in missing(null).get("missing_value", ()) if isinstance(null, str) else ():
            attrs.setdefault("missing_value", []).append(value)
    for key, names in (("units", ("unit", "units")), ("description", ("dc:description", "description"))):
        found = next((column[name] for name in names if isinstance(column.get(name), str)), None)
        if found:
            attrs[key] = found
    return attrs


def _columns(place: str) -> Iterator[dict[str, Any]]:
    """Yield the descriptions of a file's columns."""
    folder, name = os.path.split(place)
    for beside in (f"{name}-metadata.json", "csv-metadata.json", "datapackage.json"):
        path = os.path.join(folder, beside)
        try:
            if os.path.getsize(path) > _MOST:
                continue
            with open(path, encoding="utf-8-sig") as file:
                document = json.load(file)
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(document, dict):
            continue
        tables = document.get("tables") or document.get("resources") or [document]
        for table in tables if isinstance(tables, list) else ():
            if (
                not isinstance(table, dict)
                or os.path.basename(str(table.get("url", table.get("path", name)))) != name
            ):
                continue
            schema = table.get("tableSchema") or table.get("schema")
            columns = (schema.get("columns") or schema.get("fields")) if isinstance(schema, dict) else None
            yield from (c for c in columns or () if isinstance(c, dict))
