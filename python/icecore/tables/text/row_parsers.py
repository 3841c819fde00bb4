"""Parsers of rows around the native one: encoding, very long lines, counted rows, the line that ends a table.

All have the interface of :class:`icecore._icecore.TextFormat`: ``parse`` returns the columns of a block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.sources.tables.encoding import foreign

if TYPE_CHECKING:
    from icecore import _icecore

#: row count that SQL Server and PostgreSQL print after the last row
_COUNT = rb"\(\d+ rows?(?: affected)?\)"
#: number of lines after the rows that are not reported
_FEW = 1


def ending(closing: bytes) -> re.Pattern[bytes]:
    """Return the pattern of the line that ends the rows of a table."""
    return re.compile(rb"^(?:%s|%s)[ \r]*$" % (re.escape(closing), _COUNT), re.MULTILINE)


class ClosingLine:
    """Parser that wraps another parser up to a closing line; that line and the rest are stored unchanged."""

    def __init__(self, native: Any, closing: bytes) -> None:
        self._native, self._ended = native, False
        self._end = ending(closing)

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """Return the columns of a block."""
        if self._ended:
            return self._rest(text, last)
        found = self._end.search(text.tobytes())
        if found is None:
            parsed: dict[str, Any] = self._native.parse(text, last, checked)
            return parsed
        if found.start() == 0:
            self._ended = True
            return self._rest(text, last)
        parsed = self._native.parse(text[: found.start()], True, checked)
        return parsed

    def _rest(self, text: np.ndarray, last: bool) -> dict[str, Any]:
        """Return whole lines as text, without rows."""
        from icecore import _icecore

        ends = np.flatnonzero(text == ord("\n"))
        used = len(text) if last or not len(ends) else int(ends[-1]) + 1
        kept = text[:used].tobytes()
        lines = [line for line in kept.splitlines() if line.strip() and not self._end.fullmatch(line)]
        nothing = self._native.parse(text[:0], True)
        shown = (0, lines[0] + b"\n") if len(lines) > _FEW else None
        count, raw = len(lines), _icecore.raw_escapes(kept)
        return {**nothing, "used": used, "lines": count, "line": shown, "escapes": raw}


#: number of bytes after a table that are inspected
BEHIND = 1 << 16
#: bytes that fill up a file
_BLANK = b" \t\r\x1a\0"


def reach(text: bytes | np.ndarray, lines: int | None) -> int:
    """Return the offset at which ``lines`` lines end, or the length of the text."""
    if lines is None:
        return len(text)
    ends = np.flatnonzero(np.frombuffer(text, "u1") == ord("\n"))
    return int(ends[lines - 1]) + 1 if 0 < lines <= len(ends) else len(text)


def inked(text: np.ndarray) -> int:
    """Return the number of lines that hold more than spaces, end-of-file signs and zeros."""
    return sum(bool(line.strip(_BLANK)) for line in text.tobytes().split(b"\n"))


class Counted:
    """Parser with the interface of :class:`icecore._icecore.TextFormat` for a fixed number of rows. The bytes
    after them are stored unchanged. Lines that are not rows don't count.
    """

    def __init__(self, native: Any, rows: int, row_bytes: int = 0) -> None:
        """``row_bytes``: the length of each row, if all have the same."""
        self._native, self._left, self._row = native, rows, row_bytes
        #: the first bytes after the rows, and the number of lines there that are not blank
        self.behind, self.lines = b"", 0

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """Return the columns of the next rows; it parses at most as many lines as rows are left."""
        if not self._left:
            return self._behind(text)
        end = len(text) if self._row and len(text) <= self._left * self._row else reach(text, self._left)
        parsed = self._native.parse(text[:end], last or end < len(text), checked)
        self._left = max(self._left - int(parsed["rows"]), 0)
        return parsed

    def _behind(self, text: np.ndarray) -> dict[str, Any]:
        from icecore import _icecore

        self.behind = self.behind or text[:BEHIND].tobytes()
        self.lines += inked(text)
        nothing = self._native.parse(text[:0], True)
        lines = max(int(np.count_nonzero(text == ord("\n"))), 1)
        return {**nothing, "used": len(text), "lines": lines, "escapes": _icecore.raw_escapes(text.tobytes())}


class Encoded:
    """Parser that wraps another one and records in ``shown`` the first line that is not UTF-8."""

    def __init__(self, native: Any) -> None:
        self._native, self.shown = native, ""

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """Return the columns of a block."""
        parsed: dict[str, Any] = self._native.parse(text, last, checked)
        if not self.shown:
            rows = text[: parsed["used"]]
            if len(rows) and rows.max() >= 128:
                self.shown = foreign(rows.tobytes())
        return parsed


class LongLines:
    """Parser with the interface of :class:`icecore._icecore.TextFormat` for very long lines. The rest of a
    line whose beginning was not a row is kept as text and counts with that line.
    """

    def __init__(self, native: _icecore.TextFormat) -> None:
        self._native, self._open = native, False

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """Return the columns of a block."""
        parsed = self._rest(text) if self._open else self._native.parse(text, last, checked)
        used = int(parsed["used"])
        if used:
            self._open = not last and text[used - 1] != ord("\n")
        return parsed

    def _rest(self, text: np.ndarray) -> dict[str, Any]:
        """Keep the block up to the end of the line as text."""
        from icecore import _icecore

        ends = np.flatnonzero(text == ord("\n"))
        line = text[: int(ends[0]) + 1] if len(ends) else text
        kept = {"used": len(line), "escapes": _icecore.raw_escapes(line.tobytes())}
        return {**self._native.parse(text[:0], True), **kept}
