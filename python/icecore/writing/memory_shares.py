"""Division of a writer's memory between waiting rows, the encoders' queue and copies."""

from __future__ import annotations

from icecore import errors
from icecore.display import text

#: default memory in bytes: enough for the largest shards that are planned
_DEFAULT = 1 << 30
#: largest block in bytes that is read, patched or copied at once
_BLOCK = 64 << 20


class MemoryShares:
    """Shares of a writer's memory, in bytes.

    A quarter is for rows that wait until their shard is full, and a quarter for the encoders' queue. Encoded
    data may use as much as the queue. The rest is for copies.
    """

    def __init__(self, memory: int | str | None) -> None:
        total = text.parse_size(memory) if memory is not None else _DEFAULT
        if total < 1:
            raise errors.make("invalid", f"a writer needs memory (got {memory!r})", "memory='256MiB'")
        #: bytes for rows that wait until their shards are full
        self.rows = total // 4
        #: bytes for data in the encoders' queue
        self.queue = total // 4
        #: largest shard in bytes
        self.shard = total // 8
        #: bytes for data that is read, patched or copied at once; a single shard may be larger
        self.box = min(_BLOCK, total // 8)

    def tail(self, arrays: int) -> int:
        """Return the bytes for the waiting rows of one of ``arrays`` arrays."""
        return self.rows // max(arrays, 1)
