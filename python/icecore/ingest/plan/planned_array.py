"""One array of a plan, and the output of plans as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icecore.display import text
from icecore.ingest.plan.assembly import Assembly, Step
from icecore.repository.nodes import dtype_label
from icecore.sources.mapping.array_map import ArrayEntry


@dataclass(frozen=True)
class PlannedArray:
    """The planned result for one array.

    Attributes:
        path: path in the repository.
        meets: ``new``, ``append``, ``replace`` or ``skip``: the action for an array stored there.
        how: ``packed``, ``linked``, ``mixed``, ``copied`` or ``skipped``.
        shape: shape of the array after writing, in elements.
        dtype: its data type.
        chunk: chunk shape in elements; None if it is measured while packing.
        shard: shard shape in elements; None if chunks are stored individually, or if it is measured.
        codec: codecs of a chunk, ``measured``, or ``as stored``.
        raw: number of decoded bytes to write.
        why: the reason for ``how``.
    """

    path: str
    meets: str
    how: str
    shape: tuple[int, ...]
    dtype: str
    chunk: tuple[int, ...] | None
    shard: tuple[int, ...] | None
    codec: str
    raw: int
    why: str = ""


@dataclass(frozen=True)
class PlannedTable:
    """The planned result for one text table.

    Attributes:
        path: path of its group.
        meets: ``new``, ``append``, ``replace`` or ``skip``.
        columns: names of its columns, as far as a label or the first lines name them.
        files: the files with its rows, in order.
    """

    path: str
    meets: str
    columns: tuple[str, ...]
    files: tuple[str, ...]


def meets(step: Step) -> str:
    """Return the action of a step on the array stored at its path."""
    if step.old is not None:
        return "append"
    return "replace" if step.replaced is not None else "new"


def stored_layout(step: Step) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Chunk and shard of the stored array that a step appends to."""
    assert step.old is not None
    chunk, shard = step.old.grid
    return (tuple(chunk) if chunk is not None else None), (tuple(shard) if shard is not None else None)


def skipped(assembly: Assembly) -> list[PlannedArray]:
    """Return the arrays of an assembly that are skipped."""
    return [
        PlannedArray(
            path,
            "skip",
            "skipped",
            tuple(entry.shape),
            dtype_label(entry.data_type),
            regular(entry),
            None,
            "as stored",
            entry.nbytes,
            why,
        )
        for path, entry, why in assembly.skipped
    ]


def regular(entry: ArrayEntry) -> tuple[int, ...] | None:
    """Return the chunk shape of a source's array; None if its grid is not regular."""
    return entry.chunks if isinstance(entry.chunks, tuple) else None


def codec_label(codecs: Sequence[dict[str, Any]]) -> str:
    """Return the names of codecs without the trivial ones, such as ``shuffle+zstd``."""
    names = [str(codec.get("name", "?")).removeprefix("numcodecs.") for codec in codecs]
    return "+".join(name for name in names if name not in ("bytes", "crc32c")) or "none"


def describe(arrays: Sequence[PlannedArray], tables: Sequence[PlannedTable]) -> str:
    """Return a plan as text: one line per array, one line per table, and the total."""
    parts = []
    if arrays:
        cells = [
            [
                a.path,
                a.meets,
                a.how,
                a.dtype,
                _shape(a.shape),
                _shape(a.chunk) if a.chunk is not None else "measured",
                _shape(a.shard) if a.shard is not None else "-",
                a.codec,
                text.size(a.raw),
                a.why,
            ]
            for a in arrays
        ]
        heads = ["array", "meets", "how", "dtype", "shape", "chunk", "shard", "codec", "raw", "why"]
        parts.append(text.table(heads, cells, (8,)))
    if tables:
        cells = [
            [t.path, t.meets, f"{len(t.columns)}" if t.columns else "from the text", _few(t.files)]
            for t in tables
        ]
        parts.append(text.table(["table", "meets", "columns", "files"], cells, (2,)))
    raw = sum(a.raw for a in arrays if a.how != "skipped")
    counts = [text.plural(len(arrays), "array")] + ([text.plural(len(tables), "table")] if tables else [])
    parts.append(f"{', '.join(counts)}: {text.size(raw)} raw" if arrays or tables else "nothing to do")
    return "\n\n".join(parts)


def _shape(lengths: Sequence[int]) -> str:
    return "x".join(map(str, lengths)) or "scalar"


def _few(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
