"""Opening HDF5 files: local paths and http(s) URLs, read only, errors of the library turned into ours."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
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

_KEPT = 8
_open: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


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
    """An ``h5py.File``, read only, without file locking (archives are often on read-only mounts)."""
    import h5py

    with guard(source):
        if is_remote(source):
            from icecore.sources.http import HttpFile

            return h5py.File(HttpFile(source), "r")
        return h5py.File(source, "r", locking=False)


def shared_file(source: str, token: Any) -> Any:
    """An open file for reading data, kept for the next read; ``token`` is the identity that it was opened
    for.
    """
    key = f"{source}\0{token}"
    with _lock:
        file = _open.pop(key, None)
        if file is None or not file:
            file = open_file(source)
        _open[key] = file
        while len(_open) > _KEPT:
            # Dropped, not closed: another thread may be reading from it; h5py closes with the last reference.
            _open.popitem(last=False)
        return file
