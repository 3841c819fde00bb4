"""Drift monitor: checks while an array grows or is packed whether its codecs still suit the data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.analyzer.measure import Choice, Goal, measure
from icecore.analyzer.sample import PIECE, Kind, Reader, Sample, take, within
from icecore.codecs.spec import Codec
from icecore.display import text
from icecore.repository import zarr_dtypes

#: largest fraction of the elapsed time that a watch may use
_SHARE = 0.05
#: fraction of the cost that another codec must save, and the number of consecutive times
_WORTH, _IN_A_ROW = 0.05, 2
_MOST_LISTS = 4
_CHOICE = "icecore.choice"


@dataclass(frozen=True)
class Drift:
    """A better codec was found. ``codecs`` is the extended ``icecore.choice``, or None if the array has no
    list that can grow. ``note`` is a message for the user.
    """

    codecs: list[Codec] | None
    note: str


class Watch:
    """Measures a chunk of the data to be written from time to time, for one array. The goal ``speed``
    measures a part of a chunk.

    If the array's codec is ``icecore.choice``, a codec that saves 5 % of the cost is added to its list of at
    most four. Chunks that were written before stay readable. Otherwise the drift is only reported in a note.
    Measuring takes at most 5 % of the elapsed time; the time of the first choice counts too.
    """

    def __init__(
        self,
        kind: Kind,
        chunk: Sequence[int],
        codecs: list[Codec],
        goal: Goal,
        portable: bool = False,
        spent: float = 0.0,
        behind: int = 0,
    ) -> None:
        """Start the watch.

        Args:
            kind, chunk, codecs, goal, portable: the array and its present codecs.
            spent: the time that the first choice took, in seconds.
            behind: number of consecutive times that another codec was better, before this watch.
        """
        self._portable = portable
        self._kind, self._chunk, self._goal = kind, tuple(chunk), goal
        self._quick = goal.name == "speed"
        self._codecs = codecs
        self._began, self._spent = time.perf_counter() - spent, spent
        #: number of consecutive times that another codec was better
        self.behind = behind
        self._random = np.random.default_rng(1)
        self._over = False

    def look(self, shape: Sequence[int], read: Reader, before: int) -> Drift | None:
        """Measure one chunk of a box, and return the drift, if any.

        Args:
            shape: shape of the box.
            read: returns the elements of a region of the box.
            before: number of bytes of the array that were written already.
        """
        began = time.perf_counter()
        if self._over or self._spent > _SHARE * (began - self._began):
            return None
        found = self._measure(shape, read, before)
        self._spent += time.perf_counter() - began
        return found

    def _measure(self, shape: Sequence[int], read: Reader, before: int) -> Drift | None:
        sample = self._one(shape, read)
        if sample is None:
            return None
        lists = _lists(self._codecs)
        present = [{"label": str(i), "codecs": codecs} for i, codecs in enumerate(lists)]
        options: dict[str, Any] = {"adaptive": False, "threads": 1}
        now = self._least(sample, only=present, **options)
        options |= {"effort": "fast" if self._quick else "short", "portable": self._portable}
        best = self._least(sample, **options)
        if now is None or best is None or best.codecs in lists or best.cost > now.cost * (1 - _WORTH):
            self.behind = 0
            return None
        self.behind += 1
        if self.behind < _IN_A_ROW:
            return None
        self.behind = 0
        return self._drift(sample, best, 1 - best.cost / now.cost, before)

    def _least(self, sample: Sample, **options: Any) -> Choice | None:
        return measure(self._kind, sample, [self._goal], **options).choices.get(self._goal.name)

    def _drift(self, sample: Sample, better: Choice, saved: float, before: int) -> Drift:
        what = f"after {text.size(before)} {better.label} costs {saved:.0%} less"
        lists = _lists(self._codecs)
        if not is_choice(self._codecs) or len(lists) >= _MOST_LISTS:
            self._over = True
            return Drift(None, f"{what}: pack it again")
        effort = "full" if self._goal.name == "archive" else "fast" if self._quick else "usual"
        best = self._least(sample, effort=effort, adaptive=False) or better
        if best.codecs in lists:
            best = better
        self._codecs = choice([*lists, best.codecs])
        return Drift(self._codecs, f"{what}: {best.label} joined the list")

    def _one(self, shape: Sequence[int], read: Reader) -> Sample | None:
        """Read one chunk of the box, preferably one that is not at the edge."""
        start = [
            int(self._random.integers(max(n // c, 1))) * c for n, c in zip(shape, self._chunk, strict=True)
        ]
        part = [min(c, n - s) for s, c, n in zip(start, self._chunk, shape, strict=True)]

        def reading(region: tuple[slice, ...]) -> np.ndarray:
            return read(tuple(slice(s + r.start, s + r.stop) for s, r in zip(start, region, strict=True)))

        chunk = self._chunk
        if self._quick:
            chunk = within(chunk, zarr_dtypes.itemsize(self._kind.dtype), PIECE)
            part = [min(c, n) for c, n in zip(chunk, part, strict=True)]
        sample = take(self._kind, part, chunk, reading, 1 << 62, 1 << 62)
        return sample if sample.blocks else None


def is_choice(codecs: Sequence[Codec]) -> bool:
    """Return whether each chunk chooses between lists of codecs."""
    return [codec.get("name") for codec in codecs] == [_CHOICE]


def choice(lists: Sequence[list[Codec]]) -> list[Codec]:
    """Return a codec with which each chunk uses the best of ``lists``."""
    return [{"name": _CHOICE, "configuration": {"choices": list(lists)}}]


def goal_of(record: Any) -> Goal | None:
    """Return the recorded goal of an array's codecs, or None."""
    try:
        return Goal.of(record["goal"], record.get("bandwidth"))
    except (errors.Error, KeyError, TypeError, AttributeError, ValueError):
        return None


def _lists(codecs: list[Codec]) -> list[list[Codec]]:
    found: list[list[Codec]] = codecs[0]["configuration"]["choices"] if is_choice(codecs) else [codecs]
    return found
