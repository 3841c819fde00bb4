# ruff: noqa: E501, PT018
"""Generated layouts: whatever happens below the first lines, each row has the values that a row-by-row reader gives.

Every byte is in a cell, or is counted by a note; and the file comes back.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.tables.text.restore import restore

WORDS = {
    "ascii": ["Thorshofn", "Reykjavik", "Isafjordur", "Hofn", "x"],
    "utf-8": ["Þórshöfn", "Reykjavík", "Ísafjörður", "Höfn", "€"],
    "cp1252": ["Zürich", "Besançon", "Orléans", "Malmö", "x"],
}
#: rows below which the layout is inferred, and rows that are made
SAMPLE, ROWS = 1000, 1700


@dataclass
class Made:
    """A text, the values of its rows, and the number of its other lines."""

    text: bytes
    rows: list[list[object]]
    junk: int = 0
    label: tuple[str, str] | None = None
    name: str = "t.txt"
    encoding: str = "utf-8"
    names: list[str] = field(default_factory=list)


class Layout:
    """Columns whose values change below the sample: they widen, go negative, appear, or merge."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.encoding = pick(["ascii", "ascii", "utf-8", "cp1252"])
        self.late = pick([3, 400, SAMPLE - 1, SAMPLE + 1, 1500])
        self.change = pick(["none", "wider", "negative", "counter", "blank", "appears"])
        self.end = pick(["\n", "\n", "\r\n"])
        self.tail = pick(["", "", "\x1a", "\n", "\n\n\x1a"])

    def values(self, count: int = ROWS) -> list[list[object]]:
        """Rows of a counter, a word, a decimal, and a number that may be missing."""
        words, rows = WORDS[self.encoding], []
        for i in range(count):
            late = i >= self.late
            counter = 9000 + i if self.change == "counter" else 1000 + i % 900
            decimal = round(10 + i * 7 % 89 * 0.25, 2)
            if late and self.change == "negative" and i % 3 == 0:
                decimal = -decimal
            if late and self.change == "wider" and i % 5 == 0:
                decimal = decimal + 123400
            missing = (self.change == "blank" and i % 11 == 5) or (self.change == "appears" and not late)
            rows.append([counter, words[i * 3 % 5], decimal, None if missing else 100 + i % 800])
        return rows


def delimited(layout: Layout, separator: str) -> Made:
    rows = layout.values()
    lines = [separator.join(["", str(v)][v is not None] for v in row) for row in rows]
    junk = 0
    if layout.random.random() < 0.5:  # lines with too many cells, or far too long
        for at in sorted(layout.random.sample(range(SAMPLE + 100, ROWS), 3), reverse=True):
            lines.insert(at, layout.random.choice(["junk", "y" * 70_000, separator.join("abcdefg")]))
            junk += 1
    text = f"n{separator}word{separator}x{separator}k{layout.end}"
    text += "".join(line + layout.end for line in lines) + layout.tail
    return Made(
        text.encode(layout.encoding),
        rows,
        junk,
        encoding=layout.encoding,
        name="t.csv",
        names=["n", "word", "x", "k"],
    )


def fixed(layout: Layout, head: bool) -> Made:
    """Cells that are padded by characters."""
    rows = layout.values()
    widths = 6, 12, 10, 6
    lines = [
        f"{n:>{widths[0]}} {word:<{widths[1]}} {x:>{widths[2]}.2f} {'' if k is None else k:>{widths[3]}}"
        for n, word, x, k in rows
    ]
    above = f"{'n':>6} {'word':<12} {'x':>10} {'k':>6}{layout.end}" if head else ""
    text = above + "".join(line + layout.end for line in lines) + layout.tail
    return Made(
        text.encode(layout.encoding),
        rows,
        encoding=layout.encoding,
        names=["n", "word", "x", "k"] if head else [],
    )


def runs(layout: Layout) -> Made:
    """Numbers between single blanks, which are not padded."""
    rows = [[n, x, k if k is not None else 0] for n, _, x, k in layout.values()]
    text = "".join(f"{n} {x:.2f} {k}{layout.end}" for n, x, k in rows)
    return Made(text.encode(), rows, name=layout.random.choice(["t.dat", "t.csv"]))


def labelled(layout: Layout) -> Made:
    """Records of a PDS3 or PDS4 label, with lines of another length."""
    rows = layout.values()
    lines = [
        f"{n:>6} {w.encode(layout.encoding).ljust(14).decode(layout.encoding)} {x:>10.2f} {'' if k is None else k:>6}"
        for n, w, x, k in rows
    ]
    size, junk = 6 + 1 + 14 + 1 + 10 + 1 + 6 + 2, 0
    if layout.random.random() < 0.7:
        for at in sorted(layout.random.sample(range(SAMPLE + 100, ROWS), 2), reverse=True):
            lines.insert(at, layout.random.choice(["x" * 300, "y" * 70_000, "short"]))
            junk += 1
    text = "".join(line + "\r\n" for line in lines).encode(layout.encoding)
    kinds = ("ASCII_INTEGER", "CHARACTER", "ASCII_REAL", "ASCII_INTEGER")
    place = list(zip("NWXK", kinds, (1, 8, 23, 34), (6, 14, 10, 6), strict=True))
    columns = "".join(
        f"OBJECT = COLUMN\nNAME = {a}\nDATA_TYPE = {b}\nSTART_BYTE = {c}\nBYTES = {d}\nEND_OBJECT = COLUMN\n"
        for a, b, c, d in place
    )
    label = (
        f'PDS_VERSION_ID = PDS3\nRECORD_TYPE = FIXED_LENGTH\nRECORD_BYTES = {size}\n^TABLE = "t.tab"\nOBJECT = TABLE\n'
        f"INTERCHANGE_FORMAT = ASCII\nROWS = {len(rows)}\nROW_BYTES = {size}\nCOLUMNS = 4\n{columns}END_OBJECT = TABLE\nEND\n"
    )
    return Made(text, rows, junk, ("t.lbl", label), "t.tab", layout.encoding, list("NWXK"))


def made(seed: int) -> Made:
    layout = Layout(seed)
    kinds = [
        lambda: delimited(layout, ","),
        lambda: delimited(layout, "\t"),
        lambda: delimited(layout, ";"),
        lambda: fixed(layout, True),
        lambda: fixed(layout, False),
        lambda: runs(layout),
        lambda: labelled(layout),
    ]
    return kinds[seed % len(kinds)]()


def cell(value: object, encoding: str) -> object:
    """A stored value as Python has it."""
    if isinstance(value, bytes):
        return value.decode(encoding)
    number = float(value)  # type: ignore[arg-type]
    return None if number != number or number in (-(2.0**63), -(2.0**31), -(2.0**15), -128.0) else number


@pytest.mark.parametrize("seed", range(84))
def test_rows_are_those_of_a_row_by_row_reader(tmp_path: Path, seed: int) -> None:
    case = made(seed)
    (tmp_path / case.name).write_bytes(case.text)
    source = tmp_path / case.name
    if case.label is not None:
        source = tmp_path / case.label[0]
        source.write_text(case.label[1])
    report = icecore.pack(source, into=tmp_path / "r", group="/t")
    repo = icecore.open(tmp_path / "r")
    restore(repo, "/t", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == case.text
    table, notes = repo.table("/t"), [note.message for note in report.notes]
    columns = {name: np.asarray(array[...]).tolist() for name, array in table.columns.items()}
    assert not case.names or list(columns) == case.names, notes
    got = [[cell(v, case.encoding) for v in row] for row in zip(*columns.values(), strict=True)]
    want = [[float(v) if isinstance(v, (int, float)) else v for v in row] for row in case.rows]
    wrong = [
        (i, a, b)
        for i, (a, b) in enumerate(zip(got, want, strict=False))
        if [x or None for x in a] != [x or None for x in b]
    ]
    assert len(got) == len(want) and not wrong, (len(got), len(want), wrong[:3], notes)
    kept = sum(
        int(m[1].replace(",", "")) for note in notes if (m := re.match(r"([\d,]+) lines? kept as text", note))
    )
    assert kept >= case.junk, notes
