"""What PDS3 labels say about a column's values, as CF attributes."""

from __future__ import annotations

import math
from typing import Any

from icecore.sources.tables.binary import Digits, binary
from icecore.sources.tables.odl import Based

_CONSTANTS = (
    "MISSING_CONSTANT",
    "INVALID_CONSTANT",
    "UNKNOWN_CONSTANT",
    "NULL_CONSTANT",
    "NOT_APPLICABLE_CONSTANT",
)
_NUMBERS = ("REAL", "INTEGER", "NUMERIC", "FLOAT", "DOUBLE")


def is_number(data_type: str) -> bool:
    """Whether values of a type are numbers."""
    return any(word in data_type for word in _NUMBERS)


def attributes(column: Any, data_type: str, size: int, stored: bool) -> dict[str, Any]:
    """CF attributes of a column.

    Args:
        column: its object in the label.
        data_type: of its values.
        size: bytes of a value.
        stored: whether values are binary.
    """
    result: dict[str, Any] = {}
    if column.get("DESCRIPTION") is not None:
        result["description"] = " ".join(str(column["DESCRIPTION"]).split())
    unit = str(column.get("UNIT", "N/A")).strip()
    if unit.upper() not in ("N/A", "NONE", "NULL", ""):
        result["units"] = unit
    quoted = is_number(data_type)
    for key, cf, nothing in (("SCALING_FACTOR", "scale_factor", 1), ("OFFSET", "add_offset", 0)):
        number = _number(column.get(key), quoted)
        if number is not None and number != nothing:
            result[cf] = number
    given = [column[key] for key in _CONSTANTS if key in column]
    if stored:
        given = [_pattern(value, data_type, size) for value in given]
    constants = [number for value in given if (number := _number(value, quoted)) is not None]
    if constants:
        result["missing_value"] = list(dict.fromkeys(constants))
    return result


def _number(value: Any, quoted: bool) -> int | float | None:
    """A number, with or without units; one in quotes only where ``quoted``."""
    value = getattr(value, "value", value)
    if isinstance(value, str) and quoted:
        for reader in (int, float):
            try:
                value = reader(value)
                break
            except ValueError:
                continue
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return int(value) if isinstance(value, int) else None


def _pattern(value: Any, data_type: str, size: int) -> Any:
    """The value of a pattern of bits (``16#FF7FFFFB#``), as labels state constants of binary columns."""
    how = binary(data_type, size)
    if not isinstance(value, Based) or how.dtype.kind not in "iuf" or isinstance(how, Digits):
        return value
    order = "little" if how.stored.str.startswith("<") else "big"
    try:
        stored = value.to_bytes(size, order, signed=value < 0)  # type: ignore[arg-type]
    except OverflowError:
        return None
    import numpy as np

    return how.decode(np.frombuffer(stored, "u1").reshape(1, size))[0].item()
