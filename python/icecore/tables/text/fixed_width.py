"""Rows of one length: the label's layout against the data, and the bytes that all rows have."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.tables.text.sample_rows import spread

#: of so many rows one may have other bytes between its cells than the others and still be a line for itself
_FEW = 50
#: bytes of padded rows that are looked at
_PADDED = 1 << 24


def fitted(table: TableFile, text: bytes, trust: str | None) -> TableSpec:
    """The label's layout, if the data have rows of its length.

    Raises:
        Error: ``mismatch``.
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
    # As often as any other length: of two rows one may be damaged.
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
    """The first rows of a trimmed table, with spaces up to their length."""
    from icecore import _icecore

    lines = text.split(b"\n", max(_PADDED // spec.row_bytes, 100))
    if len(lines) > 1:
        lines[-1] = b""
    return _icecore.pad_rows(spec.blank_row, b"\n".join(lines))


def _own(spec: TableSpec, text: bytes) -> bytes:
    """The bytes of a table's own rows, as far as its label says: another table may follow."""
    return text if spec.rows is None or not spec.row_bytes else text[: spec.rows * spec.row_bytes]


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


def rows(spec: TableSpec, text: bytes) -> tuple[bytes, list[list[int]], list[bytes]]:
    """A row with blank cells; stretches (start, length) of bytes that belong to no field and vary; and rows
    from all over the block that have the same bytes everywhere else.
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
    # Rows are those whose line ends where it should.
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
    """Where some rows begin: at lines of their length where there are as many as there can be rows that begin
    elsewhere, as behind a row that is cut short.
    """
    ends = np.flatnonzero(np.frombuffer(text, "u1") == ord("\n")) + 1
    lines = ends[np.diff(ends, prepend=0) == size] - size
    if len(lines) * 2 < len(text) // size:
        return spread(len(text) // size, size)
    return [int(lines[i]) for i in spread(len(lines), 1)]


def _stretches(taken: np.ndarray, varied: np.ndarray) -> list[list[int]]:
    """Each stretch between what is taken in which something varies, as its start and length."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], taken, [True]))))
    both = edges.reshape(-1, 2).tolist()
    return [[start, stop - start] for start, stop in both if varied[start:stop].any()]
