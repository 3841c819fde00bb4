"""Frame files (GWF version 8): channels of one frame written in one pass."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.repository.channel_names import KEY as CHANNEL
from icecore.repository.leap_seconds import gps_of_utc, tai_minus_utc
from icecore.repository.time_axis import GPS, NS, TimeAxis

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.array import Array

COMPRESSIONS = ("raw", "gzip", "diff-gzip", "zero-suppress", "best")
#: first letters of the detectors of channels, and what a description must not contain (LIGO-T010150)
_SITE = re.compile(r"^([A-Z])\d:")
_NO_DESCRIPTION = re.compile(r"[^A-Za-z0-9_+#]")
#: attribute → field of FrAdcData: slope and bias
_SCALES = (("adc_slope", "adc_bias"), ("scale_factor", "add_offset"))
#: most bytes of samples of one vector
_MOST = 1 << 31


@dataclass(frozen=True)
class Vector:
    """Samples of one vector, and the seconds between them."""

    name: str
    samples: np.ndarray
    step: float
    unit: str = ""

    def native(self) -> tuple[str, str, str, float, np.ndarray]:
        """The vector as the engine takes it."""
        samples = np.ascontiguousarray(self.samples)
        samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
        return self.name, self.unit, samples.dtype.name, self.step, samples.view(np.uint8).reshape(-1)


@dataclass(frozen=True)
class Channel:
    """A channel of a frame: its samples, and the facts that its structure states.

    Attributes:
        data: its samples; their name is that of the channel.
        kind: ``adc``, ``proc`` or ``sim``: FrAdcData, FrProcData, FrSimData.
        offset: seconds from the start of the frame to the first sample.
        slope, bias: of a converter.
        shift, phase: frequency (Hz) and phase of the signal that the samples were mixed with.
        valid: 0 for valid samples.
        aux: auxiliary vectors.
    """

    data: Vector
    kind: str = "proc"
    offset: float = 0.0
    slope: float = 1.0
    bias: float = 0.0
    shift: float = 0.0
    phase: float = 0.0
    valid: int = 0
    aux: Sequence[Vector] = field(default_factory=tuple)

    def native(self) -> _Native:
        """The channel as the engine takes it."""
        return _Native(
            self.kind,
            self.offset,
            self.slope,
            self.bias,
            self.shift,
            self.phase,
            self.valid,
            self.data.native(),
            [vector.native() for vector in self.aux],
        )


@dataclass(frozen=True)
class _Native:
    kind: str
    offset: float
    slope: float
    bias: float
    shift: float
    phase: float
    valid: int
    data: tuple[str, str, str, float, np.ndarray]
    aux: list[tuple[str, str, str, float, np.ndarray]]


class Frame:
    """A file with one frame; channels of kind ``adc`` come before ``proc``, those before ``sim``."""

    def __init__(self, native: _icecore.GwfWriter, compress: str) -> None:
        self._native = native
        self._compress = compress
        self.size = 0

    def add(self, channels: Sequence[Channel]) -> list[tuple[int, int]]:
        """Write channels; return for each the compression and the stored bytes of its samples."""
        given = [channel.native() for channel in channels]
        return self._native.channels(given, self._compress, os.cpu_count() or 1)


@contextmanager
def frame(
    path: str, start: int, stop: int, kinds: Mapping[str, int], compress: str = "best", comment: str = ""
) -> Iterator[Frame]:
    """Write one frame to a file, which appears when it is complete.

    Args:
        path: name of the file.
        start: GPS nanoseconds of the start of the frame.
        stop: its end.
        kinds: number of channels of each kind.
        compress: one of :data:`COMPRESSIONS`.
        comment: for the frame's history.

    Raises:
        Error: ``invalid`` for another compression, a frame without length, names that the format can't hold,
            and two channels of one name; errors of :func:`icecore.filesystem.atomic_output.landing`.
    """
    with landing(path) as part, _frame(part, start, stop, kinds, compress, comment) as result:
        yield result


@contextmanager
def _frame(
    part: str, start: int, stop: int, kinds: Mapping[str, int], compress: str, comment: str
) -> Iterator[Frame]:
    from icecore import _icecore

    if compress not in COMPRESSIONS:
        raise errors.make("invalid", f"compress: {', '.join(COMPRESSIONS)} (got {compress!r})")
    native = _icecore.GwfWriter(part)
    now = int(gps_of_utc(np.array([time.time_ns()]))[0]) // NS
    said = f"icecore {_icecore.__version__}: {comment}"
    native.begin(
        ("icecore", 0, 0, 0, start, stop - start, tai_minus_utc(start)),
        [("icecore", now, said)],
        (kinds.get("adc", 0), kinds.get("proc", 0), kinds.get("sim", 0)),
    )
    result = Frame(native, compress)
    yield result
    native.end()
    result.size = native.finish()


def file_name(channels: Sequence[str], description: str, start: int, stop: int) -> str:
    """Return the name of a file by LIGO's convention: ``H-H1_HOFT-1400000000-128.gwf``.

    Args:
        channels: names of its channels, whose detectors give the first letters.
        description: the second part.
        start: GPS nanoseconds.
        stop: GPS nanoseconds.
    """
    sites = sorted({found[1] for name in channels if (found := _SITE.match(name))})
    begin = start // NS
    text = _NO_DESCRIPTION.sub("_", description)
    return f"{''.join(sites) or 'X'}-{text}-{begin}-{max(ceil(stop / NS) - begin, 1)}.gwf"


def name_of(array: Array) -> str:
    """Return the name of an array's channel: the stated one, or its path with a colon behind the first group.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/H1/X", "f4", (8,))[...] = range(8)
        >>> name_of(repo.at("main")["/H1/X"])
        'H1:X'
    """
    stated = array.attrs.get(CHANNEL)
    return stated if isinstance(stated, str) else array.path.strip("/").replace("/", ":", 1)


def check(array: Array) -> TimeAxis:
    """Return the time axis of an array that frames can hold.

    Raises:
        Error: ``unsupported`` without a GPS axis; ``dtype`` for elements that vectors can't hold.
    """
    axis = TimeAxis.of(array.attrs) if array.ndim == 1 else None
    if axis is None or axis.epoch != GPS:
        message = f"{array.path} has no time axis in GPS, which channels of frame files have"
        raise errors.make("unsupported", message, "name a channel; -o out.h5 holds other arrays")
    if not holds(array.dtype):
        hint = "integers, float32, float64 and complex numbers can be written"
        raise errors.make("dtype", f"{array.path}: frame files hold no {array.dtype}", hint)
    return axis


def holds(dtype: np.dtype) -> bool:
    """Whether vectors of frame files can have a dtype."""
    return dtype.kind in "iufc" and dtype.name in _TYPES


_TYPES = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_TYPES |= {"float32", "float64", "complex64", "complex128"}


def channel(
    array: Array,
    axis: TimeAxis,
    samples: np.ndarray,
    first: int,
    start: int,
    kind: str,
    aux: Sequence[Vector] = (),
) -> Channel:
    """Return the channel of a frame from the samples of an array.

    Args:
        array: the array, for its attributes.
        axis: its time axis.
        samples: those from ``first`` on.
        first: index of the first sample.
        start: GPS nanoseconds of the start of the frame.
        kind: that of :func:`kind_of`.
        aux: auxiliary vectors.

    Raises:
        Error: ``memory`` for samples that are too many for one vector.
    """
    name, attrs = name_of(array), array.attrs
    if samples.nbytes > _MOST:
        message = f"{name}: a vector of {samples.nbytes:,} bytes exceeds the limit of {_MOST:,}"
        raise errors.make("memory", message, "shorter frames: --seconds")
    slope, bias = _scale(attrs) or (1.0, 0.0)
    valid = [span for span in attrs.get("data_valid", ()) if _overlaps(axis, span, first, len(samples))]
    if valid and not _covers(axis, valid, first, len(samples)):
        aux, valid = [*aux, _validity(axis, valid, first, len(samples))], []
    return Channel(
        Vector(name, samples, float(axis.step), unit_of(attrs)),
        kind=kind,
        offset=float((axis.time(first) - start) / NS),
        slope=slope,
        bias=bias,
        shift=float(attrs.get("frequency_shift", 0)),
        phase=float(attrs.get("phase", 0)),
        valid=int(np.bitwise_or.reduce([int(span[2]) for span in valid])) if valid else 0,
        aux=aux,
    )


def kind_of(array: Array, has_aux: bool) -> str:
    """Return the kind that :func:`channel` gives an array: ``adc`` if it states what only FrAdcData holds."""
    return "adc" if has_aux or "data_valid" in array.attrs or _scale(array.attrs) else "proc"


def unit_of(attrs: Mapping[str, Any]) -> str:
    """Return the unit of a vector: of masks the names of their bits, as frame files state them."""
    masks, meanings = attrs.get("flag_masks"), attrs.get("flag_meanings")
    if isinstance(masks, list) and isinstance(meanings, str) and len(masks) == len(meanings.split()):
        bits = [abs(int(mask)).bit_length() - 1 for mask in masks]
        return " ".join(f"{bit}:{word}" for bit, word in zip(bits, meanings.split(), strict=True))
    unit = attrs.get("units")
    return unit if isinstance(unit, str) else ""


def _scale(attrs: Mapping[str, Any]) -> tuple[float, float] | None:
    for slope, bias in _SCALES:
        if slope in attrs or bias in attrs:
            return float(attrs.get(slope, 1)), float(attrs.get(bias, 0))
    return None


def _range(axis: TimeAxis, span: Sequence[int], first: int, count: int) -> tuple[int, int]:
    low, high = axis.first_at(int(span[0])) - first, axis.first_at(int(span[1])) - first
    return min(max(low, 0), count), min(max(high, 0), count)


def _overlaps(axis: TimeAxis, span: Sequence[int], first: int, count: int) -> bool:
    low, high = _range(axis, span, first, count)
    return low < high


def _covers(axis: TimeAxis, spans: Sequence[Sequence[int]], first: int, count: int) -> bool:
    """Whether one value of ``dataValid`` describes all samples."""
    ranges = {_range(axis, span, first, count) for span in spans}
    return ranges == {(0, count)}


def _validity(axis: TimeAxis, spans: Sequence[Sequence[int]], first: int, count: int) -> Vector:
    """``dataValid`` of each sample: of the parts of a frame that came from several."""
    values = np.zeros(count, "u2")
    for span in spans:
        low, high = _range(axis, span, first, count)
        values[low:high] |= np.uint16(int(span[2]))
    return Vector("dataValid", values, float(axis.step))


def save(array: Array, sel: Any, data: np.ndarray, path: str) -> None:
    """Write a stretch of a channel as a file with one frame.

    Raises:
        Error: those of :func:`check`; ``selection`` for samples that are not equally spaced.
    """
    axis = check(array)
    index = sel[0] if isinstance(sel, tuple) and sel else slice(None)
    part = axis.part(index, array.shape[0]) if isinstance(index, (slice, range)) else None
    if part is None or data.ndim != 1 or not len(data):
        message = f"{array.path}: a frame needs one stretch of equally spaced samples"
        raise errors.make("selection", message, "time=START..STOP with --gaps pad, or another format")
    made = channel(array, part, data, 0, part.t0, kind_of(array, False))
    comment = f"a stretch of {made.data.name}"
    with _frame(path, part.t0, part.time(len(data)), {made.kind: 1}, "best", comment) as file:
        file.add([made])
