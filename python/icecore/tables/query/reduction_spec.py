"""Parse the specification of a reduction: ``"count, mean:tb, max:tb by c"``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.tables.query.column_names import hidden

if TYPE_CHECKING:
    import numpy as np

    from icecore.tables.query.table import Table

_FUNCTIONS = ("count", "sum", "mean", "min", "max", "std", "rms", "histogram")
#: functions of columns that are not numeric
_OTHERS = ("min", "max", "count")
_EXAMPLE = '"count, mean:tb, max:tb by c"; a histogram: "histogram:tb:40" or "histogram:tb:40:0:400"'
_BINS = 100


@dataclass(frozen=True)
class Wish:
    """A function of a column; ``count`` of rows has no column."""

    label: str
    function: str
    column: str | None = None
    bins: int = _BINS
    span: tuple[float, float] | None = None


def parse(what: str, table: Table) -> tuple[list[Wish], list[str]]:
    """Parse functions and keys. Names that contain ``,``, ``:`` or `` by `` are in double quotes.

    Raises:
        Error: ``invalid`` for a syntax error or for two result columns of the same name; ``not-found``;
            ``dtype`` for functions that the column's dtype does not support, and for list columns.
    """
    plain, shown = hidden(f" {what} ")
    head, *rest = re.split(r"\sby\s", plain, maxsplit=1, flags=re.IGNORECASE)
    tail = rest[0] if rest else ""
    keys = [shown(name.strip()) for name in tail.split(",") if name.strip()]
    if rest and not keys:
        raise errors.make("invalid", f"{what!r}: expected a column after by", _EXAMPLE)
    wishes = [_wish(part.strip(), shown) for part in head.split(",") if part.strip()]
    if not wishes:
        raise errors.make("invalid", f"{what!r}: expected at least one function", _EXAMPLE)
    for key in keys:
        _kind(table, f"by {key}", key)
    for wish in wishes:
        if wish.column is not None:
            kind = _kind(table, wish.label, wish.column)
            if kind.kind not in "biuf" and wish.function not in _OTHERS:
                hint = " or ".join(f"{name}:{wish.column}" for name in _OTHERS)
                found = table._array_of(wish.column)._node.dtype_label
                message = f"{wish.label}: {wish.column} must be numeric (got {found})"
                raise errors.make("dtype", message, hint)
    names = [*keys, *(wish.label for wish in wishes)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        hint = "count its values: count:count" if twice == ["count"] and "count" in keys else "list it once"
        raise errors.make("invalid", f"{what!r}: two result columns would be named {twice[0]}", hint)
    return wishes, keys


def _kind(table: Table, label: str, column: str) -> np.dtype[Any]:
    """Return the dtype of a column that is not a list."""
    table._names([column])
    kind, several = table._kind(column)
    if several is not None:
        message = f"{label}: {column} has {several} values per row"
        raise errors.make("dtype", message, f"select one of them: {column}[0]")
    return kind


def _wish(plain: str, shown: Callable[[str], str]) -> Wish:
    text = shown(plain)
    function, *rest = (shown(part.strip()) for part in plain.split(":"))
    if function not in _FUNCTIONS or (not rest and function != "count"):
        raise errors.make(
            "invalid", f"{text!r}: expected one of {', '.join(_FUNCTIONS)} of a column", _EXAMPLE
        )
    if len(rest) > (4 if function == "histogram" else 1) or len(rest) == 3:
        raise errors.make("invalid", f"{text!r} has too many or too few parts", _EXAMPLE)
    try:
        bins = int(rest[1]) if len(rest) > 1 else _BINS
        span = (float(rest[2]), float(rest[3])) if len(rest) == 4 else None
    except ValueError:
        raise errors.make("invalid", f"{text!r}: bins and ends must be numbers", _EXAMPLE) from None
    if not 1 <= bins <= 1_000_000 or (span is not None and not 0 < span[1] - span[0] < math.inf):
        message = f"{text!r}: expected 1 to 1,000,000 bins and finite ends, low before high"
        raise errors.make("invalid", message, _EXAMPLE)
    return Wish(text, function, rest[0] if rest else None, bins, span)
