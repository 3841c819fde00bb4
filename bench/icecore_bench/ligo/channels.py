"""Generated channels of a detector: strain, ground motion, counters, double precision, constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

#: GPS second at which the generated data begins
T0 = 1_000_000_000
STRAIN = "H1:GDS-CALIB_STRAIN"


@dataclass(frozen=True)
class Channel:
    """One channel; ``family`` groups channels in the tables of sizes, ``rate`` is in Hz."""

    name: str
    family: str
    dtype: str
    rate: int
    unit: str


def channels() -> list[Channel]:
    """Return sixty channels with 280 kB of samples per second, as in a frame of a small detector."""
    made = [Channel(STRAIN, "strain", "f4", 16384, "strain")]
    made += _several("SEI-GND_VEL", 8, "seismic", "f4", 2048, "m/s")
    made += _several("LSC-ADC", 6, "integers", "i4", 2048, "counts")
    made += _several("ASC-QUAD", 4, "float64", "f8", 2048, "ct")
    made += _several("PEM-TILT", 20, "seismic", "f4", 256, "rad")
    made += _several("GRD-STATE", 11, "integers", "i4", 256, "")
    made += _several("CAL-SETPOINT", 10, "constant", "f4", 256, "V")
    return made


def _several(name: str, count: int, family: str, dtype: str, rate: int, unit: str) -> list[Channel]:
    return [Channel(f"H1:{name}_{i}", family, dtype, rate, unit) for i in range(count)]


def samples(seconds: int) -> Iterator[tuple[Channel, np.ndarray]]:
    """Yield each channel with its samples, which are the same at each call."""
    for number, channel in enumerate(channels()):
        random = np.random.default_rng(number)
        count = channel.rate * seconds
        yield channel, _FAMILIES[channel.family](random, count, channel.rate).astype(channel.dtype)


def colored(
    random: np.random.Generator, count: int, rate: int, density: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return noise with an amplitude spectral density: maps frequencies in Hz to units per √Hz."""
    spectrum = np.fft.rfft(random.normal(size=count))
    spectrum *= density(np.fft.rfftfreq(count, 1 / rate)) * np.sqrt(rate / 2)
    return np.fft.irfft(spectrum, count)


def _strain(random: np.random.Generator, count: int, rate: int) -> np.ndarray:
    def density(f: np.ndarray) -> np.ndarray:
        wall = (np.maximum(f, 10) / 40) ** -14.0
        floor: np.ndarray = 1e-23 * np.sqrt(wall + 1 + (f / 300) ** 2)
        return floor

    return colored(random, count, rate, density)


def _seismic(random: np.random.Generator, count: int, rate: int) -> np.ndarray:
    def density(f: np.ndarray) -> np.ndarray:
        peak: np.ndarray = 1e-6 / (1 + (f / 0.2) ** 2) + 1e-10
        return peak

    return colored(random, count, rate, density)


def _integers(random: np.random.Generator, count: int, rate: int) -> np.ndarray:
    """Return counts of an ADC at 2 kHz; at lower rates, state words that change every few seconds."""
    if rate >= 1024:
        return np.rint(colored(random, count, rate, lambda f: 200 / (1 + (f / 30) ** 2) + 0.05))
    steps = random.random(count) < 0.3 / rate
    return np.cumsum(steps * random.integers(-4, 5, count)) + 100


def _double(random: np.random.Generator, count: int, rate: int) -> np.ndarray:
    return colored(random, count, rate, lambda f: 1 / (1 + (f / 5) ** 2) + 1e-4)


def _constant(random: np.random.Generator, count: int, rate: int) -> np.ndarray:
    return np.full(count, np.round(random.normal(), 3))


_FAMILIES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "strain": _strain,
    "seismic": _seismic,
    "integers": _integers,
    "float64": _double,
    "constant": _constant,
}
