"""Fixed-length rows below a line that marks the columns: IPAC's bars, or dashes below the names.

astropy, sqlite and SQL Server write dashes. Cells may be blank, and names and strings may contain spaces.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from icecore.sources.mapping.table_file import Field, Kind, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.preamble import COMMENTS, unique

Span = tuple[int, int]
#: a layout, and the number of lines above its rows
Found = tuple[TableSpec, int]

_RULER = re.compile(rb" *(-+|=+)( +\1|( +-+)+|( +=+)+) *")
_RUN = re.compile(rb"[-=]+")
#: IPAC's lines above the rows: names, types, units, null values
_BARS = 4
#: first letters of IPAC's string types
_TEXTS = ("c", "date")


def ruled(lines: list[bytes], whole: list[bytes]) -> TableSpec | None:
    """Return the layout of such a table; None for others.

    Args:
        lines: the first lines, without line ends.
        whole: the same lines, but with a carriage return at their ends.
    """
    found = _barred(lines) or _dashed(lines)
    if found is None:
        return None
    spec, above = found
    return replace(spec, offset=sum(len(line) + 1 for line in whole[:above]))


def _barred(lines: list[bytes]) -> Found | None:
    first = next((i for i, line in enumerate(lines) if not line.startswith(b"\\")), len(lines))
    head = []
    for line in lines[first : first + _BARS]:
        if not line.startswith(b"|"):
            break
        head.append(line.rstrip())
    bars = [i for i, byte in enumerate(head[0]) if byte == ord("|")] if head else []
    if len(bars) < 2 or any(line[i : i + 1] != b"|" for line in head for i in bars):
        return None
    spans = list(pairwise(bars))
    cells = [[decoded(line[a + 1 : b]).strip() for a, b in spans] for line in head]
    names, kinds, units, nulls = (*cells, *[[""] * len(spans)] * (_BARS - len(cells)))
    found: list[tuple[Kind, dict[str, Any]]] = []
    for kind, unit, null in zip(kinds, units, nulls, strict=True):
        attrs: dict[str, Any] = {"units": unit} if unit else {}
        is_text = kind.lower().startswith(_TEXTS)
        found.append(("words", attrs) if is_text else ("any", attrs | missing(null)))
    return _fixed(lines, first + len(head), spans, names, found)


def _dashed(lines: list[bytes]) -> Found | None:
    at = next((i for i, line in enumerate(lines[:-1]) if i and _RULER.fullmatch(line)), None)
    if at is None or any(map(_is_more, lines[: at - 1])):
        return None
    runs = [match.span() for match in _RUN.finditer(lines[at])]
    # A cell begins after the previous cell, so that its padding belongs to it.
    spans = [(before, end) for (_, before), (_, end) in zip([(0, 0), *runs], runs, strict=False)]
    above = lines[at - 1]
    if any(above[a : a + 1].strip() for _, a in runs) or not above.strip():
        return None  # a name that crosses a column border
    names = [decoded(above[a:b]).strip() for a, b in spans]
    ruler = lines[at]
    rows = lines[: lines.index(ruler, at + 1)] if ruler in lines[at + 1 :] else lines
    found = _fixed(rows, at + 1, spans, names, [("any", {})] * len(runs))
    return found and (replace(found[0], closing=ruler.rstrip()), found[1])


def _is_more(line: bytes) -> bool:
    """Whether a line is neither blank, a comment nor a ruler (RST also has a ruler above the names)."""
    return bool(line.strip()) and not line.startswith(COMMENTS) and not _RULER.fullmatch(line)


def _fixed(
    lines: list[bytes],
    above: int,
    spans: list[Span],
    names: list[str],
    found: list[tuple[Kind, dict[str, Any]]],
) -> Found | None:
    rows = [line for line in lines[above:] if line.strip()]
    if not rows:
        return None
    length = Counter(map(len, rows)).most_common(1)[0][0]
    # Text that crosses a column border belongs to no column.
    if sum(not row[b : b + 1].strip() for row in rows for _, b in spans) * 100 < len(rows) * len(spans) * 99:
        return None
    starts = [_start(rows, span) for span in spans]
    last = max(spans[-1][1], length)  # strings may be longer than the ruler of their column
    ends = [*starts[1:], last]  # the space between two columns belongs to the first of them
    fields = tuple(
        Field(name, a, b - a, kind, attrs)
        for name, a, b, (kind, attrs) in zip(unique(names), starts, ends, found, strict=True)
    )
    between = tuple(start - 1 for start in starts[1:])
    spec = TableSpec("", "", "fixed", fields, cut="stated", width=length, between=between, last_open=True)
    return spec, above


def _start(rows: list[bytes], span: Span) -> int:
    """Return the start of a column's cells.

    It is the common start of its strings if their lengths differ; otherwise the end of the previous column,
    so that longer numbers fit.
    """
    cells = [row[slice(*span)].rstrip() for row in rows]
    texts = [cell.lstrip() for cell in cells if cell]
    before = {len(cell) - len(cell.lstrip()) for cell in cells if cell}
    return span[0] + (before.pop() if len(before) == 1 and len(set(map(len, texts))) > 1 else 0)


def missing(null: str) -> dict[str, Any]:
    """Return the attribute for a number that marks null; null words need none."""
    try:
        value = float(null)
    except ValueError:
        return {}
    whole = re.fullmatch(r"[-+]?\d+", null)
    return {"missing_value": [int(null) if whole else value]} if math.isfinite(value) else {}


# Fixed-field rows below a byte-by-byte description: tables of the AAS journals and the CDS.

_TITLE = b"byte-by-byte description of file"
_RULE = re.compile(rb"(-{40,}|={40,})\s*")
#: first and last byte, format, units, name, explanation
_FIELD = re.compile(r"(?:(\d+)\s*-\s*)?(\d+)\s+([AIFED])\d\S*\s+(\S+)\s+(\S+)(?:\s+(\S.*))?")
#: the longest row, in bytes
WIDEST = 1 << 16
#: marker of missing values, before an explanation and after the limits of the values
_NULL = re.compile(r"(?:[\[\]][^\[\]]*[\[\]])?\?=(\S+)")


def bytewise(lines: list[bytes], whole: list[bytes]) -> TableSpec | None:
    """Return the layout of such a table; None for others, or if most rows have text between the fields.

    Args:
        lines: the first lines, without line ends.
        whole: the same lines, but with a carriage return at their ends.
    """
    titles = [i for i, line in enumerate(lines) if line.strip().lower().startswith(_TITLE)]
    rules = [i for i, line in enumerate(lines) if _RULE.fullmatch(line)]
    inside = [i for i in rules if titles and i > titles[0]]
    if len(titles) != 1 or len(inside) < 3:
        return None
    fields = list(fields_of([decoded(line) for line in lines[inside[1] + 1 : inside[2]]]))
    rows = [line for line in lines[rules[-1] + 1 :] if line.strip()]
    if not fields or not rows or not all(0 <= f.start < f.start + f.length <= WIDEST for f in fields):
        return None
    if not _fits(fields, rows):
        return None
    length = Counter(map(len, rows)).most_common(1)[0][0]
    named = zip(fields, unique([field.name for field in fields]), strict=True)
    return TableSpec(
        "",
        "",
        "fixed",
        tuple(replace(field, name=name) for field, name in named),
        sum(len(line) + 1 for line in whole[: rules[-1] + 1]),
        cut="stated",
        width=length if length >= max(f.start + f.length for f in fields) else 0,
    )


def _fits(fields: list[Field], rows: list[bytes]) -> bool:
    """Whether most rows have only spaces between the fields."""
    inside = {at for field in fields for at in range(field.start, field.start + field.length)}
    between = [at for at in range(max(inside)) if at not in inside]
    good = sum(not any(row[at : at + 1].strip() for at in between) for row in rows)
    return good * 2 > len(rows)


def fields_of(described: list[str]) -> Iterator[Field]:
    """Yield the columns that a description names; a line without a column continues an explanation."""
    last: Field | None = None
    for line in described:
        found = _FIELD.fullmatch(line.strip())
        if found is None:
            if last is not None:
                more = f"{last.attrs.get('description', '')} {line.strip()}".strip()
                last = replace(last, attrs={**last.attrs, "description": more})
            continue
        if last is not None:
            yield last
        first, end, kind, units, name, said = found.groups()
        start = int(first or end) - 1
        last = Field(
            name,
            start,
            int(end) - start,
            "words" if kind == "A" else "number",
            _attributes(units, said or ""),
        )
    if last is not None:
        yield last


def _attributes(units: str, said: str) -> dict[str, Any]:
    null = _NULL.match(said)
    result = missing(null[1]) if null is not None else {}
    if units.strip("-"):
        result["units"] = units
    return {"description": said, **result} if said else result
