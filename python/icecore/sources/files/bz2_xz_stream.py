"""Streams of bzip2 and xz files that detect damage anywhere in the file.

Python's own readers treat damage after the first of several streams as the end of the file.

Source: the .xz file format 1.2.1, section 2 (streams, with padding of zeros, four at a time).
"""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from functools import partial
from typing import IO, Any, cast

#: bytes per read of the file
_PIECE = 1 << 18


def bunzip2(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or OSError for damaged data and for trailing garbage."""
    return _opened(path, bz2.BZ2Decompressor, 0)


def unxz(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError, OSError or LZMAError for damaged data and trailing garbage."""
    return _opened(path, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), 4)


def _opened(path: str, make: Callable[[], Any], padding: int) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Streams(open(path, "rb"), make, padding), 1 << 16))


class _Streams(io.RawIOBase):
    """Consecutive streams, each followed by zeros in multiples of ``padding`` bytes (0: none)."""

    def __init__(self, file: IO[bytes], make: Callable[[], Any], padding: int) -> None:
        self._file, self._make, self._padding = file, make, padding
        self._decoder = make()
        self._stored = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        while not self._decoder.eof or self._next():
            if self._decoder.needs_input and not self._more():
                raise EOFError("it ends inside its data")
            stored, self._stored = self._stored, b""
            made = self._decoder.decompress(stored, len(out))
            if made:
                out[: len(made)] = made
                return len(made)
        return 0

    def _more(self) -> bool:
        """Whether bytes are left that no decoder has consumed."""
        self._stored = self._stored or self._file.read(_PIECE)
        return bool(self._stored)

    def _next(self) -> bool:
        """Begin the next stream; return False if there is none."""
        self._stored, zeros = self._decoder.unused_data, 0
        while self._more():
            rest = self._stored.lstrip(b"\0") if self._padding else self._stored
            zeros += len(self._stored) - len(rest)
            self._stored = rest
            if rest:
                break
        if self._padding and zeros % self._padding:
            raise OSError(f"{zeros} zeros behind a stream: not a multiple of {self._padding}")
        if not self._stored:
            return False
        self._decoder = self._make()
        return True

    def close(self) -> None:
        self._file.close()
        super().close()
