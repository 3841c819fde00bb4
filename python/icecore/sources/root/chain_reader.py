"""Reader of one array of a branch that several files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import Region
from icecore.sources.mapping.stitched_array import Stitched
from icecore.sources.root.readers import BranchReader, offsets_of

if TYPE_CHECKING:
    from icecore.sources.mapping.array_map import DamagedSource


@dataclass(frozen=True)
class Files:
    """Files of a chain, which all of its readers share.

    Attributes:
        tree: the tree's path in the files.
        paths: the files.
        identities: identities of the files when they were indexed.
        starts: first entry of each file, and the number of all entries.
    """

    tree: str
    paths: tuple[str, ...]
    identities: tuple[Identity, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class ChainReader:
    """Reader for one array of a branch; can be pickled.

    Attributes:
        files: the files.
        number, part, shape, dtype, member: as in :class:`icecore.sources.root.readers.BranchReader`;
            ``shape`` is that of all files.
        starts: first row of each file, and the number of all rows.
    """

    files: Files
    number: int
    part: str
    shape: tuple[int, ...]
    dtype: np.dtype
    member: int
    starts: tuple[int, ...]

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        if self.part != "offsets":
            return self._stitched(self.part)(region)
        counts = self._stitched("counts")((slice(0, self.starts[-1]),))
        return np.ascontiguousarray(offsets_of(counts)[region])

    def damaged(self, shape: tuple[int, ...]) -> DamagedSource | None:
        """Return an error for all files that can't be read, or None."""
        if self.part == "offsets":
            return self._stitched("counts").damaged((self.starts[-1],))
        return self._stitched(self.part).damaged(shape)

    def _stitched(self, part: str) -> Stitched:
        dtype = np.dtype("u4") if part == "counts" else self.dtype
        row = () if part == "counts" else self.shape[1:]
        tree, files = self.files.tree, self.files
        readers = tuple(
            BranchReader(path, identity, tree, self.number, part, (high - low, *row), dtype, self.member)
            for path, identity, low, high in zip(
                files.paths, files.identities, self.starts, self.starts[1:], strict=False
            )
        )
        return Stitched(readers, files.paths, self.starts, 0, dtype)
