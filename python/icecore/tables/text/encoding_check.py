"""Encoding check: finds text of a table that is not UTF-8 while it is parsed."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.sources.tables.encoding import foreign


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
