"""Dimension names by netCDF-4's rules, for any HDF5 file.

A dimension scale names the axes that it is attached to; a one-dimensional scale names its own axis. Every
other axis gets a name ``phony_dim_N``, which equal lengths within a group share. Numbers count up in the
order in which groups are visited (a group before its children), after the labelled dimensions visited so
far. These are the names of h5netcdf, which does not count the axes beside an unlimited scale.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

NOT_A_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


@dataclass
class Labels:
    """Dimension attributes of a dataset: its own scale properties, and per axis the path of the attached
    scale.
    """

    path: str
    shape: tuple[int, ...]
    unlimited: bool
    is_scale: bool = False
    scales: list[str | None] = field(default_factory=list)
    dim_id: int | None = None
    coordinates: list[int] | None = None
    is_null: bool = False

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[1]


def name_dimensions(groups: list[str], datasets: dict[str, list[Labels]]) -> dict[str, tuple[str, ...]]:
    """Return dataset path → dimension names; ``groups`` and ``datasets`` (by group) are in visiting order."""
    ids: dict[int, str] = {}
    labelled = 0
    phony = 0
    names: dict[str, tuple[str, ...]] = {}
    for group in groups:
        members = datasets.get(group, [])
        known: list[tuple[str, int]] = []
        limited: Counter[int] = Counter()
        for item in members:
            if item.is_scale and not item.is_null:
                known.append((item.name, item.shape[0] if item.shape else 0))
                limited[known[-1][1]] += not item.unlimited
                if item.dim_id is not None:
                    ids.setdefault(item.dim_id, item.name)
        labelled += len(known)
        for size, count in _wanted(members).items():
            for _ in range(limited[size], count):
                known.append((f"phony_dim_{phony + labelled}", size))
                phony += 1
        for item in members:
            names[item.path] = _names(item, known, ids)
    return names


def _wanted(members: list[Labels]) -> Counter[int]:
    wanted: Counter[int] = Counter()
    for item in members:
        if not item.is_scale and not any(item.scales):
            wanted |= Counter(item.shape)
        elif not item.is_scale:
            wanted |= Counter(n for n, scale in zip(item.shape, item.scales, strict=True) if scale is None)
    return wanted


def _names(item: Labels, known: list[tuple[str, int]], ids: dict[int, str]) -> tuple[str, ...]:
    if item.is_scale and item.coordinates is not None and len(item.coordinates) == len(item.shape):
        found = [ids.get(i) for i in item.coordinates]
        if None not in found:
            return tuple(str(name) for name in found)
    if item.is_scale and len(item.shape) == 1 and not any(item.scales):
        return (item.name,)
    used: Counter[int] = Counter()
    names = []
    for axis, size in enumerate(item.shape):
        scale = item.scales[axis] if item.scales else None
        if scale is not None:
            names.append(scale.rsplit("/", 1)[1])
            continue
        choices = [name for name, length in known if length == size]
        nth = used[size]
        used[size] += 1
        names.append(choices[nth] if nth < len(choices) else f"{item.name}_dim_{axis}")
    return tuple(names)


def extended_shapes(datasets: list[Labels]) -> dict[str, tuple[int, ...]]:
    """Return path → shape for datasets that are shorter than their unlimited dimension (netCDF fills
    them).
    """
    ids: dict[int, str] = {}
    for item in datasets:
        if item.is_scale and item.dim_id is not None:
            ids.setdefault(item.dim_id, item.path)
    growing = {item.path for item in datasets if item.unlimited and _names_an_axis(item)}
    lengths: dict[str, int] = {}
    axes = {item.path: _axes(item, ids) for item in datasets}
    for item in datasets:
        for size, scale in zip(item.shape, axes[item.path], strict=False):
            if scale in growing:
                lengths[scale] = max(lengths.get(scale, 0), size)
    longer: dict[str, tuple[int, ...]] = {}
    for item in datasets:
        scales = axes[item.path] or [None] * len(item.shape)
        shape = tuple(
            lengths.get(scale, size) if scale else size
            for size, scale in zip(item.shape, scales, strict=False)
        )
        if len(shape) == len(item.shape) and shape != item.shape:
            longer[item.path] = shape
    return longer


def _names_an_axis(item: Labels) -> bool:
    """Whether a scale belongs to a dimension: it is 1-D, or a netCDF variable over that and other
    dimensions.
    """
    return item.is_scale and (len(item.shape) == 1 or item.coordinates is not None)


def _axes(item: Labels, ids: dict[int, str]) -> list[str | None]:
    """Return the path of the scale for each axis; a dimension's own variable has no list of scales."""
    if any(item.scales) or not _names_an_axis(item):
        return item.scales
    others = [ids.get(i) for i in item.coordinates or ()][1:]
    return [item.path, *others]


def scale_paths(value: Any, rank: int, name_of: Any) -> list[str | None]:
    """Return the path of the last attached scale for each axis from ``DIMENSION_LIST``, or None."""
    if value is None or len(value) != rank:
        return [None] * rank
    return [(name_of(references[-1]) or None) if len(references) else None for references in value]
