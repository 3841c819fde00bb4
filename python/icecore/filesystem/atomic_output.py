"""Atomic output: files and directories appear when they are complete, or not at all."""

from __future__ import annotations

import errno
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from icecore import errors

_FULL = (errno.ENOSPC, errno.EDQUOT)
_ROOM = "free some space, or name another directory"
_LIMIT = "raise the limit on the size of files (`ulimit -f`)"
#: answers of file systems that keep directories on a server
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
_BARRED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def landing(path: str) -> Iterator[str]:
    """``with landing(path) as part``: write to ``part``; it is renamed to ``path`` if the block succeeds.

    The file is on disk before it has its name, and its name before this returns, unless
    ``ICECORE_DURABILITY=none``.
    If ``path`` is a symbolic link, such as ``/dev/stdout``, its target is written.

    Raises:
        Error: ``io``, ``permission`` or ``not-found`` (missing directory) if the operating system rejects the
            operation; no partial file remains. ``invalid`` if ``path`` is empty.
    """
    if not path:
        raise errors.make("invalid", "the name of the output file is empty", "-o FILE")
    # Write to devices and pipes directly: renaming would replace the device by a file.
    is_special = os.path.exists(path) and not os.path.isfile(path)
    target = path if is_special else os.path.realpath(path)
    part = target if is_special else f"{target}.part{os.path.splitext(path)[1]}"
    try:
        yield part
        if not is_special:
            _synchronise(part)
            os.replace(part, target)
            _synchronise(os.path.dirname(target))
    except errors.Error:
        raise
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        if not is_special:
            with suppress(OSError):
                os.remove(part)


@contextmanager
def landing_folder(path: str) -> Iterator[str]:
    """``with landing_folder(path) as part``: fill the directory ``part``, which is renamed to ``path``.

    Its files are on disk before it has its name, as those of :func:`landing`. If the block fails, nothing
    remains.

    Raises:
        Error: ``exists`` if there is something at ``path``; the kinds of :func:`landing`.
    """
    target = os.path.abspath(path)
    if os.path.lexists(target):
        raise errors.make("exists", f"{path} exists already", "remove it, or name another directory")
    part = f"{target}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        os.mkdir(part)
        yield part
        for folder, _, names in os.walk(part):
            for name in names:
                _synchronise(os.path.join(folder, name))
            _synchronise(folder)
        os.rename(part, target)
        _synchronise(os.path.dirname(target))
    except OSError as error:
        if isinstance(error, errors.Error):
            raise
        raise _refused(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _synchronise(path: str) -> None:
    """Wait until a file, or the entries of a directory, are on disk."""
    if os.environ.get("ICECORE_DURABILITY", "").strip() == "none" or not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC or not os.path.isdir(path):
            raise
    finally:
        os.close(handle)


@contextmanager
def folder(path: str) -> Iterator[None]:
    """``with folder(path):`` creates a directory and its parents for the block.

    If the block fails, the created directories are removed if they are empty.

    Raises:
        Error: the kinds of :func:`landing`, if the directory can't be created.
    """
    made, at = [], os.path.abspath(path)
    while not os.path.exists(at):
        made.append(at)
        at = os.path.dirname(at)
    try:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise _refused(path, error) from error
        yield
    except BaseException:
        with suppress(OSError):
            for each in made:
                os.rmdir(each)
        raise


def size_of(path: str) -> int:
    """Return the bytes of a file, or of all files in a directory."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


@contextmanager
def printing(done: str = "") -> Iterator[None]:
    """``with printing():`` for code that writes to stdout. A closed pipe is not an error.

    Raises:
        Error: ``io`` if stdout can't be written; the message includes what is ``done`` already.
    """
    try:
        yield
    except (errors.Error, BrokenPipeError):
        raise
    except OSError as error:
        message = f"standard output: {error.strerror or error}" + (f"; {done}" if done else "")
        hint = "check the target of the output and its free space" + (": the work is done" if done else "")
        raise errors.make("io", message, hint) from None


def room(path: str, nbytes: int) -> None:
    """Check before writing that a file of ``nbytes`` bytes fits.

    This is for HDF5's library: if the disk is full when a file is closed, it aborts the process later.

    Raises:
        Error: ``io`` if fewer than ``nbytes`` bytes are free or the file size limit is lower.
    """
    if nbytes > (limit := _limit()):
        message = f"{path} needs {nbytes:,} bytes; the file size limit is {limit:,}"
        raise errors.make("io", message, _LIMIT)
    folder = os.path.dirname(os.path.abspath(path))
    if (free := shutil.disk_usage(folder).free) < nbytes:
        message = f"{path} needs {nbytes:,} bytes; {free:,} are free in {folder}"
        raise errors.make("io", message, _ROOM)


def _limit() -> float:
    """Return the file size limit of this process, in bytes."""
    try:
        import resource
    except ImportError:  # Windows does not have such limits
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _refused(path: str, error: OSError) -> errors.Error:
    # Libraries append their own state, over several lines, to the system's message.
    reason = os.strerror(error.errno) if error.errno else str(error).partition("\n")[0]
    message = f"{path} can't be written: {reason}"
    if error.errno == errno.ENOENT:
        folder = os.path.dirname(path)
        return errors.make(
            "not-found", f"{path}: the directory {folder} does not exist", f"mkdir -p {folder}"
        )
    if error.errno in _BARRED:
        return errors.make("permission", message, "name another directory, or check its permissions")
    # NumPy reports only the number of missing bytes.
    if error.errno == errno.EFBIG or (error.errno is None and _limit() < math.inf):
        return errors.make("io", f"{message}; the file size limit is {_limit():,} bytes", _LIMIT)
    if error.errno in _FULL or error.errno is None:
        return errors.make("io", message, _ROOM)
    return errors.make("io", message, "check the path and its permissions")
