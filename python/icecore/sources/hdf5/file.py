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
_keeping = 0


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
            # Some network file systems can't lock; archives don't need it.
            if "lock" not in str(error):
                raise
            return h5py.File(source, "r", locking=False)


@contextmanager
def keep_open() -> Iterator[None]:
    """Keep local files open between reads inside this block, for whoever reads many regions of the same
    files.
    """
    global _keeping
    with _lock:
        _keeping += 1
    try:
        yield
    finally:
        with _lock:
            _keeping -= 1
            for key in [key for key in _open if _keeping == 0 and not is_remote(key)]:
                _open.pop(key)


@contextmanager
def shared_file(source: str, token: Any) -> Iterator[Any]:
    """A file opened for reading data; ``token`` is the identity that it was opened for.

    A local file is closed again at once unless :func:`keep_open` is in force: an open HDF5 file holds a lock,
    and keeps its owner from opening it to write. Remote files stay open, because opening one takes requests.
    """
    key = f"{source}\0{token}"
    with _lock:
        file = _open.pop(key, None)
        kept = _keeping > 0 or is_remote(source)
    if file is None or not file:
        file = open_file(source)
    if kept:
        with _lock:
            # Dropped, not closed: another thread may be reading from it; h5py closes with the last reference.
            _open[key] = file
            while len(_open) > _KEPT:
                _open.popitem(last=False)
    yield file
