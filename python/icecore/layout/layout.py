"""Chunk and shard shapes of new arrays, and their Zarr v3 metadata documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from icecore import errors
from icecore.codecs.spec import Codec
from icecore.layout.access_pattern import Query
from icecore.repository.json_attributes import nonfinite, to_json
from icecore.repository.nodes import OURS
from icecore.repository.selection import is_int

#: assumed size of a growing array, in bytes
_GROWN = 256 << 20
#: smallest assumed size of a growing array with small commits, in bytes; smaller shards make commits no
#: cheaper
_GROWN_LITTLE = 128 << 10
#: largest stored size of a shard, in bytes
_SHARD = 32 << 20
#: largest number of chunks in a planned shard; a read first fetches the index, of 16 bytes per chunk
_INDEX = 16_384
#: the same for a growing array, because each commit writes the index again
_INDEX_GROWN = 1_024
#: longest last axis that is never split: cell vertices, bounds and components repeat each other or are read
#: together
_VERTICES = 8
#: key in icecore's attributes: the goal of the codec choice for an array without data
WISH = "wish"
#: value of the attribute ``growth`` of an array whose chunks keep one length as it grows
REGULAR = "regular"
_INDEX_CODECS: list[Codec] = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


@dataclass(frozen=True)
class Layout:
    """Shape of a chunk and of a shard; ``shard`` is None if chunks are stored one by one."""

    chunk: tuple[int, ...]
    shard: tuple[int, ...] | None

    @property
    def unit(self) -> tuple[int, ...]:
        """Shape of the unit that is written at once: the shard, or the chunk."""
        return self.shard or self.chunk


def plan(
    shape: Sequence[int],
    itemsize: int,
    chunk: Sequence[int] | None = None,
    shard: Sequence[int] | None = None,
    source_chunk: Sequence[int] | None = None,
    rows_a_commit: int | None = None,
    reads: Sequence[Query] = (),
    inner_bytes: tuple[int, int] | None = None,
    ratio: float = 1.0,
    rows_bytes: int | None = None,
    shard_bytes: int | None = None,
) -> Layout:
    """Plan the layout of an array; a given ``chunk`` or ``shard`` is used unchanged.

    The plan minimizes the cost of the ``reads``: PStore's Eq. 1, the expected number of chunks that a read
    touches, Σ Pᵢ Π ((sᵢⱼ - 1)/cⱼ + 1), times the chunk's bytes plus a fixed price. Eq. 5 bounds the bytes of
    a chunk.

    Args:
        shape: elements along each axis; the first is 0 for an array that will grow.
        itemsize: size of an element in bytes.
        chunk: shape of a chunk, if given.
        shard: shape of a shard, if given.
        source_chunk: shape of the source's chunks; shards that are aligned with them are packed faster.
        rows_a_commit: number of rows that each commit appends to a growing array.
        reads: expected reads; without any, maps and time series count equally.
        inner_bytes: smallest and largest decoded chunk in bytes; default 64 KiB to 1 MiB.
        ratio: decoded bytes per stored byte; a shard may hold that many times more decoded bytes.
        rows_bytes: bytes of rows of a growing array that can wait in memory until their shards are full.
        shard_bytes: largest stored size of a shard in bytes, if less than 32 MiB.

    Raises:
        Error: ``invalid`` if a given shape has a wrong number of axes, is not positive, or doesn't divide.
    """
    from icecore import _icecore

    if not shape:
        return Layout((), None)
    if chunk is None and shard is None and not reads and len(shape) > 1 and 1 < shape[-1] <= _VERTICES:
        source = source_chunk[:-1] if source_chunk is not None else None
        whole = plan(
            shape[:-1], itemsize * shape[-1], None, None, source, rows_a_commit, (), inner_bytes, ratio,
            rows_bytes, shard_bytes,
        )  # fmt: skip
        shard = (*whole.shard, shape[-1]) if whole.shard is not None else None
        return Layout((*whole.chunk, shape[-1]), shard)
    chunk, shard = _given("chunk", chunk, shape), _given("shard", shard, shape)
    if chunk is None or shard is None:
        goal = {
            "shape": _grown(shape, itemsize, rows_a_commit, rows_bytes),
            "itemsize": max(itemsize, 1),
            "grows": not shape[0],
            "source_chunk": source_chunk and list(source_chunk),
            "chunk": chunk and list(chunk),
            "inner_bytes": inner_bytes and list(inner_bytes),
            "shard_bytes": shard_bytes and min(shard_bytes, _SHARD),
            "ratio": max(ratio, 1.0),
            "patterns": [{"extent": read.extent, "probability": read.probability} for read in reads],
        }
        planned = json.loads(_icecore.plan_layout(json.dumps(goal)))
        if shard is None:
            chunk = tuple(planned["chunk"])
            shard = _indexed(chunk, tuple(planned["shard"]), _INDEX if shape[0] else _INDEX_GROWN)
        else:
            chunk = tuple(_divisor(s, c) for s, c in zip(shard, planned["chunk"], strict=True))
    assert chunk is not None
    assert shard is not None
    if any(s % c for s, c in zip(shard, chunk, strict=True)):
        raise errors.make(
            "invalid",
            f"a shard of {shard} does not consist of chunks of {chunk}",
            "make each length of the shard a multiple of the chunk's",
        )
    return Layout(chunk, shard if shard != chunk else None)


def check(*given: Sequence[int] | Mapping[str, int] | None) -> None:
    """Check that the lengths of chunks or shards are positive integers.

    Raises:
        Error: ``invalid`` for any other length.
    """
    for shape in given:
        if shape is None:
            continue
        lengths = shape.values() if isinstance(shape, Mapping) else shape
        if not isinstance(lengths, Iterable) or not all(is_int(n) and n > 0 for n in lengths):
            hint = "give each axis 1 or more, as (16, 64, 64) or {'time': 16}"
            raise errors.make("invalid", f"chunks or shards of {shape!r}", hint)


def document(
    shape: Sequence[int],
    data_type: Any,
    fill_value: Any,
    layout: Layout,
    codecs: list[Codec],
    dims: Sequence[str | None] | None,
    attrs: Mapping[str, Any],
    ours: Mapping[str, Any] | None = None,
) -> str:
    """Return the Zarr v3 metadata of an array as strict JSON; ``codecs`` are the codecs of a chunk."""
    attributes = {str(name): to_json(value) for name, value in attrs.items()}
    kept = to_json(dict(ours or {}))
    if types := nonfinite(attrs):
        kept["attr_types"] = {**types, **kept.get("attr_types", {})}
    if kept:
        attributes[OURS] = kept
    result: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": _grid(layout),
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value,
        "codecs": _sharded(layout, codecs),
        "attributes": attributes,
        "storage_transformers": [],
    }
    if dims is not None and any(dim is not None for dim in dims):
        result["dimension_names"] = list(dims)
    return json.dumps(result, allow_nan=False, separators=(",", ":"))


def regridded(document: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return a metadata document with other chunks and shards, for an array without rows."""
    outer = document["codecs"]
    inner = outer[0]["configuration"]["codecs"] if outer[0]["name"] == "sharding_indexed" else outer
    shape = [0, *document["shape"][1:]]
    return {**document, "shape": shape, "chunk_grid": _grid(layout), "codecs": _sharded(layout, inner)}


def by_chunks(document: Mapping[str, Any], chunk: Sequence[int]) -> dict[str, Any]:
    """Return a metadata document with listed chunk lengths instead of shards, for an array that grows by
    chunks of any length along its first axis; ``chunk`` is the shape of a full chunk.
    """
    outer = document["codecs"]
    inner = outer[0]["configuration"]["codecs"] if outer[0]["name"] == "sharding_indexed" else outer
    counts = [divmod(n, c) for n, c in zip(document["shape"], chunk, strict=True)]
    rows = [[chunk[0], counts[0][0]]] if counts[0][0] else []
    rows += [counts[0][1]] if counts[0][1] or not rows else []
    others = [[[c, max(n + bool(rest), 1)]] for c, (n, rest) in zip(chunk[1:], counts[1:], strict=True)]
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [rows, *others]}}
    attributes = dict(document.get("attributes", {}))
    attributes[OURS] = {**attributes.get(OURS, {}), "grown": {"chunk": list(chunk)}}
    return {**document, "chunk_grid": grid, "codecs": inner, "attributes": attributes}


def with_rows(document: Mapping[str, Any], runs: Sequence[Any]) -> dict[str, Any]:
    """Return a metadata document with other chunk lengths along the first axis."""
    configuration = document["chunk_grid"]["configuration"]
    shapes = [list(runs), *configuration["chunk_shapes"][1:]]
    grid = {**document["chunk_grid"], "configuration": {**configuration, "chunk_shapes": shapes}}
    return {**document, "chunk_grid": grid}


def _grid(layout: Layout) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(layout.unit)}}


def _sharded(layout: Layout, codecs: list[Codec]) -> list[Codec]:
    if layout.shard is None:
        return codecs
    configuration = {
        "chunk_shape": list(layout.chunk),
        "codecs": codecs,
        "index_codecs": _INDEX_CODECS,
        "index_location": "end",
    }
    return [{"name": "sharding_indexed", "configuration": configuration}]


def recoded(document: Mapping[str, Any], codecs: list[Codec], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metadata document with new chunk codecs (empty: unchanged) and the record about them."""
    outer = document["codecs"]
    if not codecs:
        pass
    elif [codec.get("name") for codec in outer] == ["sharding_indexed"]:
        outer = [{**outer[0], "configuration": {**outer[0]["configuration"], "codecs": codecs}}]
    else:
        outer = codecs
    attributes = dict(document.get("attributes", {}))
    ours = {key: value for key, value in attributes.pop(OURS, {}).items() if key != WISH}
    if record:
        kept = ours.get("codec", {}) if "chosen" not in record else {}
        ours["codec"] = {**kept, **to_json(dict(record))}
    if ours:
        attributes[OURS] = ours
    return {**document, "codecs": outer, "attributes": attributes}


def _indexed(chunk: tuple[int, ...], shard: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Shorten a shard to at most ``most`` chunks, along its first axes first."""
    counts = [s // c for s, c in zip(shard, chunk, strict=True)]
    for axis, count in enumerate(counts):
        others = prod(counts) // count
        counts[axis] = min(count, max(most // others, 1))
    return tuple(n * c for n, c in zip(counts, chunk, strict=True))


def _given(what: str, given: Sequence[int] | None, shape: Sequence[int]) -> tuple[int, ...] | None:
    if given is None:
        return None
    given = tuple(int(n) for n in given)
    if len(given) != len(shape) or any(n < 1 for n in given):
        raise errors.make(
            "invalid",
            f"{what} {given} for an array of shape {tuple(shape)}",
            f"give {len(shape)} positive lengths, one per axis",
        )
    return given


def _grown(
    shape: Sequence[int], itemsize: int, rows_a_commit: int | None, rows_bytes: int | None
) -> list[int]:
    """Return ``shape`` with an empty first axis (it will grow) set to the assumed length.

    Each commit rewrites the unfinished shards. If the number of rows per commit is known, shards cover at
    most four commits. They also fit into the memory for waiting rows.
    """
    if shape[0] or not all(shape[1:]):
        return [max(n, 1) for n in shape]
    row = prod(shape[1:]) * max(itemsize, 1)
    nbytes = _GROWN
    if rows_a_commit is not None:
        nbytes = min(max(4 * rows_a_commit * row, _GROWN_LITTLE), _GROWN)
    if rows_bytes is not None:
        nbytes = min(nbytes, rows_bytes)
    return [max(nbytes // row, 1), *shape[1:]]


def _divisor(shard: int, wanted: int) -> int:
    """Return the largest divisor of ``shard`` that is not above ``wanted``."""
    return next(n for n in range(min(wanted, shard), 0, -1) if shard % n == 0)
