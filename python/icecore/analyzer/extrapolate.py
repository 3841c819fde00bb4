"""Extrapolation of ratios from a small sample to the whole array, with quick codecs on many more chunks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np

from icecore.analyzer.measure import Choice, Goal, Measurement, measure
from icecore.analyzer.sample import Kind, Reader, Sample, take
from icecore.codecs import spec

#: largest number of bytes on which the quick codec runs
_WIDE = 48 << 20
#: number of blocks that are measured regardless of the time
_LEAST = 3
#: number of bytes that even a slow codec encodes quickly
_FEW = 1 << 19
#: encoding speed in MB/s that a chain needs to run over a whole short array
_QUICK = 15


class Spread:
    """Many chunks of an array, and the ratio of the type's default codec on them.

    Chunks differ (land and sea, noise and calm), mostly in the same way for all codecs. A ratio that was
    measured on few chunks is multiplied by the default codec's ratio on all chunks, divided by its ratio on
    those few.
    """

    def __init__(self, kind: Kind, shape: Sequence[int], chunk: Sequence[int], read: Reader) -> None:
        self._kind = kind
        self._codecs = spec.resolve("default", kind.data_type, kind.dtype, chunk)
        self._wide = take(kind, shape, chunk, read, _WIDE, _WIDE)
        self._all = self._default(self._wide)

    def widened(self, sample: Sample, found: Measurement, seconds: float) -> Measurement:
        """Return the measurement with the ratios expected for the whole array.

        Args:
            sample: measured sample; choices made on another sample have ``blocks`` 0.
            found: measurement of the sample, or of its first blocks if time was short.
            seconds: approximate wall time for running the choices on the wider sample.
        """
        if not self._all or not found.choices:
            return found
        end = time.perf_counter() + seconds
        blocks = max(candidate.blocks for candidate in found.candidates)
        part = _first(sample, blocks)
        default = self._default(part)
        choices = dict(found.choices)
        # Quick codecs run first; the time that they save is left for the slow ones.
        goals = sorted(choices, key=lambda goal: -choices[goal].write)
        for done, goal in enumerate(goals):
            share = max(end - time.perf_counter(), 0.0) / (len(goals) - done)
            choices[goal] = self._wider(choices[goal], found, sample, part, share)
        candidates = [replace(c, ratio=_scaled(c.ratio, default, self._all)) for c in found.candidates]
        return Measurement(candidates, choices)

    def _wider(
        self, choice: Choice, found: Measurement, sample: Sample, part: Sample, seconds: float
    ) -> Choice:
        """Return a choice with its expected ratio."""
        whole = sample.chunks == sample.of == self._wide.chunks
        if choice.blocks and whole and len(part.blocks) == len(sample.blocks):
            return choice  # it was measured on the whole array
        seen = _first(sample, choice.blocks)
        rest = self._behind(seen)
        if choice.blocks and self._too_slow(choice, rest, seconds):
            return replace(choice, ratio=choice.ratio * self._relative(found, part))
        return self._chosen(choice, seen, rest, seconds)

    def _behind(self, seen: Sample) -> Sample:
        """Return the wide sample without the blocks in ``seen``; all of it if it does not start with them."""
        wide, count = self._wide, len(seen.blocks)
        if not all(map(_same, seen.blocks, wide.blocks)) or count >= len(wide.blocks):
            return wide
        first = _first(wide, count)
        empty, chunks = wide.empty - first.empty, wide.chunks - first.chunks
        return Sample(wide.blocks[count:], wide.raw[count:], empty, chunks, wide.of)

    def _too_slow(self, choice: Choice, rest: Sample, seconds: float) -> bool:
        """Whether a measured choice is too slow for whole chunks in the time left."""
        nbytes = sum(rest.raw[:_LEAST])
        return nbytes > _FEW and nbytes / 1e6 > choice.write * seconds

    def _relative(self, found: Measurement, part: Sample) -> float:
        """Return the factor by which the ratio of a slow chain changes on the wide sample.

        The factor is that of the quick chain with the best ratio, which suits the data better than the
        default codec. The default codec is used if no chain is quick enough.
        """
        quick = [c for c in found.candidates if c.state == "measured" and c.write >= _QUICK and c.codecs]
        best = max(quick, key=lambda candidate: candidate.ratio, default=None)
        codecs = self._codecs if best is None else best.codecs
        ratios = [self._ratio(blocks, codecs) for blocks in (self._wide, part)]
        return ratios[0] / ratios[1] if all(ratios) else 1.0

    def _chosen(self, choice: Choice, seen: Sample, rest: Sample, seconds: float) -> Choice:
        """Return the choice with its ratio on ``rest``; combined with ``seen`` if ``rest`` follows it."""
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
        """Return the ratio of a chain; 0 if no chunk would be stored."""
        only = [{"label": "only", "codecs": codecs}]
        choice = measure(self._kind, part, [Goal("archive")], only=only).choices.get("archive")
        return choice.ratio if choice is not None else 0.0


def _scaled(ratio: float, part: float, whole: float) -> float:
    """Scale a ratio that was measured on a part of the array.

    ``part`` and ``whole`` are the default codec's ratios on the part and on more chunks. A codec with a lower
    ratio than the default also gains less, and uncompressed data gains nothing.
    """
    if part <= 0:
        return ratio
    if 1 < ratio < part:
        return float(ratio ** (log(whole) / log(part))) if whole > 1 else ratio
    return ratio * whole / part if ratio >= part else ratio


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _first(sample: Sample, blocks: int) -> Sample:
    """Return the first blocks with their share of the empty chunks."""
    share = blocks / max(len(sample.blocks), 1)
    empty, chunks = round(sample.empty * share), round(sample.chunks * share)
    return Sample(sample.blocks[:blocks], sample.raw[:blocks], empty, chunks, sample.of)
