"""Chunk, shard and codecs of a packed array, as chosen by the caller or planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from icecore import errors
from icecore.analyzer import choose_codec
from icecore.analyzer.choose_codec import Planned
from icecore.analyzer.measure import KEPT, Goal
from icecore.analyzer.sample import Kind
from icecore.codecs import spec
from icecore.display import text
from icecore.ingest.options import PackOptions, Shape
from icecore.ingest.plan.assembly import Step
from icecore.layout import layout
from icecore.layout.access_pattern import Pattern, queries
from icecore.layout.layout import Layout
from icecore.repository import zarr_dtypes
from icecore.repository.time_axis import KEY, TimeAxis
from icecore.sources.mapping.array_map import ArrayEntry, Reader
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.tables.text.column_codecs import CHUNK
from icecore.writing.writer import Writer

#: a shard of compressed chunks may hold up to this many times 32 MiB of decoded data; smallest compression
#: ratio for which the layout is planned again
_MOST_GATHERED, _WORTH_GATHERING = 4.0, 1.5
#: largest array (bytes) that is one chunk for `archive`, so that repeats are found anywhere in it
_ALONE = 4 << 20


@dataclass(frozen=True)
class StorageChoice:
    """Storage options that the caller chose; None or ``auto`` if they are planned or measured."""

    chunk: Shape | None
    shard: Shape | None
    codec: spec.Spec
    portable: bool
    goal: Goal
    access: Sequence[Pattern] = ()
    measure: bool = False
    grows: str | None = None
    tables: bool = False
    sources: int = 1

    @classmethod
    def of(cls, options: PackOptions, sources: int) -> StorageChoice:
        """Return the storage choices in ``options``, for this number of sources."""
        return cls(
            options.chunk,
            options.shard,
            options.codec_spec,
            options.portable,
            options.codec_goal,
            options.patterns,
            options.measure,
            options.grows,
            options.summaries,
            sources,
        )

    def measures_layout(self, entry: ArrayEntry) -> bool:
        """Whether layouts are compared by reading the array instead of planned beforehand."""
        given = _shape_for(self.chunk, entry) or _shape_for(self.shard, entry)
        reads = queries(self.access, to_be(entry, self.grows), entry.dims)
        return bool(self.measure and reads and given is None)

    def layout(self, entry: ArrayEntry, read: Reader | None, budget: int) -> Layout:
        """Return chunk and shard of an array; layouts are only compared if a reader is given."""
        source = entry.chunks if isinstance(entry.chunks, tuple) else None
        chunk, shard = _shape_for(self.chunk, entry), _shape_for(self.shard, entry)
        shape = to_be(entry, self.grows)
        # Each later commit may append a single source.
        rows = max(entry.shape[0] // self.sources, 1) if shape != tuple(entry.shape) else None
        reads = queries(self.access, shape, entry.dims)
        if self.measure and read is not None and reads and chunk is None and shard is None:
            from icecore.layout import layout_benchmark

            codec = "default" if self.codec == "auto" else self.codec
            return layout_benchmark.fastest(entry, read, reads, codec, rows, budget)
        is_column = entry.is_column or (self.tables and KEY not in entry.attrs)
        is_column = is_column and self.codec != "pages"
        if is_column and not reads and chunk is None and shard is None and len(shape) == 1:
            chunk = (CHUNK,)
        alone = self.codec == "auto" and self.goal.name == "archive" and self.grows is None and not reads
        if alone and chunk is None and shard is None and entry.nbytes <= _ALONE and all(shape):
            chunk = shape
        itemsize, room = zarr_dtypes.itemsize(entry.dtype), spec.chunk_bytes(self.codec, entry.dtype)
        second = whole_second(entry)
        if second is None or chunk is not None or shard is not None or reads:
            return layout.plan(shape, itemsize, chunk, shard, source, rows, reads, room)
        planned = layout.plan(shape, itemsize, None, None, None, rows, (), room)
        chunk = (max(planned.chunk[0] // second, 1) * second,)
        if chunk[0] >= entry.shape[0]:
            return planned
        return layout.plan(shape, itemsize, chunk, None, source, rows, (), room)

    def gathered(self, entry: ArrayEntry, where: Layout, ratio: float, budget: int) -> Layout:
        """Return the layout with more chunks per shard, if compression and memory allow.

        The compression ratio is rho in Eq. 5 of PStore. Arrays that grow in small steps keep their layout.
        """
        ratio = min(
            ratio, _MOST_GATHERED, budget / max(prod(where.unit) * zarr_dtypes.itemsize(entry.dtype), 1)
        )
        if self.shard is not None or self.grows is not None or not entry.shape or ratio < _WORTH_GATHERING:
            return where
        source = entry.chunks if isinstance(entry.chunks, tuple) else None
        reads = queries(self.access, entry.shape, entry.dims)
        itemsize = zarr_dtypes.itemsize(entry.dtype)
        return layout.plan(entry.shape, itemsize, where.chunk, None, source, reads=reads, ratio=ratio)

    def codecs(
        self, step: Step, read: Reader, where: Layout, budget: int, held: StoredChunks | None
    ) -> choose_codec.Planned:
        """Return the codecs of the array's chunks: measured, or as the caller named them."""
        entry = step.entry
        if self.codec == "auto":
            before = None
            if not self.portable:
                before = as_before(
                    step, where.chunk, lambda ratio: self.gathered(entry, where, ratio, budget), self.goal
                )
            kind = Kind(entry.data_type, entry.dtype, entry.fill_value)
            grows = bool(entry.shape) and self.grows is not None and entry.dims[0] == self.grows
            alone = not grows and where.shard is None and where.chunk == tuple(entry.shape)
            if before is not None:
                return before
            of = choose_codec.Subject(kind, entry.shape, where.chunk, read, self.portable, alone, held)
            return choose_codec.plan(of, self.goal)
        codecs = spec.resolve(self.codec, entry.data_type, entry.dtype, where.chunk, self.portable)
        spec.fit(codecs, entry.data_type, entry.dtype, step.path, len(entry.shape))
        return choose_codec.Planned(codecs)


def whole_second(entry: ArrayEntry) -> int | None:
    """Return the samples per second of an array with a time axis; None if that is not an integer."""
    axis = TimeAxis.of(entry.attrs)
    if axis is None or len(entry.shape) != 1 or axis.step.numerator != 1:
        return None
    return axis.step.denominator


def to_be(entry: ArrayEntry, longer: str | None) -> tuple[int, ...]:
    """Return the shape of an array, with 0 for the first axis if it is ``longer``, which will grow."""
    shape = tuple(entry.shape)
    return (0, *shape[1:]) if shape and longer is not None and entry.dims[0] == longer else shape


def check_names(given: Mapping[str, Shape | None], entries: Sequence[ArrayEntry]) -> None:
    """Reject lengths for unknown dimensions, and shapes with a rank that no array has.

    Raises:
        Error: ``invalid``.
    """
    axes = sorted({len(entry.shape) for entry in entries})
    known = {dim for entry in entries for dim in entry.dims if dim is not None}
    for what, shape in given.items():
        unknown = [dim for dim in shape if dim not in known] if isinstance(shape, Mapping) else []
        if unknown:
            names = ", ".join(sorted(known)) or "none has a name: give lengths by position, 16,64,64"
            message = f"no array has the dimension {unknown[0]!r} of {what}"
            raise errors.make("invalid", message, f"known: {names}")
        if entries and shape is not None and not isinstance(shape, Mapping) and len(shape) not in axes:
            dimensions = text.plural(len(shape), "dimension")
            message = f"{what} {tuple(shape)} needs arrays of {dimensions}"
            raise errors.make(
                "invalid", message, f"arrays have {' or '.join(map(str, axes))}; or name them: x=64"
            )


def _shape_for(given: Shape | None, entry: ArrayEntry) -> tuple[int, ...] | None:
    """Return the chunk or shard shape that the caller gave, if it applies to this array."""
    if given is None or not entry.shape:
        return None
    if isinstance(given, Mapping):
        if not any(dim in given for dim in entry.dims):
            return None
        return tuple(
            min(int(given[dim]), max(n, 1)) if dim is not None and dim in given else max(n, 1)
            for dim, n in zip(entry.dims, entry.shape, strict=True)
        )
    return tuple(given) if len(given) == len(entry.shape) else None


# Replace an array: if both have the same metadata, versions share the chunks that are equal.

#: metadata on which chunks depend; includes the shape because Icechunk does not renumber chunks
_FORM = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")


def make(writer: Writer, step: Step, text: str) -> bool:
    """Create the step's array with the metadata document ``text``, replacing the stored one.

    Returns:
        Whether the stored chunks are kept until they are overwritten.
    """
    old = step.replaced
    if old is not None and _form(old.zarr_json) == _form(text):
        if old.document != json.loads(text):
            writer._native.update_array(step.path, text)
        writer._native.compare(step.path)
        return True
    if old is not None:
        writer.delete(step.path)
    writer._parents(step.path)
    writer._native.add_array(step.path, text)
    return False


def as_before(
    step: Step, chunk: Sequence[int], gathered: Callable[[float], layout.Layout], goal: Goal
) -> Planned | None:
    """Return the codecs of the replaced array, if they were chosen for the same goal and layout.

    A new measurement might prefer another codec by a small margin, and no chunks would be shared.

    Args:
        step: the step that writes the array.
        chunk: the planned chunk shape.
        gathered: maps a compression ratio to the layout.
        goal: the goal of the choice.
    """
    old, entry = step.replaced, step.entry
    if old is None or old.shape != tuple(entry.shape) or old.grid[0] != tuple(chunk):
        return None
    if old.document["data_type"] != entry.data_type or old.document["fill_value"] != entry.fill_value:
        return None
    record = old.ours.get("codec")
    if isinstance(record, dict):
        if record.get("goal") != goal.name or record.get("bandwidth", goal.bandwidth) != goal.bandwidth:
            return None
    elif entry.nbytes >= KEPT:
        return None  # its codecs were named by the caller
    planned = Planned(old.codecs, record or {})
    where = gathered(planned.ratio)
    return planned if old.grid == (where.chunk, where.shard) else None


def _form(text: str) -> list[object]:
    document = json.loads(text)
    return [document.get(key) for key in _FORM]
