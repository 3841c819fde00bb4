"""Inference of the print format of a table from its label, if any, and the first block of a file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.tables.text import binary_records
from icecore.tables.text.row_parsers import ending, reach

if TYPE_CHECKING:
    from icecore import _icecore


Format = dict[str, Any]


def infer(
    table: TableFile,
    text: bytes,
    trust: str | None,
    extra: dict[int, list[bytes]],
    words: Collection[int] = (),
    fractions: Collection[int] = (),
) -> tuple[Format, TableSpec]:
    """Infer the print format of a table, and correct its label if the data is trusted.

    Args:
        table: table file with its label, or with an inferred layout.
        text: first block, starting at the table's first row.
        trust: ``data`` if the record length of the data overrides the label's.
        extra: column → additional cells that the format must support.
        words: columns that are text, whatever their cells look like.
        fractions: columns that hold numbers with fractions, even if the cells here are integers.

    Returns:
        The format, and the corrected label. Columns without any value in the block are marked as ``blank``.

    Raises:
        Error: ``mismatch`` if the label contradicts the data.
    """
    assert table.spec is not None
    hidden = next((field.name for field in table.spec.fields if field.length < 1), None)
    if hidden is not None and table.spec.layout != "delimited":
        message = f"{table.spec.label}: field {hidden} has no bytes of its own"
        raise errors.make("mismatch", message, "correct the label")
    if table.spec.layout == "binary":
        return binary_records.infer(table.spec), table.spec
    if table.spec.layout == "fixed":
        if table.spec.closing and (end := ending(table.spec.closing).search(text)) is not None:
            text = text[: end.start()]
        if table.spec.trimmed:
            text = padded(table.spec, text)
        spec = fitted(table, text, trust)
        template, free, lines = fixed_rows(spec, text)
        samples = [[line[f.start : f.start + f.length] for line in lines] for f in spec.fields]
        cells = [[f.start, f.length] for f in spec.fields] + free
        layout: Any = {"fixed": {"template": template.decode("latin-1"), "cells": cells}}
        if spec.trimmed:
            layout["fixed"]["trimmed"] = True
        if spec.characters:
            layout["fixed"]["characters"] = [list(stretch) for stretch in spec.characters]
    else:
        spec = table.spec
        text = text[: reach(text, spec.rows)]
        rows = _delimited_rows(table, spec, text)
        # A quoted cell may continue on the next line if the lines together form a row.
        layout = {"delimited": {"separator": spec.separator, "quotes": True, "multiline": True}}
        samples = [[row[i] for row in rows] for i in range(len(spec.fields))]
    if not spec.label:
        alone = spec.layout == "fixed" or spec.separator != ","
        spec = replace(spec, comma=alone and has_commas(samples))
    columns = _columns(spec, samples, extra, words, fractions)
    if not spec.label:
        spec = replace(spec, notes=(*spec.notes, *notes(columns, samples)))
    return {"layout": layout, "columns": columns}, spec


def native(fmt: Format) -> _icecore.TextFormat | binary_records.BinaryFormat:
    """Return the parser and printer of a format."""
    from icecore import _icecore

    if "binary" in fmt["layout"]:
        return binary_records.BinaryFormat(fmt)
    columns = [{key: value for key, value in c.items() if key != "blank"} for c in fmt["columns"]]
    return _icecore.TextFormat(json.dumps({**fmt, "columns": columns}))


def has_lines(fmt: Format) -> bool:
    """Return whether the rows of a format end with line feeds."""
    fixed_width = fmt["layout"].get("fixed")
    return "delimited" in fmt["layout"] or bool(fixed_width and fixed_width["template"].endswith("\n"))


def _columns(
    spec: TableSpec,
    samples: list[list[bytes]],
    extra: dict[int, list[bytes]],
    words: Collection[int],
    fractions: Collection[int],
) -> list[dict[str, Any]]:
    from icecore import _icecore

    columns = []
    for i, cells in enumerate(samples):
        sample = [*cells, *extra.get(i, [])]
        column = styled(spec, i, sample, i in words, i in fractions)
        if not _icecore.valued(sample):
            column["blank"] = True
        columns.append(column)
    return columns


def styled(
    spec: TableSpec, column: int, cells: Sequence[bytes], words: bool = False, fractions: bool = False
) -> dict[str, Any]:
    """Return the column of a print format that reproduces the most of ``cells``.

    ``words`` makes the column text, whatever the cells look like. ``fractions`` states that other rows have
    numbers with fractions; integers with more digits than 64 bits hold are then numbers, not identifiers.
    """
    from icecore import _icecore

    field, fixed_width = spec.fields[column], spec.layout == "fixed"
    separator = "," if fixed_width else spec.separator
    kind = "text" if words else field.kind
    if spec.comma and kind == "any":
        kind = "text" if are_thousands(cells) else "comma"
    found = _icecore.infer_column(field.name, list(cells), kind, fixed_width, field.stated, ord(separator))
    result = {"scale": 0, "size": 0, **json.loads(found)}
    if "words" in result["style"] and field.lead and not result["frame"].get("lead"):
        bare = [cell[field.lead :] for cell in cells if not cell[: field.lead].strip(b" ")]
        spec = replace(spec, fields=(replace(field, lead=0, kind="words"),))
        inner = styled(spec, 0, bare, True) if bare else result
        return inner if inner is result else {**inner, "frame": {**inner["frame"], "lead": " " * field.lead}}
    if not fractions or words or not {"words", "unsigned"} & set(result["style"]):
        return result
    beside = styled(spec, column, [*cells, b"0.5"])
    return result if "words" in beside["style"] or not _icecore.valued(list(cells)) else beside


def _delimited_rows(table: TableFile, spec: TableSpec, text: bytes) -> list[list[bytes]]:
    """Return sample rows from the whole block, without those that have another number of cells.

    Raises:
        Error: ``mismatch`` if most rows have another number of cells than the label states.
    """
    from icecore import _icecore

    rows, others, at = [], Counter[int](), 0
    for run in range(RUNS):
        at = max(at, text.find(b"\n", len(text) * run // RUNS - 1) + 1) if run else 0
        for _ in range(ROWS):
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


# Cell styles that print formats don't support: decimal commas, thousands separators, day before month.


#: percentage of the cells with a value that must match a style
_MOST = 80
_SHOWN = 40
_PLAIN = re.compile(rb"[-+]?\d+")
_COMMA = re.compile(rb"[-+]?\d*,\d+([eE][-+]?\d+)?")
_POINT = re.compile(rb"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
_BY_COMMAS = re.compile(rb"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_BY_POINTS = re.compile(rb"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?")
#: separators: spaces, apostrophes, no-break spaces
_BY_BLANKS = re.compile(rb"[-+]?[1-9]\d{0,2}((?: |'|\xc2?\xa0|\xe2\x80[\xaf\x89\x99])\d{3})+([.,]\d*)?")
_CLOCK = rb"([ T]\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?)?"
_NAME = rb"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DAY = re.compile(
    rb"(\d{1,2}([-./]\d{1,2}[-./]|[- ]?" + _NAME + rb"[- ]?)\d{2,4}|\d{4}[-./]\d{1,2}[-./]\d{1,2})" + _CLOCK
)
#: dates with a two-digit year
_SHORT = re.compile(rb"\d{1,2}([-./]\d{1,2}[-./]|[- ]?" + _NAME + rb"[- ]?)\d\d\b")
#: supported dates; of the second form, those whose day above 12 distinguishes it from the month
_READ = re.compile(rb"\d{4}[-/]\d{1,2}[-/]\d{1,2}" + _CLOCK)
_DIGITS = re.compile(rb"\d+")
_EITHER = re.compile(rb"(\d{1,2})([-/])(\d{1,2})\2\d{4}" + _CLOCK)
_OFFSET = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?[-+]\d\d:?\d\d")
#: UTC offset at the end of a time pattern
_AHEAD = re.compile(r"[-+]\d\d:?(\d\d)?$")

Cells = Sequence[bytes]
Test = Callable[[bytes], object]


def _bare(cells: Cells) -> list[bytes]:
    """Return the cells that have a value, without surrounding whitespace and quotes."""
    from icecore import _icecore

    return [cell.strip(b' \t\r"') for cell in _icecore.valued(list(cells))]


def _most(cells: Cells, *tests: Test) -> bool:
    return sum(any(test(cell) for test in tests) for cell in cells) * 100 >= max(len(cells), 1) * _MOST


def has_commas(columns: Sequence[Cells]) -> bool:
    """Return whether numbers in these columns have decimal commas.

    They have if some column consists of such numbers that are not thousands-separated, and no column consists
    of numbers with decimal points.
    """
    found = False
    for cells in map(_bare, columns):
        if any(_COMMA.fullmatch(c) and not _BY_COMMAS.fullmatch(c) for c in cells):
            found |= _most(cells, _COMMA.fullmatch, _PLAIN.fullmatch, _BY_POINTS.fullmatch)
            continue
        pointed = any(_POINT.fullmatch(c) and not _BY_POINTS.fullmatch(c) for c in cells)
        if pointed and _most(cells, _POINT.fullmatch, _PLAIN.fullmatch, _BY_COMMAS.fullmatch):
            return False
    return found


def are_thousands(cells: Cells) -> bool:
    """Return whether points are thousands separators, in a file with decimal commas."""
    pointed = [cell for cell in _bare(cells) if b"." in cell]
    return bool(pointed) and _most(pointed, _BY_POINTS.fullmatch)


def notes(columns: Sequence[dict[str, Any]], samples: Sequence[Cells]) -> Iterator[str]:
    """Yield a note about decimal commas, and one for each text column that looks like numbers or times."""
    commas = [
        column["name"]
        for column, cells in zip(columns, samples, strict=True)
        if column.get("comma") and any(b"," in cell for cell in cells)
    ]
    if commas:
        yield f"commas are decimal marks of numbers, as it seems: {', '.join(commas[:6])}"
    for column in columns:
        zone = _AHEAD.search(column["style"].get("time", {}).get("pattern", ""))
        if zone is not None and zone[0].strip("+-0:"):
            yield f"column {column['name']} is in UTC, in the file its times are ahead of it by {zone[0]}"
    for column, cells in zip(columns, samples, strict=True):
        if "words" in column["style"] and (found := _look(_bare(cells))):
            what, cell, remedy = found
            shown = cell.decode("latin-1" if b"\xa0" in cell and b"\xc2" not in cell else "utf-8", "replace")
            yield f"column {column['name']} is text, with {what} as it seems: {shown[:_SHOWN]!r}; {remedy}"


def _undecided(cells: list[bytes]) -> bool:
    """Return whether dates have a numeric day and month that both never exceed 12."""
    found = [match for cell in cells if (match := _EITHER.fullmatch(cell))]
    return bool(found) and all(int(match[part]) <= 12 for match in found for part in (1, 3))


def _look(cells: list[bytes]) -> tuple[str, bytes, str] | None:
    """Return what most of the cells look like, an example, and a remedy; None if they look like text."""
    groups = (_BY_COMMAS.fullmatch, _BY_POINTS.fullmatch, _BY_BLANKS.fullmatch)
    numbers: tuple[Test, ...] = (_PLAIN.fullmatch, _COMMA.fullmatch, _POINT.fullmatch, *groups)
    if cells and _most(cells, *numbers):
        for cell in cells:
            if any(test(cell) for test in groups):
                return "thousands set apart", cell, "numbers without them are read"
        for cell in cells:
            if _COMMA.fullmatch(cell):
                return "decimal commas", cell, "numbers with points are read"
    if cells and _most(cells, _DAY.fullmatch):
        for cell in cells:
            if not _READ.fullmatch(cell):
                why = "day and month are ambiguous here; " if _undecided(cells) else ""
                if _SHORT.match(cell):
                    why = "years of two digits may be of any century; "
                return "dates", cell, f"{why}dates like 2009-12-31 are read"
        if len({_DIGITS.sub(b"0", cell) for cell in cells}) > 1:  # else a label calls them text
            return "dates in several forms", cells[0], "dates of one form are read"
    if cells and _most(cells, _OFFSET.fullmatch):
        return "times with an offset", cells[0], "times like 2009-12-31T23:59+02:00 are read"
    return None


# Rows of fixed width: checks the label's layout against the data, and finds the bytes common to all rows.


#: share of rows (one in so many) that may have other bytes between their cells and are kept as lines
_FEW = 50
#: number of bytes of padded rows to inspect
_PADDED = 1 << 24
#: number of runs of neighbouring sample rows, and rows per run
RUNS, ROWS = 8, 250


def fitted(table: TableFile, text: bytes, trust: str | None) -> TableSpec:
    """Return the label's layout if the data has rows of its length.

    Raises:
        Error: ``mismatch`` if the label and the data disagree.
    """
    spec = table.spec
    assert spec is not None
    if spec.surveyed:
        return spec
    text = _own(spec, text)
    ends = [i for i, byte in enumerate(text[: 1 << 17]) if byte == 10]
    lengths = [b - a for a, b in zip([-1, *ends], ends, strict=False)]
    usual = Counter(lengths).most_common(1)[0][0] if lengths else 0
    if not spec.row_bytes:
        spec = replace(spec, row_bytes=usual)
    spec = replace(spec, fields=_nested(spec.fields))
    needed = max(field.start + field.length for field in spec.fields)
    # A tie counts as agreement: of two rows one may be damaged.
    agree = lengths.count(spec.row_bytes) == lengths.count(usual)
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


def padded(spec: TableSpec, text: bytes) -> bytes:
    """Return the first rows of a trimmed table, padded with spaces to their full length."""
    from icecore import _icecore

    lines = text.split(b"\n", max(_PADDED // spec.row_bytes, 100))
    if len(lines) > 1:
        lines[-1] = b""
    return _icecore.pad_rows(spec.blank_row, b"\n".join(lines), spec.characters)


def _own(spec: TableSpec, text: bytes) -> bytes:
    """Return the bytes of a table's own rows as counted in its label; another table may follow."""
    return text if spec.rows is None or not spec.row_bytes else text[: spec.rows * spec.row_bytes]


def _nested(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields in order of their first bytes, with nested fields after the enclosing one.

    A field that partly overlaps the next one is shortened, because some labels include the separator.
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
    """Return whether most records of this length don't end with a line end, although the text has some."""
    ends = [text[i - 1 : i] for i in range(row, min(len(text), row * 1000) + 1, row)]
    return not ends or sum(end == b"\n" for end in ends) * 2 <= len(ends)


def fixed_rows(spec: TableSpec, text: bytes) -> tuple[bytes, list[list[int]], list[bytes]]:
    """Return a row with blank cells, the varying byte ranges (start, length) outside all fields, and sample
    rows that equal the blank row everywhere else.
    """
    size, text = spec.row_bytes, _own(spec, text)
    every = [text[i : i + size] for i in _starts(text, size)]
    if not every:
        return b" " * (size - 2) + b"\r\n", [], []
    between = np.frombuffer(b"".join(every), "u1").reshape(len(every), size).copy()
    fields = np.zeros(size, "?")
    for field in spec.fields:
        fields[field.start : field.start + field.length] = True
    between[:, fields] = ord(" ")
    blanks = [line.tobytes() for line in between]
    template, count = Counter(blanks).most_common(1)[0]
    # A row is valid if its line ends at the expected byte.
    end = size - len(template.rstrip(b"\r\n"))
    whole = [
        row for row in every if row[size - end :] == template[size - end :] and b"\n" not in row[: size - end]
    ]
    if len(every) - count <= max(len(every) // _FEW, 1) or len(whole) * 2 < len(every):
        return template, [], [row for row, blank in zip(every, blanks, strict=True) if blank == template]
    seen = np.frombuffer(b"".join(whole), "u1").reshape(len(whole), size)
    usual = np.where(fields, ord(" "), np.sort(seen, axis=0)[len(whole) // 2]).astype("u1")
    varied = ((seen != usual).sum(axis=0) > len(whole) // _FEW) & ~fields
    free = _stretches(fields | (np.arange(size) >= size - end), varied)
    same = (seen == usual) | fields
    for start, length in free:
        same[:, start : start + length] = True
    return usual.tobytes(), free, [row for row, fits in zip(whole, same.all(axis=1), strict=True) if fits]


def _starts(text: bytes, size: int) -> list[int]:
    """Return the offsets of sample rows.

    Lines of the right length are used if there are enough of them. Otherwise the offsets are multiples of the
    row length, which are wrong after a truncated row.
    """
    ends = np.flatnonzero(np.frombuffer(text, "u1") == ord("\n")) + 1
    lines = ends[np.diff(ends, prepend=0) == size] - size
    if len(lines) * 2 < len(text) // size:
        return spread(len(text) // size, size)
    return [int(lines[i]) for i in spread(len(lines), 1)]


def _stretches(taken: np.ndarray, varied: np.ndarray) -> list[list[int]]:
    """Return the ranges between fields in which a byte varies, as start and length."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], taken, [True]))))
    both = edges.reshape(-1, 2).tolist()
    return [[start, stop - start] for start, stop in both if varied[start:stop].any()]


def spread(count: int, step: int) -> list[int]:
    """Return the offsets of sample rows: runs of neighbouring rows, spread over the block."""
    if count <= RUNS * ROWS:
        return [i * step for i in range(count)]
    starts = [(count - ROWS) * run // (RUNS - 1) for run in range(RUNS)]
    return [(start + i) * step for start in starts for i in range(ROWS)]
