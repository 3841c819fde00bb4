"""How a writer divides its memory."""

from __future__ import annotations

from icecore import errors
from icecore.display import text

#: bytes of memory by default: enough for the largest shards that are planned
_DEFAULT = 1 << 30
#: largest number of bytes that is read, patched or copied at once
_BLOCK = 64 << 20


class MemoryShares:
    """Shares of a writer's memory, in bytes.

    A quarter is for rows that wait until their shard is full, a quarter for the encoders' queue. As much as
    the queue is kept for encoded data; the rest is for copies.
    """

    def __init__(self, memory: int | str | None) -> None:
        total = text.parse_size(memory) if memory is not None else _DEFAULT
        if total < 1:
            raise errors.make("invalid", f"a writer needs memory (got {memory!r})", "memory='256MiB'")
        #: for rows that wait until their shards are full
        self.rows = total // 4
        #: for data in the encoders' queue
        self.queue = total // 4
        #: of one shard at most
        self.shard = total // 8
        #: for data that is read, patched or copied at once, if a shard is not larger
        self.box = min(_BLOCK, total // 8)

    def tail(self, arrays: int) -> int:
        """Return the share for the waiting rows of one of so many arrays."""
        return self.rows // max(arrays, 1)
