"""Files and folders that appear when they are complete, or not at all."""

from __future__ import annotations

import errno
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from icecore import errors

_FULL = (errno.ENOSPC, errno.EDQUOT)
_ROOM = "free some space, or name another folder"
_LIMIT = "raise the limit on the size of files (`ulimit -f`)"
_BARRED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def landing(path: str) -> Iterator[str]:
    """``with landing(path) as part``: what is written to ``part`` is ``path`` once the block has ended well.
    A link, ``/dev/stdout`` for instance, stays one: what it names is written.

    Raises:
        Error: ``io``, ``permission`` or ``not-found`` (no such folder), naming ``path``, where the system
            refuses; nothing is left then. ``invalid`` where ``path`` is empty.
    """
    if not path:
        raise errors.make("invalid", "no file is named to write to", "-o FILE")
    # A device or a pipe is written to: putting a file in its place would take it away from everybody.
    is_special = os.path.exists(path) and not os.path.isfile(path)
    target = path if is_special else os.path.realpath(path)
    part = target if is_special else f"{target}.part{os.path.splitext(path)[1]}"
    try:
        yield part
        if not is_special:
            os.replace(part, target)
    except errors.Error:
        raise
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        if not is_special:
            with suppress(OSError):
                os.remove(part)


@contextmanager
def folder(path: str) -> Iterator[None]:
    """``with folder(path):`` around what writes into a folder, which is made, with those above it. Where the
    block fails, those that were made for it and hold nothing are gone again.

    Raises:
        Error: as :func:`landing`, where it can't be made.
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


@contextmanager
def printing(done: str = "") -> Iterator[None]:
    """``with printing():`` around what writes to stdout. A reader of it that leaves is no error.

    Raises:
        Error: ``io``, naming it, where the system refuses; with what is ``done`` already.
    """
    try:
        yield
    except (errors.Error, BrokenPipeError):
        raise
    except OSError as error:
        message = f"standard output: {error.strerror or error}" + (f"; {done}" if done else "")
        hint = "see where the output goes, and that there is space" + (": the work is done" if done else "")
        raise errors.make("io", message, hint) from None


def room(path: str, nbytes: int) -> None:
    """Refuse to begin a file that can't fit.

    HDF5's library needs it: where the disk is full when a file is closed it ends the whole process later.

    Raises:
        Error: ``io`` where fewer than ``nbytes`` bytes are free, or files may not have so many.
    """
    if nbytes > (limit := _limit()):
        raise errors.make("io", f"{path} takes {nbytes:,} bytes, and files may have {limit:,}", _LIMIT)
    folder = os.path.dirname(os.path.abspath(path))
    if (free := shutil.disk_usage(folder).free) < nbytes:
        message = f"{path} takes {nbytes:,} bytes, and {free:,} are free in {folder}"
        raise errors.make("io", message, _ROOM)


def _limit() -> float:
    """The most bytes that a file of this process may have."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _refused(path: str, error: OSError) -> errors.Error:
    # Libraries put their own state, over several lines, into what the system said.
    reason = os.strerror(error.errno) if error.errno else str(error).partition("\n")[0]
    message = f"{path} can't be written: {reason}"
    if error.errno == errno.ENOENT:
        folder = os.path.dirname(path)
        return errors.make("not-found", f"no folder {folder} to write {path} to", f"mkdir -p {folder}")
    if error.errno in _BARRED:
        return errors.make("permission", message, "name another folder, or check who may write there")
    # NumPy only says how much less was written than was to be.
    if error.errno == errno.EFBIG or (error.errno is None and _limit() < math.inf):
        return errors.make("io", f"{message}; files of this process may have {_limit():,} bytes", _LIMIT)
    if error.errno in _FULL or error.errno is None:
        return errors.make("io", message, _ROOM)
    return errors.make("io", message, "check that the path is right and that it can be written")
