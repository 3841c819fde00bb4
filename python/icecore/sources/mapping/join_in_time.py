"""Join time series of several files (GWOSC strain and masks) into one array each, on one time axis."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.time_axis import KEY, NS, TimeAxis, seconds_text
from icecore.repository.zarr_dtypes import fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Note, Region
from icecore.sources.mapping.stitched_array import decodes_alike


@dataclass(frozen=True)
class Part:
    """The series of one file, the index of its first sample in the joined array, and the number of samples at
    its start that an earlier file has.
    """

    index: int
    source: str
    entry: ArrayEntry
    skip: int = 0

    @property
    def stop(self) -> int:
        """Index after its last sample."""
        return self.index + self.entry.shape[0] - self.skip


@dataclass
class Series:
    """Parts with one dtype, rate and set of flags, in order of time."""

    axis: TimeAxis
    parts: list[Part] = field(default_factory=list)

    @property
    def first(self) -> ArrayEntry:
        """The earliest part's entry."""
        return self.parts[0].entry

    def fits(self, entry: ArrayEntry, axis: TimeAxis) -> bool:
        """Whether an entry continues this series on the same sampling grid."""
        same = entry.dtype == self.first.dtype and axis.step == self.axis.step
        return (
            same
            and facts(entry.attrs) == facts(self.first.attrs)
            and abs(self.axis.time(self.axis.index(axis.t0)) - axis.t0) <= 1
        )


@dataclass(frozen=True)
class SeriesReader:
    """Reads regions of a joined series; can be pickled."""

    parts: tuple[Part, ...]
    fill: Any

    def __call__(self, region: Region) -> np.ndarray:
        """Return the samples of ``region`` (one slice), gaps filled."""
        low, high = region[0].start, region[0].stop
        out = np.full(high - low, self.fill, self.parts[0].entry.dtype)
        for part in self.parts:
            first, last = max(part.index, low), min(part.stop, high)
            if first < last and part.entry.read is not None:
                inside = slice(first - part.index + part.skip, last - part.index + part.skip)
                out[first - low : last - low] = part.entry.read((inside,))
        return out


def has_series(arrays: ArrayMap) -> bool:
    """Whether a source has arrays with a time axis."""
    return any(KEY in entry.attrs for entry in arrays.arrays.values())


def join(maps: Sequence[ArrayMap], name: str) -> ArrayMap:
    """Join the series of sources in time; other arrays are taken from the first source.

    A part with another dtype, rate, unit, scale or flags begins a separate array (``PATH.GPS``). Of samples
    that several parts have, the earliest part's are kept.
    """
    result = ArrayMap(name, groups=dict(maps[0].groups))
    result.dropped = [note for each in maps for note in each.dropped]
    result.failed = [error for each in maps for error in each.failed]
    found: dict[str, list[tuple[str, ArrayEntry]]] = defaultdict(list)
    for each in maps:
        for path, entry in each.arrays.items():
            if KEY in entry.attrs:
                found[path].append((each.source, entry))
            elif path not in result.arrays:
                result.add(entry)
    for path, entries in found.items():
        missing = len(maps) - len({source for source, _ in entries})
        if missing:
            result.dropped.append(Note(path, "missing", f"missing in {missing} of {len(maps)} files"))
        every = _series(path, entries, result)
        for i, series in enumerate(every):
            place = path if i == 0 else _later(path, series.axis.t0, result)
            if i:
                result.dropped.append(Note(place, "changed", _change(every[i - 1], series)))
            result.add(_joined(place, series, result))
    return result


def _later(path: str, t0: int, result: ArrayMap) -> str:
    """Return an unused path for the part of a series that begins at ``t0`` (ns)."""
    names = (f"{path}.{t0 // NS}" + (f".{number}" if number > 1 else "") for number in count(1))
    return next(name for name in names if name not in result.arrays)


def _change(before: Series, after: Series) -> str:
    """Return what differs between two series of one path."""
    found = []
    if before.first.dtype != after.first.dtype:
        found.append(f"the type changed from {before.first.dtype} to {after.first.dtype}")
    if before.axis.step != after.axis.step:
        found.append(f"the sampling changed from {before.axis.rate:.10g} Hz to {after.axis.rate:.10g} Hz")
    found += differences(before.first.attrs, after.first.attrs)
    said = "; ".join(found) or "the samples lie between those before"
    return f"from {after.axis.epoch} {seconds_text(after.axis.t0)}: {said}"


def _axis(entry: ArrayEntry) -> TimeAxis:
    axis = TimeAxis.of(entry.attrs)
    assert axis is not None  # the caller checked for KEY
    return axis


def _series(path: str, entries: Sequence[tuple[str, ArrayEntry]], result: ArrayMap) -> list[Series]:
    found: list[Series] = []
    for source, entry in sorted(entries, key=lambda item: _axis(item[1]).t0):
        axis = _axis(entry)
        series = next((each for each in reversed(found) if each.fits(entry, axis)), None)
        if series is None:
            series = Series(axis)
            found.append(series)
        index = series.axis.index(axis.t0)
        skip = min(max(series.parts[-1].stop - index, 0), entry.shape[0]) if series.parts else 0
        if skip:
            rest = entry.shape[0] - skip
            said = f"{source}: {skip} samples from {axis.epoch} {seconds_text(axis.t0)} are there already"
            said += f"; the file's {rest} others are used" if rest else ""
            result.dropped.append(Note(path, "overlap", said))
        if skip < entry.shape[0]:
            series.parts.append(Part(index + skip, source, entry, skip))
    return [series for series in found if series.parts]


def _joined(place: str, series: Series, result: ArrayMap) -> ArrayEntry:
    first, segments = series.first, list[tuple[int, int]]()
    for part in series.parts:
        start, stop = series.axis.time(part.index), series.axis.time(part.stop)
        joins = bool(segments) and segments[-1][1] == start
        segments[-1:] = [(segments[-1][0], stop)] if joins else [*segments[-1:], (start, stop)]
    if len(segments) > 1:
        result.dropped.append(Note(place, "gaps", f"{len(segments) - 1} gaps"))
    axis = replace(series.axis, segments=tuple(segments))
    fill = np.nan if first.dtype.kind == "f" else 0
    links = _links(series.parts)
    return replace(
        first,
        path=place,
        shape=(series.parts[-1].stop,),
        dims=("time",),
        fill_value=fill_json(fill, first.dtype),
        attrs={**first.attrs, KEY: axis.attribute()},
        links=links,
        native={},
        read=SeriesReader(tuple(series.parts), fill),
        held=None,
        check=_Checks(tuple(series.parts)),
        unlimited=(0,),
        note=first.note if links is not None else "its files' chunks don't lie on one grid",
    )


@dataclass(frozen=True)
class _Checks:
    parts: tuple[Part, ...]

    def __call__(self) -> None:
        for part in self.parts:
            part.entry.check()


def _links(parts: Sequence[Part]) -> Links | None:
    """Return the references of all parts, if their chunks are on one regular grid and none is missing."""
    chunk, codecs = parts[0].entry.chunks, parts[0].entry.codecs
    if not isinstance(chunk, tuple):
        return None
    for part in parts:
        entry, is_last = part.entry, part is parts[-1]
        whole = part.index % chunk[0] == part.skip % chunk[0] == 0
        whole = whole and (is_last or entry.shape[0] % chunk[0] == 0)
        if entry.chunks != chunk or not whole or not decodes_alike(entry.codecs, codecs):
            return None
        if entry.links is None or len(entry.links) != entry.grid[0]:
            return None
    every = [(part.entry.links, part.index // chunk[0], part.skip // chunk[0]) for part in parts]
    links = [(_from(each, skip), first) for each, first, skip in every if each is not None]
    files = np.cumsum([0, *(len(each.urls) for each, _ in links)])
    return Links(
        [url for each, _ in links for url in each.urls],
        np.concatenate([each.sizes for each, _ in links]),
        np.concatenate([each.mtimes_ns for each, _ in links]),
        [etag for each, _ in links for etag in each.etags],
        np.concatenate([each.url_ids + np.uint32(n) for (each, _), n in zip(links, files[:-1], strict=True)]),
        np.concatenate([each.chunks + np.uint64(first) for each, first in links]),
        np.concatenate([each.offsets for each, _ in links]),
        np.concatenate([each.lengths for each, _ in links]),
    )


def _from(links: Links, first: int) -> Links:
    """Return the references from chunk ``first`` on, numbered from 0."""
    if not first:
        return links
    kept = links.chunks >= first
    return replace(
        links,
        url_ids=links.url_ids[kept],
        chunks=links.chunks[kept] - np.uint64(first),
        offsets=links.offsets[kept],
        lengths=links.lengths[kept],
    )


def by_detector(maps: Sequence[ArrayMap]) -> list[list[int]]:
    """Return the indices of the sources of each detector (``meta/Detector``)."""
    found: dict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(maps):
        found[_detector(each)].append(i)
    return list(found.values())


def _detector(arrays: ArrayMap) -> str:
    entry = next((e for path, e in arrays.arrays.items() if path.endswith("/Detector")), None)
    if entry is None or entry.read is None or entry.shape:
        return ""
    try:
        value = entry.read(())
    except errors.Error:
        return ""  # reading the array itself reports the error
    item = np.asarray(value).item()
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


# What the attributes of a time series state about its numbers, compared before series are joined.

#: attribute → what it states
_FACTS = {
    "channel": "channel",
    "units": "unit",
    "scale_factor": "slope",
    "add_offset": "bias",
    "adc_slope": "slope",
    "adc_bias": "bias",
    "frequency_shift": "frequency shift",
    "phase": "phase",
    "_FillValue": "fill value",
    "missing_value": "missing value",
    "flag_masks": "flags",
    "flag_values": "flags",
    "flag_meanings": "flags",
}


def facts(attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the facts as text that can be compared and hashed."""
    return tuple(json.dumps(attrs.get(key)) for key in _FACTS)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the facts that differ.

    Example:
        >>> differences({"units": "V"}, {"units": "A"})
        ["the unit changed from 'V' to 'A'"]
    """
    found: dict[str, str] = {}
    for (key, name), old, new in zip(_FACTS.items(), facts(before), facts(after), strict=True):
        if old != new:
            said = f"the {name} changed from {_shown(before, key)} to {_shown(after, key)}"
            found.setdefault(name, said)
    return list(found.values())


def _shown(attrs: Mapping[str, Any], key: str) -> str:
    return repr(attrs[key]) if key in attrs else "none"
