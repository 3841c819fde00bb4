"""Rows of fixed width: checks the label's layout against the data, and finds the bytes common to all rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec

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


def rows(spec: TableSpec, text: bytes) -> tuple[bytes, list[list[int]], list[bytes]]:
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
