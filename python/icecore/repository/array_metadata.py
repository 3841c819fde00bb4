"""Metadata of an array: shape, dtype, chunks, codecs, attributes, storage."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from icecore.repository.cached_property import cached_property
from icecore.repository.nodes import Node
from icecore.repository.results import Storage

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.repository.repo import Repo


class ArrayMetadata:
    """The part of an :class:`icecore.Array` that needs no data."""

    def __init__(self, repo: Repo, node: Node) -> None:
        self._repo = repo
        self._node = node

    @cached_property
    def _native(self) -> _icecore.Array:
        return self._repo._native.array(self._node.path)

    @property
    def repo(self) -> Repo:
        """The repository, at the version this array was opened at."""
        return self._repo

    @property
    def path(self) -> str:
        """Absolute path inside the repository."""
        return self._node.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._node.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def dims(self) -> tuple[str | None, ...]:
        """Dimension names, None for an axis without a name."""
        return self._node.dims

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that reads return, in native byte order."""
        subarrays = self._node.ours.get("subarrays")
        if not subarrays:
            return self._native.dtype
        from icecore.repository.structured_dtypes import shaped

        return shaped(self._native.dtype, subarrays)

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of a chunk, the unit of decoding; None on a rectilinear grid (chunks of different shapes)."""
        return self._node.grid[0]

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard, the unit of I/O; None without sharding."""
        return self._node.grid[1]

    @cached_property
    def codecs(self) -> list[dict[str, Any]]:
        """The Zarr v3 codecs of a chunk; for a sharded array those inside the shard."""
        return self._node.codecs

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the attributes; ``_FillValue`` of floats, which Zarr stores as a string, is a number."""
        from icecore.repository.json_attributes import fill_of_attribute

        attrs = self._node.numbers
        if self.dtype.kind == "f" and "_FillValue" in attrs:
            attrs["_FillValue"] = fill_of_attribute(attrs["_FillValue"], self.dtype)
        return attrs

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written (Zarr's ``fill_value``)."""
        import numpy as np

        raw = self._native.fill
        if self.dtype.kind == "O":
            return raw.decode("utf-8", "replace") if self._node.dtype_label == "string" else raw
        return np.frombuffer(raw, self.dtype, 1)[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory."""
        return self.size * self.dtype.itemsize

    @cached_property
    def storage(self) -> Storage:
        """Storage statistics: number of missing, inline, native and linked chunks; linked files."""
        return Storage(**self._native.storage())

    @property
    def nbytes_stored(self) -> int:
        """Stored bytes in the repository and in linked files."""
        return self.storage.bytes_stored

    @property
    def linked(self) -> bool:
        """Whether any chunk is stored in a linked file."""
        return self.storage.linked > 0

    @cached_property
    def _plain(self) -> bool:
        """Whether the engine's results need no conversion: neither a scalar array nor subarrays."""
        return bool(self.shape) and not self._node.ours.get("subarrays")
