"""``codec="auto"``: measure a little of what is about to be written, and choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from icecore.analyzer.measure import KEPT, Choice, Goal, Measurement, confirmed, measure
from icecore.analyzer.sample import Kind, Reader, Sample, take, within
from icecore.codecs import spec
from icecore.repository import zarr_dtypes
from icecore.sources.mapping.stored_chunks import Held

#: below this (``KEPT`` under the other goals) an array gets the codecs of its type: there is nothing to save
_TINY = 4 << 10
#: bytes below which only a handful of codecs is tried, on chunks of so many bytes together (two at least)
_SMALL, _FEW = 16 << 20, 384 << 10
#: larger chunks than icecore plans are tried in parts
_PART = 2 << 20
#: that `archive` may measure an array
ARCHIVE_SECONDS = 20.0
#: bytes a second that a pack is taken to reach, and the part of its time that measuring may take
_PACK_SPEED, _SHARE = 200e6, 0.15


@dataclass(frozen=True)
class Planned:
    """Codecs of a chunk; ``record`` is what the array's attributes keep; ``portable`` what was asked."""

    codecs: list[spec.Codec]
    record: dict[str, Any] = field(default_factory=dict)
    portable: bool = False

    @property
    def ratio(self) -> float:
        """Raw bytes per stored byte, as measured; 1 where nothing was."""
        ratio = self.record.get("ratio", 1.0)
        return float(ratio) if isinstance(ratio, int | float) else 1.0


def plan(
    kind: Kind,
    shape: Sequence[int],
    chunk: Sequence[int],
    read: Reader,
    goal: Goal,
    portable: bool = False,
    alone: bool = False,
    held: Held | None = None,
) -> Planned:
    """The codecs for an array, measured on chunks of it.

    ``balanced`` spends about 15 % of the time that the pack of a large array will take, and on a small one
    (below 16 MB) what a handful of codecs needs for two chunks of it, and the best of them for more: some
    60 ms. ``speed`` spends as little on any array. ``archive`` takes as long as it takes: up to 20 s for a
    large array.

    Args:
        kind: of its elements.
        shape: of the array.
        chunk: of a chunk.
        read: region → elements.
        goal: what is wanted.
        portable: only codecs of core Zarr v3.
        alone: the array is one chunk, in no shard, and stays so.
        held: the chunks that hold something, where others don't.
    """
    fallback = spec.resolve("default", kind.data_type, kind.dtype, chunk, portable)
    nbytes = prod(shape) * zarr_dtypes.itemsize(kind.dtype)
    if nbytes < (_TINY if goal.name == "archive" else KEPT):
        return Planned(fallback)
    found = chosen(kind, shape, chunk, read, goal, portable, alone, held)
    if found.choice is None:
        return Planned(fallback)
    return Planned(found.choice.codecs, _record(found) if nbytes >= KEPT else {}, portable)


@dataclass(frozen=True)
class Chosen:
    """A goal's choice (None where nothing is stored), and what it was made on."""

    choice: Choice | None
    found: Measurement
    sample: Sample


def chosen(
    kind: Kind,
    shape: Sequence[int],
    chunk: Sequence[int],
    read: Reader,
    goal: Goal,
    portable: bool = False,
    alone: bool = False,
    held: Held | None = None,
) -> Chosen:
    """What :func:`plan` measures and chooses; an assay takes its choices from here too.

    Where time counts, the best of a first measurement are measured once more in turn: choice and figures are
    those of this last measurement.
    """
    nbytes = prod(shape) * zarr_dtypes.itemsize(kind.dtype)
    quick, archive = goal.name == "speed", goal.name == "archive"
    if small := not archive and (quick or nbytes < _SMALL):
        part = within(chunk, zarr_dtypes.itemsize(kind.dtype), _PART)
        sample = take(kind, shape, part, read, 0, _FEW, held)
    else:
        sample = chunks(kind, shape, chunk, read, nbytes, archive, held)
    effort = "full" if archive else "fast" if quick else "short" if small else "usual"
    seconds = ARCHIVE_SECONDS if archive else 0.02 + _SHARE * nbytes / _PACK_SPEED
    found = measure(
        kind, sample, [goal], effort=effort, portable=portable, seconds=seconds, alone=alone and not small
    )
    choice = found.choices.get(goal.name)
    if choice is None or nbytes < KEPT or archive:
        return Chosen(choice, found, sample)
    if small:
        least = min(nbytes, _SMALL) if quick else nbytes
        sample = chunks(kind, shape, chunk, read, least, archive, held)
    base = None
    if quick:
        base = chosen(kind, shape, chunk, read, Goal("balanced"), portable, alone, held).choice
    again = confirmed(kind, sample, choice, seconds, base)
    found = _with_finals(found, again)
    return Chosen(again.choices.get(goal.name, choice), found, sample)


def _with_finals(first: Measurement, finals: Measurement) -> Measurement:
    """The figures and choices of the last measurement, and those of what took part in the first alone."""
    seen = [candidate.codecs for candidate in finals.candidates if candidate.state != "failed"]
    others = [replace(c, chosen_for=()) for c in first.candidates if c.codecs not in seen]
    candidates = sorted([*finals.candidates, *others], key=lambda candidate: -candidate.ratio)
    return Measurement(candidates, {**first.choices, **finals.choices})


def chunks(
    kind: Kind,
    shape: Sequence[int],
    chunk: Sequence[int],
    read: Reader,
    nbytes: int,
    archive: bool,
    held: Held | None,
) -> Sample:
    """Whole chunks, as many as the goal is worth."""
    most = min(max(nbytes // 32, 2 << 20), 16 << 20 if archive else 6 << 20)
    return take(kind, shape, chunk, read, (2 << 20) if archive else (1 << 19), most, held)


def _record(chosen: Chosen) -> dict[str, Any]:
    """The choice and the losers, as kept with the array."""
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
    """MB/s in two digits or more."""
    return round(value) if value >= 10 else round(value, 1)
