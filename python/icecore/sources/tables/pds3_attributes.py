"""Convert the descriptions of columns in PDS3 labels to CF attributes."""

from __future__ import annotations

import math
import re
from typing import Any

from icecore.sources.tables.binary import pattern
from icecore.sources.tables.odl_statements import Based

_CONSTANTS = (
    "MISSING_CONSTANT",
    "INVALID_CONSTANT",
    "UNKNOWN_CONSTANT",
    "NULL_CONSTANT",
    "NOT_APPLICABLE_CONSTANT",
)
_QUOTED = re.compile(r"16#([0-9A-Fa-f]+)#")
_NUMBERS = ("REAL", "INTEGER", "NUMERIC", "FLOAT", "DOUBLE")


def is_number(data_type: str) -> bool:
    """Whether values of a type are numeric."""
    return any(word in data_type for word in _NUMBERS)


def attributes(column: Any, data_type: str, size: int, stored: bool) -> dict[str, Any]:
    """Return the CF attributes of a column.

    Args:
        column: the column object of the label.
        data_type: data type of its values.
        size: size of a value in bytes.
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
    """Return a number, with or without units; strings are accepted only if ``quoted``."""
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
    """Return the value of a bit pattern (``16#FF7FFFFB#``, also quoted), as used for binary constants."""
    if isinstance(value, str) and is_number(data_type) and (found := _QUOTED.fullmatch(value.strip())):
        value = Based(int(found[1], 16))
    return pattern(value, data_type, size) if isinstance(value, Based) else value
