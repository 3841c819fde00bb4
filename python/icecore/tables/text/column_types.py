"""Column types of text tables: NumPy dtypes, and conversion between parsed and stored values."""

from __future__ import annotations

from typing import Any

import numpy as np

#: time unit → decimal places of a second
PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}
#: longest text in bytes for which the texts of a column are padded to one length, and the ``size`` of a
#: column with longer texts, which are strings of any length (the same limits as in crates/icecore-text)
PADDED, LONGEST = 256, 1 << 20


def dtype(column: dict[str, Any]) -> np.dtype[Any]:
    """Return the NumPy dtype of a column of a print format."""
    ((style, how),) = column["style"].items()
    if style == "words":
        return np.dtype("O" if column["size"] == LONGEST else f"S{column['size']}")
    if style == "real" or (style == "number" and column["scale"]):
        return np.dtype("f8")
    if style == "binary":
        from icecore.sources.tables.binary import binary

        return binary(how["type"], how["length"]).dtype
    if style == "time":
        unit = next((unit for unit, places in PLACES.items() if places == column["scale"] > 0), None)
        return np.dtype(f"{'M8' if '%Y' in how['pattern'] else 'm8'}[{unit or _unit(how['pattern'])}]")
    if style == "unsigned":
        return np.dtype("u8")
    return np.dtype(f"i{column['size'] // 8}" if style == "number" else "i8")


def _unit(pattern: str) -> str:
    digits = next((n for n in range(1, 10) if f"%{n}" in pattern), 0)
    if not digits:
        return "s" if any(hour in pattern for hour in ("%H", "%k", "%I", "%l")) else "D"
    return ("ms", "us", "ns")[(digits - 1) // 3]


def values(raw: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Convert parser output (i8, f8, bytes, strings) to the column's dtype; copies only if necessary."""
    kind = dtype(column)
    if raw.dtype != kind and kind.kind in "SMm":
        return raw.view(kind)
    return raw.astype(kind, copy=False)


def raw(array: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """Invert :func:`values`: return i8, f8 or bytes; values of binary records are unchanged."""
    if "binary" in column["style"]:
        return array
    if array.dtype.kind == "S":
        return np.ascontiguousarray(array).astype(f"S{column['size']}", copy=False).view("u1")
    if array.dtype.kind in "Mm":
        return np.ascontiguousarray(array).view("i8")
    return np.ascontiguousarray(array, "f8" if array.dtype.kind == "f" else "i8")
