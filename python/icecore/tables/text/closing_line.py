"""Line that ends the rows of a table: the closing ruler of RST, the number of rows that a database writes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

#: what SQL Server and PostgreSQL write behind the last row
_COUNT = rb"\(\d+ rows?(?: affected)?\)"
#: lines behind the rows that need no mention
_FEW = 1


def ending(closing: bytes) -> re.Pattern[bytes]:
    """Where the rows of a table end."""
    return re.compile(rb"^(?:%s|%s)[ \r]*$" % (re.escape(closing), _COUNT), re.MULTILINE)


class Closed:
    """Parses as what it is given does up to a closing line; that and what follows is kept as it is."""

    def __init__(self, native: Any, closing: bytes) -> None:
        self._native, self._ended = native, False
        self._end = ending(closing)

    def parse(self, text: np.ndarray, last: bool, checked: bool = False) -> dict[str, Any]:
        """The columns of a block."""
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
        """Whole lines as text, none of them a row."""
        from icecore import _icecore

        ends = np.flatnonzero(text == ord("\n"))
        used = len(text) if last or not len(ends) else int(ends[-1]) + 1
        kept = text[:used].tobytes()
        lines = [line for line in kept.splitlines() if line.strip() and not self._end.fullmatch(line)]
        nothing = self._native.parse(text[:0], True)
        shown = (0, lines[0] + b"\n") if len(lines) > _FEW else None
        count, raw = len(lines), _icecore.raw_escapes(kept)
        return {**nothing, "used": used, "lines": count, "line": shown, "escapes": raw}
