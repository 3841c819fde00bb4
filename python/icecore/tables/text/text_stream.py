"""Text stream: reads and hashes the blocks of a table file in a thread, a few blocks ahead of the parser."""

from __future__ import annotations

import hashlib
import queue
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import IO

import numpy as np

from icecore import errors
from icecore.sources.files.archives import FAULTS
from icecore.sources.mapping.array_map import DamagedSource
from icecore.sources.mapping.table_file import TableFile
from icecore.sources.tables.preamble import COMMENTS

#: size of a block of text in bytes: small enough that parsed data is freed before caches and the
#: allocator's own memory are full
BLOCK = 4 << 20
#: longest beginning of a row, in bytes, that is moved from the end of a block to the front of the next one
_FRONT = 1 << 16


class TextStream:
    """Iterator over a file's blocks (u1). A block ends at a line end if one is near. After the last block,
    ``size`` and ``sha256`` are those of all bytes.

    Args:
        place: name of the file for messages.
        open: opens the file.
        hashed: whether to compute ``sha256``.
        block: size of a block in bytes.
        start, stop: bytes of the file to read; to its end if ``stop`` is None.
    """

    def __init__(
        self,
        place: str,
        open: Callable[[], IO[bytes]],
        hashed: bool = True,
        block: int = BLOCK,
        *,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._place, self._open, self._block = place, open, block
        self._start, self._left = start, sys.maxsize if stop is None else stop - start
        self._digest = hashlib.sha256() if hashed else None
        self._queue: queue.Queue[np.ndarray | BaseException | None] = queue.Queue(2)
        self._stop = threading.Event()
        self.size = 0

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read so far, in hexadecimal."""
        return self._digest.hexdigest() if self._digest is not None else ""

    def __iter__(self) -> Generator[np.ndarray]:
        thread = threading.Thread(target=self._run, name="icecore-table", daemon=True)
        thread.start()
        ended = False
        try:
            while not ended:
                item = self._queue.get()
                ended = not isinstance(item, np.ndarray)  # end marker or exception
                if isinstance(item, BaseException):
                    raise item
                if item is not None:
                    yield item
        finally:
            self._stop.set()
            while not ended:
                ended = not isinstance(self._queue.get(), np.ndarray)
            thread.join()

    def _run(self) -> None:
        try:
            with self._open() as file:
                if self._start:
                    _skip(file, self._start)
                begun = np.empty(0, "u1")
                while not self._stop.is_set():
                    text, new = self._read(file, begun)
                    if self._digest is not None:
                        self._digest.update(new)
                    self.size += len(new)
                    last = len(new) < self._block
                    end = len(text) if last else _line_end(text)
                    begun = text[end:].copy()
                    if end:
                        self._queue.put(text[:end])
                    if last:
                        break
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

    def _read(self, file: IO[bytes], begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Read the next block after the bytes of a ``begun`` row; return all bytes together, and the new
        ones.
        """
        from icecore import _icecore

        # The memory of released blocks is reused.
        room = _icecore.empty_array((_FRONT + self._block,), np.dtype("u1"))
        start = _FRONT - len(begun)
        room[start:_FRONT] = begun
        place, filled = memoryview(room[_FRONT:])[: self._left], 0
        while filled < len(place) and (count := file.readinto(place[filled:])):  # type: ignore[attr-defined]
            filled += count
        self._left -= filled
        return room[start : _FRONT + filled], room[_FRONT : _FRONT + filled]


def _skip(file: IO[bytes], count: int) -> None:
    """Skip the first bytes of a file; a compressed one is read."""
    if file.seekable():
        file.seek(count)
        return
    while count and (part := file.read(min(count, BLOCK))):
        count -= len(part)


def _line_end(text: np.ndarray) -> int:
    """Return the offset after the last line end, or the length if no line end is near."""
    near = text[-_FRONT:].tobytes()
    return len(text) - len(near) + near.rfind(b"\n") + 1 if b"\n" in near else len(text)


def beginning(file: TableFile) -> np.ndarray:
    """Return the first rows of a file."""
    assert file.spec is not None
    with closing(iter(TextStream(file.place, file.open, hashed=False))) as blocks:
        text = next(blocks, np.empty(0, "u1"))
        while len(text) <= file.spec.offset and (more := next(blocks, None)) is not None:
            text = np.concatenate((text, more))
        return text[file.spec.offset :]


def has_comments(file: TableFile) -> bool:
    """Return whether lines near the beginning of a file are comments."""
    with closing(iter(TextStream(file.place, file.open, hashed=False))) as blocks:
        lines = next(blocks, np.empty(0, "u1")).tobytes().split(b"\n")
    return any(line.startswith(COMMENTS) for line in lines)


# Detection of files of a table that can't be read to the end.


def damaged(files: Sequence[TableFile], error: errors.Error, every: bool) -> DamagedSource | None:
    """Return the file that ``error`` reports as damaged; None if the error reports something else.

    With ``every``, later damaged files are included.
    """
    places = [file.place for file in files]
    first = next((i for i, place in enumerate(places) if error.message.startswith(f"{place}: ")), None)
    if error.kind != "corrupt" or first is None:
        return None
    found = DamagedSource.of(places[first], error)
    if every:
        others = ((file.place, _fault(file)) for file in files[first + 1 :])
        found.others = [DamagedSource.of(place, fault) for place, fault in others if fault is not None]
    return found


def _fault(file: TableFile) -> errors.Error | None:
    try:
        for _ in TextStream(file.place, file.open, hashed=False):
            pass
    except errors.Error as error:
        return error if error.kind == "corrupt" else None
    return None
