"""What the file system of a directory offers: locks, links, renames, synchronisation, space."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from icecore import errors

#: repositories ignore files whose names begin like this
_PREFIX = ".icecore.lock.test-"


def capabilities(directory: str) -> dict[str, Any]:
    """Try what a repository needs in a directory, with files of its own that are removed again.

    Returns:
        ``type`` and ``mount``; for each of ``locks``, ``links``, ``exclusive_creation``, ``rename``,
        ``sync_file`` and ``sync_directory`` either ``"yes"`` or the system's reason; ``sync_seconds``, the
        time for one small file; ``bytes_free`` and ``files_free`` (None if the file system has no limit).

    Raises:
        Error: ``permission`` or ``io`` if no file can be created there.
    """
    kind, mount = _mount(directory)
    found: dict[str, Any] = {"directory": directory, "type": kind, "mount": mount}
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix=_PREFIX) as scratch:
            found |= _tried(Path(scratch))
    except OSError as error:
        kind = "permission" if isinstance(error, PermissionError) else "io"
        message = f"{directory}: no file can be created: {error.strerror or error}"
        raise errors.make(kind, message, "check the permissions and the free space") from None
    status = os.statvfs(directory)
    found["bytes_free"] = status.f_bavail * status.f_frsize
    found["files_free"] = status.f_favail if status.f_files else None
    return found


def _tried(scratch: Path) -> dict[str, Any]:
    file, other = scratch / "a", scratch / "b"
    file.write_bytes(b"x" * 4096)
    found = {"locks": _outcome(lambda: _lock(file)), "links": _outcome(lambda: os.link(file, other))}
    with suppress(OSError):
        other.unlink()
    found["exclusive_creation"] = _outcome(lambda: os.close(os.open(other, os.O_CREAT | os.O_EXCL)))
    found["rename"] = _outcome(lambda: _replace(file, other))
    began = time.perf_counter()
    found["sync_file"] = _outcome(lambda: _sync(other))
    seconds = time.perf_counter() - began
    found["sync_directory"] = _outcome(lambda: _sync(scratch))
    return {**found, "sync_seconds": round(seconds, 4)}


def _outcome(work: Callable[[], object]) -> str:
    try:
        work()
    except OSError as error:
        return error.strerror or str(error)
    return "yes"


def _lock(file: Path) -> None:
    import fcntl

    with file.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _replace(file: Path, other: Path) -> None:
    os.replace(file, other)
    if other.stat().st_size != 4096 or file.exists():
        raise OSError("the target was not replaced")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mount(directory: str) -> tuple[str, str]:
    """The type of the file system, and where it is mounted; empty where the system doesn't list them."""
    place = os.path.realpath(directory)
    found = ("", "")
    with suppress(OSError), open("/proc/self/mounts") as mounts:
        for line in mounts:
            words = line.split(" ")
            point = words[1].replace("\\040", " ")
            inside = place == point or place.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(found[1]):
                found = (words[2], point)
    return found
