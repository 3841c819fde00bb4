"""Fixed-length rows without a label, split where all of them have spaces."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from icecore.display.text import plural
from icecore.sources.mapping.table_file import Field, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.header import is_header, stands_out
from icecore.sources.tables.preamble import COMMENTS, unique

_WORD = re.compile(rb"[^ \t]+")
_SHOWN = 60
Span = tuple[int, int]


def by_spaces(
    body: list[bytes], lines: list[bytes], whole: list[bytes], header: bool | None, padded: bool = False
) -> TableSpec | None:
    """Return the layout of ``lines``; ``whole`` are those without line ends, ``body`` the rows among them.

    Lines above with another length, which would shift the cells of rows, are not part of the table. The last
    of them, or the first row, names the columns if each of its words is above one column and it looks like
    names, or if ``header`` is true. ``padded``: rows may lack trailing spaces.
    """
    length, count = Counter(map(len, body)).most_common(1)[0]
    length = max(map(len, body)) if padded else length
    rows = [line.ljust(length) for line in body if padded or len(line) == length]
    if (count * 2 <= len(body) and not padded) or len(rows) < 2 or length > 1 << 16:
        return None
    first = whole.index(body[0]) if padded else whole.index(rows[0])
    above = [line for line in whole[:first] if line.strip()]
    names, cells, below = _named_columns(rows, above, header, padded)
    if below < len(rows):
        rows, first = rows[-below:], _next_row(whole, first)
    if len(cells) < 2:
        return None
    while not names and above and _is_shorter(above[-1], cells, length):
        first = max(i for i in range(first) if whole[i] == above[-1])
        above.pop()
    notes = () if names else _strays(above, whole)
    offset = sum(len(line) + 1 for line in lines[:first])
    inked = {at for start, end in _cells(rows) for at in range(start, end)}
    between = tuple(at for at in range(length) if at not in inked)
    return TableSpec(
        "",
        "",
        "fixed",
        _fields(names or numbered(len(cells)), cells),
        offset,
        notes=notes,
        cut="spaces",
        width=length,
        between=between,
        trimmed=padded and len(set(map(len, body))) > 1,
    )


def _named_columns(
    rows: list[bytes], above: list[bytes], header: bool | None, padded: bool
) -> tuple[list[str] | None, list[Span], int]:
    """Return the names of columns, the cells of rows, and how many of the last ``rows`` hold values."""
    cells = _cells(rows)
    if header is False:
        return None, cells, len(rows)
    names: list[str] | None = None
    if above:
        line = above[-1].lstrip(b"#!%").rjust(len(above[-1]))
        names, cells = _named(line, rows, cells, header, loose=padded)
    if names is None and len(rows) > 2:
        names, below = _named(rows[0], rows[1:], _cells(rows[1:]), header, True, padded)
        if names:
            return names, below, len(rows) - 1
    return names, cells, len(rows)


def _next_row(whole: list[bytes], first: int) -> int:
    """Return the line after ``first`` that is neither blank nor a comment."""
    return next(
        at for at in range(first + 1, len(whole)) if whole[at].strip() and not whole[at].startswith(COMMENTS)
    )


def _strays(above: list[bytes], whole: list[bytes]) -> tuple[str, ...]:
    """Return a note on the lines above the rows that are not comments, or nothing."""
    strays = [line for line in above if not line.startswith(COMMENTS)]
    if not strays:
        return ()
    shown, many = decoded(strays[0])[:_SHOWN], plural(len(strays), "line")
    at = whole.index(strays[0]) + 1
    return (f"{many} above the first row kept as text, no rows, from line {at} on: {shown!r}",)


def _fields(names: list[str], cells: list[Span]) -> tuple[Field, ...]:
    """Return the fields of cells; each begins after the previous cell, so that its padding belongs to it."""
    starts = [0, *(end for _, end in cells[:-1])]
    return tuple(
        Field(name, start, end - start, lead=first - start)
        for name, start, (first, end) in zip(names, starts, cells, strict=True)
    )


def _is_shorter(line: bytes, cells: list[Span], length: int) -> bool:
    """Whether a line above the first row of full length is a row without its trailing spaces."""
    inside = {at for start, end in cells for at in range(start, end)}
    taken = [at for at, byte in enumerate(line) if byte not in b" \t"]
    there = [line[start:end].strip() for start, end in cells]
    measured = sum(cell[:1].isdigit() or cell[1:2].isdigit() for cell in there)
    return len(line) <= length and inside.issuperset(taken) and measured * 2 > sum(map(bool, there)) > 1


def numbered(count: int) -> list[str]:
    """Return names for unnamed columns: ``column_1``, ``column_2``, …"""
    return [f"column_{i + 1}" for i in range(count)]


def runs(occupied: np.ndarray) -> list[Span]:
    """Return the spans of occupied character columns."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], occupied, [False])).astype("i1")))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _cells(rows: list[bytes]) -> list[Span]:
    """Return the spans in which some row has a character other than a space."""
    seen = np.frombuffer(b"".join(rows), "u1").reshape(len(rows), -1)
    return runs(((seen != ord(" ")) & (seen != ord("\t"))).any(axis=0))


def _named(
    line: bytes,
    rows: list[bytes],
    cells: list[Span],
    header: bool | None,
    sure: bool = False,
    loose: bool = False,
) -> tuple[list[str] | None, list[Span]]:
    """Return the names in a line and their columns; a column may be blank in all first rows."""
    names = _names(line, rows, cells, header, sure, loose)
    if names is None:
        wider = _cells([*rows, line[: len(rows[0])].ljust(len(rows[0]))])
        names = _names(line, rows, wider, header, sure, loose) if len(wider) > len(cells) else None
        return names, wider if names else cells
    return names, cells


def _names(
    line: bytes,
    rows: list[bytes],
    cells: list[Span],
    header: bool | None,
    sure: bool = False,
    loose: bool = False,
) -> list[str] | None:
    """Return the words of a line if each is above the cells of one column.

    ``sure``: the line may be a row. ``loose``: words need not be above their columns.
    """
    words = list(_WORD.finditer(line))
    if len(words) != len(cells):
        return None
    before = [0, *(end for _, end in cells[:-1])]
    behind = [*(start for start, _ in cells[1:]), len(line) + 1]
    places = zip(words, before, behind, strict=True)
    if not loose and not all(word.start() < end and word.end() > start for word, start, end in places):
        return None
    titles = [word[0] for word in words]
    table = [[row[a:b] for a, b in cells] for row in rows]
    if not header and not (is_header(titles, table) and (not sure or stands_out(titles, table))):
        return None
    return unique([decoded(title.strip(b'"')) for title in titles])


# Lines of UTF-8 with one byte for each character, so that positions in them count characters.

#: bytes that replace letters; none of them begins a character of UTF-8
_PLACES = (*range(0x80, 0xC0), *range(0xF8, 0x100))


class Letters:
    """Letters beyond ASCII of some lines, and the bytes that replace them; rare ones share the last."""

    def __init__(self, lines: list[bytes]) -> None:
        text = "".join(map(_text, lines))
        others = dict.fromkeys(letter for letter in text if not letter.isascii())
        self._bytes = {ord(letter): chr(_PLACES[min(i, len(_PLACES) - 1)]) for i, letter in enumerate(others)}
        self._letters = {ord(place): chr(letter) for letter, place in reversed(self._bytes.items())}

    @classmethod
    def of(cls, lines: list[bytes]) -> Letters | None:
        """Return the letters of lines; None if no character takes several bytes."""
        some = [line for line in lines if not line.isascii()]
        return cls(some) if any(len(_text(line)) < len(line) for line in some) else None

    def flat(self, line: bytes) -> bytes:
        """Return a line with one byte for each character."""
        return line if line.isascii() else _text(line).translate(self._bytes).encode("latin-1")

    def _restored(self, value: Any) -> Any:
        return value.translate(self._letters) if isinstance(value, str) else value

    def restored(self, spec: TableSpec, flat: list[bytes], lines: list[bytes]) -> TableSpec:
        """Return the layout of ``flat`` lines for the original ``lines``: its fields count characters."""
        above, offset = 0, 0
        for line, other in zip(lines, flat, strict=True):
            if above >= spec.offset:
                break
            above += len(other) + 1
            offset += len(line) + 1
        fields = tuple(
            replace(
                field,
                name=self._restored(field.name),
                attrs={key: self._restored(value) for key, value in field.attrs.items()},
            )
            for field in spec.fields
        )
        notes = tuple(map(self._restored, spec.notes))
        return replace(spec, fields=fields, notes=notes, offset=offset, in_characters=True)


def flat(line: bytes) -> bytes:
    """Return a line with one byte for each character; all letters beyond ASCII become the same byte."""
    return line if line.isascii() else _text(line).encode("ascii", "replace")


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
