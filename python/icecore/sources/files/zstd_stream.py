"""Reading files that zstd made smaller, with Python's own module or its backport."""

from __future__ import annotations

import io
from typing import IO, Any, cast

from icecore import errors


def unzstd(path: str) -> IO[bytes]:
    """Open a file; what is read raises EOFError or OSError for damaged data.

    Raises:
        Error: ``unsupported`` without a library for it.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found]  # Python 3.14
    except ModuleNotFoundError:
        try:
            from backports import zstd  # type: ignore[import-not-found,no-redef]
        except ModuleNotFoundError:
            raise errors.make(
                "unsupported", f"{path} is compressed with zstd", "pip install 'icecore[pds]', or unzstd it"
            ) from None
    # As far back as any frame may look (`zstd --long=31`): memory is taken as far as it is filled.
    window = zstd.DecompressionParameter.window_log_max
    file = zstd.open(path, options={window: window.bounds()[1]})
    return cast("IO[bytes]", io.BufferedReader(_Frames(file, zstd.ZstdError)))


class _Frames(io.RawIOBase):
    """Its own error is of none of Python's families, and known only where the library is installed."""

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
