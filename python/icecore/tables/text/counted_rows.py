"""Text table with the number of rows stated in its label: further lines are not rows."""

from __future__ import annotations

from typing import Any

import numpy as np

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
