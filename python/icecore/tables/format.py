"""From a label (or none) and the first block of a file to the print format of its table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
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
#: of so many rows one may have other bytes between its cells than the others and still be a line for itself
_FEW = 50
Format = dict[str, Any]
Column = dict[str, Any]
#: bytes of the longest text that a column holds
_LONGEST = 1 << 20
#: what the array of a column of any doubles is said to hold
_REAL: Column = {
    "style": {"real": {"form": "shortest", "places": 0, "exponent": 2, "letter": "e"}},
    "scale": 0,
    "size": 0,
}


def infer(
    table: TableFile,
    text: bytes,
    trust: str | None,
    extra: dict[int, list[bytes]],
    words: Collection[int] = (),
) -> tuple[Format, TableSpec]:
    """The print format of a table, and its label put right where the data are trusted.

    Args:
        table: with its label, or what was seen of its layout.
        text: the first block, from the table's first row on.
        trust: ``data`` where the data's record length counts, not the label's.
        extra: column → cells that must be taken into account.
        words: columns that are text, whatever their cells look like.

    Returns:
        The format, of whose columns those without any value in the block are marked as ``blank``.

    Raises:
        Error: ``mismatch`` where the label contradicts the data.
    """
    assert table.spec is not None
    if table.spec.layout == "binary":
        return binary.infer(table.spec), table.spec
    if table.spec.layout == "fixed":
        spec = _fitted(table, text, trust)
        template, free, lines = _fixed_rows(spec, text)
        samples = [[line[f.start : f.start + f.length] for line in lines] for f in spec.fields]
        cells = [[f.start, f.length] for f in spec.fields] + free
        layout: Any = {"fixed": {"template": template.decode("latin-1"), "cells": cells}}
    else:
        spec = table.spec
        text = text[: reach(text, spec.rows)]
        rows = _delimited_rows(table, spec, text)
        # A quote that its line doesn't close goes on where that makes a row.
        layout = {"delimited": {"separator": spec.separator, "quotes": True, "multiline": True}}
        samples = [[row[i] for row in rows] for i in range(len(spec.fields))]
    columns = _columns(spec, samples, extra, words)
    return {"layout": layout, "columns": columns}, spec


def native(fmt: Format) -> _icecore.TextFormat | binary.BinaryFormat:
    """What parses and prints a format."""
    from icecore import _icecore

    if "binary" in fmt["layout"]:
        return binary.BinaryFormat(fmt)
    columns = [{key: value for key, value in c.items() if key != "blank"} for c in fmt["columns"]]
    return _icecore.TextFormat(json.dumps({**fmt, "columns": columns}))


def _columns(
    spec: TableSpec, samples: list[list[bytes]], extra: dict[int, list[bytes]], words: Collection[int]
) -> list[dict[str, Any]]:
    columns = []
    for i, cells in enumerate(samples):
        sample = [*cells, *extra.get(i, [])]
        column = styled(spec, i, sample, i in words)
        if not any(cell.strip(b' \t\r"') for cell in sample):
            column["blank"] = True
        columns.append(column)
    return columns


def styled(spec: TableSpec, column: int, cells: Sequence[bytes], words: bool = False) -> dict[str, Any]:
    """The column of a print format in which the most of ``cells`` can be printed again."""
    from icecore import _icecore

    field, fixed = spec.fields[column], spec.layout == "fixed"
    separator = "," if fixed else spec.separator
    kind = "text" if words else field.kind
    text = _icecore.infer_column(field.name, list(cells), kind, fixed, field.stated, ord(separator))
    return {"scale": 0, "size": 0, **json.loads(text)}


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
    spec = replace(spec, fields=_nested(spec.fields))
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


def _nested(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields by their first bytes, those that lie in another one behind it.

    One that ends in the middle of the next gives way there: labels count separators in.
    """
    result: list[Field] = []
    outer = -1
    for field in sorted(fields, key=lambda f: (f.start, -f.length)):
        end = result[outer].start + result[outer].length if result else 0
        if field.start >= end or field.start + field.length > end:
            if result and field.start < end:
                result[outer] = replace(result[outer], length=field.start - result[outer].start)
            outer = len(result)
        result.append(field)
    return tuple(result)


def _ends_elsewhere(text: bytes, row: int) -> bool:
    """Whether most records of this length don't end with a line end, though the text has some."""
    ends = [text[i - 1 : i] for i in range(row, min(len(text), row * 1000) + 1, row)]
    return not ends or sum(end == b"\n" for end in ends) * 2 <= len(ends)


def _fixed_rows(spec: TableSpec, text: bytes) -> tuple[bytes, list[list[int]], list[bytes]]:
    """A row with blank cells; stretches (start, length) of bytes that belong to no field and vary; and rows
    from all over the block that have the same bytes everywhere else.
    """
    size = spec.row_bytes
    rows = [text[i : i + size] for i in _spread(len(text) // size, size)]
    if not rows:
        return b" " * (size - 2) + b"\r\n", [], []
    between = np.frombuffer(b"".join(rows), "u1").reshape(len(rows), size).copy()
    fields = np.zeros(size, "?")
    for field in spec.fields:
        fields[field.start : field.start + field.length] = True
    between[:, fields] = ord(" ")
    blanks = [line.tobytes() for line in between]
    template, count = Counter(blanks).most_common(1)[0]
    # Rows are those whose line ends where it should.
    end = size - len(template.rstrip(b"\r\n"))
    whole = [
        row for row in rows if row[size - end :] == template[size - end :] and b"\n" not in row[: size - end]
    ]
    if len(rows) - count <= max(len(rows) // _FEW, 1) or len(whole) * 2 < len(rows):
        return template, [], [row for row, blank in zip(rows, blanks, strict=True) if blank == template]
    seen = np.frombuffer(b"".join(whole), "u1").reshape(len(whole), size)
    usual = np.where(fields, ord(" "), np.sort(seen, axis=0)[len(whole) // 2]).astype("u1")
    varied = ((seen != usual).sum(axis=0) > len(whole) // _FEW) & ~fields
    free = _stretches(fields | (np.arange(size) >= size - end), varied)
    same = (seen == usual) | fields
    for start, length in free:
        same[:, start : start + length] = True
    return usual.tobytes(), free, [row for row, fits in zip(whole, same.all(axis=1), strict=True) if fits]


def _stretches(taken: np.ndarray, varied: np.ndarray) -> list[list[int]]:
    """Each stretch between what is taken in which something varies, as its start and length."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], taken, [True]))))
    both = edges.reshape(-1, 2).tolist()
    return [[start, stop - start] for start, stop in both if varied[start:stop].any()]


def _spread(count: int, step: int) -> list[int]:
    """Offsets of rows: runs of neighbours, spread over all."""
    if count <= _RUNS * _ROWS:
        return [i * step for i in range(count)]
    starts = [(count - _ROWS) * run // (_RUNS - 1) for run in range(_RUNS)]
    return [(start + i) * step for start in starts for i in range(_ROWS)]


def _delimited_rows(table: TableFile, spec: TableSpec, text: bytes) -> list[list[bytes]]:
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
            cells, end = _icecore.split_row(text, at, ord(spec.separator), len(spec.fields))
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


def merge(old: Column, new: Column) -> Column | None:
    """What the array holds that takes the values of both; None where only text does.

    Args:
        old: what it holds so far.
        new: a column of a print format.
    """
    if old.get("blank") or new.get("blank"):
        return old if new.get("blank") else stored(new)
    a, b = _family(old), _family(new)
    result = stored(new)
    if a == b == "words" or a == b == "int":
        result["size"] = max(old["size"], new["size"])
    elif {a, b} <= {"int", "decimal"}:
        result["scale"], result["size"] = max(old["scale"], new["scale"]), 0
    elif {a, b} <= {"int", "decimal", "real"}:
        result |= _REAL
    elif a != b:
        return None
    return result


def stored(column: Column) -> Column:
    """What an array of a print format's column holds; one without any value is ``blank``, and takes any."""
    kept: Column = {k: v for k, v in column.items() if k in ("name", "style", "scale", "size", "blank")}
    return {**kept, **_REAL} if column.get("nearest") else kept


def fitted(array: Column, new: Column) -> Column:
    """The column ``new`` of a print format, with the values that the ``array`` holds."""
    if "binary" in new["style"]:
        return dict(array)
    held = {key: array[key] for key in ("scale", "size")}
    if new.get("blank"):  # its cells are kept as they are
        return {"name": new["name"], "frame": new["frame"], "style": array["style"], **held}
    if _family(array) != "real":
        return {**new, **held}
    if _family(new) == "real":
        return dict(new)
    return {**new, "scale": max(new["scale"], 1), "size": 0, "nearest": True}


def same_array(old: Column, new: Column) -> bool:
    """Whether both columns have one data type and scale."""
    if _family(old) != _family(new):
        return False
    return _family(old) == "real" or (old["scale"], old["size"]) == (new["scale"], new["size"])


def wider(array: Column, cell: Column) -> Column | None:
    """What the array must hold to take a cell that it can't, of which ``cell`` is the column.

    None where only text does, and ``array`` itself where nothing is gained.
    """
    merged = merge(array, cell)
    if merged is None or not same_array(array, merged):
        if merged is not None and _family(merged) == "words":
            merged["size"] = min(max(merged["size"], 2 * array["size"]), _LONGEST)
        return merged
    return {**array, **_REAL} if _family(array) == "decimal" else array


def _family(column: Column) -> str:
    style = next(iter(column["style"]))
    if style == "number":
        decimal = "real" if column.get("nearest") else "decimal"
        return decimal if column["scale"] else "int"
    if style in ("time", "binary"):
        return str(dtype(column))
    return style
