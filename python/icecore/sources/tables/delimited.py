"""Tables without a label: rows with one separator, or of one length; a header names the columns."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from dataclasses import replace

from icecore.sources.tablefile import Field, TableSpec
from icecore.sources.tables import diviner
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.header import is_header, stands_out

_SEPARATORS = b",\t;|"
#: of formats that are no text: what looks like it there is a damaged file
_BINARY = (
    *(".npy", ".npz", ".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".cdf", ".zarr", ".mat"),
    *(".parquet", ".feather", ".arrow", ".fits", ".fit", ".tif", ".tiff", ".grb", ".grib", ".grb2", ".grib2"),
)
#: of files of one column, by their suffix
_ONE = {".csv": b",", ".tsv": b"\t"}
_TEXT = bytes(range(32, 127)) + b"\t\r\n\f" + bytes(range(128, 256))
#: of so many bytes one may be a control character: damaged text is text
_STRANGE = 100
#: what tells Excel the separator
_SEP = re.compile(rb"\"?sep=.\"?", re.IGNORECASE)
#: so many rows say what the others are like
_SAMPLE = 1000


def is_text(start: bytes, name: str = "") -> bool:
    """Whether these bytes may begin a table of text: printable, with line ends and cells."""
    strange = len(start.translate(None, _TEXT))
    start = start.replace(b"\r", b"\n") if ends_in_cr(start) else start
    return bool(start) and strange * _STRANGE <= len(start) and _layout(start, name) is not None


def ends_in_cr(start: bytes) -> bool:
    """Whether lines end in CR alone, as they did on a Macintosh."""
    return b"\n" not in start and b"\r" in start[:-1]


def sniff(start: bytes, name: str = "", header: bool | None = None) -> TableSpec | None:
    """The layout of a table by its first bytes (some hundred rows are enough), or None where they are no
    table.

    The separator is the one of ``, TAB ; |`` that most lines have equally often; text without one is cut
    where all rows have spaces. Lines before the first row are a header; the last of them names the columns
    where it has as many cells (:mod:`icecore.sources.tables.header`), or where ``header`` says so. A byte
    order mark comes before all of them. Lines without cells are a table of one column where the file's
    ``name`` says that it is one, and nothing is a table where it says that the file is binary.
    """
    layout = _layout(start, name)
    if layout is None or isinstance(layout, TableSpec):
        return layout
    mark, separator = len(BOM_UTF8) * start.startswith(BOM_UTF8), layout
    lines = start[mark:].split(b"\n")[: _SAMPLE + 1]
    whole = _whole(lines)
    count = Counter(_count(line, separator) for line in _body(whole)).most_common(1)[0][0]
    names, above, doubt = _names(whole, separator, count, header)
    fields = tuple(Field(name, attrs=diviner.attributes(names, name)) for name in names)
    offset = mark + sum(len(line) + 1 for line in lines[:above])
    return TableSpec("", "", "delimited", fields, offset, separator=separator.decode(), doubt=doubt)


def _layout(start: bytes, name: str) -> TableSpec | bytes | None:
    """The separator of a table, or its layout where rows are cut by spaces."""
    if name.lower().endswith(_BINARY):
        return None
    mark = len(BOM_UTF8) * start.startswith(BOM_UTF8)
    lines = start[mark:].split(b"\n")[: _SAMPLE + 1]
    whole = _whole(lines)
    body = _body(whole)
    separator = _separator(body) if body else None
    if separator is not None or not body:
        return separator
    spec = _by_spaces(body, lines, whole)
    alone = _ONE.get(name[-4:].lower())
    if spec is not None or alone is None or len(body) < 2:
        return None if spec is None else replace(spec, offset=mark + spec.offset)
    return alone


def _whole(lines: list[bytes]) -> list[bytes]:
    return [line.rstrip(b"\r") for line in (lines[:-1] if len(lines) > 1 else lines)]


def _body(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.strip() and not line.startswith(b"#")]


def _separator(body: list[bytes]) -> bytes | None:
    best: tuple[int, int, bytes] | None = None
    text = b"\n".join(body)
    for byte in _SEPARATORS:
        separator = bytes([byte])
        if text.count(separator) * 2 <= len(body):
            continue  # most lines have none
        count, lines = Counter(_count(line, separator) for line in body).most_common(1)[0]
        if count > 1 and lines * 2 > len(body) and (best is None or (lines, count) > best[:2]):
            best = (lines, count, separator)
    return best[2] if best else None


def _cells(line: bytes, separator: bytes) -> list[bytes]:
    from icecore import _icecore

    return _icecore.split_row(line, 0, separator[0])[0]


def _count(line: bytes, separator: bytes) -> int:
    """How many cells a line has."""
    return len(_cells(line, separator)) if b'"' in line else line.count(separator) + 1


def _names(
    lines: list[bytes], separator: bytes, count: int, header: bool | None
) -> tuple[list[str], int, str]:
    """The columns' names, how many lines stand before the first row, and what is doubtful about them.

    Those lines are comments (``#``), blank ones and ones with fewer cells; the last comment with as many
    cells as a row names the columns, or the first line with as many cells that is no row.
    """
    names = [f"column_{i + 1}" for i in range(count)]
    for i, line in enumerate(lines):
        comment = line.startswith(b"#")
        cells = _cells(line.lstrip(b"#"), separator)
        if len(cells) != count or not line.strip() or _SEP.fullmatch(line):
            continue
        heads = comment or header
        rows = [] if heads is not None else _rows(lines[i + 1 :], separator, count)
        if heads or (heads is None and is_header(cells, rows)):
            names = unique([decoded(cell.strip(b' "')).strip() for cell in cells])
            if comment:
                continue
            return names, i + 1, "" if header or stands_out(cells, rows) else decoded(line)
        return names, i, ""
    return [f"column_{i + 1}" for i in range(count)], 0, ""


def _rows(lines: list[bytes], separator: bytes, count: int) -> list[list[bytes]]:
    rows = (_cells(line, separator) for line in lines if not line.startswith(b"#"))
    return [cells for cells in rows if len(cells) == count]


def unique(names: list[str]) -> list[str]:
    """Names that can be paths: no slashes, none empty, none twice."""
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


def _by_spaces(body: list[bytes], lines: list[bytes], whole: list[bytes]) -> TableSpec | None:
    """Rows of one length, cut where all of them have spaces; lines above of another length, which would shift
    them against their cells, are no part of the table.
    """
    length, count = Counter(map(len, body)).most_common(1)[0]
    rows = [line for line in body if len(line) == length]
    if count * 2 <= len(body) or len(rows) < 2 or length > 1 << 16:
        return None
    taken = [any(row[i] not in b" \t" for row in rows) for i in range(length)]
    cuts = [i for i in range(length + 1) if (i < length and taken[i]) and (i == 0 or not taken[i - 1])]
    if len(cuts) < 2:
        return None
    # A cell begins behind the cell before it, so that its padding belongs to it.
    ends = [next(i for i in range(cut, length + 1) if i == length or not taken[i]) for cut in cuts]
    starts = [0, *ends[:-1]]
    fields = tuple(
        Field(f"column_{i + 1}", start, end - start)
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
    offset = sum(len(line) + 1 for line in lines[: whole.index(rows[0])])
    return TableSpec("", "", "fixed", fields, offset, row_bytes=0)
