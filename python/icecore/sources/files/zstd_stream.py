"""Streams of zstd files, with Python's own module or its backport."""

from __future__ import annotations

import io
from typing import IO, Any, cast

from icecore import errors


def unzstd(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or OSError for damaged data.

    Raises:
        Error: ``unsupported`` if no zstd library is installed.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found]  # Python 3.14
    except ModuleNotFoundError:
        try:
            from backports import zstd  # type: ignore[import-not-found,no-redef]
        except ModuleNotFoundError:
            raise errors.needs("pds", f"{path} is compressed with zstd", "unzstd it") from None
    # Accept the largest window (`zstd --long=31`); memory is only allocated as it is used.
    window = zstd.DecompressionParameter.window_log_max
    file = zstd.open(path, options={window: window.bounds()[1]})
    return cast("IO[bytes]", io.BufferedReader(_Frames(file, zstd.ZstdError)))


class _Frames(io.RawIOBase):
    """Stream that replaces zstd's own exception, whose class only exists if the library is installed."""

    def __init__(self, file: Any, fault: type[Exception]) -> None:
        self._file, self._fault = file, fault

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        try:
            return cast("int", self._file.readinto(into))
        except self._fault as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
