"""From a small sample to the whole array: what is chosen, and a quick codec, run over many more chunks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np

from icecore.analyzer.measure import Choice, Goal, Measurement, measure
from icecore.analyzer.sample import Kind, Reader, Sample, take
from icecore.codecs import spec

#: bytes that the quick codec runs over at most
_WIDE = 48 << 20
#: blocks that are measured whatever the time
_LEAST = 3
#: bytes that are not too much for any codec
_FEW = 1 << 19
#: MB/s that a chain must encode to run over all of a short array
_QUICK = 15


class Spread:
    """Many chunks of an array, and what the type's default codec makes of them.

    Chunks differ (land and sea, noise and calm), and mostly for all codecs alike: a ratio on few of them is
    multiplied by what the default codec reaches on all of these over what it reaches on those few.
    """

    def __init__(self, kind: Kind, shape: Sequence[int], chunk: Sequence[int], read: Reader) -> None:
        self._kind = kind
        self._codecs = spec.resolve("default", kind.data_type, kind.dtype, chunk)
        self._wide = take(kind, shape, chunk, read, _WIDE, _WIDE)
        self._all = self._default(self._wide)

    def widened(self, sample: Sample, found: Measurement, seconds: float) -> Measurement:
        """The measurement with ratios as they are to be expected of the whole array.

        Args:
            sample: that was measured; choices that were made on another one have no ``blocks``.
            found: on it, or on its first blocks where time was short.
            seconds: of wall time that the choices may run over the wider sample, about.
        """
        if not self._all or not found.choices:
            return found
        end = time.perf_counter() + seconds
        blocks = max(candidate.blocks for candidate in found.candidates)
        part = _first(sample, blocks)
        default = self._default(part)
        choices = dict(found.choices)
        # The quick ones first: what they leave of the time is for the slow ones.
        goals = sorted(choices, key=lambda goal: -choices[goal].write)
        for done, goal in enumerate(goals):
            share = max(end - time.perf_counter(), 0.0) / (len(goals) - done)
            choices[goal] = self._wider(choices[goal], found, sample, part, share)
        candidates = [replace(c, ratio=_scaled(c.ratio, default, self._all)) for c in found.candidates]
        return Measurement(candidates, choices)

    def _wider(
        self, choice: Choice, found: Measurement, sample: Sample, part: Sample, seconds: float
    ) -> Choice:
        """A choice with the ratio that is to be expected of it."""
        whole = sample.chunks == sample.of == self._wide.chunks
        if choice.blocks and whole and len(part.blocks) == len(sample.blocks):
            return choice  # it has seen everything
        seen = _first(sample, choice.blocks)
        rest = self._behind(seen)
        if choice.blocks and self._too_slow(choice, rest, seconds):
            return replace(choice, ratio=choice.ratio * self._relative(found, part))
        return self._chosen(choice, seen, rest, seconds)

    def _behind(self, seen: Sample) -> Sample:
        """The blocks of the wide sample behind those that were seen; all where it doesn't begin with them."""
        wide, count = self._wide, len(seen.blocks)
        if not all(map(_same, seen.blocks, wide.blocks)) or count >= len(wide.blocks):
            return wide
        first = _first(wide, count)
        empty, chunks = wide.empty - first.empty, wide.chunks - first.chunks
        return Sample(wide.blocks[count:], wide.raw[count:], empty, chunks, wide.of)

    def _too_slow(self, choice: Choice, rest: Sample, seconds: float) -> bool:
        """Whether whole chunks are too much for a choice that has figures already."""
        nbytes = sum(rest.raw[:_LEAST])
        return nbytes > _FEW and nbytes / 1e6 > choice.write * seconds

    def _relative(self, found: Measurement, part: Sample) -> float:
        """What a chain that is too slow for more chunks gains on them: as much as the shortest of those that
        are quick enough, which suits the numbers better than the default. Else what the default gains.
        """
        quick = [c for c in found.candidates if c.state == "measured" and c.write >= _QUICK and c.codecs]
        best = max(quick, key=lambda candidate: candidate.ratio, default=None)
        codecs = self._codecs if best is None else best.codecs
        ratios = [self._ratio(blocks, codecs) for blocks in (self._wide, part)]
        return ratios[0] / ratios[1] if all(ratios) else 1.0

    def _chosen(self, choice: Choice, seen: Sample, rest: Sample, seconds: float) -> Choice:
        """With its ratio on ``rest``, and on the blocks that were ``seen`` if it is after them."""
        only = [{"label": choice.label, "codecs": choice.codecs}]
        again = measure(self._kind, rest, [choice.goal], only=only, seconds=seconds).choices
        if choice.goal.name not in again:
            return choice
        found = again[choice.goal.name]
        ratio, blocks = found.ratio, found.blocks
        if rest is not self._wide:
            before, now = seen.nbytes, _first(rest, blocks).nbytes
            ratio = (before + now) / (before / choice.ratio + now / ratio)
            blocks += len(seen.blocks)
        return replace(choice, ratio=ratio * self._factor(_first(self._wide, blocks)), blocks=blocks)

    def _factor(self, part: Sample) -> float:
        if len(part.blocks) == len(self._wide.blocks):
            return 1.0
        ratio = self._default(part)
        return self._all / ratio if ratio else 1.0

    def _default(self, part: Sample) -> float:
        return self._ratio(part, self._codecs)

    def _ratio(self, part: Sample, codecs: list[spec.Codec]) -> float:
        """A chain's ratio; 0 where nothing is stored."""
        only = [{"label": "only", "codecs": codecs}]
        choice = measure(self._kind, part, [Goal("archive")], only=only).choices.get("archive")
        return choice.ratio if choice is not None else 0.0


def _scaled(ratio: float, part: float, whole: float) -> float:
    """A ratio on a part, where the default codec's is ``part`` there and ``whole`` on more. What compresses
    less than it also gains less: what is stored as it is gains nothing.
    """
    if part <= 0:
        return ratio
    if 1 < ratio < part:
        return float(ratio ** (log(whole) / log(part))) if whole > 1 else ratio
    return ratio * whole / part if ratio >= part else ratio


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _first(sample: Sample, blocks: int) -> Sample:
    """The first blocks, with their share of the empty chunks."""
    share = blocks / max(len(sample.blocks), 1)
    empty, chunks = round(sample.empty * share), round(sample.chunks * share)
    return Sample(sample.blocks[:blocks], sample.raw[:blocks], empty, chunks, sample.of)
