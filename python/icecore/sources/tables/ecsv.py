"""ECSV: the YAML header above the names describes the columns (Astropy's APE 6)."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import Any

from icecore.sources.mapping.table_file import Field, Kind, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.preamble import cells_of, unique

_FIRST = re.compile(rb"# %ECSV \d")
_DELIMITER = re.compile(r"delimiter: *(?:'(.)'|\"(.)\"|(\S))")
#: a key and its value inside braces, quoted or not
_PAIR = re.compile(r"""\b(\w+): *('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|![\w.]+ *\{[^}]*\}|[^,}]*)""")
_LINE = re.compile(r"(\w+):(.*)")
_UNIT = re.compile(r"![\w.]+ *\{ *unit:([^}]*)\}")
_INTEGERS, _REALS = ("int", "uint"), ("float",)


def ecsv(start: bytes) -> TableSpec | None:
    """Return the layout of an ECSV file; None for other files, or if its names differ."""
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    if not _FIRST.match(start, mark):
        return None
    head, offset = [], mark
    while start.startswith(b"#", offset) and (end := start.find(b"\n", offset)) >= 0:
        head.append(decoded(start[offset + 1 : end]).rstrip("\r"))
        offset = end + 1
    end = start.find(b"\n", offset) + 1
    if not end:
        return None
    yaml = [line[1:] if line.startswith(" ") else line for line in head]
    found = next((m for line in yaml if (m := _DELIMITER.fullmatch(line))), None)
    separator = next(filter(None, found.groups()), " ") if found else " "
    names = [
        _plain(decoded(cell)) for cell in cells_of(start[offset : end - 1].rstrip(b"\r"), separator.encode())
    ]
    described = _columns(yaml)
    if [column.get("name") for column in described] != names:
        return None
    fields = tuple(
        Field(name, kind=_kind(column), attrs=_attributes(column))
        for name, column in zip(unique(names), described, strict=True)
    )
    return TableSpec("", "", "delimited", fields, end, separator=separator)


def _columns(yaml: list[str]) -> list[dict[str, str]]:
    """Return the properties of each column from the list ``datatype``."""
    columns: list[dict[str, str]] = []
    inside = False
    for line in yaml:
        bare = line.strip()
        if not inside or (line[:1].isalpha() and not bare.startswith("- ")):
            inside = bare.startswith("datatype:") and line[:1] == "d"
            continue
        if bare == "-" or bare.startswith("- "):
            columns.append({})
            bare = bare[1:].strip()
        if columns and bare.startswith("{"):
            columns[-1].update({key: _plain(value) for key, value in _PAIR.findall(bare)})
        elif columns and (pair := _LINE.fullmatch(bare)) is not None:
            columns[-1].setdefault(pair[1], _plain(pair[2]))
        elif columns and bare and "description" in columns[-1]:
            columns[-1]["description"] += f" {bare.rstrip('}')}"
    return columns


def _plain(value: str) -> str:
    """Return a YAML scalar without its quotes."""
    value = value.strip()
    if (unit := _UNIT.fullmatch(value)) is not None:
        value = unit[1].strip()
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace('""', '"').replace('\\"', '"')
    return value


def _kind(column: dict[str, str]) -> Kind:
    kind = column.get("datatype", "")
    if kind.startswith((*_INTEGERS, *_REALS)) and "subtype" not in column:
        return "number"
    return "text" if kind == "string" and "subtype" not in column else "any"


def _attributes(column: dict[str, str]) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if column.get("unit"):
        attrs["units"] = column["unit"]
    if column.get("description"):
        attrs["description"] = column["description"]
    return attrs
