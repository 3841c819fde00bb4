"""What the columns of a text table are as arrays: data types, and values both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

#: decimal places of a second that a tick of a unit is
PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}
#: bytes of the longest text that all texts of a column are padded to, and the size of a column with longer
#: ones, which are strings of any length (as crates/icecore-text has them)
PADDED, LONGEST = 256, 1 << 20


def dtype(column: dict[str, Any]) -> np.dtype[Any]:
    """The NumPy dtype of a column of a print format."""
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
    """What the parser gives (i8, f8, bytes, strings) in the column's dtype, copied only where needed."""
    kind = dtype(column)
    if raw.dtype != kind and kind.kind in "SMm":
        return raw.view(kind)
    return raw.astype(kind, copy=False)


def raw(array: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """The inverse of :func:`values`: i8, f8 or bytes; values of binary records as they are."""
    if "binary" in column["style"]:
        return array
    if array.dtype.kind == "S":
        return np.ascontiguousarray(array).astype(f"S{column['size']}", copy=False).view("u1")
    if array.dtype.kind in "Mm":
        return np.ascontiguousarray(array).view("i8")
    return np.ascontiguousarray(array, "f8" if array.dtype.kind == "f" else "i8")
