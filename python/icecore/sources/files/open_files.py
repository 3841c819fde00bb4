"""Cache of open source files; local files stay open only inside :func:`keep_open`."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from icecore.sources.files.identity import Identity, is_remote

_KEPT = 8
_open: OrderedDict[tuple[str, Identity], Any] = OrderedDict()
_lock = threading.Lock()
_keepers = 0


def _begin_anew() -> None:
    """Reset the state in a forked process: the lock may be held, and connections belong to the parent."""
    global _open, _lock
    _open, _lock = OrderedDict(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def keep_open() -> Iterator[None]:
    """Keep local files open between reads inside this block, for callers that read many regions."""
    global _keepers
    with _lock:
        _keepers += 1
    try:
        yield
    finally:
        with _lock:
            _keepers -= 1
            if _keepers == 0:
                for key in [key for key in _open if not is_remote(key[0])]:
                    _open.pop(key)


@contextmanager
def shared(source: str, identity: Identity, opener: Callable[[str], Any]) -> Iterator[Any]:
    """Yield a file opened for reading data.

    A local file is closed at once unless :func:`keep_open` is active: an open HDF5 file is locked, and its
    owner could not open it for writing. The last 8 remote files stay open: opening one takes requests.
    """
    key = (source, identity)
    with _lock:
        file = _open.pop(key, None)
        kept = _keepers > 0 or is_remote(source)
    if not file:
        file = opener(source)
    if kept:
        with _lock:
            # Dropped, not closed: another thread may be reading from it. The last reference closes it.
            _open[key] = file
            while len(_open) > _KEPT:
                _open.popitem(last=False)
    yield file
