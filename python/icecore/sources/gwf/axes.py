"""Names of the time axes of a group's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

#: first GPS nanosecond, seconds per sample, number of samples
_Axis = tuple[int, Fraction, int]


@dataclass
class Axes:
    """The different time axes of each group, and how many of them have each step."""

    axes: dict[str, set[_Axis]] = field(default_factory=lambda: defaultdict(set))
    rates: dict[tuple[str, Fraction], set[_Axis]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, arrays: Iterable[tuple[str, int, Fraction, int]]) -> Axes:
        """Collect the axes of arrays: path, start (ns), step (s), number of samples."""
        result = cls()
        for path, t0, step, stop in arrays:
            group = path.rsplit("/", 1)[0]
            result.axes[group].add((t0, step, stop))
            result.rates[group, step].add((t0, step, stop))
        return result

    def dimension(self, path: str, t0: int, step: Fraction, stop: int) -> str:
        """``time``, or a name with the rate where the arrays of the group have different time axes."""
        group = path.rsplit("/", 1)[0]
        if len(self.axes[group]) == 1:
            return "time"
        rate = float(1 / step)
        is_only = len(self.rates[group, step]) == 1
        return f"time_{rate:g}Hz" if is_only else f"time_{rate:g}Hz_{t0}_{stop}"
