"""From a label (or none) and the first block of a file to the print format of its table."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.tablefile import Field, TableFile, TableSpec
from icecore.tables import binary
from icecore.tables.codecs import dtype
from icecore.tables.counted import reach

if TYPE_CHECKING:
    from icecore import _icecore

#: rows that the styles of the columns are taken from, and where in the block they lie
_RUNS, _ROWS = 8, 250
Format = dict[str, Any]


def infer(
    table: TableFile, text: bytes, trust: str | None, extra: dict[int, list[bytes]]
) -> tuple[Format, TableSpec]:
    """The print format of a table, and its label put right where the data are trusted.

    Args:
        table: with its label, or what was seen of its layout.
        text: the first block, from the table's first row on.
        trust: ``data`` where the data's record length counts, not the label's.
        extra: column → cells that must be taken into account.

    Raises:
        Error: ``mismatch`` where the label contradicts the data.
    """
    assert table.spec is not None
    if table.spec.layout == "binary":
        spec = replace(table.spec, fields=_apart(table.spec.fields))
        return binary.infer(spec), spec
    if table.spec.layout == "fixed":
        spec = _fitted(table, text, trust)
        template, lines = _fixed_rows(spec, text)
        samples = [[line[f.start : f.start + f.length] for line in lines] for f in spec.fields]
        layout: Any = {
            "fixed": {
                "template": template.decode("latin-1"),
                "cells": [[f.start, f.length] for f in spec.fields],
            }
        }
        columns = _columns(spec, samples, extra, True, ",")
    else:
        spec = table.spec
        text = text[: reach(text, spec.rows)]
        multiline = _multiline(text, spec.separator)
        rows = _delimited_rows(table, spec, text, multiline)
        layout = {"delimited": {"separator": spec.separator, "quotes": True, "multiline": multiline}}
        samples = [[row[i] for row in rows] for i in range(len(spec.fields))]
        columns = _columns(spec, samples, extra, False, spec.separator)
    return {"layout": layout, "columns": columns}, spec


def native(fmt: Format) -> _icecore.TextFormat | binary.BinaryFormat:
    """What parses and prints a format."""
    from icecore import _icecore

    return binary.BinaryFormat(fmt) if "binary" in fmt["layout"] else _icecore.TextFormat(json.dumps(fmt))


def _columns(
    spec: TableSpec, samples: list[list[bytes]], extra: dict[int, list[bytes]], fixed: bool, separator: str
) -> list[dict[str, Any]]:
    from icecore import _icecore

    columns = []
    for i, (field, cells) in enumerate(zip(spec.fields, samples, strict=True)):
        sample = [*cells, *extra.get(i, [])]
        text = _icecore.infer_column(field.name, sample, field.kind, fixed, field.stated, ord(separator))
        column = json.loads(text)
        column.setdefault("scale", 0)
        column.setdefault("size", 0)
        columns.append(column)
    return columns


def _fitted(table: TableFile, text: bytes, trust: str | None) -> TableSpec:
    """The label's layout, if the data have rows of its length.

    Raises:
        Error: ``mismatch``.
    """
    spec = table.spec
    assert spec is not None
    ends = [i for i, byte in enumerate(text[: 1 << 17]) if byte == 10]
    lengths = [b - a for a, b in zip([-1, *ends], ends, strict=False)]
    usual = Counter(lengths).most_common(1)[0][0] if lengths else 0
    if not spec.row_bytes:
        spec = replace(spec, row_bytes=usual)
    spec = replace(spec, fields=_apart(spec.fields))
    needed = max(field.start + field.length for field in spec.fields)
    agree = sum(length == spec.row_bytes for length in lengths) * 2 > len(lengths)
    if lengths and not agree and _ends_elsewhere(text, spec.row_bytes):
        if trust != "data":
            raise errors.make(
                "mismatch",
                f"{spec.label or table.place} says that records of {table.name} are {spec.row_bytes} bytes "
                f"long, in the file they are {usual} bytes long",
                "correct the label, or take the file's: --trust data",
            )
        spec = replace(spec, row_bytes=usual, rows=None)
    if needed > spec.row_bytes:
        raise errors.make(
            "mismatch",
            f"{spec.label or table.place}: fields reach up to byte {needed} of records of {spec.row_bytes} "
            f"bytes in {table.name}",
            "correct the label",
        )
    return spec


def _apart(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields without what the next one takes as well: labels do overlap, bytes are printed once."""
    following = [*(field.start for field in fields[1:]), 1 << 40]
    return tuple(
        replace(field, length=max(min(field.length, start - field.start), 0))
        for field, start in zip(fields, following, strict=True)
    )


def _ends_elsewhere(text: bytes, row: int) -> bool:
    """Whether most records of this length don't end with a line end, though the text has some."""
    ends = [text[i - 1 : i] for i in range(row, min(len(text), row * 1000) + 1, row)]
    return not ends or sum(end == b"\n" for end in ends) * 2 <= len(ends)


def _fixed_rows(spec: TableSpec, text: bytes) -> tuple[bytes, list[bytes]]:
    """A row with blank cells, and rows from all over the block that have the same bytes between cells."""
    size = spec.row_bytes
    rows = [text[i : i + size] for i in _spread(len(text) // size, size)]
    if not rows:
        return b" " * (size - 2) + b"\r\n", []
    between = np.frombuffer(b"".join(rows), "u1").reshape(len(rows), size).copy()
    for field in spec.fields:
        between[:, field.start : field.start + field.length] = ord(" ")
    blanks = [line.tobytes() for line in between]
    template = Counter(blanks).most_common(1)[0][0]
    return template, [row for row, blank in zip(rows, blanks, strict=True) if blank == template]


def _spread(count: int, step: int) -> list[int]:
    """Offsets of rows: runs of neighbours, spread over all."""
    if count <= _RUNS * _ROWS:
        return [i * step for i in range(count)]
    starts = [(count - _ROWS) * run // (_RUNS - 1) for run in range(_RUNS)]
    return [(start + i) * step for start in starts for i in range(_ROWS)]


def _delimited_rows(table: TableFile, spec: TableSpec, text: bytes, multiline: bool) -> list[list[bytes]]:
    """Rows from all over the block, those with another number of cells left out.

    Raises:
        Error: ``mismatch`` where most have another number than the label says.
    """
    from icecore import _icecore

    rows, others = [], Counter[int]()
    for run in range(_RUNS):
        at = text.find(b"\n", len(text) * run // _RUNS - 1) + 1 if run else 0
        for _ in range(_ROWS):
            if at >= len(text):
                break
            cells, end = _icecore.split_row(text, at, ord(spec.separator), True, multiline)
            if end is None and run:
                break
            others[len(cells)] += 1
            if len(cells) == len(spec.fields):
                rows.append(cells)
            if end is None:
                break
            at = end
    usual = others.most_common(1)[0][0] if others else 0
    if spec.label and usual != len(spec.fields):
        raise errors.make(
            "mismatch",
            f"{spec.label} says that records of {table.name} have {len(spec.fields)} fields, "
            f"in the file they have {usual}",
            "correct the label",
        )
    return rows


def _multiline(text: bytes, separator: str) -> bool:
    """Whether quotes span line ends: somewhere a quote opens at a cell's beginning and isn't closed."""
    from icecore import _icecore

    at = 0
    for _ in range(_RUNS * _ROWS):
        line = text.find(b"\n", at)
        if line < 0:
            return False
        if text.count(b'"', at, line) % 2:
            _, end = _icecore.split_row(text, at, ord(separator), True, True)
            return end is not None and end > line + 1
        at = line + 1
    return False


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | None:
    """``new`` so that its values fit an array made for ``old`` as well; None where only text holds both."""
    a, b = _family(old), _family(new)
    result = dict(new)
    if a == b == "words" or a == b == "int":
        result["size"] = max(old["size"], new["size"])
    elif {a, b} <= {"int", "decimal"}:
        result["scale"], result["size"] = max(old["scale"], new["scale"]), 0
    elif {a, b} == {"decimal", "real"}:
        return dict(old if a == "real" else new)
    elif a != b:
        return None
    return result


def same_array(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether both columns have one data type and scale."""
    return _family(old) == _family(new) and (old["scale"], old["size"]) == (new["scale"], new["size"])


def _family(column: dict[str, Any]) -> str:
    style = next(iter(column["style"]))
    if style == "number":
        return "decimal" if column["scale"] else "int"
    if style in ("time", "binary"):
        return str(dtype(column))
    return style
