"""Tables without a label: rows with one separator, or of fixed length; a header names the columns."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from icecore.sources.mapping.table_file import Field, Kind, TableSpec
from icecore.sources.tables.ecsv import ecsv
from icecore.sources.tables.header import has_values, is_header, is_measured, names_rows
from icecore.sources.tables.preamble import COMMENTS, cells_of, headed
from icecore.sources.tables.ruled_table import bytewise, ruled
from icecore.sources.tables.unlabelled_fixed import Letters, by_spaces, flat, numbered

_SEPARATORS = b",\t;|"
#: suffixes of binary formats: text in such a file means that it is damaged
_BINARY = (
    *(".npy", ".npz", ".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".cdf", ".zarr", ".mat"),
    *(".parquet", ".feather", ".arrow", ".fits", ".fit", ".tif", ".tiff", ".grb", ".grib", ".grb2", ".grib2"),
)
#: separators by suffix, for files with one column
_ONE = {".csv": b",", ".tsv": b"\t"}
_TEXT = bytes(range(32, 127)) + b"\t\r\n\f" + bytes(range(128, 256))
#: one control character per this many bytes (or one in all) is accepted: damaged text is still text
_STRANGE = 100
_JSON = re.compile(rb"\s*(\{\s*(\"|\})|\[\s*(\{\s*\"|\[|\"))")
#: a time of day up to its seconds, and an optional UTC offset
_SECONDS, _OFFSET = rb"\d\d?:\d\d:\d\d", rb"( ?(Z|[-+]\d\d:?\d\d))?"
#: a cell that is only a number or a time with a decimal comma
_COMMA = re.compile(
    rb' *"?([-+]?\d*,\d+([eE][-+]?\d+)?|([-./\w]+[ T])?' + _SECONDS + rb",\d+" + _OFFSET + rb')"?\r? *'
)
#: most lines of a row of names
_TALLEST = 100
#: quoted text, which may contain line ends of any kind
_QUOTED = re.compile(rb'"[^"]*"')
#: a row that is only a date and a time of day
_STAMP = re.compile(rb'"?\d{4}-\d\d-\d\d +\d\d?:\d\d(:\d\d([.,]\d+)?)?(Z|[-+]\d\d:?\d\d)?"?')
#: percentage of whitespace-separated rows that must have the same number of cells
_ALIKE = 80
#: percentage of rows with quoted line ends that must have the same number of cells
_SPANNED = 95
#: number of rows that are examined to infer the layout
_SAMPLE = 1000


def is_text(start: bytes, name: str = "") -> bool:
    """Whether these bytes may begin a text table: printable, with line ends and cells."""
    lines = start.replace(b"\r", b"\n") if ends_in_cr(start) else start
    return is_printable(start) and _layout(lines, name) is not None


def is_printable(start: bytes) -> bool:
    """Whether these bytes may begin a text; a DOS end-of-file character is ignored."""
    start = start.rstrip(b"\n").removesuffix(b"\x1a")
    return bool(start) and len(start.translate(None, _TEXT)) <= max(len(start) // _STRANGE, 1)


def is_commented(start: bytes) -> bool:
    """Whether these bytes are text that contains only comments."""
    lines = start.removeprefix(BOM_UTF8).splitlines()
    return is_printable(start) and len(lines) > 1 and not _body(lines)


def is_json(start: bytes) -> bool:
    """Whether a text is JSON: an object, a list of objects, lists or strings, or one object per line."""
    return _JSON.match(start.removeprefix(BOM_UTF8)) is not None


def ends_in_cr(start: bytes) -> bool:
    """Whether most lines end in CR alone, as on classic Mac OS; the last line may have another end."""
    if b"\r" not in start[:-1]:
        return False
    bare = _QUOTED.sub(b"", start)
    return bare[:-1].count(b"\r") - bare.count(b"\r\n") > bare.count(b"\n")


def sniff(
    start: bytes, name: str = "", header: bool | None = None, units: bool | None = None
) -> TableSpec | None:
    """Infer the layout of a table from its first bytes (a few hundred rows are enough); None if it isn't one.

    The separator is the one of ``, TAB ; |`` that occurs equally often in most lines, unless the comma is the
    decimal mark of numbers. Text without a separator is split where all rows have spaces, or at runs of
    whitespace. Lines before the first row are a header. The last of them names the columns if it has as many
    cells (:mod:`icecore.sources.tables.header`), or if ``header`` is true; ``units``
    states whether a line of units follows. A byte order mark is skipped.
    Lines without cells are a table of one column if the suffix of ``name`` says so; files with the suffix of
    a binary format are never tables.
    """
    if (spec := ecsv(start)) is not None:
        return spec
    layout = _layout(start, name, header)
    if layout is None or isinstance(layout, TableSpec):
        return layout
    return _separated(start, layout, header, units)


def by_runs(start: bytes, named: bool) -> TableSpec | None:
    """Return the layout of cells between runs of blanks; ``named``: a line may name them."""
    spec = _separated(start, b" ", None if named else False, False)
    return replace(spec, surveyed=True) if not spec.doubt else None


def _separated(start: bytes, separator: bytes, header: bool | None, units: bool | None) -> TableSpec:
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = _rows(_sampled(start[mark:]))
    count = _usual(_body(_flat(lines)), separator)
    lines = _spanned(lines, separator, count)
    whole = _flat(lines)
    head = headed(whole, separator, count, header, units)
    stated = [{"units": unit} if unit else {} for unit in head.units]
    unknown: Kind = "any"
    kinds = head.kinds if len(head.kinds) == len(head.names) else tuple(unknown for _ in head.names)
    fields = tuple(
        Field(name, kind=kind, attrs={**attrs, **attributes(head.names, name)})
        for name, attrs, kind in zip(head.names, stated, kinds, strict=True)
    )
    offset = mark + sum(len(line) + 1 for line in lines[: head.above])
    spec = TableSpec("", "", "delimited", fields, offset, separator=separator.decode())
    return replace(spec, notes=head.notes, doubt=head.doubt)


def _layout(start: bytes, name: str, header: bool | None = None) -> TableSpec | bytes | None:
    """Return the separator of a table, or its layout if rows are split by spaces.

    Programs fill up cells by characters or by bytes: of both layouts, the one that fits more lines is taken.
    """
    if name.lower().endswith(_BINARY):
        return None
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = _rows(_sampled(start[mark:]))
    found = _layout_of(lines, name, header)
    letters = Letters.of(lines) if found is None or found == b" " or isinstance(found, TableSpec) else None
    if letters is not None:
        plain = list(map(letters.flat, lines))
        other = _layout_of(plain, name, header)
        if isinstance(other, TableSpec) and (
            not isinstance(found, TableSpec) or _fit(other, plain) > _fit(found, lines)
        ):
            found = letters.restored(other, plain, lines)
        elif found is None and isinstance(other, bytes):
            found = other
    return replace(found, offset=mark + found.offset) if isinstance(found, TableSpec) else found


def counts_characters(spec: TableSpec, text: bytes) -> bool:
    """Whether the stated fields of a layout fit more lines of a text if they count characters, not bytes."""
    lines = [line for line in _sampled(text) if not line.isascii()]
    return bool(lines) and _fit(spec, [*map(flat, lines)]) > _fit(spec, lines)


def _fit(spec: TableSpec, lines: list[bytes]) -> int:
    """Return how many lines have spaces between the fields of a layout, and how many have its length."""
    fields = {at for field in spec.fields for at in range(field.start, field.start + field.length)}
    between = spec.between or [at for at in range(spec.width or max(fields)) if at not in fields]
    body = _body(_whole(lines))
    return sum(not any(line[at : at + 1].strip() for at in between) for line in body) + sum(
        len(line) == spec.width for line in body
    )


def _layout_of(lines: list[bytes], name: str, header: bool | None) -> TableSpec | bytes | None:
    whole = _flat(lines)
    body = _body(whole)
    if (spec := bytewise(whole, lines) or ruled(whole, lines)) is not None:
        return spec
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
                return whole_rows
            if spec is None or len(set(map(len, body))) > 1 or _is_named(whole, body):
                return b" "
        if spec is not None:
            return spec
    return alone if len(body) > 1 else None


def _is_named(whole: list[bytes], body: list[bytes]) -> bool:
    """Whether a line names the columns that are separated by runs of whitespace."""
    return headed(whole, b" ", _usual(body, b" "), None).named


def _of_blank_cells(
    body: list[bytes], lines: list[bytes], whole: list[bytes], header: bool | None
) -> TableSpec | None:
    """Return the layout of fixed cells with some blanks; splitting at whitespace would lose cells.

    Returns None if all rows have as many cells, or if cells have no fixed positions.
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
        return None  # an extra cell in one row would shift the names of all
    full = [line for line in body[named:] if _count(line, b" ") == usual]
    apart = sum(sum(map(bool, _cut(line, spec))) == usual for line in full)
    return spec if apart * 100 >= len(full) * _ALIKE else None


def _cut(line: bytes, spec: TableSpec) -> list[bytes]:
    """Return the cells of a line in a layout of fixed fields, stripped of spaces."""
    return [line[field.start : field.start + field.length].strip() for field in spec.fields]


def with_blank_cells(start: bytes, odd: bytes, names: list[str]) -> TableSpec | None:
    """Return the layout of fixed cells for a file that seemed to be separated by runs of whitespace.

    A later line with a blank cell (``odd``) showed the difference. Returns None if the columns would differ.

    Args:
        start: the first bytes of the file.
        odd: the line with the blank cell.
        names: names of the columns.
    """
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = _rows(_sampled(start[mark:]))
    lines = [*lines[:-1], odd, b""]
    letters = Letters.of(lines)
    plain = lines if letters is None else list(map(letters.flat, lines))
    whole = _flat(plain)
    spec = _of_blank_cells(_body(whole), plain, whole, None)
    if spec is not None and letters is not None:
        spec = letters.restored(spec, plain, lines)
    if spec is None or [field.name for field in spec.fields] != names:
        return None
    return replace(spec, offset=mark + spec.offset, trimmed=True)


def _sampled(start: bytes) -> list[bytes]:
    """Return the lines to examine: some of those below the initial comments and blank lines."""
    lines = start.split(b"\n")
    above = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(COMMENTS)), 0)
    return lines[: above + _SAMPLE + 1]


def _rows(lines: list[bytes]) -> list[bytes]:
    """Return the lines, joined where quotes span several of them, if all rows then have as many cells.

    Otherwise quotes are ordinary characters, such as signs for inches.
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
    body = _body([_in_one(row) for row in rows])
    for separator in (_SEPARATORS[i : i + 1] for i in range(len(_SEPARATORS))):
        counts = Counter(_count(row, separator) for row in body)
        usual, number = counts.most_common(1)[0] if counts else (0, 0)
        if usual > 1 and number > 1 and number * 100 >= len(body) * _SPANNED:
            return [*rows, *begun, lines[-1]]
    return lines


def _spanned(lines: list[bytes], separator: bytes, count: int) -> list[bytes]:
    """Return the lines; the first ones are joined if quotes span them and they have ``count`` cells.

    Excel writes such names with line ends in them.
    """
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(COMMENTS)), 0)
    for last in range(first + 1, min(first + _TALLEST, len(lines))):
        row = b"\n".join(lines[first : last + 1])
        if row.count(b'"') % 2 == 0:
            is_row = lines[first].count(b'"') % 2 and _count(_in_one(row), separator) == count
            return [*lines[:first], row, *lines[last + 1 :]] if is_row else lines
    return lines


def _whole(lines: list[bytes]) -> list[bytes]:
    return [line.rstrip(b"\r") for line in (lines[:-1] if len(lines) > 1 else lines)]


def _flat(lines: list[bytes]) -> list[bytes]:
    """Return the whole lines, each without line breaks."""
    return [_in_one(line) for line in _whole(lines)]


def _in_one(row: bytes) -> bytes:
    """Return a row with a space for each of its line breaks and the blanks around it."""
    if b"\n" not in row:
        return row
    first, *inner, last = row.split(b"\n")
    parts = (first.rstrip(), *filter(None, map(bytes.strip, inner)), last.lstrip())
    return b" ".join(parts)


def _body(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.strip() and not line.startswith(COMMENTS)]


def _usual(body: list[bytes], separator: bytes) -> int:
    """Return the number of cells of most lines."""
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
    """Whether rows are numbers with decimal commas in a single column, below its name.

    Numbered rows of two columns look similar, but R names the second column.
    """
    name, *rows = body
    bare = b"," in b"".join(rows) and not any(byte in name for byte in _SEPARATORS)
    if not bare or not is_header([name], []):
        return False
    counted = names_rows([row.partition(b",")[0] for row in rows])
    return not counted and all(_COMMA.fullmatch(row) or row.strip().isdigit() for row in rows)


def _is_one_of_times(body: list[bytes]) -> bool:
    """Whether most rows are a date and a time of day separated by a space; the first may be a header."""
    stamps = sum(bool(_STAMP.fullmatch(line)) for line in body)
    return stamps > 0 and stamps * 100 >= (len(body) - 1) * _ALIKE


def _has_commas(body: list[bytes], separator: bytes) -> bool:
    """Whether commas are decimal marks because something else separates cells."""
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
    """Return for each whitespace-separated column whether it is numeric.

    Empty if most lines do not have the same number of cells, or if there are no numbers.
    """
    count, alike = Counter(_count(line, b" ") for line in body).most_common(1)[0]
    if count < 2 or alike < 2 or alike * 100 < (len(body) - 1) * _ALIKE:  # one may be a header
        return []
    rows = [cells for line in body if len(cells := cells_of(line, b" ")) == count]
    measured = [is_measured(column) for column in zip(*rows[1:], strict=True)]
    return measured if any(measured) else []


def _count(line: bytes, separator: bytes) -> int:
    """Return the number of cells of a line."""
    plain = b'"' not in line and separator != b" "
    return line.count(separator) + 1 if plain else len(cells_of(line, separator))


# Attributes of the columns of Diviner RDR tables, which have no label.
#
# Names, units and constants: PDS3 format file ``dlre_rdr.fmt`` of data set LRO-L-DLRE-4-RDR-V1.0.

_KNOWN = {
    "date": "date at the midpoint of the observation (UTC)",
    "utc": "time at the midpoint of the observation (UTC)",
    "jdate": "Julian date at the midpoint of the observation (UTC)|days",
    "orbit": "orbit number",
    "sundist": "distance from the Moon to the Sun|AU",
    "sunlat": "latitude of the subsolar point|degrees_north",
    "sunlon": "longitude of the subsolar point|degrees_east",
    "sclk": "spacecraft clock: seconds, then units of 1/65536 s behind the point",
    "sclat": "latitude of the subspacecraft point|degrees_north",
    "sclon": "longitude of the subspacecraft point|degrees_east",
    "scrad": "distance of the spacecraft from the centre of the Moon|km",
    "scalt": "altitude of the spacecraft|km",
    "el_cmd": "last elevation command|degrees",
    "az_cmd": "last azimuth command|degrees",
    "af": "activity flag",
    "orientlat": "latitude of the instrument's orientation vector|degrees_north",
    "orientlon": "longitude of the instrument's orientation vector|degrees_east",
    "vert_lat": "latitude of the instrument's orientation vector|degrees_north",
    "vert_lon": "longitude of the instrument's orientation vector|degrees_east",
    "c": "channel, 1 to 9",
    "det": "detector, 1 to 21",
    "vlookx": "look vector, x|1",
    "vlooky": "look vector, y|1",
    "vlookz": "look vector, z|1",
    "radiance": "radiance|W m-2 sr-1",
    "tb": "brightness temperature|K",
    "clat": "latitude of the field of view's centre|degrees_north",
    "clon": "longitude of the field of view's centre|degrees_east",
    "cemis": "emission angle at the field of view's centre|degrees",
    "csunzen": "solar zenith angle at the field of view's centre|degrees",
    "csunazi": "solar azimuth angle at the field of view's centre|degrees",
    "cloctime": "local time at the field of view's centre|hours",
    "qca": "quality flag: calibration",
    "qge": "quality flag: geometry",
    "qmi": "quality flag: miscellaneous",
}
_SURE = {"jdate", "radiance", "tb", "clat", "clon", "qca", "qge", "qmi"}
_TEXT_COLUMNS = ("date", "utc")


def attributes(names: Sequence[str], name: str) -> dict[str, Any]:
    """Return the CF attributes of a column if ``names`` are the columns of a Diviner table, else none."""
    if name not in _KNOWN or not _SURE.issubset(names):
        return {}
    long_name, _, units = _KNOWN[name].partition("|")
    result: dict[str, Any] = {"long_name": long_name}
    if units:
        result["units"] = units
    if name not in _TEXT_COLUMNS:
        result["missing_value"] = [-9999, -9998]
    return result
