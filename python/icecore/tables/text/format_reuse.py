"""Whether the print format of a file does for the next one."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.tables.text import print_format
from icecore.tables.text.text_stream import BLOCK

#: escapes and lines that are not rows, per cent, above which a file gets a print format of its own
_MANY = 0.02


def alike(known: dict[str, Any], fmt: dict[str, Any]) -> bool:
    """Whether one of two formats may do for both, as no binary one does: it prints any records."""
    return "binary" not in fmt["layout"] and {**known, "columns": None} == {**fmt, "columns": None}


def prints(fmt: dict[str, Any], text: np.ndarray) -> bool:
    """Whether a print format that exists fits the first rows of another file."""
    part = text[: min(len(text), BLOCK >> 4)]
    parsed = print_format.native(fmt).parse(part, False)
    cells = max(parsed["rows"], 1) * len(fmt["columns"])
    return not parsed["lost"] and parsed["escaped"] <= cells * _MANY and parsed["rows"] > parsed["lines"]
