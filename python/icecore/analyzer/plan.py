"""``codec="auto"``: measure a little of what is about to be written, and choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from icecore import codecspec, layout
from icecore.analyzer.measure import Candidate, Choice, Goal, Measurement, confirmed, measure
from icecore.analyzer.sample import Kind, Reader, take

#: below this an array gets the codecs of its type: measuring would cost more than it could save
_TINY = 4 << 10
#: below this only a handful of codecs is tried
_SMALL = 16 << 20
#: below this the figures aren't kept: they would be a good part of what is stored
KEPT = 64 << 10
#: bytes a second that a pack is taken to reach, and the part of its time that measuring may take
_PACK_SPEED, _SHARE = 200e6, 0.15


@dataclass(frozen=True)
class Planned:
    """Codecs of a chunk; ``record`` is what is kept in the array's attributes, ``rivals`` what to compare
    with later.
    """

    codecs: list[codecspec.Codec]
    record: dict[str, Any] = field(default_factory=dict)
    rivals: tuple[Candidate, ...] = ()
    goal: Goal = field(default_factory=Goal)


def plan(
    kind: Kind, shape: Sequence[int], chunk: Sequence[int], read: Reader, goal: Goal, portable: bool = False
) -> Planned:
    """The codecs for an array, measured on chunks of it.

    ``balanced`` and ``speed`` spend about 15 % of the time that the pack will take, ``archive`` as long as
    it takes: some seconds for a large array.

    Args:
        kind: of its elements.
        shape: of the array.
        chunk: of a chunk.
        read: region → elements.
        goal: what is wanted.
        portable: only codecs of core Zarr v3.
    """
    fallback = codecspec.resolve("default", kind.data_type, kind.dtype, chunk, portable)
    nbytes = prod(shape) * layout.itemsize(kind.dtype)
    if nbytes < _TINY:
        return Planned(fallback, goal=goal)
    archive = goal.name == "archive"
    most = min(max(nbytes // 32, 2 << 20), 16 << 20 if archive else 6 << 20)
    sample = take(kind, shape, chunk, read, (2 << 20) if archive else (1 << 19), most)
    effort = "full" if archive else "short" if nbytes < _SMALL else "usual"
    seconds = 20.0 if archive else 0.02 + _SHARE * nbytes / _PACK_SPEED
    found = measure(kind, sample, [goal], effort=effort, portable=portable, seconds=seconds)
    choice = found.choices.get(goal.name)
    if choice is None:
        return Planned(fallback, goal=goal)
    record: dict[str, Any] = {}
    if nbytes >= KEPT:
        choice = confirmed(kind, sample, choice, seconds)
        record = _record(found, choice, sum(sample.raw), sample.chunks, sample.of)
    return Planned(choice.codecs, record, _rivals(found, goal), goal)


def _record(found: Measurement, choice: Choice, nbytes: int, chunks: int, of: int) -> dict[str, Any]:
    """The choice and the losers, as kept with the array."""
    goal = choice.goal
    losers = [c for c in found.candidates if goal.name not in c.chosen_for and c.state != "failed"]
    kept: dict[str, Any] = {"goal": goal.name, "chosen": choice.label}
    if goal.name == "balanced":
        kept["bandwidth"] = goal.bandwidth
    kept |= {"ratio": round(choice.ratio, 3), "write": round(choice.write), "read": round(choice.read)}
    kept["sample"] = {"chunks": chunks, "of": of, "bytes": nbytes}
    kept["losers"] = [[c.label, round(c.ratio, 3), round(c.write), round(c.read)] for c in losers[:8]]
    return kept


def _rivals(found: Measurement, goal: Goal) -> tuple[Candidate, ...]:
    """The losers that came nearest: what drift would bring to the front."""
    lost = [c for c in found.candidates if c.state == "measured" and goal.name not in c.chosen_for]
    if goal.name == "balanced":
        lost.sort(key=lambda c: 1e6 / (max(c.ratio, 1e-9) * goal.bandwidth) + 1 / max(c.read, 1e-9))
    return tuple(lost[:3])
