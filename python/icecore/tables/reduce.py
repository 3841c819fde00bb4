"""Numbers about rows instead of the rows: count, sum, mean, min, max, std, rms, histogram, by key columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables import summaries
from icecore.tables.scan import arrow
from icecore.tables.zones import ZONE

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.array import Array
    from icecore.tables.table import Table

_FUNCTIONS = ("count", "sum", "mean", "min", "max", "std", "rms", "histogram")
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


@dataclass
class Moments:
    """Count, mean and sum of squared deviations, joined as in T. F. Chan, G. H. Golub, R. J. LeVeque,
    "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979); and the extremes.
    """

    count: int = 0
    mean: float = 0.0
    m2: float = 0.0
    min: Any = None
    max: Any = None
    total: Any = 0

    def add(self, other: Moments) -> None:
        """Take in another part."""
        if other.count == 0:
            return
        if self.count == 0:
            self.min, self.max = other.min, other.max
        both, gap = self.count + other.count, other.mean - self.mean
        self.m2 += other.m2 + gap * gap * self.count * other.count / both
        self.mean += gap * other.count / both
        self.min, self.max = min(self.min, other.min), max(self.max, other.max)
        self.count, self.total = both, self.total + other.total

    def value(self, function: str) -> Any:
        """One of the functions; None where there is no value. ``std`` is the population's."""
        if function == "count":
            return self.count
        if self.count == 0:
            return None
        if function == "std":
            return math.sqrt(self.m2 / self.count)
        if function == "rms":
            return math.sqrt(self.m2 / self.count + self.mean**2)
        return {"sum": self.total, "mean": self.mean, "min": self.min, "max": self.max}[function]


@dataclass
class Group:
    """What is known so far about the rows with one key."""

    rows: int = 0
    moments: dict[str, Moments] = field(default_factory=dict)
    histograms: dict[str, np.ndarray] = field(default_factory=dict)


def reduce(
    table: Table,
    what: str,
    where: str | None = None,
    *,
    within: Any = None,
    xy: tuple[str, str] | None = None,
    source: str | None = None,
    prune: bool = True,
) -> list[dict[str, Any]]:
    """Functions of columns over all rows that match, or by key columns.

    Nulls and NaN are left out. Without keys and histograms, zones of which every row matches (all of them
    without a clause) are taken from summaries, where every column has one: nothing else of them is read.

    Args:
        table: the table.
        what: ``"count, mean:tb, max:tb by c"``: functions of columns, then key columns. ``count`` counts
            rows, ``count:tb`` values; ``histogram:tb:40:0:400`` counts values in 40 bins from 0 to 400.
        where: see :class:`icecore.tables.table.Table`.
        within, xy, source, prune: as for :meth:`icecore.tables.table.Table.scan`.

    Returns:
        One dictionary per key, in order: key columns, then one entry per function.

    Raises:
        Error: ``invalid`` for what can't be understood, ``not-found``, ``dtype`` for functions of texts.
    """
    wishes, keys = parse(what, table)
    rows = {"within": within, "xy": xy, "source": source, "prune": prune}
    wishes = [_spanned(table, wish, where, rows) for wish in wishes]
    columns = list(dict.fromkeys([*keys, *(wish.column for wish in wishes if wish.column)]))
    known = prune and within is None and not keys and _summed(table, wishes)
    scan = table.scanning(columns, where, **rows, unsure_only=known)
    groups: dict[tuple[Any, ...], Group] = {} if keys else {(): Group()}
    if known:
        _whole(table, columns, scan.whole(), groups[()])
    if not columns:
        groups[()].rows += scan.count()
    for batch in scan.batches() if columns else ():
        for key, part in _split(batch, keys):
            _add(groups.setdefault(key, Group()), part, wishes)
    order = sorted(groups, key=lambda key: tuple((value is None, value) for value in key))
    return [{**dict(zip(keys, key, strict=True)), **_row(groups[key], wishes)} for key in order]


def parse(what: str, table: Table) -> tuple[list[Wish], list[str]]:
    """The functions and the keys of ``what``."""
    head, _, tail = f" {what} ".partition(" by ")
    keys = [name.strip() for name in tail.split(",") if name.strip()]
    if " by " in f" {what} " and not keys:
        raise errors.make("invalid", f"{what!r} names no column after by", _EXAMPLE)
    wishes = [_wish(part.strip()) for part in head.split(",") if part.strip()]
    if not wishes:
        raise errors.make("invalid", f"{what!r} names no function", _EXAMPLE)
    table._names(keys)
    for wish in wishes:
        if wish.column is not None:
            table._names([wish.column])
            kind, several = table._kind(wish.column)
            if several is not None:
                message = f"{wish.label}: {wish.column} holds {several} values a row"
                raise errors.make("dtype", message, f"name one of them: {wish.column}[0]")
            if kind.kind not in "biuf":
                raise errors.make("dtype", f"{wish.label}: {wish.column} holds {kind}, no numbers", "count")
    return wishes, keys


def _wish(text: str) -> Wish:
    function, *rest = (part.strip() for part in text.split(":"))
    if function not in _FUNCTIONS or (not rest and function != "count"):
        raise errors.make("invalid", f"{text!r} is none of {', '.join(_FUNCTIONS)} of a column", _EXAMPLE)
    if len(rest) > (4 if function == "histogram" else 1) or len(rest) == 3:
        raise errors.make("invalid", f"{text!r} has too many or too few parts", _EXAMPLE)
    try:
        bins = int(rest[1]) if len(rest) > 1 else _BINS
        span = (float(rest[2]), float(rest[3])) if len(rest) == 4 else None
    except ValueError:
        raise errors.make("invalid", f"{text!r}: bins and ends are numbers", _EXAMPLE) from None
    if not 1 <= bins <= 1_000_000 or (span is not None and not span[0] < span[1]):
        raise errors.make("invalid", f"{text!r}: 1 to 1,000,000 bins between ends that rise", _EXAMPLE)
    return Wish(text, function, rest[0] if rest else None, bins, span)


def _summed(table: Table, wishes: Sequence[Wish]) -> bool:
    """Whether zones that match as a whole can be taken from summaries."""
    if any(wish.function == "histogram" for wish in wishes):
        return False
    columns = {wish.column: wish.function for wish in wishes if wish.column}
    columns |= {wish.column: "sum" for wish in wishes if wish.column and wish.function == "sum"}
    return all(name in table and _enough(table[name], function) for name, function in columns.items())


def _enough(array: Array, function: str) -> bool:
    if summaries.state(array) != "fresh":
        return False
    if array.dtype.kind == "f":
        return summaries.finite(array)  # infinities are in no summary's mean, but in that of the rows
    if function != "sum" or array.dtype.itemsize < 8:
        return True
    # Zones' sums come from their means, and are exact below 2⁵¹.
    zones = summaries.read(array)
    return bool(max(zones["max"].max(initial=0), -int(zones["min"].min(initial=0))) < 2**51 // ZONE)


def _whole(table: Table, columns: Sequence[str], runs: Sequence[tuple[int, int]], group: Group) -> None:
    """Add the zones that match as a whole, from summaries."""
    group.rows += sum(stop - start for start, stop in runs)
    for column in columns:
        zones = summaries.read(table[column])
        used = np.zeros(len(zones["count"]), bool)
        for start, stop in runs:
            used[start // ZONE : -(-stop // ZONE)] = True
        used &= zones["count"] > 0
        whole = group.moments.setdefault(column, Moments())
        exact = table.dtypes[column].kind in "biu"
        parts = zip(*(zones[name][used] for name in ("count", "mean", "rms", "min", "max")), strict=True)
        for count, mean, rms, low, high in parts:
            n, m = int(count), float(mean)
            square = max(float(rms) ** 2 - m * m, 0.0)
            whole.add(Moments(n, m, square * n, low.item(), high.item(), round(m * n) if exact else m * n))


def _spanned(table: Table, wish: Wish, where: str | None, rows: dict[str, Any]) -> Wish:
    """A histogram's ends, from a first pass over its column (or its summary) where none are given."""
    if wish.function != "histogram" or wish.span is not None:
        return wish
    ends = f"min:{wish.column}, max:{wish.column}"
    low, high = reduce(table, ends, where, **rows)[0].values()
    low, high = (0.0, 1.0) if low is None else (float(low), float(high))
    return Wish(wish.label, wish.function, wish.column, wish.bins, (low, high if high > low else low + 1.0))


def _split(batch: pa.RecordBatch, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    pa = arrow()
    whole = pa.Table.from_batches([batch])
    if not keys:
        yield (), whole
        return
    rows = whole.append_column("\0row", pa.array(np.arange(len(whole))))
    grouped = rows.group_by(list(keys), use_threads=False).aggregate([("\0row", "list")])
    for group in range(len(grouped)):
        key = tuple(grouped[name][group].as_py() for name in keys)
        yield key, whole.take(grouped["\0row_list"][group].values)


def _add(group: Group, part: pa.Table, wishes: Sequence[Wish]) -> None:
    group.rows += len(part)
    values = {column: _values(part[column]) for column in {wish.column for wish in wishes if wish.column}}
    for column, data in values.items():
        group.moments.setdefault(column, Moments()).add(_moments(data))
    for wish in wishes:
        if wish.function == "histogram" and wish.column is not None:
            counts = np.histogram(values[wish.column].astype("f8"), wish.bins, wish.span)[0]
            group.histograms[wish.label] = group.histograms.get(wish.label, 0) + counts


def _values(column: pa.ChunkedArray) -> np.ndarray:
    data = column.drop_null().to_numpy()
    return data[~np.isnan(data)] if data.dtype.kind == "f" else data


def _moments(data: np.ndarray) -> Moments:
    if data.size == 0:
        return Moments()
    wide = data.astype("f8")
    mean = float(wide.mean())
    total = wide.sum().item() if data.dtype.kind == "f" else sum(map(int, _sums(data)))
    with np.errstate(invalid="ignore"):
        square = float(((wide - mean) ** 2).sum())
    return Moments(data.size, mean, square, data.min().item(), data.max().item(), total)


def _sums(data: np.ndarray) -> Iterator[Any]:
    """Sums of parts that stay within 64 bits for the types up to 32, and of single numbers beyond."""
    if data.dtype.itemsize < 8:
        yield data.sum(dtype="i8")
    else:
        yield from data.astype("O")


def _row(group: Group, wishes: Sequence[Wish]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for wish in wishes:
        if wish.column is None:
            row[wish.label] = group.rows
        elif wish.function == "histogram":
            counts = group.histograms.get(wish.label, np.zeros(wish.bins, "i8"))
            low, high = wish.span or (0.0, 1.0)
            row[wish.label] = {"low": low, "high": high, "counts": counts.tolist()}
        else:
            row[wish.label] = group.moments.get(wish.column, Moments()).value(wish.function)
    return row
