"""Codec choice for ``codec="auto"``: measures codecs on a sample of the data to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from icecore.analyzer.measure import KEPT, Choice, Goal, Measurement, confirmed, measure
from icecore.analyzer.sample import Kind, Reader, Sample, take, within
from icecore.codecs import spec
from icecore.repository import zarr_dtypes
from icecore.sources.mapping.stored_chunks import StoredChunks

#: smallest array to measure, in bytes, for ``archive``; the other goals use ``KEPT``
_TINY = 4 << 10
#: arrays below ``_SMALL`` bytes try few codecs, on a sample of at most ``_FEW`` bytes (at least two chunks)
_SMALL, _FEW = 16 << 20, 384 << 10
#: largest part of a chunk, in bytes, that a quick measurement uses
_PART = 2 << 20
#: longest measurement of an array for ``archive``, in seconds
ARCHIVE_SECONDS = 20.0
#: assumed pack speed in bytes per second, and the fraction of the pack time that measuring may take
_PACK_SPEED, _SHARE = 200e6, 0.15


@dataclass(frozen=True)
class Planned:
    """Codecs of a chunk, ``record`` for the array's attributes, and whether ``portable`` was requested."""

    codecs: list[spec.Codec]
    record: dict[str, Any] = field(default_factory=dict)
    portable: bool = False

    @property
    def ratio(self) -> float:
        """Raw bytes per stored byte as measured; 1 if nothing was measured."""
        ratio = self.record.get("ratio", 1.0)
        return float(ratio) if isinstance(ratio, int | float) else 1.0


@dataclass(frozen=True)
class Subject:
    """An array whose codecs are chosen.

    Attributes:
        kind: data type and fill value of the elements.
        shape: shape of the array.
        chunk: shape of a chunk.
        read: returns the elements of a region.
        portable: only codecs of core Zarr v3.
        alone: whether the array is and stays a single chunk outside a shard.
        held: chunks that the source stores, if it is sparse.
    """

    kind: Kind
    shape: Sequence[int]
    chunk: Sequence[int]
    read: Reader
    portable: bool = False
    alone: bool = False
    held: StoredChunks | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the decoded array."""
        return prod(self.shape) * zarr_dtypes.itemsize(self.kind.dtype)


def plan(of: Subject, goal: Goal) -> Planned:
    """Return codecs for an array, chosen by measurements on some of its chunks.

    ``balanced`` spends about 15 % of the expected pack time of a large array. On an array below 16 MB it
    measures a few codecs on two chunks and confirms the best on more chunks, in about 60 ms. ``speed`` spends
    as little on any array. ``archive`` spends up to 20 s on a large array.
    """
    kind, nbytes = of.kind, of.nbytes
    fallback = spec.resolve("default", kind.data_type, kind.dtype, of.chunk, of.portable)
    if nbytes < (_TINY if goal.name == "archive" else KEPT):
        return Planned(fallback)
    found = chosen(of, goal)
    if found.choice is None:
        return Planned(fallback)
    return Planned(found.choice.codecs, _record(found) if nbytes >= KEPT else {}, of.portable)


@dataclass(frozen=True)
class Chosen:
    """A goal's choice (None if no chunk would be stored), its measurement and the sample."""

    choice: Choice | None
    found: Measurement
    sample: Sample


def chosen(of: Subject, goal: Goal) -> Chosen:
    """Measure and choose as :func:`plan` does; an assay uses the same choices.

    For ``balanced`` and ``speed``, the best codecs of a first measurement are measured again in turn. The
    choice and the figures come from this last measurement.
    """
    kind, nbytes = of.kind, of.nbytes
    quick, archive = goal.name == "speed", goal.name == "archive"
    if small := not archive and (quick or nbytes < _SMALL):
        part = within(of.chunk, zarr_dtypes.itemsize(kind.dtype), _PART)
        sample = take(kind, of.shape, part, of.read, 0, _FEW, of.held)
    else:
        sample = chunks(of, nbytes, archive)
    effort = "full" if archive else "fast" if quick else "short" if small else "usual"
    seconds = ARCHIVE_SECONDS if archive else 0.02 + _SHARE * nbytes / _PACK_SPEED
    alone = of.alone and not small
    found = measure(
        kind,
        sample,
        [goal],
        effort=effort,
        portable=of.portable,
        seconds=seconds,
        alone=alone,
    )
    choice = found.choices.get(goal.name)
    if choice is None or nbytes < KEPT or archive:
        return Chosen(choice, found, sample)
    if small:
        least = min(nbytes, _SMALL) if quick else nbytes
        sample = chunks(of, least, archive)
    base = None
    if quick:
        base = chosen(of, Goal("balanced")).choice
    again = confirmed(kind, sample, choice, seconds, base)
    found = _with_finals(found, again)
    return Chosen(again.choices.get(goal.name, choice), found, sample)


def _with_finals(first: Measurement, finals: Measurement) -> Measurement:
    """Merge the last measurement with the candidates that only the first one measured."""
    seen = [candidate.codecs for candidate in finals.candidates if candidate.state != "failed"]
    others = [replace(c, chosen_for=()) for c in first.candidates if c.codecs not in seen]
    candidates = sorted([*finals.candidates, *others], key=lambda candidate: -candidate.ratio)
    return Measurement(candidates, {**first.choices, **finals.choices})


def chunks(of: Subject, nbytes: int, archive: bool) -> Sample:
    """Read whole chunks, as many as the goal justifies."""
    most = min(max(nbytes // 32, 2 << 20), 16 << 20 if archive else 6 << 20)
    return take(of.kind, of.shape, of.chunk, of.read, (2 << 20) if archive else (1 << 19), most, of.held)


def _record(chosen: Chosen) -> dict[str, Any]:
    """Return the record of the choice and of the rejected codecs for the array's attributes."""
    choice, sample = chosen.choice, chosen.sample
    assert choice is not None
    goal = choice.goal
    winners = choice.label.split(" | ")
    losers = [c for c in chosen.found.candidates if c.codecs and c.state != "failed"]
    losers = [c for c in losers if c.codecs != choice.codecs and c.label not in winners]
    kept: dict[str, Any] = {"goal": goal.name, "chosen": choice.label}
    if goal.name == "balanced":
        kept["bandwidth"] = goal.bandwidth
    kept |= {"ratio": round(choice.ratio, 3), "write": _speed(choice.write), "read": _speed(choice.read)}
    kept["sample"] = {"chunks": sample.chunks, "of": sample.of, "bytes": sum(sample.raw)}
    kept["losers"] = [[c.label, round(c.ratio, 3), _speed(c.write), _speed(c.read)] for c in losers[:8]]
    return kept


def _speed(value: float) -> float:
    """Round MB/s to at least two digits."""
    return round(value) if value >= 10 else round(value, 1)
