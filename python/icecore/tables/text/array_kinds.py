"""What the array of a column holds, where files have the column in different styles."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.tables.text.column_types import LONGEST, PADDED, PLACES, dtype

Column = dict[str, Any]
#: what the array of a column of any doubles is said to hold
REAL: Column = {
    "style": {"real": {"form": "shortest", "places": 0, "exponent": 2, "letter": "e"}},
    "scale": 0,
    "size": 0,
}
#: PDS3's names of binary types, for arrays that hold what several records have in different ones
_BINARY = {
    "i": "MSB_INTEGER",
    "u": "MSB_UNSIGNED_INTEGER",
    "f": "IEEEREAL",
    "c": "IEEE_COMPLEX",
    "S": "CHARACTER",
}


def merge(old: Column, new: Column) -> Column | None:
    """What the array holds that takes the values of both; None where only text does.

    Args:
        old: what it holds so far.
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
    """Times with the ticks of the finer; None for a date and a time."""
    kinds = dtype(old), dtype(new)
    units = [np.datetime_data(kind)[0] for kind in kinds]
    if kinds[0].kind != kinds[1].kind or (units[0] != units[1] and "D" in units):
        return None
    unit = max(units, key=lambda unit: PLACES.get(unit, -1))
    return {**stored(new), "scale": new["scale"] if unit == units[1] else PLACES[unit]}


def _both(old: Column, new: Column) -> Column | None:
    """Binary values of the type that holds those of both exactly; None where there is none."""
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
    """What an array of a print format's column holds; one without any value is ``blank``, and takes any."""
    kept: Column = {k: v for k, v in column.items() if k in ("name", "style", "scale", "size", "blank")}
    return {**kept, **REAL} if column.get("nearest") else kept


def fitted(array: Column, new: Column) -> Column:
    """The column ``new`` of a print format, with the values that the ``array`` holds."""
    if "binary" in new["style"]:
        return dict(new)
    held = {key: array[key] for key in ("scale", "size")}
    if new.get("blank"):  # its cells are kept as they are
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
    """Whether both columns have one data type and scale."""
    if _family(old) != _family(new):
        return False
    alone = _family(old) == "real" or _is(old, "time") or _is(old, "binary")
    return alone or (old["scale"], old["size"]) == (new["scale"], new["size"])


def wider(array: Column, cell: Column) -> Column | None:
    """The dtype that the array needs for a cell that it can't hold; ``cell`` names the column.

    None where only text does, and ``array`` itself where nothing is gained.
    """
    merged = merge(array, cell)
    if merged is None or not same_array(array, merged):
        if merged is not None and _family(merged) == "words":
            merged["size"] = _room(max(merged["size"], min(2 * array["size"], PADDED)))
        return merged
    if _is(array, "time") or _is(array, "unsigned"):
        return None  # beyond the years that its ticks reach, below zero
    return {**array, **REAL} if _family(array) == "decimal" else array


def by_value(old: Column, new: Column) -> bool:
    """Whether values of the one array say what the other one holds, without a look at their text."""
    numbers = ["int", "unsigned", "decimal", "real"]
    a, b = _family(old), _family(new)
    if same_array(old, new):
        return True
    if a in numbers and b in numbers:
        return numbers.index(a) <= numbers.index(b)
    return a == b == "words" or (_is(old, "time") and _is(new, "time") and dtype(old).kind == dtype(new).kind)


def is_fraction(column: Column) -> bool:
    """Whether it holds numbers that need not be whole."""
    return "blank" not in column and _family(column) in ("decimal", "real")


def is_binary(column: Column) -> bool:
    """Whether it is one of binary records."""
    return _is(column, "binary")


def about(column: Column) -> str:
    """A column's type in words."""
    kind = dtype(column)
    if kind.kind == "O":
        return "text of any length"
    decimal = column["scale"] and kind.kind == "f"
    return f"{kind} with {column['scale']} decimals" if decimal else str(kind)


def _digits(column: Column) -> Any:
    """How a column of whole numbers writes them."""
    return next(iter(column["style"].values()))


def _room(longest: int) -> int:
    """The size of a column of texts up to so many bytes."""
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
