"""Parse the lines above the first row of a table without a label: comments, names, units."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from icecore.display.text import plural
from icecore.sources.mapping.table_file import Kind
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.header import (
    has_values,
    is_below_names,
    is_header,
    is_measured,
    is_of_words,
    is_row,
    is_string,
    is_type,
    names_rows,
    stands_out,
)

#: first characters of comments
COMMENTS = (b"#", b"!", b"%")
#: hint for files in which all rows look like comments
COMMENTED = "lines that begin with #, ! or % are comments: take that sign away if they are rows"
#: Excel's line that declares the separator
SEP = re.compile(rb"\"?sep=.\"?", re.IGNORECASE)
#: line that Campbell data loggers write above the names
_LOGGER = re.compile(rb'"?TOA5"?,.*')
#: comment with the types of the columns, as InfluxDB writes it
_DATATYPES = b"#datatype"
#: most lines of units and types below the names
_BELOW = 3
_SHOWN = 60

Row = list[bytes]


@dataclass(frozen=True)
class Head:
    """The lines above the first row.

    Attributes:
        names: names of the columns.
        units: units of the columns; empty strings if unknown.
        above: number of lines before the first row.
        named: whether the file states the names.
        notes: sentences about doubtful properties.
        kinds: kinds of the columns, as far as the file states them.
        doubt: why the names may belong to other columns; empty if they don't.
    """

    names: list[str]
    units: tuple[str, ...]
    above: int = 0
    named: bool = False
    notes: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    doubt: str = ""


def cells_of(line: bytes, separator: bytes) -> Row:
    """Return the cells of a line."""
    from icecore import _icecore

    return _icecore.split_row(line, 0, separator[0])[0]


def headed(
    lines: list[bytes], separator: bytes, count: int, header: bool | None, units: bool | None = None
) -> Head:
    """Parse the lines above the first row of ``count`` cells.

    They are comments, blank lines and lines with another number of cells. The last comment with as many
    cells as a row names the columns, or the first line with as many cells that is not a row. A line of names
    may have one cell less, as R writes it: then the first column has no name, or the last one if rows end in
    a separator. Lines of units or types may follow; ``units`` states whether there is one.
    """
    head = Head([f"column_{i + 1}" for i in range(count)], units=("",) * count)
    strays: list[int] = []
    table = [[] if line.startswith(COMMENTS) else cells_of(line, separator) for line in lines]
    for i, line in enumerate(lines):
        comment = line.startswith(COMMENTS)
        cells = cells_of(line.lstrip(b"#!%"), separator) if comment else table[i]
        if not line.strip() or SEP.fullmatch(line) or _LOGGER.fullmatch(line):
            continue
        if len(cells) != count and (comment or len(cells) != count - 1):
            strays += [] if comment else [i]
            continue
        rows = [row for row in table[i + 1 :] if len(row) == count]
        if comment and line.startswith(_DATATYPES):
            head = replace(head, kinds=_kinds(cells))
            continue
        if comment:
            head = _commented(head, line, cells, rows)
            strays = [k for k in strays if has_values(table[k])] if head.named else strays
        elif len(cells) == count:
            found = header or (header is None and is_header(cells, rows))
            head = _named(head, line, cells, rows, bool(header)) if found else head
            head = replace(head, above=i + 1 if found else i)
            if not found:
                return _lacking(head, lines, strays)
            head = _lacking(head, lines, [k for k in strays if has_values(table[k])])
            head = _below(head, lines[i + 1], table[i + 1 :], rows, units) if rows else head
            return _until(head, lines, separator, rows)
        elif header is not False and (short := _short(cells, table[i + 1 :], rows)):
            head = replace(_named(head, line, short, rows, True), above=i + 1)
            if header is None and separator == b" " and _in_two(rows):
                head = replace(head, doubt=_doubt(len(cells), count, line, rows[0]))
            if short[0] == b"" and not names_rows([row[0] for row in rows]):
                head = _noted(head, "the first line names all columns but the first, as it seems", line)
            head = _lacking(head, lines, [k for k in strays if has_values(table[k])])
            return _until(_below(head, lines[i + 1], table[i + 1 :], rows, units), lines, separator, rows)
        else:
            strays.append(i)
    return head


def _noted(head: Head, what: str, line: bytes, hint: str = "") -> Head:
    return replace(head, notes=(*head.notes, f"{what}: {decoded(line)[:_SHOWN]!r}{hint}"))


def _named(head: Head, line: bytes, cells: Row, rows: list[Row], sure: bool) -> Head:
    names = unique([decoded(_unquoted(cell)).strip() for cell in cells])
    head = replace(head, names=names, named=True, notes=())
    if sure or stands_out(cells, rows):
        return head
    return _noted(head, "the first line names the columns, as it seems", line, "; a row? --no-header")


def _unquoted(cell: bytes) -> bytes:
    """Return a cell without its quotes, with doubled quotes reduced to one."""
    bare = cell.strip()
    if len(bare) > 1 and bare[:1] == bare[-1:] == b'"':
        return bare[1:-1].replace(b'""', b'"')
    return bare.strip(b' "')


def _commented(head: Head, line: bytes, cells: Row, rows: list[Row]) -> Head:
    """Take the names from a comment unless it looks like a row; prose may have as many commas."""
    if not is_header(cells, rows):
        return head
    head = _named(head, line, cells, rows, True)
    if any(b" " in cell.strip(b' "') for cell in cells):
        head = _noted(head, "a comment names the columns, as it seems", line)
    return head


def _short(cells: Row, below: list[Row], rows: list[Row]) -> Row | None:
    """Return the names from a line with one cell less than the rows, directly above the first row.

    Some names must be above numbers or times. The missing name is blank.
    """
    if not rows or next((row for row in below if any(row)), None) != rows[0]:
        return None
    last, first = [row[-1] for row in rows], [row[0] for row in rows]
    ended = not any(cell.strip(b' "\r') for cell in last)
    full = [*cells, b""] if ended else [b"", *cells]
    sure = ended or len(cells) > 1 or names_rows(first)
    return full if sure and stands_out(full, rows) and is_header(full, rows) else None


def _in_two(rows: list[Row]) -> bool:
    """Whether two adjacent columns are unquoted words: they may be one column of two words."""
    columns = list(zip(*rows, strict=True))
    words = [is_of_words(column) and not any(b'"' in cell for cell in column) for column in columns]
    return any(a and b for a, b in pairwise(words))


def _doubt(names: int, count: int, line: bytes, row: Row) -> str:
    above, below = decoded(line)[:_SHOWN], decoded(b" ".join(cell.strip() for cell in row))[:_SHOWN]
    return f"{names} names ({above!r}) stand above rows of {count} words and numbers ({below!r})"


def _lacking(head: Head, lines: list[bytes], strays: list[int]) -> Head:
    """Report lines above the first row that are neither comments nor names, because they may be rows."""
    if not strays:
        return head
    many = f"{plural(len(strays), 'line')} above the first row kept as text, no rows"
    return _noted(head, f"{many}, from line {strays[0] + 1} on", lines[strays[0]])


def _below(head: Head, line: bytes, below: list[Row], rows: list[Row], units: bool | None) -> Head:
    """Parse units and types on the lines directly below the names; ``line`` is the first of them."""
    more = 0
    while units is not False and more < min(_BELOW, len(rows)) and below[more] == rows[more]:
        if not (units and not more) and not is_below_names(rows[more], rows[more + 1 :]):
            break
        more += 1
    if not more:
        return head
    columns = list(zip(*rows[more:], strict=True))
    typed = next((row for row in rows[:more] if all(is_type(_unquoted(cell)) for cell in row)), None)
    named = next((row for row in rows[:more] if row is not typed), None)
    found = [
        decoded(_unquoted(cell)) if is_measured(column) else ""
        for cell, column in zip(named or (), columns, strict=False)
    ]
    if units is None:
        head = _noted(
            head, "no row but units or types of the columns, as it seems", line, "; a row? --no-units"
        )
    kinds = _kinds(typed) if typed is not None else head.kinds
    return replace(head, above=head.above + more, units=tuple(found) or head.units, kinds=kinds)


def _kinds(cells: Row) -> tuple[Kind, ...]:
    """Return the kinds of columns with these types: text stays text, even if it looks like numbers."""
    return tuple("text" if is_string(_unquoted(cell)) else "any" for cell in cells)


def _until(head: Head, lines: list[bytes], separator: bytes, rows: list[Row]) -> Head:
    """Skip blank lines and comments between the names and the first row."""
    for above in range(head.above, len(lines)):
        line = lines[above]
        if line.startswith(COMMENTS) and is_row(cells_of(line, separator), rows):
            return replace(_noted(head, "a row and no comment, as it seems", line), above=above)
        if line.strip() and not line.startswith(COMMENTS):
            return replace(head, above=above)
    begun = [i for i in range(head.above, len(lines)) if _begins_row(lines[i], separator, len(head.names))]
    if len(begun) * 2 > len(lines) - head.above and not all(lines[i][1:2].isdigit() for i in begun):
        line = lines[begun[0]]
        return replace(_noted(head, "rows and no comments, as it seems", line), above=begun[0])
    return replace(head, above=max(head.above, len(lines)))


def _begins_row(line: bytes, separator: bytes, count: int) -> bool:
    """Whether a line that begins like a comment may be a row: ``#ff0000,1``, but not ``# red, 1``."""
    beside = line.startswith(COMMENTS) and line[1:2].strip()
    return bool(beside) and len(cells_of(line, separator)) == count


def unique(names: list[str]) -> list[str]:
    """Return names that can be paths: without slashes, not empty, unique."""
    seen: Counter[str] = Counter()
    result = []
    for i, name in enumerate(names):
        clean = re.sub(r"[/\x00-\x1f]+", "_", name).strip() or f"column_{i + 1}"
        clean = (
            f"_{clean}" if clean.strip(".") == "" or clean.startswith("__") or clean == "zarr.json" else clean
        )
        seen[clean] += 1
        while seen[clean] > 1:
            clean = f"{clean}_{seen[clean]}"
            seen[clean] += 1
        result.append(clean)
    return result
