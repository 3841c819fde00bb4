"""Rows of one length without a label, cut where all of them have spaces."""

from __future__ import annotations

import re
from collections import Counter

from icecore.sources.mapping.table_file import Field, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.header import is_header, stands_out
from icecore.sources.tables.preamble import COMMENTS, unique

_WORD = re.compile(rb"[^ \t]+")
_SHOWN = 60
Span = tuple[int, int]


def by_spaces(
    body: list[bytes], lines: list[bytes], whole: list[bytes], header: bool | None
) -> TableSpec | None:
    """The layout of ``lines``, ``whole`` without line ends; those in ``body`` are neither blank nor comments.

    Lines above of another length, which would shift rows against their cells, are no part of the table. The
    last of them, or the first of the rows, names the columns where each word in it stands above one of them
    and it looks like names, or where ``header`` says so.
    """
    length, count = Counter(map(len, body)).most_common(1)[0]
    rows = [line for line in body if len(line) == length]
    if count * 2 <= len(body) or len(rows) < 2 or length > 1 << 16:
        return None
    above = [line for line in whole[: whole.index(rows[0])] if line.strip()]
    cells = _cells(rows)
    names: list[str] | None = None
    notes: tuple[str, ...] = ()
    if header is not False and above:
        names = _names(above[-1].lstrip(b"#!%").rjust(len(above[-1])), rows, cells, header)
    if header is not False and names is None and len(rows) > 2:
        below = _cells(rows[1:])
        names = _names(rows[0], rows[1:], below, header, sure=True)
        cells, rows = (below, rows[1:]) if names else (cells, rows)
    strays = [line for line in above if not line.startswith(COMMENTS)]
    if names is None and strays:
        shown = decoded(strays[0])[:_SHOWN]
        notes = (f"lines above the first row are kept as text, no rows: {shown!r}",)
    if len(cells) < 2:
        return None
    # A cell begins behind the cell before it, so that its padding belongs to it.
    starts = [0, *(end for _, end in cells[:-1])]
    titles = names or [f"column_{i + 1}" for i in range(len(cells))]
    fields = tuple(
        Field(title, start, end - start) for title, start, (_, end) in zip(titles, starts, cells, strict=True)
    )
    offset = sum(len(line) + 1 for line in lines[: whole.index(rows[0])])
    return TableSpec("", "", "fixed", fields, offset, row_bytes=0, notes=notes)


def _cells(rows: list[bytes]) -> list[Span]:
    """The stretches where some row has something else than spaces."""
    taken = bytes(any(row[i] not in b" \t" for row in rows) for i in range(len(rows[0])))
    return [match.span() for match in re.finditer(rb"\x01+", taken)]


def _names(
    line: bytes, rows: list[bytes], cells: list[Span], header: bool | None, sure: bool = False
) -> list[str] | None:
    """The words of a line, where each stands above the cells of one column; ``sure``: it may be a row."""
    words = list(_WORD.finditer(line))
    if len(words) != len(cells):
        return None
    before = [0, *(end for _, end in cells[:-1])]
    behind = [*(start for start, _ in cells[1:]), len(line) + 1]
    places = zip(words, before, behind, strict=True)
    if not all(word.start() < end and word.end() > start for word, start, end in places):
        return None
    titles = [word[0] for word in words]
    table = [[row[a:b] for a, b in cells] for row in rows]
    if not header and not (is_header(titles, table) and (not sure or stands_out(titles, table))):
        return None
    return unique([decoded(title.strip(b'"')) for title in titles])
