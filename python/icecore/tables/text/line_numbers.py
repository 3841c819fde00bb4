"""Line numbers in a file while its blocks are parsed."""

from __future__ import annotations

from typing import Any

import numpy as np


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
