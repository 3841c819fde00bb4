"""Channels that an Arrakis server offers: time series in GPS with a whole number of samples a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore.export.gwf import name_of
from icecore.repository.array import Array
from icecore.repository.nodes import hidden
from icecore.repository.open import open
from icecore.repository.repo import Repo
from icecore.repository.time_axis import GPS, NS, TimeAxis
from icecore.timeseries.sample_times import Uniform
from icecore.timeseries.stored_trend import levels

#: nanoseconds of a batch
STRIDE = NS
#: seconds until a repository is looked at again
_FRESH = 0.5
_STATISTICS = ("min", "max", "mean", "rms", "n")


@dataclass(frozen=True)
class Served:
    """A channel: its name, its array and time axis, and the repository's name as publisher."""

    name: str
    array: Array
    axis: TimeAxis
    publisher: str

    @property
    def rate(self) -> int:
        """Samples a second."""
        return int(1 / self.axis.step)

    @property
    def dtype(self) -> np.dtype:
        """Type of the samples."""
        return self.array.dtype

    @property
    def end(self) -> int:
        """End of the last sample in nanoseconds."""
        return self.axis.segments[-1][1] if self.axis.segments else self.axis.t0

    def read(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples of a span, and whether each exists."""
        first, last = self.axis.first_at(start), self.axis.first_at(stop)
        samples = np.zeros(last - first, self.dtype)
        there = np.zeros(last - first, bool)
        low, high = max(first, 0), min(last, self.array.shape[0])
        if low >= high:
            return samples, there
        for begin, end in Uniform(self.axis, self.array.shape[0]).runs(low, high):
            samples[begin - first : end - first] = self.array.read(slice(begin, end))
            there[begin - first : end - first] = True
        return samples, there


class Catalog:
    """The channels of repositories, looked up again when a repository may have changed."""

    def __init__(self, addresses: Sequence[str], storage: Mapping[str, Any] | None = None) -> None:
        self._addresses = list(addresses)
        self._storage = storage
        self._lock = threading.Lock()
        self._known: dict[str, Served] = {}
        self._versions: list[str] = []
        self._looked = -np.inf

    def channels(self) -> dict[str, Served]:
        """Return the channels by name; of channels with the same name that of the first repository."""
        with self._lock:
            if time.monotonic() - self._looked > _FRESH:
                repos = [open(address, storage=self._storage) for address in self._addresses]
                versions = [repo.snapshot_id for repo in repos]
                if versions != self._versions or not self._known:
                    self._known = {}
                    for address, repo in zip(self._addresses, repos, strict=True):
                        for each in _served(repo, address.rstrip("/").rsplit("/", 1)[-1].split("@")[0]):
                            self._known.setdefault(each.name, each)
                    self._versions = versions
                self._looked = time.monotonic()
            return self._known


def windows(start: int, stop: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span between multiples of ``length``."""
    at = start
    while at < stop:
        end = min((at // length + 1) * length, stop)
        yield at, end
        at = end


def _served(repo: Repo, publisher: str) -> Iterator[Served]:
    for path, array in repo.arrays.items():
        if hidden(path) or array.ndim != 1 or array.dtype.kind not in "iuf":
            continue
        axis = TimeAxis.of(array.attrs)
        if axis is None or axis.epoch != GPS:
            continue
        name = name_of(array)
        if ":" not in name:
            continue
        if (1 / axis.step).denominator == 1:
            yield Served(name, array, axis, publisher)
        for level in levels(repo, path):
            if level.seconds == 1:
                for statistic in _STATISTICS:
                    trend = repo._array(f"{level.path}/{statistic}")
                    own = TimeAxis.of(trend.attrs)
                    if own is not None:
                        yield Served(f"{name}.{statistic},s-trend", trend, own, publisher)
