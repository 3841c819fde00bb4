"""Line that ends the rows of a table: closing ruler of RST, or the row count that a database prints."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

#: row count that SQL Server and PostgreSQL print after the last row
_COUNT = rb"\(\d+ rows?(?: affected)?\)"
#: number of lines after the rows that are not reported
_FEW = 1


def ending(closing: bytes) -> re.Pattern[bytes]:
    """Return the pattern of the line that ends the rows of a table."""
    return re.compile(rb"^(?:%s|%s)[ \r]*$" % (re.escape(closing), _COUNT), re.MULTILINE)


class Closed:
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
