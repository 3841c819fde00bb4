"""Moments (count, mean, deviations, extremes) of numbers, from values or from summaries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

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
