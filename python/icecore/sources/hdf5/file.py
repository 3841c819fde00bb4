"""Open HDF5 files (local paths and http(s) URLs) read-only, and convert the library's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from icecore import errors
from icecore.sources.files import access
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import is_remote

#: exceptions that h5py raises for damaged files
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
#: signatures in the first file of a multi-file driver, and the drivers' names
_DRIVERS = {b"NCSAfami": "family", b"NCSAmult": "split"}
_START = 4 << 10
# Since HDF5 2.0 the library's chunk table takes 64 KiB per open dataset; 521 entries take 4 KiB, as before.
# A region is read once, so the cache is hardly used.
_TABLE = {"rdcc_nslots": 521}
_CUT, _ENDS = "truncated file: ", re.compile(r"eof = (\d+)")


@contextmanager
def guard(source: str, what: str = "", hint: str = "compare the file with its original") -> Iterator[None]:
    """Convert any h5py exception inside the block to ``error[corrupt]`` that names the file and the
    object.
    """
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
    """Return an error for a file that can't be opened, if the library's message is misleading."""
    with open(source, "rb") as file:
        start = file.read(_START)
    for mark, driver in _DRIVERS.items():
        if mark in start:
            hint = f"copy what it holds into one file: h5py.File(NAME, driver={driver!r}) opens all of them"
            message = f"{source} is one of the files that HDF5's {driver} driver divides a file into"
            return errors.make("unsupported", message, hint)
    if _CUT in said and len(ends := _ENDS.findall(said)) > 1:
        message = f"{source} has {ends[0]} of {ends[-1]} bytes: it looks cut off"
        return errors.make("corrupt", message, "compare the file with its original")
    reason = " ".join(said.split())
    return errors.make("corrupt", f"{source}: the HDF5 library can't read it: {reason}", ALL_LOST)


def open_file(source: str) -> Any:
    """Return an ``h5py.File``, opened read-only."""
    import h5py

    access.check(source)
    with guard(source):
        if is_remote(source):
            from icecore.sources.files.remote_file import RemoteFile

            return h5py.File(RemoteFile(open_bytes(source)), "r", **_TABLE)
        try:
            return h5py.File(source, "r", **_TABLE)
        except OSError as error:
            if "already open for write" in str(error):  # in SWMR mode no lock is held, only a flag is set
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
            # Some network file systems don't support locks; archives don't need them.
            return h5py.File(source, "r", locking=False, **_TABLE)
