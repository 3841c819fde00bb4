"""One file of a text table while it is packed: its print format, and what of it is kept as text."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.tables.text import column_types, print_format
from icecore.tables.text.closing_line import Closed
from icecore.tables.text.counted_rows import BEHIND, Counted
from icecore.tables.text.encoding_check import Encoded
from icecore.tables.text.line_numbers import LineNumbers
from icecore.tables.text.long_lines import Endless
from icecore.tables.text.text_stream import BLOCK

#: bytes of columns that a block of text may become at once
_MOST = 1 << 26
#: of so many rows one may have a word where a column holds numbers or times, and so many rows in all
_WORDS, _MOST_WORDS = 5, 8


class FileState:
    """One file on its way."""

    def __init__(self, file: TableFile, source: dict[str, Any]) -> None:
        self.file, self.source = file, source
        self.format: dict[str, Any] | None = None
        self.spec: TableSpec | None = None
        self.native: Any = None
        self.small = False
        self.rows: int | None = None
        self.limit: int | None = None
        self.most = BLOCK
        self.escaped = self.lines = self.odd = 0
        self.shown = ""
        #: column → how many of its cells are words where it holds numbers or times
        self.words: Counter[int] = Counter()
        #: rows with bytes in no column, the first of them, and those bytes
        self.outside: tuple[int, int, bytes] | None = None
        self.numbers = LineNumbers()
        #: where in the file those bytes are, and the first cell of each column that has no value
        self.outside_at = ""
        self.cells_at: dict[int, str] = {}
        self._counted: Counted | None = None
        self._behind = b""
        #: column → how many cells, and the first of them
        self.junk: dict[int, tuple[int, bytes]] = {}
        self.lost: dict[int, tuple[int, bytes]] = {}

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of the print format."""
        assert self.format is not None
        return list(self.format["columns"])

    def begin(self, fmt: dict[str, Any], spec: TableSpec, start: bytes) -> None:
        """Set the print format of the rows from ``start`` on."""
        self.format, self.spec = fmt, spec
        self.native = print_format.native(fmt)
        if print_format.has_lines(fmt):
            self.native = Endless(self.native)
        # A long text anywhere makes all cells of its column as long, those of most rows too.
        ends = np.flatnonzero(np.frombuffer(start, "u1") == ord("\n"))
        row = 0.0 if spec.trimmed else float(spec.row_bytes)
        row = row or (float(np.median(np.diff(ends, prepend=-1))) if len(ends) else len(start))
        self.most = max(int(_MOST / sum(column_types.dtype(c).itemsize for c in self.columns) * row), 1 << 9)
        if spec.row_bytes and spec.rows is not None and not spec.trimmed:
            self.limit = spec.row_bytes * spec.rows
        elif spec.layout == "delimited" and spec.rows:
            self.native = self._counted = Counted(self.native, spec.rows)
        if spec.closing:
            self.native = Closed(self.native, spec.closing)
        if spec.layout != "binary":
            self.native = Encoded(self.native)

    @property
    def foreign(self) -> str:
        """The first line that is not UTF-8; empty where all are."""
        return self.native.shown if isinstance(self.native, Encoded) else ""

    def follows(self, text: np.ndarray) -> None:
        """Take note of what follows the table's last row."""
        self._behind = self._behind or text[:BEHIND].tobytes()

    @property
    def beyond(self) -> bytes:
        """The line behind the last row that the label counts, where it looks like one more; else nothing."""
        behind = self._counted.behind if self._counted is not None else self._behind
        line = behind[: behind.find(b"\n") + 1]
        if not line.strip() or self.spec is None or self.spec.followed or self.spec.layout == "binary":
            return b""
        assert self.format is not None
        parsed = print_format.native(self.format).parse(np.frombuffer(line, "u1"), True)
        is_row = parsed["rows"] == 1 and not (parsed["lines"] or parsed["junk"] or parsed["lost"])
        return line.rstrip() if is_row else b""

    def count(self, parsed: dict[str, Any], start: int, text: np.ndarray) -> None:
        """Add up what is kept as text of the rows of ``text``, which begin with row ``start``."""
        self.numbers.take(text)
        self.escaped += parsed["escaped"]
        self.lines += parsed["lines"]
        if parsed["line"] is not None:
            row, line = parsed["line"]
            self.odd += parsed["lines"]
            if not self.shown:
                self.shown = f"{line[:60]!r} before row {start + row}{self.numbers.of_line(line)}"
        for column, count, _, cell in parsed["junk"]:
            more(self.junk, column, count, cell)
        for column, _, row, _ in (*parsed["junk"], *parsed["lost"]):
            self.cells_at.setdefault(column, self.numbers.of_row(parsed, row))
        self.words.update(dict(enumerate(parsed.get("words", ()))))
        if (found := parsed.get("outside")) is not None:
            count, row, cell = found
            if self.outside is None:
                self.outside_at = self.numbers.of_row(parsed, row)
            before, first, shown = self.outside or (0, start + row, cell)
            self.outside = before + count, first, shown

    def of_words(self) -> list[int]:
        """Columns of numbers and times with too many words in the whole file: as text, they have values.

        Words that mean "no value" (NA, -, null) don't count.
        """
        if self.spec is None or self.spec.label:
            return []
        rows = self.source["rows"][1] - self.source["rows"][0]
        return [
            column
            for column, count in self.words.items()
            if self.spec.fields[column].kind == "any" and (count > _MOST_WORDS or count * _WORDS > rows)
        ]


def more(cells: dict[int, tuple[int, bytes]], column: int, count: int, cell: bytes) -> None:
    """Add up the cells of the column of ``cell``."""
    before, first = cells.get(column, (0, cell))
    cells[column] = before + count, first
