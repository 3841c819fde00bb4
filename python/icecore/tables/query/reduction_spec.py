"""What a reduction is asked for, ``"count, mean:tb, max:tb by c"``, as functions of columns and keys."""

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
#: what columns that are no numbers have too
_OTHERS = ("min", "max", "count")
_EXAMPLE = '"count, mean:tb, max:tb by c"; a histogram: "histogram:tb:40" or "histogram:tb:40:0:400"'
_BINS = 100


@dataclass(frozen=True)
class Wish:
    """One function of one column (none for ``count``: rows)."""

    label: str
    function: str
    column: str | None = None
    bins: int = _BINS
    span: tuple[float, float] | None = None


def parse(what: str, table: Table) -> tuple[list[Wish], list[str]]:
    """The functions and the keys of ``what``; names stand in double quotes where they hold ``,``, ``:`` or
    `` by ``.

    Raises:
        Error: ``invalid`` for what can't be understood or would have two columns of one name, ``not-found``,
            ``dtype`` for functions that columns of texts and times lack, and columns of several values a row.
    """
    plain, shown = hidden(f" {what} ")
    head, *rest = re.split(r"\sby\s", plain, maxsplit=1, flags=re.IGNORECASE)
    tail = rest[0] if rest else ""
    keys = [shown(name.strip()) for name in tail.split(",") if name.strip()]
    if rest and not keys:
        raise errors.make("invalid", f"{what!r} names no column after by", _EXAMPLE)
    wishes = [_wish(part.strip(), shown) for part in head.split(",") if part.strip()]
    if not wishes:
        raise errors.make("invalid", f"{what!r} names no function", _EXAMPLE)
    for key in keys:
        _kind(table, f"by {key}", key)
    for wish in wishes:
        if wish.column is not None:
            kind = _kind(table, wish.label, wish.column)
            if kind.kind not in "biuf" and wish.function not in _OTHERS:
                hint = " or ".join(f"{name}:{wish.column}" for name in _OTHERS)
                held = table._array_of(wish.column)._node.dtype_label
                raise errors.make("dtype", f"{wish.label}: {wish.column} holds {held}, no numbers", hint)
    names = [*keys, *(wish.label for wish in wishes)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        hint = "count its values: count:count" if twice == ["count"] and "count" in keys else "name it once"
        raise errors.make("invalid", f"{what!r} gives two columns the name {twice[0]}", hint)
    return wishes, keys


def _kind(table: Table, label: str, column: str) -> np.dtype[Any]:
    """The dtype of a column of one value a row."""
    table._names([column])
    kind, several = table._kind(column)
    if several is not None:
        message = f"{label}: {column} holds {several} values a row"
        raise errors.make("dtype", message, f"name one of them: {column}[0]")
    return kind


def _wish(plain: str, shown: Callable[[str], str]) -> Wish:
    text = shown(plain)
    function, *rest = (shown(part.strip()) for part in plain.split(":"))
    if function not in _FUNCTIONS or (not rest and function != "count"):
        raise errors.make("invalid", f"{text!r} is none of {', '.join(_FUNCTIONS)} of a column", _EXAMPLE)
    if len(rest) > (4 if function == "histogram" else 1) or len(rest) == 3:
        raise errors.make("invalid", f"{text!r} has too many or too few parts", _EXAMPLE)
    try:
        bins = int(rest[1]) if len(rest) > 1 else _BINS
        span = (float(rest[2]), float(rest[3])) if len(rest) == 4 else None
    except ValueError:
        raise errors.make("invalid", f"{text!r}: bins and ends are numbers", _EXAMPLE) from None
    if not 1 <= bins <= 1_000_000 or (span is not None and not 0 < span[1] - span[0] < math.inf):
        raise errors.make("invalid", f"{text!r}: 1 to 1,000,000 bins between finite ends that rise", _EXAMPLE)
    return Wish(text, function, rest[0] if rest else None, bins, span)
