"""Reduction of rows without keys, from summaries where these suffice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query.grouped import is_text, stored
from icecore.tables.query.reduction import Wish
from icecore.tables.query.scan import arrow, arrow_type
from icecore.tables.summaries import write
from icecore.tables.summaries.zones import ZONE

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.repository.array import Array
    from icecore.tables.query.scan import Batches
    from icecore.tables.query.table import Table


def reduce_rows(
    table: Table, wishes: Sequence[Wish], columns: Sequence[str], where: str | None, options: dict[str, Any]
) -> tuple[Group, Batches, bool]:
    """Reduce without keys; return the accumulators, the scan, and whether summaries were used."""
    is_known = _known(table, wishes, options)
    scan = table._scan(columns, where, **options, unsure_only=is_known)
    whole = _whole(table, wishes, scan.whole()) if is_known else None
    if is_known and whole is None:
        scan = table._scan(columns, where, **options)
    group = whole or Group()
    if not columns:
        group.rows += scan.count()
    for batch in scan.batches() if columns else ():
        group.add_rows(batch, wishes)
    return group, scan, whole is not None


def _known(table: Table, wishes: Sequence[Wish], options: dict[str, Any]) -> bool:
    """Whether zones in which all rows match are computed from summaries."""
    possible = options.get("prune", True) and options.get("within") is None
    return bool(possible) and _summed(table, wishes)


def _summed(table: Table, wishes: Sequence[Wish]) -> bool:
    """Whether the functions can be computed from summaries."""
    if any(wish.function == "histogram" for wish in wishes):
        return False
    return all(
        name in table._columns and _enough(table._columns[name], of)
        for name, of in _by_column(wishes).items()
    )


def _by_column(wishes: Sequence[Wish]) -> dict[str, set[str]]:
    """Return column → functions."""
    functions: dict[str, set[str]] = {}
    for wish in wishes:
        if wish.column is not None:
            functions.setdefault(wish.column, set()).add(wish.function)
    return functions


def _enough(array: Array, functions: set[str]) -> bool:
    if write.state(array) != "fresh":
        return False
    if array.dtype.kind == "f":
        return write.finite(array)  # summaries leave infinities out of the mean, reductions don't
    if "sum" not in functions or array.dtype.itemsize < 8:
        return True
    # The sum of a zone is computed from its mean, which is exact below 2⁵¹.
    zones = write.read(array)
    return bool(max(zones["max"].max(initial=0), -int(zones["min"].min(initial=0))) < 2**51 // ZONE)


def _whole(table: Table, wishes: Sequence[Wish], runs: Sequence[tuple[int, int]]) -> Group | None:
    """Reduce zones in which all rows match from summaries; None if these are too inexact for deviations."""
    group = Group(rows=sum(stop - start for start, stop in runs))
    for column, functions in _by_column(wishes).items():
        array = table._columns[column]
        zones = _numbers(write.read(array), array)
        used = np.zeros(len(zones["count"]), bool)
        for start, stop in runs:
            used[start // ZONE : -(-stop // ZONE)] = True
        found = of_zones(zones, used & (zones["count"] > 0))
        if "std" in functions and not found.is_sure:
            return None
        group.moments[column] = found
    return group


def _numbers(zones: dict[str, np.ndarray], array: Array) -> dict[str, np.ndarray]:
    """Return a summary with times as Arrow's integers."""
    if array.dtype.kind not in "mM":
        return zones
    unit = arrow_type(arrow(), array.dtype).unit
    ends = {name: zones[name].astype(f"{array.dtype.kind}8[{unit}]").view("i8") for name in ("min", "max")}
    return {**zones, **ends}


# Moments (count, mean, deviations, extremes) of numbers, from values or from summaries.

#: relative error of a zone's sum of squares
_ROUNDED = 2.0**-42


@dataclass
class Moments:
    """Count, mean, sum of squared deviations and extremes.

    Partial results are combined with the formulas of T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating
    Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).

    Attributes:
        m2: sum of squared deviations from the mean.
        doubt: bound on the rounding error of ``m2``.
    """

    count: int = 0
    mean: float = 0.0
    m2: float = 0.0
    min: Any = None
    max: Any = None
    total: Any = 0
    doubt: float = 0.0

    def add(self, other: Moments) -> None:
        """Combine with another part."""
        if other.count == 0:
            return
        if self.count == 0:
            vars(self).update(vars(other))
            return
        both, gap = self.count + other.count, other.mean - self.mean
        self.m2 += other.m2 + gap * gap * self.count * other.count / both
        if math.isinf(self.mean) or math.isinf(other.mean):
            self.mean += other.mean  # the difference of two infinities would be NaN
        else:
            self.mean += gap * other.count / both
        self.min, self.max = min(self.min, other.min), max(self.max, other.max)
        self.doubt += other.doubt
        self.count, self.total = both, self.total + other.total

    @property
    def is_sure(self) -> bool:
        """Whether deviations are exact to six digits."""
        return math.isfinite(self.m2) and self.m2 >= 1e6 * self.doubt

    def value(self, function: str) -> Any:
        """Return one of the functions; None without values. ``std`` is that of the population."""
        if function == "count":
            return self.count
        if self.count == 0:
            return None
        if function == "std":
            return math.sqrt(self.m2 / self.count)
        if function == "rms":  # infinities have squares but no deviations
            square = self.m2 / self.count + self.mean * self.mean
            return math.sqrt(square) if math.isfinite(self.mean) else math.inf
        return {"sum": self.total, "mean": self.mean, "min": self.min, "max": self.max}[function]


def of_values(data: np.ndarray) -> Moments:
    """Return the moments of numbers; infinite if their sum overflows."""
    if data.size == 0:
        return Moments()
    wide = data.astype("f8", copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        total = wide.sum().item()
        mean = total / data.size
        gaps = wide - mean
        square = np.multiply(gaps, gaps, out=gaps).sum().item()
    total = total if data.dtype.kind == "f" else _sum(data)
    return Moments(data.size, mean, square, data.min().item(), data.max().item(), total)


def _sum(data: np.ndarray) -> int:
    """Return the sum of integers; the upper and lower 32 bits are added separately to avoid overflow."""
    if data.dtype.itemsize < 8:
        return int(data.sum(dtype="i8"))
    low = data & data.dtype.type(0xFFFF_FFFF)
    return (int((data >> 32).sum()) << 32) + int(low.sum())


def of_zones(zones: dict[str, np.ndarray], used: np.ndarray) -> Moments:
    """Return the moments of zones from their summary.

    If values vary little around a large mean, the variance is the small difference of two large numbers;
    ``doubt`` bounds that error.
    """
    whole, exact = Moments(), zones["min"].dtype.kind in "biu"
    parts = zip(*(zones[name][used] for name in ("count", "mean", "rms", "min", "max")), strict=True)
    for count, mean, rms, low, high in parts:
        n, m, square = int(count), float(mean), float(rms) * float(rms)
        if low == high:  # all values are equal
            m = float(low)
        m2, doubt = (0.0, 0.0) if low == high else (max(square - m * m, 0.0) * n, square * n * _ROUNDED)
        total = round(m * n) if exact else m * n
        whole.add(Moments(n, m, m2, low.item(), high.item(), total, doubt))
    return whole


# Accumulators of a reduction, which can be merged.


@dataclass
class Group:
    """Accumulators of all rows."""

    rows: int = 0
    moments: dict[str, Moments] = field(default_factory=dict)
    histograms: dict[str, np.ndarray] = field(default_factory=dict)
    #: column → smallest and largest string
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, other: Group) -> None:
        """Add the accumulators of other rows."""
        self.rows += other.rows
        for column, found in other.moments.items():
            self.moments.setdefault(column, Moments()).add(found)
        for label, counts in other.histograms.items():
            self.histograms[label] = self.histograms.get(label, 0) + counts
        for column, (low, high) in other.ends.items():
            least, most = self.ends.get(column, (low, high))
            self.ends[column] = min(least, low), max(most, high)

    def add_rows(self, part: pa.RecordBatch, wishes: Sequence[Wish]) -> None:
        """Add rows."""
        self.rows += part.num_rows
        values = {column: _values(part[column]) for column in {wish.column for wish in wishes if wish.column}}
        for column, data in values.items():
            self.moments.setdefault(column, Moments()).add(of_values(data))
        for column in {wish.column for wish in wishes if wish.column and wish.function in ("min", "max")}:
            if is_text(part[column]):
                _stretch(self, column, part[column])
        for wish in wishes:
            if wish.function == "histogram" and wish.column is not None:
                counts = np.histogram(values[wish.column].astype("f8"), wish.bins, wish.span)[0]
                self.histograms[wish.label] = self.histograms.get(wish.label, 0) + counts


def _stretch(group: Group, column: str, texts: pa.Array) -> None:
    import pyarrow.compute as pc

    low, high = pc.min_max(texts).as_py().values()
    if low is not None:
        least, greatest = group.ends.get(column, (low, high))
        group.ends[column] = min(least, low), max(greatest, high)


def _values(column: pa.Array) -> np.ndarray:
    data, valid = stored(column)
    data = data if valid is None else data[valid.view("?")]
    gone = np.isnan(data) if data.dtype.kind == "f" else np.zeros(0, bool)
    return data[~gone] if gone.any() else data


def row(group: Group, wishes: Sequence[Wish]) -> dict[str, Any]:
    """Return the value of each function, by label."""
    found: dict[str, Any] = {}
    for wish in wishes:
        if wish.column is None:
            found[wish.label] = group.rows
        elif wish.function == "histogram":
            counts = group.histograms.get(wish.label, np.zeros(wish.bins, "i8"))
            low, high = wish.span or (0.0, 1.0)
            found[wish.label] = {"low": low, "high": high, "counts": counts.tolist()}
        elif wish.column in group.ends and wish.function in ("min", "max"):
            found[wish.label] = group.ends[wish.column][wish.function == "max"]
        else:
            found[wish.label] = group.moments.get(wish.column, Moments()).value(wish.function)
    return found
