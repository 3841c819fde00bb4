"""Tables without a label: rows with one separator, or of one length; a header names the columns."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from dataclasses import replace

from icecore.sources.mapping.table_file import Field, TableSpec
from icecore.sources.tables import diviner_columns
from icecore.sources.tables.byte_by_byte import bytewise
from icecore.sources.tables.ecsv import ecsv
from icecore.sources.tables.header import has_values, is_header, is_measured, names_rows
from icecore.sources.tables.preamble import COMMENTS, cells_of, headed
from icecore.sources.tables.ruled_table import ruled
from icecore.sources.tables.unlabelled_fixed import by_spaces, numbered

_SEPARATORS = b",\t;|"
#: of binary formats: text in such a file means that it is damaged
_BINARY = (
    *(".npy", ".npz", ".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".cdf", ".zarr", ".mat"),
    *(".parquet", ".feather", ".arrow", ".fits", ".fit", ".tif", ".tiff", ".grb", ".grib", ".grb2", ".grib2"),
)
#: of files of one column, by their suffix
_ONE = {".csv": b",", ".tsv": b"\t"}
_TEXT = bytes(range(32, 127)) + b"\t\r\n\f" + bytes(range(128, 256))
#: of so many bytes (or fewer) one may be a control character: damaged text is text
_STRANGE = 100
_JSON = re.compile(rb"\s*(\{\s*(\"|\})|\[\s*(\{\s*\"|\[|\"))")
#: a time of day up to its seconds, and what a time with an offset ends with
_SECONDS, _OFFSET = rb"\d\d?:\d\d:\d\d", rb"( ?(Z|[-+]\d\d:?\d\d))?"
#: a number or a time with a decimal comma, on its own in a cell
_COMMA = re.compile(
    rb' *"?([-+]?\d*,\d+([eE][-+]?\d+)?|([-./\w]+[ T])?' + _SECONDS + rb",\d+" + _OFFSET + rb')"?\r? *'
)
#: the most lines of a row of names, and what is between two of them
_TALLEST, _BREAK = 100, re.compile(rb"\s*\n\s*")
#: what may have line ends of any kind in it
_QUOTED = re.compile(rb'"[^"]*"')
#: a date and a time of day, on their own in a row
_STAMP = re.compile(rb'"?\d{4}-\d\d-\d\d +\d\d?:\d\d(:\d\d([.,]\d+)?)?(Z|[-+]\d\d:?\d\d)?"?')
#: of 100 rows in runs of blanks so many must have the same number of cells
_ALIKE = 80
#: of 100 rows that quotes span, so many must have the same number of cells
_SPANNED = 95
#: so many rows say what the others are like
_SAMPLE = 1000


def is_text(start: bytes, name: str = "") -> bool:
    """Whether these bytes may begin a table of text: printable, with line ends and cells."""
    lines = start.replace(b"\r", b"\n") if ends_in_cr(start) else start
    return is_printable(start) and _layout(lines, name) is not None


def is_printable(start: bytes) -> bool:
    """Whether these bytes may begin a text, at whose end DOS has a control character."""
    start = start.rstrip(b"\n").removesuffix(b"\x1a")
    return bool(start) and len(start.translate(None, _TEXT)) <= max(len(start) // _STRANGE, 1)


def is_commented(start: bytes) -> bool:
    """Whether these bytes are text with comments only."""
    lines = start.removeprefix(BOM_UTF8).splitlines()
    return is_printable(start) and len(lines) > 1 and not _body(lines)


def is_json(start: bytes) -> bool:
    """Whether a text is JSON: an object, a list of objects, lists or texts, or one object a line."""
    return _JSON.match(start.removeprefix(BOM_UTF8)) is not None


def ends_in_cr(start: bytes) -> bool:
    """Whether most lines end in CR alone, as they did on a Macintosh; the last one may have another end."""
    if b"\r" not in start[:-1]:
        return False
    bare = _QUOTED.sub(b"", start)
    return bare[:-1].count(b"\r") - bare.count(b"\r\n") > bare.count(b"\n")


def sniff(start: bytes, name: str = "", header: bool | None = None) -> TableSpec | None:
    """The layout of a table by its first bytes (some hundred rows are enough), or None where they are no
    table.

    The separator is the one of ``, TAB ; |`` that most lines have equally often, but for a comma that is the
    decimal mark of numbers; text without one is cut where all rows have spaces, or at runs of blanks. Lines
    before the first row are a header; the last of them names the columns where it has as many cells
    (:mod:`icecore.sources.tables.header`), or where ``header`` says so. A byte order mark comes before all of
    them. Lines without cells are a table of one column where the file's ``name`` says that it is one, and
    nothing is a table where it says that the file is binary.
    """
    if (spec := ecsv(start)) is not None:
        return spec
    layout = _layout(start, name, header)
    if layout is None or isinstance(layout, TableSpec):
        return layout
    mark, separator = len(BOM_UTF8) * start.startswith(BOM_UTF8), layout
    lines = _rows(_sampled(start[mark:]))
    count = _usual(_body(_flat(lines)), separator)
    lines = _spanned(lines, separator, count)
    whole = _flat(lines)
    head = headed(whole, separator, count, header)
    units = [{"units": unit} if unit else {} for unit in head.units]
    fields = tuple(
        Field(name, attrs={**attrs, **diviner_columns.attributes(head.names, name)})
        for name, attrs in zip(head.names, units, strict=True)
    )
    offset = mark + sum(len(line) + 1 for line in lines[: head.above])
    spec = TableSpec("", "", "delimited", fields, offset, separator=separator.decode())
    return replace(spec, notes=head.notes, doubt=head.doubt)


def _layout(start: bytes, name: str, header: bool | None = None) -> TableSpec | bytes | None:
    """The separator of a table, or its layout where rows are cut by spaces."""
    if name.lower().endswith(_BINARY):
        return None
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = _rows(_sampled(start[mark:]))
    whole = _flat(lines)
    body = _body(whole)
    if (spec := bytewise(whole, lines) or ruled(whole, lines)) is not None:
        return replace(spec, offset=mark + spec.offset)
    if body and _is_one_with_commas(body):
        return b";"
    separator = _separator(body) if body else None
    if separator is not None or not body:
        return separator
    alone = _ONE.get(name[-4:].lower())
    if not (alone and _is_one_of_times(body)):
        spec = by_spaces(body, lines, whole, header)
        if _in_runs(body):
            whole_rows = _of_blank_cells(body, lines, whole, header)
            if whole_rows is not None:
                return replace(whole_rows, offset=mark + whole_rows.offset)
            if spec is None or len(set(map(len, body))) > 1 or _is_named(whole, body):
                return b" "
        if spec is not None:
            return replace(spec, offset=mark + spec.offset)
    return alone if len(body) > 1 else None


def _is_named(whole: list[bytes], body: list[bytes]) -> bool:
    """Whether a line names the columns between runs of blanks."""
    return headed(whole, b" ", _usual(body, b" "), None).named


def _of_blank_cells(
    body: list[bytes], lines: list[bytes], whole: list[bytes], header: bool | None
) -> TableSpec | None:
    """The layout of rows of fixed cells with some blank cells: runs of blanks would give such rows too few
    cells. None where all rows have as many cells, or their places aren't the same.
    """
    usual = _usual(body, b" ")
    named = not has_values(cells_of(body[0], b" "))
    if all(_count(line, b" ") == usual for line in body[named:]):
        return None
    begins = (
        i for i, line in enumerate(body) if _count(line, b" ") == usual or has_values(cells_of(line, b" "))
    )
    spec = by_spaces(body[next(begins, 0) :], lines, whole, header, padded=True)
    if spec is None or len(spec.fields) < usual:
        return None
    if spec.fields[0].name == numbered(1)[0] and _is_named(whole, body):
        return None  # one cell more in some row would take the names of all
    full = [line for line in body[named:] if _count(line, b" ") == usual]
    apart = sum(sum(map(bool, _cut(line, spec))) == usual for line in full)
    return spec if apart * 100 >= len(full) * _ALIKE else None


def _cut(line: bytes, spec: TableSpec) -> list[bytes]:
    """The cells of a line in a layout of fixed fields, without the spaces around them."""
    return [line[field.start : field.start + field.length].strip() for field in spec.fields]


def with_blank_cells(start: bytes, odd: bytes, names: list[str]) -> TableSpec | None:
    """The layout of rows of fixed cells where runs of blanks seemed to separate them, but for a line further
    below with a blank cell; None where it would have other columns.

    Args:
        start: the first bytes of the file.
        odd: that line.
        names: of the columns.
    """
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = _rows(_sampled(start[mark:]))
    lines = [*lines[:-1], odd, b""]
    whole = _flat(lines)
    spec = _of_blank_cells(_body(whole), lines, whole, None)
    if spec is None or [field.name for field in spec.fields] != names:
        return None
    return replace(spec, offset=mark + spec.offset, trimmed=True)


def _sampled(start: bytes) -> list[bytes]:
    """The lines that tell a table: some of those below the comments and blank lines at the beginning."""
    lines = start.split(b"\n")
    above = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(COMMENTS)), 0)
    return lines[: above + _SAMPLE + 1]


def _rows(lines: list[bytes]) -> list[bytes]:
    """The lines, those that quotes span as one where that makes rows with as many cells each: else quotes are
    characters, as of inches.
    """
    if not any(line.count(b'"') % 2 for line in lines):
        return lines
    rows: list[bytes] = []
    begun: list[bytes] = []
    for line in lines[:-1]:  # the last one may be cut
        begun.append(line)
        if sum(part.count(b'"') for part in begun) % 2 == 0:
            rows.append(b"\n".join(begun))
            begun = []
    body = _body([_BREAK.sub(b" ", row) for row in rows])
    for separator in (_SEPARATORS[i : i + 1] for i in range(len(_SEPARATORS))):
        counts = Counter(_count(row, separator) for row in body)
        usual, number = counts.most_common(1)[0] if counts else (0, 0)
        if usual > 1 and number > 1 and number * 100 >= len(body) * _SPANNED:
            return [*rows, *begun, lines[-1]]
    return lines


def _spanned(lines: list[bytes], separator: bytes, count: int) -> list[bytes]:
    """The lines; the first ones are joined if quotes span them and they have ``count`` cells: names
    with line ends in them, as Excel writes them.
    """
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(COMMENTS)), 0)
    for last in range(first + 1, min(first + _TALLEST, len(lines))):
        row = b"\n".join(lines[first : last + 1])
        if row.count(b'"') % 2 == 0:
            is_row = lines[first].count(b'"') % 2 and _count(_BREAK.sub(b" ", row), separator) == count
            return [*lines[:first], row, *lines[last + 1 :]] if is_row else lines
    return lines


def _whole(lines: list[bytes]) -> list[bytes]:
    return [line.rstrip(b"\r") for line in (lines[:-1] if len(lines) > 1 else lines)]


def _flat(lines: list[bytes]) -> list[bytes]:
    """The whole lines, each of them as one."""
    return [_BREAK.sub(b" ", line) for line in _whole(lines)]


def _body(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.strip() and not line.startswith(COMMENTS)]


def _usual(body: list[bytes], separator: bytes) -> int:
    """How many cells most lines have."""
    return Counter(_count(line, separator) for line in body).most_common(1)[0][0]


def _separator(body: list[bytes]) -> bytes | None:
    found: list[tuple[int, int, bytes]] = []
    text = b"\n".join(body)
    for byte in _SEPARATORS:
        separator = bytes([byte])
        if text.count(separator) * 2 <= len(body):
            continue  # most lines have none
        count, lines = Counter(_count(line, separator) for line in body).most_common(1)[0]
        if count > 1 and lines * 2 > len(body):
            found.append((lines, count, separator))
    best = max(found, key=lambda which: which[:2], default=None)
    if best is None or best[2] != b",":
        return best[2] if best else None
    others = (which for *_, which in sorted(found, reverse=True) if which != b",")
    sure = next((which for which in (*others, b" ") if _has_commas(body, which)), b",")
    return None if sure == b" " else sure


def _is_one_with_commas(body: list[bytes]) -> bool:
    """Whether rows are numbers with decimal commas below the one name of their column, and not counted ones
    of two columns; R names the second.
    """
    name, *rows = body
    bare = b"," in b"".join(rows) and not any(byte in name for byte in _SEPARATORS)
    if not bare or not is_header([name], []):
        return False
    counted = names_rows([row.partition(b",")[0] for row in rows])
    return not counted and all(_COMMA.fullmatch(row) or row.strip().isdigit() for row in rows)


def _is_one_of_times(body: list[bytes]) -> bool:
    """Whether most rows are a date and a time of day with a blank between them; the first may be a header."""
    stamps = sum(bool(_STAMP.fullmatch(line)) for line in body)
    return stamps > 0 and stamps * 100 >= (len(body) - 1) * _ALIKE


def _has_commas(body: list[bytes], separator: bytes) -> bool:
    """Whether commas are decimal marks where something else separates cells."""
    cells = [cell for line in body for cell in cells_of(line, separator)]
    texts = [cell for cell in cells if cell.lstrip().startswith(b'"') and not _COMMA.fullmatch(cell)]
    commas = [cell for cell in cells if b"," in cell and cell not in texts]
    if not all(_COMMA.fullmatch(cell) for cell in commas):
        return False
    if separator != b" ":
        return bool(commas)
    measured = _in_runs(body)
    return len(measured) > 2 or (len(measured) == 2 and all(measured))  # 12,5 km: a number and a text


def _in_runs(body: list[bytes]) -> list[bool]:
    """For each column whether it is one of numbers, where runs of blanks separate as many cells in most lines
    and there are numbers; empty elsewhere.
    """
    count, alike = Counter(_count(line, b" ") for line in body).most_common(1)[0]
    if count < 2 or alike < 2 or alike * 100 < (len(body) - 1) * _ALIKE:  # one may be a header
        return []
    rows = [cells for line in body if len(cells := cells_of(line, b" ")) == count]
    measured = [is_measured(column) for column in zip(*rows[1:], strict=True)]
    return measured if any(measured) else []


def _count(line: bytes, separator: bytes) -> int:
    """How many cells a line has."""
    plain = b'"' not in line and separator != b" "
    return line.count(separator) + 1 if plain else len(cells_of(line, separator))
