"""A table's bytes, read and hashed one block ahead of whoever takes them."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import IO

from icecore import errors
from icecore.sources.tables.archives import FAULTS

#: bytes of text in a block: what is made of it is gone again before the nearer caches and the allocator's
#: own memory are full
BLOCK = 4 << 20


class TextStream:
    """Iterates over a file's blocks; ``size`` and ``sha256`` are those of all its bytes once it is exhausted.

    Args:
        place: for messages.
        open: opens the file.
        hashed: whether to compute ``sha256``.
        block: bytes of a block.
    """

    def __init__(
        self, place: str, open: Callable[[], IO[bytes]], hashed: bool = True, block: int = BLOCK
    ) -> None:
        self._place, self._open, self._block = place, open, block
        self._digest = hashlib.sha256() if hashed else None
        self._queue: queue.Queue[bytes | BaseException | None] = queue.Queue(2)
        self._stop = threading.Event()
        self.size = 0

    @property
    def sha256(self) -> str:
        """Of what was read."""
        return self._digest.hexdigest() if self._digest is not None else ""

    def __iter__(self) -> Iterator[bytes]:
        thread = threading.Thread(target=self._run, name="icecore-table", daemon=True)
        thread.start()
        try:
            while True:
                item = self._queue.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    return
                yield item
        finally:
            self._stop.set()
            while thread.is_alive():
                try:
                    self._queue.get(timeout=0.05)
                except queue.Empty:
                    continue

    def _run(self) -> None:
        try:
            with self._open() as file:
                while not self._stop.is_set():
                    block = file.read(self._block)
                    if not block:
                        break
                    if self._digest is not None:
                        self._digest.update(block)
                    self.size += len(block)
                    self._queue.put(block)
            self._queue.put(None)
        except FAULTS as error:
            if isinstance(error, errors.Error):
                self._queue.put(error)
            else:
                hint = "test the archive, or fetch the file again"
                self._queue.put(
                    errors.make("corrupt", f"{self._place}: {error or type(error).__name__}", hint)
                )
        except BaseException as error:
            self._queue.put(error)
