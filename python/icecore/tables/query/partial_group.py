"""Accumulators of a reduction, which can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query import moments
from icecore.tables.query.keys import is_text, stored
from icecore.tables.query.moments import Moments
from icecore.tables.query.reduction_spec import Wish

if TYPE_CHECKING:
    import pyarrow as pa


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
            self.moments.setdefault(column, Moments()).add(moments.of_values(data))
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
