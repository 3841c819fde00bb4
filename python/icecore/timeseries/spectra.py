"""Power spectra by Welch's method, with the definitions of SciPy and gwpy, for samples read in blocks.

Formulas: P. D. Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70; bias of the median: B. Allen et al.,
Phys. Rev. D 85 (2012) 122006, appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, isclose

import numpy as np

from icecore import errors

#: samples that are transformed at once
BLOCK = 1 << 21
#: most bytes of spectra that a median holds; more are computed in passes over bands of frequencies
MEDIAN = 512 << 20
#: most passes of a median over the samples
PASSES = 64
#: most samples of a transform: it is held as a whole
LARGEST = 1 << 26
#: most transforms that a sample is part of
REPEATS = 256
METHODS = ("median", "welch", "bartlett")
#: recommended overlaps of windows (gwpy.signal.window), as a part of their length
OVERLAPS = {
    "boxcar": 0.0,
    "bartlett": 0.5,
    "barthann": 0.5,
    "blackmanharris": 0.661,
    "flattop": 0.8,
    "hann": 0.5,
    "hamming": 0.5,
    "nuttall": 0.656,
    "triang": 0.5,
}
#: returns the samples [first, last) as float64
Read = Callable[[int, int], np.ndarray]
Runs = list[tuple[int, int]]


@dataclass(frozen=True)
class Transform:
    """Transforms of ``size`` samples every ``step`` samples of a series with ``rate`` samples a second."""

    rate: float
    size: int
    step: int
    window: np.ndarray

    @classmethod
    def of(
        cls,
        rate: float,
        fftlength: float,
        overlap: float | None = None,
        window: str = "hann",
        method: str = "median",
    ) -> Transform:
        """Return the transform for lengths in seconds.

        Args:
            rate: samples a second.
            fftlength: length of a transform (s).
            overlap: overlap of transforms (s); the recommended one of the window by default.
            window: name of a window of ``scipy.signal``.
            method: one of :data:`METHODS`; ``bartlett`` has no overlap.

        Raises:
            Error: ``invalid`` for lengths that make no transform, or one beyond :data:`LARGEST` and
                :data:`REPEATS`, and unknown names.
        """
        if method not in METHODS:
            raise errors.make("invalid", f"method: {', '.join(METHODS)} (got {method!r})")
        if window not in OVERLAPS:
            raise errors.make("invalid", f"window: {', '.join(OVERLAPS)} (got {window!r})")
        size = _samples(fftlength, rate)
        if size < 2:
            message = f"fftlength: {fftlength:g} s are {size} samples at {rate:g} Hz"
            raise errors.make("invalid", message, "a transform needs at least 2 samples")
        if size > LARGEST:
            message = f"fftlength: {fftlength:g} s are {size:,} samples at {rate:g} Hz"
            raise errors.make("invalid", message, f"a transform takes at most {LARGEST:,} samples")
        over = ceil(size * OVERLAPS[window]) if overlap is None else _samples(overlap, rate)
        over = 0 if method == "bartlett" else over
        if over >= size:
            message = f"overlap: {over} samples must be less than those of fftlength, {size}"
            raise errors.make("invalid", message, "a shorter overlap")
        if size > REPEATS * (size - over):
            message = f"overlap: each sample would be part of {size // (size - over):,} transforms"
            raise errors.make("invalid", message, f"a shorter overlap: at most {REPEATS} transforms")
        return cls(rate, size, size - over, _window(window, size))

    @property
    def overlap(self) -> int:
        """Samples that two transforms have in common."""
        return self.size - self.step

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of a spectrum (Hz), shape ``(size // 2 + 1,)``."""
        return np.fft.rfftfreq(self.size, 1 / self.rate)

    def count(self, runs: Runs) -> int:
        """Return the number of transforms of runs of samples."""
        return sum(max((high - low - self.overlap) // self.step, 0) for low, high in runs)

    def blocks(self, runs: Runs) -> Iterator[tuple[int, int, int]]:
        """Yield samples [first, last) of a block and the number of its transforms."""
        most = max(BLOCK // self.size, 1)
        for low, high in runs:
            left, at = max((high - low - self.overlap) // self.step, 0), low
            while left:
                n = min(left, most)
                yield at, at + n * self.step + self.overlap, n
                at, left = at + n * self.step, left - n

    def spectra(self, samples: np.ndarray, count: int) -> np.ndarray:
        """Return the spectra of ``count`` transforms, without their means: complex, shape ``(count, n)``."""
        parts = np.lib.stride_tricks.sliding_window_view(samples, self.size)[:: self.step][:count]
        return np.fft.rfft((parts - parts.mean(axis=1, keepdims=True)) * self.window, axis=1)

    def density(self, power: np.ndarray) -> np.ndarray:
        """Scale squared magnitudes (last axis: frequencies) to one-sided densities, in place."""
        power *= 1 / (self.rate * np.sum(self.window**2))
        power[..., 1 : -1 if self.size % 2 == 0 else None] *= 2
        return power


def _samples(seconds: float, rate: float) -> int:
    exact = seconds * rate
    return round(exact) if isclose(exact, round(exact), rel_tol=1e-12) else int(exact)


def _window(name: str, size: int) -> np.ndarray:
    """A periodic window, as ``scipy.signal.get_window`` makes it."""
    if name == "hann":
        return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    if name == "boxcar":
        return np.ones(size)
    try:
        from scipy.signal import get_window
    except ModuleNotFoundError:
        raise errors.needs("gw", f"the window {name} needs scipy", "window=hann") from None
    return np.asarray(get_window(name, size))


def power(transform: Transform, read: Read, runs: Runs, method: str = "median") -> np.ndarray:
    """Return the power spectral density of runs of samples.

    Transforms lie in one run each; they are averaged by ``method``.

    Args:
        transform: lengths and window.
        read: returns samples.
        runs: ranges of samples that exist.
        method: ``median`` (corrected for its bias), or the mean: ``welch`` and ``bartlett``.

    Returns:
        Densities in the squared unit of the samples a Hz, float64, shape ``(size // 2 + 1,)``.

    Raises:
        Error: ``selection`` if no run is as long as a transform; ``invalid`` for a median of more spectra
            than :data:`PASSES` passes hold.
    """
    count = _counted(transform, runs)
    if method == "median":
        return _median(transform, read, runs, count)
    total = np.zeros(transform.size // 2 + 1)
    for first, last, n in transform.blocks(runs):
        found = transform.spectra(read(first, last), n)
        total += (found.real**2 + found.imag**2).sum(axis=0)
    return transform.density(total / count)


def _counted(transform: Transform, runs: Runs) -> int:
    count = transform.count(runs)
    if not count:
        longest = max((high - low for low, high in runs), default=0) / transform.rate
        message = f"no samples without a gap for {transform.size / transform.rate:g} s (got {longest:g} s)"
        raise errors.make("selection", message, "a shorter fftlength, or another stretch")
    return count


def _median(transform: Transform, read: Read, runs: Runs, count: int) -> np.ndarray:
    bins = transform.size // 2 + 1
    band = min(MEDIAN // (8 * count), bins)
    if band * PASSES < bins:
        message = f"a median of {count:,} transforms with {bins:,} frequencies each"
        raise errors.make("invalid", message, "method=welch, a shorter stretch, or a spectrogram of parts")
    result = np.empty(bins)
    for low in range(0, bins, band):
        part = slice(low, low + band)
        stack, at = np.empty((count, min(band, bins - low))), 0
        for first, last, n in transform.blocks(runs):
            found = transform.spectra(read(first, last), n)[:, part]
            stack[at : at + n] = found.real**2 + found.imag**2
            at += n
        result[part] = np.median(stack, axis=0, overwrite_input=True)
    return transform.density(result / median_bias(count))


def median_bias(count: int) -> float:
    """Return the median of ``count`` exponentially distributed numbers of mean 1, as SciPy defines it."""
    twice = 2.0 * np.arange(1, (count - 1) // 2 + 1)
    return float(1 + np.sum(1 / (twice + 1) - 1 / twice))


def coherence(transform: Transform, one: Read, other: Read, runs: Runs) -> np.ndarray:
    """Return the magnitude-squared coherence of two series with the same samples in time, 0 to 1."""
    _counted(transform, runs)
    bins = transform.size // 2 + 1
    first_power, second_power, cross = np.zeros(bins), np.zeros(bins), np.zeros(bins, complex)
    for first, last, n in transform.blocks(runs):
        x, y = transform.spectra(one(first, last), n), transform.spectra(other(first, last), n)
        first_power += (x.real**2 + x.imag**2).sum(axis=0)
        second_power += (y.real**2 + y.imag**2).sum(axis=0)
        cross += (np.conj(x) * y).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: np.ndarray = np.abs(cross) ** 2 / first_power / second_power
    return found


def columns(
    transform: Transform, first: int, last: int, runs: Runs, stride: int
) -> Iterator[tuple[int, Runs]]:
    """Yield the columns of a spectrogram of the samples [first, last): the first sample of each, and the runs
    of its samples, empty where one is missing.

    As in gwpy, a column's transforms reach over its edges by half of their overlap, where there are samples.
    """
    over, at = transform.overlap, 0
    for begin in range(first, last - stride + 1, stride):
        while at < len(runs) and runs[at][1] <= begin:
            at += 1
        low, high = runs[at] if at < len(runs) else (last, last)
        if low > begin or high < begin + stride:
            yield begin, []
            continue
        start = max(begin - over // 2, low)
        stop = min(start + stride + over, high)
        yield begin, [(max(stop - stride - over, low), stop)]
