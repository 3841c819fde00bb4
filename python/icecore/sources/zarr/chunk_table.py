"""Places of the chunks of one array in files, and the numbers of chunks by their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import Links
from icecore.sources.mapping.stored_chunks import StoredChunks

#: names of the only chunk of a scalar array: Zarr 2's, Zarr 3's, and the empty name of VirtualiZarr
_SCALAR = ("0", "c", "", "c/", "c/0")
_INDEX = re.compile("0|[1-9][0-9]{0,18}")


@dataclass
class Table:
    """References of the array ``name``, ordered by flat chunk number.

    ``url_ids`` index ``names`` and ``files``; ``inline`` are the chunks stored in the reference file itself.
    """

    name: str
    names: list[str]
    files: list[Identity]
    url_ids: np.ndarray
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    inline: dict[int, bytes]

    def __len__(self) -> int:
        return len(self.chunks)

    def find(self, chunk: int) -> tuple[str, Identity, int, int] | None:
        """Return file, identity, offset and length of a chunk."""
        row = int(np.searchsorted(self.chunks, chunk))
        if row == len(self.chunks) or self.chunks[row] != chunk:
            return None
        file = int(self.url_ids[row])
        return self.names[file], self.files[file], int(self.offsets[row]), int(self.lengths[row])

    def check(self, exact: int) -> None:
        """Check that every range has the exact number of bytes of a chunk.

        Raises:
            Error: ``corrupt`` if one differs.
        """
        bad = np.flatnonzero(self.lengths != exact)
        if len(bad):
            what = f"chunk {self.chunks[bad[0]]} is said to be {self.lengths[bad[0]]} bytes, it takes {exact}"
            hint = "write the references anew, a chunk as its metadata have it"
            raise errors.make("corrupt", f"{self.name}: {what} ({len(bad):,} such)", hint)

    def links(self) -> Links:
        """Return the references into files."""
        return Links(
            [file.url for file in self.files],
            np.array([file.size for file in self.files], "i8"),
            np.array([file.mtime_ns for file in self.files], "i8"),
            [file.etag for file in self.files],
            *(
                column.astype(kind)
                for column, kind in zip(
                    (self.url_ids, self.chunks, self.offsets, self.lengths),
                    ("u4", "u8", "u8", "u8"),
                    strict=True,
                )
            ),
        )

    def held(self, shape: tuple[int, ...], chunk: tuple[int, ...]) -> StoredChunks:
        """Return the stored chunks."""
        inline = np.array([*self.inline], "u8")
        return StoredChunks(shape, chunk, np.concatenate([self.chunks.astype("u8"), inline]))


def numbers(node: Any) -> tuple[Callable[[str], int | None], tuple[int, ...]]:
    """Return a function from chunk names to flat numbers (None for other names), and the grid shape."""
    metadata, chunk = node.metadata, node.shards or node.chunks
    grid = tuple(-(-n // max(c, 1)) for n, c in zip(node.shape, chunk, strict=True))
    if metadata.zarr_format == 2:
        first, mark = "", metadata.dimension_separator
    else:
        encoding = metadata.chunk_key_encoding
        mark = encoding.separator
        first = f"c{mark}" if encoding.name == "default" else ""
    if not grid:
        return (lambda name: 0 if name in _SCALAR else None), grid

    def number(name: str) -> int | None:
        parts = name.removeprefix(first).split(mark)
        if len(parts) != len(grid) or not name.startswith(first):
            return None
        flat = 0
        for part, n in zip(parts, grid, strict=True):
            if not _INDEX.fullmatch(part) or (i := int(part)) >= n:
                return None
            flat = flat * n + i
        return flat

    return number, grid
