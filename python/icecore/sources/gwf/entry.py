"""One timeline of a channel as an array whose chunks are the vectors of frame files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.time_axis import KEY
from icecore.repository.zarr_dtypes import data_type, fill_json
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import Identity
from icecore.sources.gwf.scan import FrameFile
from icecore.sources.gwf.timeline import Timeline
from icecore.sources.mapping.array_map import ArrayEntry, Links, Region
from icecore.sources.mapping.bit_masks import flags, named_bits

CODECS = [{"name": "icecore.gwf_vect"}]


def fill_of(dtype: np.dtype) -> Any:
    """Return the value of gaps: NaN, or 0 for integers."""
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan if dtype.kind == "f" else 0)


@dataclass(frozen=True)
class VectReader:
    """Reader for regions of a timeline; can be pickled."""

    line: Timeline

    def __call__(self, region: Region) -> np.ndarray:
        """Return the samples of ``region`` (one slice), gaps filled."""
        from icecore import _icecore

        dtype = np.dtype(self.line.dtype)
        low, high = region[0].start, region[0].stop
        out = np.full(high - low, fill_of(dtype), dtype)
        chain = _icecore.Chain(json.dumps(CODECS), json.dumps(self.line.dtype))
        for placed in self.line.pieces:
            first, last = placed.index, placed.index + placed.piece.count
            if last <= low or first >= high:
                continue
            stored = _stored(placed.file, placed.piece.offset, placed.piece.length)
            samples = np.empty(placed.piece.count, dtype)
            chain.decode(stored, samples.shape, samples.view(np.uint8))
            begin, end = max(first, low), min(last, high)
            out[begin - low : end - low] = samples[begin - first : end - first]
        return out


def _stored(file: FrameFile, offset: int, length: int) -> np.ndarray:
    data = open_bytes(file.path)
    try:
        if data.identity != file.identity:
            raise errors.make("source-changed", f"{file.path} changed since it was indexed", "index it again")
        return np.frombuffer(data.read_at(offset, length), np.uint8)
    finally:
        data.close()


def array_entry(path: str, channel: str, line: Timeline, dim: str) -> ArrayEntry:
    """Return the array at ``path`` for a channel's timeline; ``dim`` is the name of its time axis."""
    dtype = np.dtype(line.dtype)
    chunks, numbers = line.chunks()
    return ArrayEntry(
        path=path,
        shape=(line.stop,),
        dims=(dim,),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunks,
        codecs=CODECS,
        fill_value=fill_json(fill_of(dtype), dtype),
        attrs=_attributes(channel, line),
        links=_links(line, numbers),
        read=VectReader(line),
        unlimited=(0,),
        note="; ".join(line.notes[:2]) + (f"; and {len(line.notes) - 2} more" if len(line.notes) > 2 else ""),
    )


def _attributes(channel: str, line: Timeline) -> dict[str, Any]:
    first = line.pieces[0].piece
    attrs: dict[str, Any] = {"channel": channel}
    bits = named_bits(first.unit)
    if first.unit and not bits:
        attrs["units"] = first.unit
    attrs.update(flags(bits, np.dtype(line.dtype)))
    axis = {"epoch": "GPS", "t0_ns": line.t0, "step": [line.step.numerator, line.step.denominator]}
    attrs[KEY] = {**axis, "segments": line.segments()}
    if (first.slope, first.bias) not in ((1, 0), (0, 0)):
        attrs["adc_slope"], attrs["adc_bias"] = first.slope, first.bias
    invalid = [
        [p.piece.start, line.time(p.index + p.piece.count), p.piece.invalid]
        for p in line.pieces
        if p.piece.invalid
    ]
    if invalid:
        attrs["data_valid"] = invalid
    return attrs


def _links(line: Timeline, numbers: list[int]) -> Links:
    files: dict[str, int] = {}
    known: list[Identity] = []
    for placed in line.pieces:
        if placed.file.path not in files:
            files[placed.file.path] = len(known)
            known.append(placed.file.identity)
    return Links(
        [each.url for each in known],
        np.array([each.size for each in known], "i8"),
        np.array([each.mtime_ns for each in known], "i8"),
        [each.etag for each in known],
        np.array([files[p.file.path] for p in line.pieces], "u4"),
        np.array(numbers, "u8"),
        np.array([p.piece.offset for p in line.pieces], "u8"),
        np.array([p.piece.length for p in line.pieces], "u8"),
    )
