"""Type of a column's array if the files have the column in different styles."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.tables.text.column_types import LONGEST, PADDED, PLACES, dtype

Column = dict[str, Any]
#: column description of an array of arbitrary doubles
REAL: Column = {
    "style": {"real": {"form": "shortest", "places": 0, "exponent": 2, "letter": "e"}},
    "scale": 0,
    "size": 0,
}
#: PDS3 names of binary types, for arrays that combine several binary types
_BINARY = {
    "i": "MSB_INTEGER",
    "u": "MSB_UNSIGNED_INTEGER",
    "f": "IEEEREAL",
    "c": "IEEE_COMPLEX",
    "S": "CHARACTER",
}


def merge(old: Column, new: Column) -> Column | None:
    """Return the description of an array for the values of both columns; None if only text can hold them.

    Args:
        old: description of the array so far.
        new: a column of a print format.
    """
    if old.get("blank") or new.get("blank"):
        return old if new.get("blank") else stored(new)
    a, b = _family(old), _family(new)
    result = stored(new)
    if a == b == "int":
        result["size"] = max(old["size"], new["size"])
    elif a == b == "words":
        result["size"] = old["size"] if new["size"] <= old["size"] else _room(new["size"])
    elif {a, b} <= {"int", "decimal"}:
        result["scale"], result["size"] = max(old["scale"], new["scale"]), 0
    elif {a, b} <= {"int", "unsigned"}:
        result = stored(old if a == "unsigned" else new)
    elif {a, b} <= {"int", "unsigned", "decimal", "real"}:
        result |= REAL
    elif _is(old, "time") and _is(new, "time"):
        return _finer(old, new)
    elif _is(old, "binary") and _is(new, "binary"):
        return _both(old, new)
    elif a != b:
        return None
    return result


def _finer(old: Column, new: Column) -> Column | None:
    """Return times with the finer ticks of the two; None for a date and a time of day."""
    kinds = dtype(old), dtype(new)
    units = [np.datetime_data(kind)[0] for kind in kinds]
    if kinds[0].kind != kinds[1].kind or (units[0] != units[1] and "D" in units):
        return None
    unit = max(units, key=lambda unit: PLACES.get(unit, -1))
    return {**stored(new), "scale": new["scale"] if unit == units[1] else PLACES[unit]}


def _both(old: Column, new: Column) -> Column | None:
    """Return the binary type that holds the values of both exactly; None if no type does."""
    a, b = dtype(old), dtype(new)
    if a == b:
        return stored(new)
    if "S" in (a.kind, b.kind) and a.kind != b.kind:
        return None
    kind = np.promote_types(a, b)
    whole = [of.itemsize for of in (a, b) if of.kind in "iu" and kind.kind not in "iu"]
    if any(size * 8 > np.finfo(kind).nmant + 1 for size in whole):
        return None
    how = {"type": _BINARY[kind.kind], "start": 0, "length": kind.itemsize}
    return {**stored(new), "style": {"binary": how}}


def stored(column: Column) -> Column:
    """Return the array description for a print format's column; ``blank`` means that it has no value yet."""
    kept: Column = {k: v for k, v in column.items() if k in ("name", "style", "scale", "size", "blank")}
    return {**kept, **REAL} if column.get("nearest") else kept


def fitted(array: Column, new: Column) -> Column:
    """Return the column ``new`` of a print format, adapted to the values that the ``array`` stores."""
    if "binary" in new["style"]:
        return dict(new)
    held = {key: array[key] for key in ("scale", "size")}
    if new.get("blank"):  # its cells are stored as they are
        return {"name": new["name"], "frame": new["frame"], "style": array["style"], **held}
    if _is(array, "time") and _is(new, "time"):
        ticks, own = (np.datetime_data(dtype(column))[0] for column in (array, {**new, "scale": 0}))
        return {**new, "scale": 0 if ticks == own else PLACES[ticks]}
    if _family(array) == "unsigned":
        return {**new, **held, "style": {"unsigned": _digits(new)}}
    if _family(array) != "real":
        return {**new, **held}
    if _family(new) == "real":
        return dict(new)
    if _family(new) == "unsigned":
        new = {**new, "style": {"number": _digits(new)}}
    return {**new, "scale": max(new["scale"], 1), "size": 0, "nearest": True}


def same_array(old: Column, new: Column) -> bool:
    """Return whether both columns have the same data type and scale."""
    if _family(old) != _family(new):
        return False
    alone = _family(old) == "real" or _is(old, "time") or _is(old, "binary")
    return alone or (old["scale"], old["size"]) == (new["scale"], new["size"])


def wider(array: Column, cell: Column) -> Column | None:
    """Return the array description that also holds a cell that the array can't hold; ``cell`` is a column.

    None if only text can hold it; ``array`` itself if no other type would help.
    """
    merged = merge(array, cell)
    if merged is None or not same_array(array, merged):
        if merged is not None and _family(merged) == "words":
            merged["size"] = _room(max(merged["size"], min(2 * array["size"], PADDED)))
        return merged
    if _is(array, "time") or _is(array, "unsigned"):
        return None  # a year out of the range of the ticks, or a negative number
    return {**array, **REAL} if _family(array) == "decimal" else array


def by_value(old: Column, new: Column) -> bool:
    """Return whether the values of one array can be converted to the other without their text."""
    numbers = ["int", "unsigned", "decimal", "real"]
    a, b = _family(old), _family(new)
    if same_array(old, new):
        return True
    if a in numbers and b in numbers:
        return numbers.index(a) <= numbers.index(b)
    return a == b == "words" or (_is(old, "time") and _is(new, "time") and dtype(old).kind == dtype(new).kind)


def is_fraction(column: Column) -> bool:
    """Return whether the column holds numbers with a fraction."""
    return "blank" not in column and _family(column) in ("decimal", "real")


def is_binary(column: Column) -> bool:
    """Return whether the column belongs to binary records."""
    return _is(column, "binary")


def about(column: Column) -> str:
    """Return a readable name of a column's type."""
    kind = dtype(column)
    if kind.kind == "O":
        return "text of any length"
    decimal = column["scale"] and kind.kind == "f"
    return f"{kind} with {column['scale']} decimals" if decimal else str(kind)


def _digits(column: Column) -> Any:
    """Return how a column of integers formats them."""
    return next(iter(column["style"].values()))


def _room(longest: int) -> int:
    """Return the size of a column for texts of up to ``longest`` bytes."""
    return LONGEST if longest > PADDED else longest


def _is(column: Column, style: str) -> bool:
    return style in column["style"]


def _family(column: Column) -> str:
    style = next(iter(column["style"]))
    if style == "number":
        decimal = "real" if column.get("nearest") else "decimal"
        return decimal if column["scale"] else "int"
    if style in ("time", "binary"):
        return str(dtype(column))
    return "hex" if style == "lower_hex" else style
