"""State of one file of a text table while it is packed: its print format, and the text that is kept."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from icecore import errors
from icecore.display.text import plural
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.tables.text import column_types, print_format
from icecore.tables.text.row_parsers import BEHIND, ClosingLine, Counted, Encoded, LongLines, inked
from icecore.tables.text.text_stream import BLOCK

#: largest size in bytes of the columns that are parsed from one block of text
_MOST = 1 << 26
#: largest share (one in so many rows) and number of words in a column of numbers or times
_WORDS, _MOST_WORDS = 5, 8


class FileState:
    """State of one file while it is packed."""

    def __init__(self, file: TableFile, source: dict[str, Any]) -> None:
        self.file, self.source = file, source
        self.format: dict[str, Any] | None = None
        self.spec: TableSpec | None = None
        self.native: Any = None
        self.small = False
        self.rows: int | None = None
        self.limit: int | None = None
        self.most = BLOCK
        self.escaped = self.lines = self.odd = self.parsed = 0
        self.shown = ""
        #: column of numbers or times → number of its cells that are words
        self.words: Counter[int] = Counter()
        #: rows with bytes outside the columns: their number, the first of them, and its bytes
        self.outside: tuple[int, int, bytes] | None = None
        self.numbers = LineNumbers()
        #: position of those bytes in the file, and of the first cell without a value in each column
        self.outside_at = ""
        self.cells_at: dict[int, str] = {}
        self._counted: Counted | None = None
        self._behind, self._following = b"", 0
        #: column → number of cells, and the first of them
        self.junk: dict[int, tuple[int, bytes]] = {}
        self.lost: dict[int, tuple[int, bytes]] = {}

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Columns of the print format."""
        assert self.format is not None
        return list(self.format["columns"])

    def begin(self, fmt: dict[str, Any], spec: TableSpec, start: bytes) -> None:
        """Set the print format of the file; ``start`` is the beginning of its rows."""
        self.format, self.spec = fmt, spec
        self.native = print_format.native(fmt)
        if print_format.has_lines(fmt):
            self.native = LongLines(self.native)
        # One long text makes all cells of its column as long in memory, so blocks may have to be smaller.
        ends = np.flatnonzero(np.frombuffer(start, "u1") == ord("\n"))
        row = 0.0 if spec.trimmed else float(spec.row_bytes)
        row = row or (float(np.median(np.diff(ends, prepend=-1))) if len(ends) else len(start))
        self.most = max(int(_MOST / sum(column_types.dtype(c).itemsize for c in self.columns) * row), 1 << 9)
        if spec.until is not None:
            self.limit = spec.until - spec.offset
        if spec.rows is not None and spec.row_bytes and not spec.trimmed and not print_format.has_lines(fmt):
            self.limit = min(spec.row_bytes * spec.rows, self.limit or sys.maxsize)
        elif spec.rows is not None and not spec.trimmed:
            self.native = self._counted = Counted(self.native, spec.rows, spec.row_bytes)
        if spec.closing:
            self.native = ClosingLine(self.native, spec.closing)
        if spec.layout != "binary":
            self.native = Encoded(self.native)

    @property
    def foreign(self) -> str:
        """The first line that is not UTF-8; empty if all lines are."""
        return self.native.shown if isinstance(self.native, Encoded) else ""

    def follows(self, text: np.ndarray) -> None:
        """Record the text after the table's last row."""
        self._behind = self._behind or text[:BEHIND].tobytes()
        if self.spec is not None and self.spec.until is None and self.spec.layout != "binary":
            self._following += inked(text)

    @property
    def trailer(self) -> tuple[int, bytes]:
        """Number of lines after the table's last row that are kept as text, and the first of them."""
        counted = self._counted if self.spec is not None and self.spec.until is None else None
        lines = self._following + (counted.lines if counted is not None else 0)
        texts = (line for line in (self._behind or (counted.behind if counted else b"")).split(b"\n"))
        return lines, next((line for line in texts if line.strip()), b"")

    @property
    def beyond(self) -> bytes:
        """The line after the label's last row if it looks like another row; otherwise empty."""
        behind = self._counted.behind if self._counted is not None else self._behind
        line = behind[: behind.find(b"\n") + 1]
        if (
            not line.strip()
            or self.spec is None
            or self.spec.until is not None
            or self.spec.layout == "binary"
        ):
            return b""
        assert self.format is not None
        parsed = print_format.native(self.format).parse(np.frombuffer(line, "u1"), True)
        is_row = parsed["rows"] == 1 and not (parsed["lines"] or parsed["junk"] or parsed["lost"])
        return line.rstrip() if is_row else b""

    def count(self, parsed: dict[str, Any], start: int, text: np.ndarray) -> None:
        """Count the parts of ``text`` that are kept as text; its first row is row ``start``."""
        self.numbers.take(text)
        self.parsed += len(text)
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

    def check(self, outside: int, size: int) -> None:
        """Check that each byte of the file is in a row, in a line that is kept, or ``outside`` the rows.

        Raises:
            Error: ``internal``.
        """
        if outside + self.parsed != size:
            message = (
                f"{self.file.place} has {size:,} bytes (got {outside + self.parsed:,} in rows and lines)"
            )
            raise errors.make("internal", message, "please report it")

    def of_words(self) -> list[int]:
        """Return the columns of numbers and times that contain too many words and therefore become text.

        Words that mean a missing value (NA, -, null) don't count.
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
    """Add ``count`` cells of a column, and remember the first one."""
    before, first = cells.get(column, (0, cell))
    cells[column] = before + count, first


# Notes for the user about a packed file.


_SHOWN = 40
#: bytes other than separators, quotes and padding
_INK = re.compile(r"[^\s,;|\"'\0]+")


def kept(state: FileState, stored: bool = True) -> Iterator[str]:
    """Yield notes about text that is in no value: amount and place.

    Text behind the last row counts only if it is not ``stored`` for the file to be restored.
    """
    if state.odd:
        yield f"{plural(state.odd, 'line')} kept as text, no rows: {state.shown}"
    lines, first = state.trailer
    if lines and not stored and not state.beyond:
        yield f"{plural(lines, 'line')} behind the last row left out: {first[:60]!r}"
    if state.outside is not None:
        count, row, cell = state.outside
        shown = decoded(cell).strip()[:_SHOWN]
        rows = f"{plural(count, 'row')}, from row {row} on"
        yield f"bytes in no column vary in {rows}: {shown!r}{state.outside_at}"
    if constant := _constant(state):
        yield f"bytes in no column are the same in all rows: {', '.join(constant)}"
    for column, (count, cell) in [*state.junk.items(), *state.lost.items()]:
        title, shown = state.columns[column]["name"], decoded(cell).strip()[:_SHOWN]
        at = state.cells_at.get(column, "")
        yield f"{plural(count, 'cell')} of column {title} kept as text, no values: {shown!r}{at}"


def _constant(state: FileState) -> list[str]:
    """Return the constant bytes of all rows that belong to no column."""
    layout = state.format["layout"].get("fixed") if state.format is not None else None
    if layout is None:
        return []
    between = list(layout["template"])
    for start, length in layout["cells"]:
        between[start : start + length] = " " * length
    found = _INK.finditer("".join(between))
    texts = ((decoded(match[0].encode("latin-1")), match.start() + 1) for match in found)
    return [f"{text[:_SHOWN]!r} at byte {at}" for text, at in texts]


def doubtful(state: FileState) -> Iterator[str]:
    """Yield notes about everything in a file that may have been misinterpreted."""
    source, spec = state.source, state.spec
    if state.foreign:
        yield f"text is not UTF-8 but Latin-1, as it seems: {state.foreign[:60]!r}"
    yield from spec.notes if spec is not None else ()
    cut = _cut(state)
    if cut:
        many = f"{plural(len(cut), 'field')} of {len(state.columns)} end in the middle of the next one"
        yield f"{many}, and are taken without what they share with it: {few(cut)}"
    found = source["rows"][1] - source["rows"][0]
    if spec is not None and spec.label and spec.rows is not None and spec.rows != found:
        yield f"{spec.label} says {spec.rows:,} rows, the file has {found:,}"
    if spec is not None and (line := state.beyond):
        said = f"{spec.label} says {spec.rows:,} rows"
        yield f"{said}; the lines after them look like rows, but are not: {decoded(line)[:60]!r}"


def _cut(state: FileState) -> list[str]:
    """Return the names of fields that were shortened because the next field overlaps them."""
    assert state.file.spec is not None
    taken = {f.name: f.length for f in state.spec.fields} if state.spec is not None else {}
    return [f.name for f in state.file.spec.fields if taken.get(f.name, f.length) != f.length]


def few(names: Sequence[str]) -> str:
    """Return a short list of names."""
    shown = ", ".join(names[:6])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 6 else shown


# Line numbers in a file while its blocks are parsed.


class LineNumbers:
    """Counts the lines of the parsed blocks, to locate lines and rows in the file."""

    def __init__(self) -> None:
        self._before = self._inside = 0
        self._text = np.empty(0, "u1")

    def skip(self, text: np.ndarray) -> None:
        """Skip text without rows."""
        self._before += self._inside + int(np.count_nonzero(text == ord("\n")))
        self._inside, self._text = 0, text[:0]

    def take(self, text: np.ndarray) -> None:
        """Advance to the block that was parsed last."""
        self._before += self._inside
        self._inside, self._text = int(np.count_nonzero(text == ord("\n"))), text

    def of_line(self, line: bytes) -> str:
        """Return the position of a line that is not a row, in parentheses; empty if unknown."""
        text = self._text.tobytes()
        at = 0 if text.startswith(line) else text.find(b"\n" + line) + 1
        number = self._before + text.count(b"\n", 0, at) + 1
        return f" (line {number:,})" if text.startswith(line, at) else ""

    def of_row(self, parsed: dict[str, Any], row: int) -> str:
        """Return the position of a row, in parentheses; empty if rows and lines don't correspond."""
        lines = int(parsed["rows"]) + int(parsed["lines"])
        if self._inside not in (lines, lines - 1):  # the last line may lack a line end
            return ""
        strays = sum(1 for behind in parsed.get("strays", ()) if behind <= row)
        return f" (line {self._before + strays + row + 1:,})"
