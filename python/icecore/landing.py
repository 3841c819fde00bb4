"""Files that appear when they are complete, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from icecore import errors

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BARRED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def landing(path: str) -> Iterator[str]:
    """``with landing(path) as part``: what is written to ``part`` is ``path`` once the block has ended well.

    Raises:
        Error: ``io``, ``permission`` or ``not-found`` (no such folder), naming ``path``, where the system
            refuses; nothing is left then.
    """
    # A device or a pipe is written to: putting a file in its place would take it away from everybody.
    is_special = os.path.exists(path) and not os.path.isfile(path)
    part = path if is_special else f"{path}.part{os.path.splitext(path)[1]}"
    try:
        yield part
        if not is_special:
            os.replace(part, path)
    except errors.Error:
        raise
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        if not is_special:
            with suppress(OSError):
                os.remove(part)


def room(path: str, nbytes: int) -> None:
    """Refuse to begin a file that can't fit.

    HDF5's library needs it: where the disk is full when a file is closed it ends the whole process later.

    Raises:
        Error: ``io`` where fewer than ``nbytes`` bytes are free.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if (free := shutil.disk_usage(folder).free) < nbytes:
        message = f"{path} takes {nbytes:,} bytes, and {free:,} are free in {folder}"
        raise errors.make("io", message, "free some space, or name another folder")


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
    if error.errno in _FULL or error.errno is None:
        return errors.make("io", message, "free some space, or name another folder")
    return errors.make("io", message, "check that the path is right and that it can be written")
