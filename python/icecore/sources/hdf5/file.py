"""Opening HDF5 files: local paths and http(s) URLs, read only, errors of the library turned into ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from icecore import errors
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import is_remote

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

ALL_LOST = "compare the file with its original: nothing in it can be found without what is damaged"
#: how the first of several files says which driver wrote them, and where
_DRIVERS = {b"NCSAfami": "family", b"NCSAmult": "split"}
_START = 4 << 10
# The library keeps a table of chunks for each open dataset, 64 KiB since HDF5 2.0; 521 entries are 4 KiB, and
# as many as it had before. A region is read once, so chunks are hardly found there again.
_TABLE = {"rdcc_nslots": 521}
_CUT = re.compile(r"truncated file: eof = (\d+), .*stored_eof = (\d+)")


@contextmanager
def guard(source: str, what: str = "", hint: str = "compare the file with its original") -> Iterator[None]:
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
            hint,
        ) from error


def _explained(source: str, said: str) -> errors.Error:
    """Why a file can't be opened, where the library's words mislead."""
    with open(source, "rb") as file:
        start = file.read(_START)
    for mark, driver in _DRIVERS.items():
        if mark in start:
            hint = f"copy what it holds into one file: h5py.File(NAME, driver={driver!r}) opens all of them"
            message = f"{source} is one of the files that HDF5's {driver} driver divides a file into"
            return errors.make("unsupported", message, hint)
    if cut := _CUT.search(said):
        message = f"{source} has {cut[1]} of {cut[2]} bytes: it looks cut off"
        return errors.make("corrupt", message, "compare the file with its original")
    reason = " ".join(said.split())
    return errors.make("corrupt", f"{source}: the HDF5 library can't read it: {reason}", ALL_LOST)


def open_file(source: str) -> Any:
    """An ``h5py.File``, read only."""
    import h5py

    with guard(source):
        if is_remote(source):
            from icecore.sources.files.remote_file import RemoteFile

            return h5py.File(RemoteFile(open_bytes(source)), "r", **_TABLE)
        try:
            return h5py.File(source, "r", **_TABLE)
        except OSError as error:
            if "already open for write" in str(error):  # in SWMR mode the lock is free, a mark is set
                raise errors.make(
                    "io",
                    f"{source} is open for writing elsewhere, or its writer ended without closing it",
                    f"try again when its writer has closed it; if there is none: h5clear -s {quote(source)}",
                ) from error
            if "unable to lock file" not in str(error):
                raise _explained(source, str(error)) from error
            if "errno = 11" in str(error):
                raise errors.make(
                    "io", f"{source} is open for writing elsewhere", "try again when its writer has closed it"
                ) from error
            # Some network file systems can't lock at all; archives don't need it.
            return h5py.File(source, "r", locking=False, **_TABLE)
