"""Opening HDF5 files: local paths and http(s) URLs, read only, errors of the library turned into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from icecore import errors
from icecore.sources.identity import is_remote

#: What h5py raises when the bytes of a file don't make sense.
FAULTS = (
    OSError,
    RuntimeError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
    SystemError,
    NotImplementedError,
)


@contextmanager
def guard(source: str, what: str = "") -> Iterator[None]:
    """Turn whatever h5py raises inside into ``error[corrupt]`` that names the file and the object."""
    try:
        yield
    except errors.Error:
        raise
    except RecursionError:
        raise
    except FAULTS as error:
        name = f"{source}:{what}" if what else source
        reason = " ".join(str(error).split()) or type(error).__name__
        raise errors.make(
            "corrupt",
            f"{name}: the HDF5 library can't read it: {reason}",
            "compare the file with its original",
        ) from error


def open_file(source: str) -> Any:
    """An ``h5py.File``, read only."""
    import h5py

    with guard(source):
        if is_remote(source):
            from icecore.sources.http import HttpFile

            return h5py.File(HttpFile(source), "r")
        try:
            return h5py.File(source, "r")
        except OSError as error:
            if "already open for write" in str(error):  # in SWMR mode the lock is free, a mark is set
                raise errors.make(
                    "io",
                    f"{source} is open for writing elsewhere, or its writer ended without closing it",
                    f"try again when its writer has closed it; if there is none: h5clear -s {quote(source)}",
                ) from error
            if "unable to lock file" not in str(error):
                raise
            if "errno = 11" in str(error):
                raise errors.make(
                    "io", f"{source} is open for writing elsewhere", "try again when its writer has closed it"
                ) from error
            # Some network file systems can't lock at all; archives don't need it.
            return h5py.File(source, "r", locking=False)
