"""What the array of a column holds, where files have the column in different styles."""

from __future__ import annotations

from typing import Any

from icecore.tables.codecs import dtype

Column = dict[str, Any]
#: bytes of the longest text that a column holds
_LONGEST = 1 << 20
#: what the array of a column of any doubles is said to hold
_REAL: Column = {
    "style": {"real": {"form": "shortest", "places": 0, "exponent": 2, "letter": "e"}},
    "scale": 0,
    "size": 0,
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
    if a == b == "words" or a == b == "int":
        result["size"] = max(old["size"], new["size"])
    elif {a, b} <= {"int", "decimal"}:
        result["scale"], result["size"] = max(old["scale"], new["scale"]), 0
    elif {a, b} <= {"int", "decimal", "real"}:
        result |= _REAL
    elif a != b:
        return None
    return result


def stored(column: Column) -> Column:
    """What an array of a print format's column holds; one without any value is ``blank``, and takes any."""
    kept: Column = {k: v for k, v in column.items() if k in ("name", "style", "scale", "size", "blank")}
    return {**kept, **_REAL} if column.get("nearest") else kept


def fitted(array: Column, new: Column) -> Column:
    """The column ``new`` of a print format, with the values that the ``array`` holds."""
    if "binary" in new["style"]:
        return dict(array)
    held = {key: array[key] for key in ("scale", "size")}
    if new.get("blank"):  # its cells are kept as they are
        return {"name": new["name"], "frame": new["frame"], "style": array["style"], **held}
    if _family(array) != "real":
        return {**new, **held}
    if _family(new) == "real":
        return dict(new)
    return {**new, "scale": max(new["scale"], 1), "size": 0, "nearest": True}


def same_array(old: Column, new: Column) -> bool:
    """Whether both columns have one data type and scale."""
    if _family(old) != _family(new):
        return False
    return _family(old) == "real" or (old["scale"], old["size"]) == (new["scale"], new["size"])


def wider(array: Column, cell: Column) -> Column | None:
    """What the array must hold to take a cell that it can't, of which ``cell`` is the column.

    None where only text does, and ``array`` itself where nothing is gained.
    """
    merged = merge(array, cell)
    if merged is None or not same_array(array, merged):
        if merged is not None and _family(merged) == "words":
            merged["size"] = min(max(merged["size"], 2 * array["size"]), _LONGEST)
        return merged
    return {**array, **_REAL} if _family(array) == "decimal" else array


def _family(column: Column) -> str:
    style = next(iter(column["style"]))
    if style == "number":
        decimal = "real" if column.get("nearest") else "decimal"
        return decimal if column["scale"] else "int"
    if style in ("time", "binary"):
        return str(dtype(column))
    return style
