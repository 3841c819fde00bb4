"""A table of delimited text whose label states the number of rows: further lines are not rows."""

from __future__ import annotations

from typing import Any

import numpy as np

#: bytes of what follows a table that are looked at
BEHIND = 1 << 16


def reach(text: bytes | np.ndarray, lines: int | None) -> int:
    """Where so many lines end, or all of the text."""
    if lines is None:
        return len(text)
    ends = np.flatnonzero(np.frombuffer(text, "u1") == ord("\n"))
    return int(ends[lines - 1]) + 1 if 0 < lines <= len(ends) else len(text)


class Counted:
    """Parses as :class:`icecore._icecore.TextFormat` does up to a number of rows; what follows is kept as it
    is.
    """

    def __init__(self, native: Any, rows: int) -> None:
        self._native, self._left = native, rows
        #: the first of what follows
        self.behind = b""

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """The columns of the next rows, of not more lines than rows are left."""
        if not self._left:
            return self._behind(text)
        end = reach(text, self._left)
        parsed = self._native.parse(text[:end], last or end < len(text), checked)
        self._left = max(self._left - int(parsed["rows"]), 0)
        return parsed

    def _behind(self, text: np.ndarray) -> dict[str, Any]:
        from icecore import _icecore

        self.behind = self.behind or text[:BEHIND].tobytes()
        nothing = self._native.parse(text[:0], True)
        lines = max(int(np.count_nonzero(text == ord("\n"))), 1)
        return {**nothing, "used": len(text), "lines": lines, "escapes": _icecore.raw_escapes(text.tobytes())}
