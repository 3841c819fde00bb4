# ruff: noqa: E501
"""Random text tables of each layout with unusual rows, and the comparison of what was packed with their cells."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tables_kit import round_trip

#: what an unusual row has
UNUSUAL = ("wider", "blank", "words", "extra", "exponent", "longer")
LAYOUTS = (
    *("fixed", "fixed named", "fixed trimmed", "comma", "tab", "semicolon", "blank", "hash", "hash comma"),
    *("mrt", "mrt trimmed", "rst", "ecsv", "pds3", "pds4"),
)
_SEPARATORS = {
    **{"comma": ",", "tab": "\t", "semicolon": ";", "blank": " ", "hash": " ", "hash comma": ",", "ecsv": " "}
}
#: layouts in which a cell can be blank
_BLANKS = (
    "fixed",
    "fixed named",
    "fixed trimmed",
    "comma",
    "tab",
    "semicolon",
    "hash comma",
    "mrt",
    "mrt trimmed",
)


@dataclass
class Sample:
    """A table: the kinds of its columns, its cells row by row, and lines that are no rows (row → cells)."""

    layout: str
    kinds: list[str]
    cells: list[list[str]]
    extra: set[int] = field(default_factory=set)
    end: str = "\n"

    @property
    def names(self) -> list[str]:
        return [f"{kind}{i}" for i, kind in enumerate(self.kinds)]

    @cached_property
    def widths(self) -> list[int]:
        return [
            max(max((len(row[i]) for row in self.cells), default=1), len(self.names[i]), 1)
            for i in range(len(self.kinds))
        ]


def sample(seed: int, layout: str, rows: int, unusual: list[tuple[int, str]]) -> Sample:
    """A table of some rows; ``unusual``: numbers of rows, and what they have."""
    rng = random.Random(seed)
    kinds = ["int", *rng.choices(["int", "real", "word", "code"], k=rng.randint(2, 4))]
    cells = [[_cell(rng, kind, i, row) for i, kind in enumerate(kinds)] for row in range(rows)]
    made = Sample(layout, kinds, cells, end=rng.choice(["\n", "\n", "\r\n"]))
    for row, what in unusual:
        if row >= rows:
            continue
        column = rng.randrange(1, len(kinds))
        is_number = kinds[column] in ("int", "real")
        if what == "wider":
            cells[row][column] = "1234567" if is_number else "ABCDEFGHIJ"
        elif what == "blank" and layout in _BLANKS:
            cells[row][column] = ""
        elif what == "words" and is_number:
            cells[row][column] = rng.choice(["idle", "off-line", "x"])
        elif what == "exponent" and is_number:
            cells[row][column] = rng.choice(["1.5E-08", "-2.25e+10"])
        elif what == "extra" and layout in (
            "comma",
            "tab",
            "semicolon",
            "blank",
            "hash",
            "hash comma",
            "ecsv",
        ):
            made.extra.add(row)
        elif what == "longer":
            cells[row][-1] = "98765432109" if kinds[-1] in ("int", "real") else "a-much-longer-text"
    return made


def _cell(rng: random.Random, kind: str, column: int, row: int) -> str:
    if kind == "int":
        return str(row * (column + 1) % 1000 if column else row)
    if kind == "real":
        return f"{(row * 7 % 400) / 4 - 20:.2f}"
    return rng.choice(["AB", "ABC", "N7", "x-y"]) if kind == "word" else f"HD{row % 90 + 10}"


def text(made: Sample) -> tuple[str, str]:
    """The text of a table, and a label beside it (PDS3, PDS4) or nothing."""
    layout = made.layout
    if layout in _SEPARATORS:
        separator = _SEPARATORS[layout]
        lines = [separator.join(row) for row in made.cells]
        for row in made.extra:
            lines[row] += f"{separator}7{separator}more"
        head = separator.join(made.names)
        if layout == "ecsv":
            kinds = {"int": "int64", "real": "float64"}
            described = "".join(
                f"# - {{name: {name}, datatype: {kinds.get(kind, 'string')}}}\n"
                for name, kind in zip(made.names, made.kinds, strict=True)
            )
            head = f"# %ECSV 1.0\n# ---\n# datatype:\n{described}{head}"
        elif layout.startswith("hash"):
            head = f"# {head}" if layout == "hash" else f"#{head}"
        return _joined([head, *lines], made.end), ""
    lines = [_aligned(made, row) for row in made.cells]
    if layout.endswith("trimmed"):
        lines = [line.rstrip() for line in lines]
    if layout.startswith("fixed"):
        head = [_aligned(made, made.names)] if layout != "fixed" else []
        return _joined([*head, *lines], made.end), ""
    if layout == "rst":
        rule = " ".join("=" * width for width in made.widths)
        return _joined([rule, _aligned(made, made.names), rule, *lines, rule], made.end), ""
    if layout.startswith("mrt"):
        return _joined([*_described(made), *lines], made.end), ""
    made.end = "\r\n"
    body = _joined(lines, made.end)
    return body, _pds3(made) if layout == "pds3" else _pds4(made)


def _joined(lines: list[str], end: str) -> str:
    return "".join(f"{line}{end}" for line in lines)


def _aligned(made: Sample, row: list[str]) -> str:
    cells = zip(row, made.widths, made.kinds, strict=True)
    return " ".join(f"{cell:>{w}}" if kind in ("int", "real") else f"{cell:<{w}}" for cell, w, kind in cells)


def _places(made: Sample) -> list[tuple[str, str, int, int]]:
    at, places = 1, []
    for name, kind, width in zip(made.names, made.kinds, made.widths, strict=True):
        places.append((name, kind, at, width))
        at += width + 1
    return places


def _described(made: Sample) -> list[str]:
    rule, forms = "-" * 80, {"int": "I", "real": "F"}
    fields = [
        f"{at:4d}-{at + width - 1:4d} {forms.get(kind, 'A')}{width}{'.2' if kind == 'real' else ''} --- {name} ? text"
        for name, kind, at, width in _places(made)
    ]
    head = ["Title: x", "=" * 80, "Byte-by-byte Description of file: t.txt", rule]
    return [*head, "   Bytes Format Units   Label   Explanations", rule, *fields, rule]


def _pds3(made: Sample) -> str:
    forms = {"int": "ASCII_INTEGER", "real": "ASCII_REAL"}
    columns = "".join(
        f"OBJECT = COLUMN\r\nNAME = {name}\r\nDATA_TYPE = {forms.get(kind, 'CHARACTER')}\r\nSTART_BYTE = {at}\r\nBYTES = {width}\r\nEND_OBJECT = COLUMN\r\n"
        for name, kind, at, width in _places(made)
    )
    size = sum(made.widths) + len(made.widths) + 1
    return (
        f'PDS_VERSION_ID = PDS3\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = {size}\r\n^TABLE = "T.TAB"\r\n'
        f"OBJECT = TABLE\r\nINTERCHANGE_FORMAT = ASCII\r\nROWS = {len(made.cells)}\r\nROW_BYTES = {size}\r\n"
        f"COLUMNS = {len(made.kinds)}\r\n{columns}END_OBJECT = TABLE\r\nEND\r\n"
    )


def _pds4(made: Sample) -> str:
    forms = {"int": "ASCII_Integer", "real": "ASCII_Real"}
    fields = "".join(
        f"<Field_Character><name>{name}</name><field_location>{at}</field_location><data_type>{forms.get(kind, 'ASCII_String')}</data_type><field_length>{width}</field_length></Field_Character>"
        for name, kind, at, width in _places(made)
    )
    size = sum(made.widths) + len(made.widths) + 1
    return (
        '<?xml version="1.0"?><Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1"><File_Area_Observational>'
        f"<File><file_name>t.tab</file_name></File><Table_Character><offset>0</offset><records>{len(made.cells)}</records>"
        f"<Record_Character><fields>{len(made.kinds)}</fields><record_length>{size}</record_length>{fields}"
        "</Record_Character></Table_Character></File_Area_Observational></Product_Observational>"
    )


def check(folder: Path, made: Sample) -> None:
    """Pack a table, restore it, and compare each cell: it has its value, or a note counts it."""
    body, label = text(made)
    suffix = {"comma": "csv", "tab": "tsv", "ecsv": "ecsv", "rst": "rst", "pds3": "tab", "pds4": "tab"}
    name = f"t.{suffix.get(made.layout, 'txt')}"
    (folder / name).write_bytes(body.encode())
    if label:
        (folder / ("t.lbl" if made.layout == "pds3" else "t.xml")).write_bytes(label.encode())
    repo, report, again = round_trip(folder / name, folder)
    assert again == body.encode()
    columns = list(repo.table("/t").columns.items())
    notes = [note.message for note in report.notes]
    rows = [row for i, row in enumerate(made.cells) if i not in made.extra]
    if made.extra:
        count = len(made.extra)
        assert any(note.startswith(f"{count} line") and " (line " in note for note in notes), notes
    assert len(columns) == len(made.kinds), (list(dict(columns)), made.names)
    if made.layout not in ("fixed", "fixed trimmed"):
        assert [title for title, _ in columns] == made.names
    for i, (title, array) in enumerate(columns):
        wanted = [row[i] for row in rows]
        values = np.asarray(array[...])
        assert len(values) == len(wanted), (title, len(values), len(wanted), notes)
        blank = array.attrs.get("_FillValue")
        wrong = [
            (row, cell, value)
            for row, (cell, value) in enumerate(zip(wanted, values.tolist(), strict=True))
            if not _is(cell, value, blank)
        ]
        lost = [cell for _, cell, value in wrong if _is_null(value, blank)]
        assert len(lost) == len(wrong), (title, values.dtype, wrong[:3], notes)
        if lost:
            many = f"{len(lost)} cell{'s' if len(lost) > 1 else ''} of column {title} kept as text"
            assert any(note.startswith(many) and " (line " in note for note in notes), (many, notes)


def _is_null(value: Any, blank: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or (blank is not None and value == blank)


def _is(cell: str, value: Any, blank: Any) -> bool:
    if isinstance(value, (bytes, str)):
        return (value.decode() if isinstance(value, bytes) else value) == cell
    if not cell:
        return _is_null(value, blank)
    try:
        return float(cell) == value
    except ValueError:
        return False
