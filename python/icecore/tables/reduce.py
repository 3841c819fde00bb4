"""Numbers about rows instead of the rows: count, sum, mean, min, max, std, rms, histogram, by key columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables import summaries
from icecore.tables.reduced import Reduced
from icecore.tables.scan import arrow
from icecore.tables.wishes import Wish, parse
from icecore.tables.zones import ZONE

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.array import Array
    from icecore.tables.table import Table


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
        One dictionary per key, in order: key columns (null, which NaN is too, comes last), then one entry
        per function.

    Raises:
        Error: ``invalid`` for what can't be understood, ``not-found``, ``dtype`` for functions of texts.
    """
    return reduced(table, what, where, within=within, xy=xy, source=source, prune=prune).rows


def reduced(
    table: Table, what: str, where: str | None = None, *, limit: int | None = None, **options: Any
) -> Reduced:
    """:func:`reduce` as an object that can be written, and that reports what it took.

    Args:
        table, what, where: as there.
        limit: at most so many rows, of the first keys.
        options: within, xy, source and prune.
    """
    if limit is not None and limit < 0:
        raise errors.make("invalid", f"a limit of {limit} rows", "give 0 or more")
    wishes, keys = parse(what, table)
    reports: list[dict[str, Any]] = []
    wishes = [_spanned(table, wish, where, options, reports) for wish in wishes]
    columns = list(dict.fromkeys([*keys, *(wish.column for wish in wishes if wish.column)]))
    is_known = _known(table, wishes, keys, options)
    scan = table.scanning(columns, where, **options, unsure_only=is_known)
    groups: dict[tuple[Any, ...], Group] = {} if keys else {(): Group()}
    if is_known:
        _whole(table, columns, scan.whole(), groups[()])
    if not columns:
        groups[()].rows += scan.count()
    for batch in scan.batches() if columns else ():
        for key, part in _split(batch, keys):
            _add(groups.setdefault(key, Group()), part, wishes)
    order = sorted(groups, key=lambda key: tuple((value is None, value) for value in key))
    rows = [{**dict(zip(keys, key, strict=True)), **_row(groups[key], wishes)} for key in order]
    matched = sum(group.rows for group in groups.values())
    taken = columns if is_known else []
    return Reduced(table, keys, wishes, rows[:limit], matched, taken, [*reports, scan.report()])


def _known(table: Table, wishes: Sequence[Wish], keys: Sequence[str], options: dict[str, Any]) -> bool:
    """Whether zones of which every row matches are taken from summaries."""
    asked = options.get("prune", True) and options.get("within") is None and not keys
    return bool(asked) and _summed(table, wishes)


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


def _spanned(
    table: Table, wish: Wish, where: str | None, options: dict[str, Any], reports: list[dict[str, Any]]
) -> Wish:
    """A histogram's ends, from a first pass over its column (or its summary) where none are given."""
    if wish.function != "histogram" or wish.span is not None:
        return wish
    ends = reduced(table, f"min:{wish.column}, max:{wish.column}", where, **options)
    reports.append(ends.report())
    low, high = (0.0 if value is None else float(value) for value in ends.rows[0].values())
    if not math.isfinite(high - low):
        message = f"{wish.label}: {wish.column} goes from {low} to {high}, which bins can't divide"
        raise errors.make("invalid", message, f"give the ends: histogram:{wish.column}:{wish.bins}:0:400")
    return replace(wish, span=(low, high if high > low else low + 1.0))


def _split(batch: pa.RecordBatch, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    pa = arrow()
    whole = pa.Table.from_batches([batch])
    if not keys:
        yield (), whole
        return
    rows = whole.append_column("\0row", pa.array(np.arange(len(whole))))
    grouped = rows.group_by(list(keys), use_threads=False).aggregate([("\0row", "list")])
    for group in range(len(grouped)):
        key = tuple(_key(grouped[name][group].as_py()) for name in keys)
        yield key, whole.take(grouped["\0row_list"][group].values)


def _key(value: Any) -> Any:
    """NaN is null, and one key: by itself it equals nothing, in each batch anew."""
    return None if isinstance(value, float) and math.isnan(value) else value


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
