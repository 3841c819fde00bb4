"""Cell styles that print formats don't support: decimal commas, thousands separators, day before month."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: percentage of the cells with a value that must match a style
_MOST = 80
_SHOWN = 40
_PLAIN = re.compile(rb"[-+]?\d+")
_COMMA = re.compile(rb"[-+]?\d*,\d+([eE][-+]?\d+)?")
_POINT = re.compile(rb"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
_BY_COMMAS = re.compile(rb"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_BY_POINTS = re.compile(rb"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?")
#: separators: spaces, apostrophes, no-break spaces
_BY_BLANKS = re.compile(rb"[-+]?[1-9]\d{0,2}((?: |'|\xc2?\xa0|\xe2\x80[\xaf\x89\x99])\d{3})+([.,]\d*)?")
_CLOCK = rb"([ T]\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?)?"
_NAME = rb"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DAY = re.compile(
    rb"(\d{1,2}([-./]\d{1,2}[-./]|[- ]?" + _NAME + rb"[- ]?)\d{2,4}|\d{4}[-./]\d{1,2}[-./]\d{1,2})" + _CLOCK
)
#: dates with a two-digit year
_SHORT = re.compile(rb"\d{1,2}([-./]\d{1,2}[-./]|[- ]?" + _NAME + rb"[- ]?)\d\d\b")
#: supported dates; of the second form, those whose day above 12 distinguishes it from the month
_READ = re.compile(rb"\d{4}[-/]\d{1,2}[-/]\d{1,2}" + _CLOCK)
_DIGITS = re.compile(rb"\d+")
_EITHER = re.compile(rb"(\d{1,2})([-/])(\d{1,2})\2\d{4}" + _CLOCK)
_OFFSET = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?[-+]\d\d:?\d\d")
#: UTC offset at the end of a time pattern
_AHEAD = re.compile(r"[-+]\d\d:?(\d\d)?$")

Cells = Sequence[bytes]
Test = Callable[[bytes], object]


def _bare(cells: Cells) -> list[bytes]:
    """Return the cells that have a value, without surrounding whitespace and quotes."""
    from icecore import _icecore

    return [cell.strip(b' \t\r"') for cell in _icecore.valued(list(cells))]


def _most(cells: Cells, *tests: Test) -> bool:
    return sum(any(test(cell) for test in tests) for cell in cells) * 100 >= max(len(cells), 1) * _MOST


def has_commas(columns: Sequence[Cells]) -> bool:
    """Return whether numbers in these columns have decimal commas.

    They have if some column consists of such numbers that are not thousands-separated, and no column consists
    of numbers with decimal points.
    """
    found = False
    for cells in map(_bare, columns):
        if any(_COMMA.fullmatch(c) and not _BY_COMMAS.fullmatch(c) for c in cells):
            found |= _most(cells, _COMMA.fullmatch, _PLAIN.fullmatch, _BY_POINTS.fullmatch)
            continue
        pointed = any(_POINT.fullmatch(c) and not _BY_POINTS.fullmatch(c) for c in cells)
        if pointed and _most(cells, _POINT.fullmatch, _PLAIN.fullmatch, _BY_COMMAS.fullmatch):
            return False
    return found


def are_thousands(cells: Cells) -> bool:
    """Return whether points are thousands separators, in a file with decimal commas."""
    pointed = [cell for cell in _bare(cells) if b"." in cell]
    return bool(pointed) and _most(pointed, _BY_POINTS.fullmatch)


def notes(columns: Sequence[dict[str, Any]], samples: Sequence[Cells]) -> Iterator[str]:
    """Yield a note about decimal commas, and one for each text column that looks like numbers or times."""
    commas = [
        column["name"]
        for column, cells in zip(columns, samples, strict=True)
        if column.get("comma") and any(b"," in cell for cell in cells)
    ]
    if commas:
        yield f"commas are decimal marks of numbers, as it seems: {', '.join(commas[:6])}"
    for column in columns:
        zone = _AHEAD.search(column["style"].get("time", {}).get("pattern", ""))
        if zone is not None and zone[0].strip("+-0:"):
            yield f"column {column['name']} is in UTC, in the file its times are ahead of it by {zone[0]}"
    for column, cells in zip(columns, samples, strict=True):
        if "words" in column["style"] and (found := _look(_bare(cells))):
            what, cell, remedy = found
            shown = cell.decode("latin-1" if b"\xa0" in cell and b"\xc2" not in cell else "utf-8", "replace")
            yield f"column {column['name']} is text, with {what} as it seems: {shown[:_SHOWN]!r}; {remedy}"


def _undecided(cells: list[bytes]) -> bool:
    """Return whether dates have a numeric day and month that both never exceed 12."""
    found = [match for cell in cells if (match := _EITHER.fullmatch(cell))]
    return bool(found) and all(int(match[part]) <= 12 for match in found for part in (1, 3))


def _look(cells: list[bytes]) -> tuple[str, bytes, str] | None:
    """Return what most of the cells look like, an example, and a remedy; None if they look like text."""
    groups = (_BY_COMMAS.fullmatch, _BY_POINTS.fullmatch, _BY_BLANKS.fullmatch)
    numbers: tuple[Test, ...] = (_PLAIN.fullmatch, _COMMA.fullmatch, _POINT.fullmatch, *groups)
    if cells and _most(cells, *numbers):
        for cell in cells:
            if any(test(cell) for test in groups):
                return "thousands set apart", cell, "numbers without them are read"
        for cell in cells:
            if _COMMA.fullmatch(cell):
                return "decimal commas", cell, "numbers with points are read"
    if cells and _most(cells, _DAY.fullmatch):
        for cell in cells:
            if not _READ.fullmatch(cell):
                why = "day and month are ambiguous here; " if _undecided(cells) else ""
                if _SHORT.match(cell):
                    why = "years of two digits may be of any century; "
                return "dates", cell, f"{why}dates like 2009-12-31 are read"
        if len({_DIGITS.sub(b"0", cell) for cell in cells}) > 1:  # else a label calls them text
            return "dates in several forms", cells[0], "dates of one form are read"
    if cells and _most(cells, _OFFSET.fullmatch):
        return "times with an offset", cells[0], "times like 2009-12-31T23:59+02:00 are read"
    return None
