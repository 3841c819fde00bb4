"""Table 3: size of each family of channels per file compression, and packed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import icecore
from icecore.display import figures

from icecore_bench.ligo.channels import Channel
from icecore_bench.ligo.speed import path_of
from icecore_bench.study import Outcome, Table

FAMILIES = ("strain", "seismic", "integers", "float64", "constant")
AUXILIARY = FAMILIES[1:]


@dataclass
class Sizes:
    """Stored bytes by storage and family; ``raw`` are the sizes of the samples."""

    raw: dict[str, int]
    stored: dict[str, dict[str, int]] = field(default_factory=dict)

    def ratio(self, one: str, other: str, families: tuple[str, ...]) -> float | None:
        """Return the bytes of storage ``one`` per byte of ``other``."""
        if one not in self.stored or other not in self.stored:
            return None
        return sum(self.stored[one][f] for f in families) / sum(self.stored[other][f] for f in families)


def raw_sizes(data: Mapping[Channel, object], seconds: int) -> dict[str, int]:
    """Return the size of the samples of each family in bytes."""
    import numpy as np

    sizes: dict[str, int] = defaultdict(int)
    for channel in data:
        sizes[channel.family] += channel.rate * seconds * np.dtype(channel.dtype).itemsize
    return dict(sizes)


def stored_sizes(repository: Path, channels: Mapping[Channel, object]) -> dict[str, int]:
    """Return the stored bytes of each family; for a linked repository, those of the linked byte ranges."""
    repo = icecore.open(repository)
    sizes: dict[str, int] = defaultdict(int)
    for channel in channels:
        array = repo[path_of(channel.name)]
        assert isinstance(array, icecore.Array)
        sizes[channel.family] += array.nbytes_stored
    return dict(sizes)


def outcome(folder: Path, sizes: Sizes, reference: str) -> Outcome:
    """Return the table and the figure; ``reference`` is the storage that others are compared with."""
    heads = ["storage", *FAMILIES, "all", f"strain / {reference}", f"auxiliary / {reference}"]
    table = Table("Table 3: stored bytes per byte of samples", heads)
    total = sum(sizes.raw.values())
    for storage, by_family in sizes.stored.items():
        shares = [by_family[family] / sizes.raw[family] for family in FAMILIES]
        ratios = [sizes.ratio(storage, reference, ("strain",)), sizes.ratio(storage, reference, AUXILIARY)]
        table.rows.append([storage, *shares, sum(by_family.values()) / total, *ratios])
    ticks = dict(enumerate([*FAMILIES, "all"]))
    series = {str(row[0]): ([float(i) for i in ticks], row[1 : len(ticks) + 1]) for row in table.rows}
    figure = figures.lines(
        folder / "ligo-3.png",
        "Figure 3: stored bytes per byte of samples",
        ("family of channels", "ratio"),
        series,
        "y",
        ticks={float(i): name for i, name in ticks.items()},
        joined=False,
    )
    return Outcome("space", [table], figures=[figure])
