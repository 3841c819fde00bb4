"""Parse the specification of a reduction: ``"count, mean:tb, max:tb by c"``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.tables.query.column_names import hidden, parts, quoted

if TYPE_CHECKING:
    import numpy as np

    from icecore.tables.query.table import Table

_FUNCTIONS = ("count", "sum", "mean", "min", "max", "std", "rms", "histogram")
#: functions of columns that are not numeric
_OTHERS = ("min", "max", "count")
_EXAMPLE = '"count, mean:tb, max:tb by c"; a histogram: "histogram:tb:40" or "histogram:tb:40:0:400"'
_BINS = 100
#: a quoted name that `hidden` replaced
_HIDDEN = re.compile("\0[0-9]+\0")


@dataclass(frozen=True)
class Wish:
    """A function of a column; ``count`` of rows has no column."""

    label: str
    function: str
    column: str | None = None
    bins: int = _BINS
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class KeyColumn:
    """A key: its name in the result, and the column or expression that it is computed from."""

    name: str
    column: str


def parse(what: str, table: Table) -> tuple[list[Wish], list[KeyColumn]]:
    """Parse functions and keys. Names that contain ``,``, ``:`` or `` by `` are in double quotes.

    Keys and arguments of functions are columns or expressions; ``as NAME`` names a column of the result.

    Raises:
        Error: ``invalid`` for a syntax error or for two result columns of the same name; ``not-found``;
            ``dtype`` for functions that the column's dtype does not support, and for list columns.
    """
    plain, names = hidden(f" {what} ")
    head, *rest = re.split(r"\sby\s", plain, maxsplit=1, flags=re.IGNORECASE)
    shown = _Shown(table, names)
    keys = [_key(part, shown) for part in parts(rest[0] if rest else "")]
    if rest and not keys:
        raise errors.make("invalid", f"{what!r}: expected a column after by", _EXAMPLE)
    wishes = [_wish(part, shown) for part in parts(head)]
    if not wishes:
        raise errors.make("invalid", f"{what!r}: expected at least one function", _EXAMPLE)
    for key in keys:
        _kind(table, f"by {key.name}", key.column)
    for wish in wishes:
        if wish.column is not None:
            kind = _kind(table, wish.label, wish.column)
            if kind.kind not in "biuf" and wish.function not in _OTHERS:
                hint = " or ".join(f"{name}:{wish.column}" for name in _OTHERS)
                found = table._array_of(wish.column)._node.dtype_label
                message = f"{wish.label}: {wish.column} must be numeric (got {found})"
                raise errors.make("dtype", message, hint)
    labels = [*(key.name for key in keys), *(wish.label for wish in wishes)]
    if twice := [name for name, times in Counter(labels).items() if times > 1]:
        known = [key.name for key in keys]
        hint = "count its values: count:count" if twice == ["count"] and "count" in known else "list it once"
        raise errors.make("invalid", f"{what!r}: two result columns would be named {twice[0]}", hint)
    return wishes, keys


@dataclass(frozen=True)
class _Shown:
    """Restores quoted names in parts of the specification; adds expressions to the table."""

    table: Table
    names: Callable[[str], str]

    def __call__(self, part: str) -> str:
        return self.names(part)

    def column(self, part: str) -> str:
        """Return the name of a column, or of an expression, which becomes a column of the table."""
        name = self.names(part)
        if name in self.table._numbers or re.fullmatch(r"[\w.\[\] ]*", name):
            return name
        text = _HIDDEN.sub(lambda found: quoted(self.names(found[0])), part)
        return self.table._computed(text)


def _aliased(part: str) -> tuple[str, str | None]:
    """Return what comes before ``as``, and the name after it."""
    found = re.fullmatch(r"(.*\S)\s+as\s+(\S+)", part, flags=re.IGNORECASE | re.DOTALL)
    return (part, None) if found is None else (found[1], found[2])


def _key(part: str, shown: _Shown) -> KeyColumn:
    value, name = _aliased(part)
    column = shown.column(value)
    return KeyColumn(column if name is None else shown(name), column)


def _kind(table: Table, label: str, column: str) -> np.dtype[Any]:
    """Return the dtype of a column that is not a list."""
    if column not in table._expressions:
        table._names([column])
    kind, several = table._kind(column)
    if several is not None:
        message = f"{label}: {column} has {several} values per row"
        raise errors.make("dtype", message, f"select one of them: {column}[0]")
    return kind


def _wish(plain: str, shown: _Shown) -> Wish:
    value, name = _aliased(plain)
    text = shown(value)
    function, *rest = parts(value, ":")
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
    label = text if name is None else shown(name)
    return Wish(label, function, shown.column(rest[0]) if rest else None, bins, span)
