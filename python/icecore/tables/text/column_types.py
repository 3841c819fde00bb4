"""Column types of text tables: NumPy dtypes, and conversion between parsed and stored values."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.sources.tables.encoding import decoded, foreign

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


# Type of a column's array if the files have the column in different styles.


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


# Conversion of a column's stored values to a wider type.


#: integers below this value are exact as doubles
_EXACT = 2.0**53
#: dtype for integers beyond int64
_UNSIGNED = np.dtype("u8")


def converted(values: np.ndarray, new: Column, printed: bool) -> np.ndarray | None:
    """Convert values to the type of ``new``; missing values stay missing.

    Return None if a value is out of range of the new type or, with ``printed``, would be printed differently.
    """
    kind = dtype(new)
    empty = missing(values)
    if empty.all():
        return np.full(values.shape, blank(kind), kind)
    if values.dtype.kind in "iu" and kind.kind == "f":
        result = values.astype(kind)
        result[empty] = np.nan
    elif values.dtype.kind in "mM":
        try:
            result = values.astype(kind)
        except OverflowError:  # some versions of NumPy do not raise it
            return None
        if (result.astype(values.dtype)[~empty] != values[~empty]).any():
            return None
    elif values.dtype.kind == "S" and kind.kind == "O":
        texts = values.tolist()
        if printed and any(foreign(text) for text in texts):
            return None  # the original bytes can't be reproduced from a decoded string
        result = np.array([decoded(text) for text in texts], "O")
    else:
        if kind == _UNSIGNED and (values[~empty] < 0).any():
            return None
        result = values.astype(kind)
        if kind.kind in "iu":
            result[empty] = blank(kind)
    if kind.kind == "f":
        places = _places(new, values.dtype.kind, printed)
        if places is not None and (np.abs(result[~empty]) * 10.0**places >= _EXACT).any():
            return None
    return result


def _places(new: Column, kind: str, printed: bool) -> int | None:
    """Return the number of decimals to which all numbers must be exact; None for no requirement."""
    if "number" in new["style"]:
        return int(new["scale"])
    return 1 if kind in "iu" and printed else None


def missing(values: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values."""
    kind = values.dtype.kind
    if kind in "i" or values.dtype == _UNSIGNED:
        return np.asarray(values == blank(values.dtype))
    if kind == "f":
        return np.isnan(values)
    if kind in "mM":
        return np.isnat(values)
    return np.asarray(values == blank(values.dtype)) if kind in "SO" else np.zeros(values.shape, "?")


def blank(kind: np.dtype[Any]) -> Any:
    """Return the value that represents a missing value."""
    if kind.kind == "i":
        return np.iinfo(kind).min
    if kind == _UNSIGNED:
        return _UNSIGNED.type(2**64 - 2)
    if kind.kind in "mM":
        return np.array("NaT", kind)[()]
    return {"f": np.nan, "S": b"", "O": ""}.get(kind.kind, 0)
