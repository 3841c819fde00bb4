"""Survey of all lines of a file whose fixed-width fields were inferred from its first lines.

The columns of a table without a label are inferred from its first lines. Each block of text is checked
against that layout before it is parsed. If a line has another length, or bytes outside the columns, all lines
of the file are surveyed once. The new layout holds them: wider columns, more columns, or rows without
trailing spaces. Lines that would merge columns are kept as lines, and are reported.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np

from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.sources.tables.delimited import by_runs, counts_characters, with_blank_cells
from icecore.sources.tables.header import is_measured
from icecore.sources.tables.preamble import COMMENTS
from icecore.sources.tables.unlabelled_fixed import flat, numbered, runs
from icecore.tables.text.row_parsers import ending
from icecore.tables.text.text_stream import TextStream

#: share of lines (one in so many) that may have bytes between two columns and are then not rows
_FEW = 5
#: the longest row, in bytes
_LONGEST = 1 << 16
#: share of rows (one in so many) with another length that shows that trailing spaces are missing
_SHORT = 100
#: share of lines (one in so many) that may have another number of words if columns would merge otherwise
_MERGED = 20
#: number of bytes at the beginning of a file from which the columns are inferred
_START = 1 << 18


class Shape:
    """Lengths, words and occupied columns of lines that are neither blank nor comments.

    Columns are bytes, or characters, which take up to ``wide`` bytes more.
    """

    def __init__(self, characters: bool) -> None:
        self._characters = characters
        self.lengths: Counter[int] = Counter()
        self.words: Counter[int] = Counter()
        self.occupied, self.wide = np.zeros(0, "i8"), np.zeros(0, "i8")

    def add(self, text: np.ndarray, like: list[int]) -> None:
        """Add the lines of a block; with ``like``, only lines that have spaces in these columns."""
        from icecore import _icecore

        lengths, occupied, words, wide = _icecore.line_shape(text, like, self._characters)
        self.lengths.update(lengths)
        self.words.update(words)
        self.reach(len(occupied))
        self.occupied[: len(occupied)] += np.array(occupied, "i8")
        self.wide[: len(wide)] = np.maximum(self.wide[: len(wide)], np.frombuffer(bytes(wide), "u1"))

    def reach(self, columns: int) -> None:
        """Extend the counts to at least ``columns`` columns."""
        if columns > len(self.occupied):
            more = (0, columns - len(self.occupied))
            self.occupied, self.wide = np.pad(self.occupied, more), np.pad(self.wide, more)


def widened(file: TableFile, text: np.ndarray) -> TableSpec | None:
    """Return the layout that holds all lines of a file; None if the present one holds those of ``text``."""
    spec = file.spec
    assert spec is not None
    if not spec.cut or spec.surveyed:
        return None
    if spec.closing and (found := ending(spec.closing).search(text.tobytes())) is not None:
        text = text[: found.start()]
    if spec.label and not spec.in_characters and counts_characters(spec, text[:_START].tobytes()):
        spec = replace(spec, in_characters=True)
        file = replace(file, spec=spec)
    shape = Shape(spec.in_characters)
    shape.add(text, [])
    inside = [at for at in spec.between if at < len(shape.occupied)]
    if (
        not spec.in_characters
        and not spec.trimmed
        and not set(shape.lengths) - {spec.width}
        and not shape.occupied[inside].any()
    ):
        return None
    return _spaced(file, spec) if spec.cut == "spaces" else _stated(file, spec)


def respaced(file: TableFile, text: np.ndarray) -> TableSpec | None:
    """Return a fixed-width layout for a file whose cells seem to be separated by runs of spaces.

    It is needed if a line of ``text`` has fewer cells than columns, because some cells are blank. Return None
    if no line has fewer, if a label or field types are given, or if spaces are not the separator.
    """
    spec = file.spec
    assert spec is not None
    stated = spec.label or any(field.kind != "any" for field in spec.fields)
    if stated or spec.surveyed or spec.layout != "delimited" or spec.separator != " ":
        return None
    count = len(spec.fields)
    lines = (line.rstrip(b"\r") for line in text.tobytes().split(b"\n"))
    odd = next(
        (line for line in lines if 0 < len(line.split()) < count and not line.startswith(COMMENTS)), None
    )
    if odd is None:
        return None
    with file.open() as stream:
        start = stream.read(_START)
    return with_blank_cells(start, odd, [field.name for field in spec.fields])


def _survey(file: TableFile, like: list[int]) -> tuple[Shape, bool]:
    """Return the shape of all lines, and whether they end in CR LF."""
    assert file.spec is not None
    shape, head, crlf = Shape(file.spec.in_characters), file.spec.offset, None
    with closing(iter(TextStream(file.place, file.open, hashed=False))) as blocks:
        for block in blocks:
            text, head = block[head:], max(head - len(block), 0)
            if crlf is None and len(text):
                start = text[: 1 << 16].tobytes()
                crlf = start.count(b"\r\n") * 2 > start.count(b"\n")
            end = ending(file.spec.closing).search(text.tobytes()) if file.spec.closing else None
            shape.add(text if end is None else text[: end.start()], like)
            if end is not None:
                break
    return shape, bool(crlf)


def _spaced(file: TableFile, spec: TableSpec) -> TableSpec:
    """Return the layout of columns that are separated by spaces in all lines, or in all rows."""
    shape, crlf = _survey(file, [])
    ends = [field.start + field.length for field in spec.fields]
    shape.reach(ends[-1])
    count, like = sum(shape.lengths.values()), []
    for end, following in pairwise(ends):
        least = end + int(np.argmin(shape.occupied[end:following]))
        if 0 < shape.occupied[least] <= max(count // _FEW, 1):
            like.append(least)
    whole = shape
    if like:
        shape, _ = _survey(file, like)
        shape.reach(ends[-1])
    found = runs(shape.occupied > 0)
    named = [field for field in spec.fields if field.name not in numbered(len(spec.fields))]
    fields = _columns(spec.fields, found, bool(named))
    merged, odd = len(fields) < len(spec.fields), count - sum(shape.lengths.values())
    if (merged or odd) and (
        apart := _in_runs(file, spec, whole, bool(named), count // _MERGED if merged else odd)
    ):
        return apart
    if len(fields) < len(spec.fields):
        joined = f"no spaces between columns: {len(spec.fields)} of the first lines are {len(fields)} columns"
        spec = replace(spec, notes=(*spec.notes, joined))
    for i, field in enumerate(fields):
        inside = [at for at in like if field.start <= at < field.start + field.length]
        if inside:
            start = max(inside) + 1
            end, lead = field.start + field.length, max(field.start + field.lead - start, 0)
            fields[i] = replace(field, start=start, length=end - start, lead=lead)
    spec = replace(spec, fields=tuple(fields))
    return _of_lengths(replace(spec, trimmed=spec.trimmed or _has_short(file, spec, shape)), shape, crlf)


def _in_runs(file: TableFile, spec: TableSpec, shape: Shape, named: bool, most: int) -> TableSpec | None:
    """Return the layout of cells between runs of spaces, if at most so many lines differ in their words.

    Columns that seemed to have fixed positions in the first lines are then wider or shifted further below.
    """
    words, count = shape.words.most_common(1)[0] if shape.words else (0, 0)
    if words < max(len(spec.fields), 2) or shape.words.total() - count > most:
        return None
    with file.open() as stream:
        found = by_runs(stream.read(_START), named)
    if found is None or len(found.fields) != words:
        return None
    if named and [f.name for f in found.fields] != [f.name for f in spec.fields]:
        return None
    return found


def _has_short(file: TableFile, spec: TableSpec, shape: Shape) -> bool:
    """Return whether some of the shorter lines are rows without trailing spaces."""
    usual = shape.lengths.most_common(1)[0][0] if shape.lengths else 0
    if all(length >= usual for length in shape.lengths):
        return False
    looked, head = 0, spec.offset
    with closing(iter(TextStream(file.place, file.open, hashed=False))) as blocks:
        for block in blocks:
            text, head = block[head:].tobytes(), max(head - len(block), 0)
            lines = (line.rstrip(b"\r") for line in text.split(b"\n"))
            own = list(map(flat, lines) if spec.in_characters else lines)
            short = [line for line in own if 0 < len(line) < usual]
            if any(_is_row(line, spec) for line in short[: _SHORT - looked]):
                return True
            looked += len(short)
            if looked >= _SHORT:
                break
    return False


def _is_row(line: bytes, spec: TableSpec) -> bool:
    """Return whether a line has values in at least two fields, half of them numbers, and is not a comment."""
    cells = [line[field.start : field.start + field.length].strip() for field in spec.fields]
    valued = [cell for cell in cells if cell]
    numbers = sum(is_measured([cell]) for cell in valued)
    return not line.startswith(COMMENTS) and len(valued) > 1 and numbers * 2 >= len(valued)


def _columns(known: tuple[Field, ...], found: list[tuple[int, int]], named: bool) -> list[Field]:
    """Return a field for each run of occupied byte columns; if ``named``, for each name the runs at its
    place.
    """
    ends = [field.start + field.length for field in known]
    groups: list[tuple[str, int, int]] = []
    for start, end in found:
        over = [i for i, stop in enumerate(ends) if start < stop and end > (ends[i - 1] if i else 0)]
        name = "_".join(known[i].name for i in over) if named and over else ""
        if named and groups and (not name or name == groups[-1][0]):
            groups[-1] = (groups[-1][0], groups[-1][1], end)
        else:
            groups.append((name, start, end))
    starts = [0, *(end for _, _, end in groups[:-1])]
    names = [name for name, _, _ in groups] if named else numbered(len(groups))
    attrs = {field.name: field for field in known}
    fields = []
    for name, start, (_, first, end) in zip(names, starts, groups, strict=True):
        base = attrs.get(name, Field(name)) if named else Field(name)
        fields.append(replace(base, start=start, length=end - start, lead=first - start))
    return fields


def _stated(file: TableFile, spec: TableSpec) -> TableSpec:
    """Return the layout of columns that the lines above the rows state. The last column of a ruled table is
    as wide as its longest cell.
    """
    shape, crlf = _survey(file, [])
    count, like = sum(shape.lengths.values()), []
    for field in spec.fields[1:]:
        places = [at for at in (field.start - 1, field.start) if at < len(shape.occupied)]
        least = min(places, key=lambda at: int(shape.occupied[at]), default=None)
        if least is not None and 0 < shape.occupied[least] <= max(count // _FEW, 1):
            like.append(least)
    if like:
        shape, _ = _survey(file, like)
    fields = list(spec.fields)
    for i, field in enumerate(fields):
        if field.start in like:
            fields[i] = replace(field, start=field.start + 1, length=field.length - 1)
        elif field.start + field.length - 1 in like and i + 1 < len(fields):
            fields[i] = replace(field, length=field.length - 1)
    return _of_lengths(replace(spec, fields=tuple(fields)), shape, crlf)


def _of_lengths(spec: TableSpec, shape: Shape, crlf: bool) -> TableSpec:
    """Return the layout with its row length; the longest one if many lines differ."""
    lengths = Counter({size: n for size, n in shape.lengths.items() if size <= _LONGEST})
    usual, most = lengths.most_common(1)[0] if lengths else (spec.width, 0)
    others = lengths.total() - most
    end = max(field.start + field.length for field in spec.fields)
    trimmed = (
        usual < end
        or others >= max(2, lengths.total() // _SHORT)
        or ((spec.cut == "stated" or spec.trimmed) and others)
    )
    width = max(*lengths, end) if trimmed else usual
    if spec.cut == "stated" and spec.last_open:
        last = spec.fields[-1]
        spec = replace(spec, fields=(*spec.fields[:-1], replace(last, length=width - last.start)))
    spec = replace(
        spec, surveyed=True, trimmed=bool(trimmed), crlf=crlf, row_bytes=width + 1 + crlf, rows=None
    )
    return _with_room(spec, shape, max(width, end)) if spec.in_characters else spec


def _with_room(spec: TableSpec, shape: Shape, width: int) -> TableSpec:
    """Return the layout with fields that count bytes, of rows with room for the bytes of all characters."""
    shape.reach(width)
    cuts = sorted({0, width, *(at for f in spec.fields for at in (f.start, f.start + f.length))})
    stretches = [(b - a, b - a + int(shape.wide[a:b].sum())) for a, b in pairwise(cuts)]
    starts = dict(zip(cuts, np.cumsum([0, *(room for _, room in stretches)]).tolist(), strict=True))
    fields = tuple(
        replace(f, start=starts[f.start], length=starts[f.start + f.length] - starts[f.start])
        for f in spec.fields
    )
    row = sum(room for _, room in stretches) + 1 + spec.crlf
    return replace(
        spec, fields=fields, row_bytes=row, trimmed=True, in_characters=False, characters=tuple(stretches)
    )
