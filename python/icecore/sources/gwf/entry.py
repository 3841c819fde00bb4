"""One timeline of a channel as an array whose chunks are the vectors of frame files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from icecore import errors
from icecore.repository.time_axis import KEY
from icecore.repository.zarr_dtypes import data_type, fill_json
from icecore.sources.files.byte_source import for_parser, open_bytes
from icecore.sources.files.identity import Identity
from icecore.sources.gwf.scan import Facts, FrameFile
from icecore.sources.gwf.timeline import Timeline
from icecore.sources.mapping.array_map import ArrayEntry, Links, Region
from icecore.sources.mapping.bit_masks import flags, named_bits

CODECS = [{"name": "icecore.gwf_vect"}]
#: version of the format since which each structure has a checksum
_WITH_CHECKSUMS = 8
#: detectors whose slope and bias gwpy ignores (gwpy.timeseries.core)
_UNSCALED = ("H0", "H1", "L0", "L1")
#: name of the flag of valid samples, and of the auxiliary vector of ADC channels that has 0 for them
DATA_VALID = "dataValid"
_VALIDITY = f".{DATA_VALID}"


class Name(NamedTuple):
    """A channel; its kind and the channel ``of``, as in :class:`icecore.sources.gwf.scan.FrameChannel`."""

    channel: str
    kind: str = ""
    of: str = ""


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
            first, last = placed.index, placed.stop
            if last <= low or first >= high:
                continue
            stored = _stored(placed.file, placed.piece.offset, placed.piece.length)
            samples = np.empty(placed.count, dtype)
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


@dataclass(frozen=True)
class VectCheck:
    """Verifies the checksums of the vectors of a timeline; can be pickled."""

    channel: str
    line: Timeline

    def __call__(self) -> None:
        """Verify the structures (version 8), or the files that have only a checksum of the whole (version 6).

        Raises:
            Error: ``corrupt``, with file and offset.
        """
        offsets: dict[str, list[int]] = {}
        for placed in self.line.pieces:
            offsets.setdefault(placed.file.path, []).append(placed.piece.offset)
        known = {placed.file.path: placed.file for placed in self.line.pieces}
        for path, places in offsets.items():
            whole = known[path].version < _WITH_CHECKSUMS
            found = _file_problems(known[path].identity, path) if whole else _problems(path, places)
            for kind, _, offset, message in found:
                if kind != "unsupported":  # checksums of version 4
                    what = f"{path}: {self.channel} at offset {offset}: {message}"
                    hint = "compare the file with its original, or --keep-going to leave the channel out"
                    raise errors.make(kind, what, hint)


def _problems(path: str, offsets: list[int]) -> list[tuple[str, str, int, str]]:
    from icecore import _icecore

    return _icecore.gwf_verify_at(for_parser(path), offsets)


@lru_cache(1024)
def _file_problems(_known: Identity, path: str) -> list[tuple[str, str, int, str]]:
    """Return the problems of a whole file, once for all of its channels."""
    from icecore import _icecore

    return _icecore.gwf_verify(for_parser(path))


def array_entry(path: str, name: Name, line: Timeline, dim: str, auxiliary: Sequence[str] = ()) -> ArrayEntry:
    """Return the array at ``path`` for a channel's timeline.

    Args:
        path: path of the array.
        name: the channel.
        line: its samples.
        dim: name of the time axis.
        auxiliary: paths of the arrays with its auxiliary vectors, in the same group.
    """
    dtype = np.dtype(line.dtype)
    chunks, numbers = line.chunks()
    remarks = line.remarks()
    attrs = _attributes(name, line)
    if auxiliary:
        attrs["ancillary_variables"] = " ".join(each.rsplit("/", 1)[-1] for each in auxiliary)
    return ArrayEntry(
        path=path,
        shape=(line.stop,),
        dims=(dim,),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunks,
        codecs=CODECS,
        fill_value=fill_json(fill_of(dtype), dtype),
        attrs=attrs,
        links=_links(line, numbers),
        read=VectReader(line),
        check=VectCheck(name.channel, line),
        unlimited=(0,),
        note="; ".join(remarks[:2]) + (f"; and {len(remarks) - 2} more" if len(remarks) > 2 else ""),
        attr_types={key: "<f4" for key in ("adc_slope", "adc_bias") if isinstance(attrs.get(key), str)},
    )


def _attributes(name: Name, line: Timeline) -> dict[str, Any]:
    facts = line.facts
    attrs: dict[str, Any] = {"channel": name.channel}
    named = flags(named_bits(facts.unit), np.dtype(line.dtype))
    if facts.unit and not named:
        attrs["units"] = facts.unit
    attrs.update(named)
    if name.kind == "aux" and name.channel.endswith(_VALIDITY) and line.dtype.startswith(("int", "uint")):
        attrs |= {"flag_values": [0], "flag_meanings": DATA_VALID}
    axis = {"epoch": "GPS", "t0_ns": line.t0, "step": [line.step.numerator, line.step.denominator]}
    attrs[KEY] = {**axis, "segments": line.segments()}
    attrs.update(_scale(name.channel, facts))
    for key, value in (("frequency_shift", facts.shift), ("phase", facts.phase)):
        if value:
            attrs[key] = value
    invalid = [
        [line.time(p.index), line.time(p.stop), p.piece.invalid] for p in line.pieces if p.piece.invalid
    ]
    if invalid:
        attrs["data_valid"] = invalid
    return attrs


def _scale(channel: str, facts: Facts) -> dict[str, Any]:
    """Return slope and bias as CF's ``scale_factor`` and ``add_offset`` where gwpy applies them: for all
    channels but LIGO's, whose frames state wrong ones.
    """
    if (facts.slope, facts.bias) in ((1, 0), (0, 0)):
        return {}
    odd = facts.slope == 0 or isinstance(facts.slope, str) or isinstance(facts.bias, str)
    if odd or channel.startswith(_UNSCALED):
        return {"adc_slope": facts.slope, "adc_bias": facts.bias}
    return {"scale_factor": facts.slope, "add_offset": facts.bias}


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
