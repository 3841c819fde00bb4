"""Lines longer than a block of text: their parts form one line, which is not a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from icecore import _icecore


class Endless:
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
