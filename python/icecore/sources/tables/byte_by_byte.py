"""Fixed-field rows below a byte-by-byte description: tables of the AAS journals and the CDS."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from icecore.sources.mapping.table_file import Field, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.preamble import unique
from icecore.sources.tables.ruled_table import missing

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
