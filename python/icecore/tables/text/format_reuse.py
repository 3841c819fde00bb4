"""Reuse of a print format for the next file."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.tables.text import print_format
from icecore.tables.text.text_stream import BLOCK

#: fraction of escaped cells above which a file gets its own print format
_MANY = 0.02


def alike(known: dict[str, Any], fmt: dict[str, Any]) -> bool:
    """Return whether one of two formats may serve both. Binary formats can't: they print any records."""
    return "binary" not in fmt["layout"] and {**known, "columns": None} == {**fmt, "columns": None}


def prints(fmt: dict[str, Any], text: np.ndarray) -> bool:
    """Return whether an existing print format fits the first rows of another file."""
    part = text[: min(len(text), BLOCK >> 4)]
    parsed = print_format.native(fmt).parse(part, False)
    cells = max(parsed["rows"], 1) * len(fmt["columns"])
    return not parsed["lost"] and parsed["escaped"] <= cells * _MANY and parsed["rows"] > parsed["lines"]
