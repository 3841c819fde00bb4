"""Open HDF5 files (local paths and http(s) URLs) read-only, and convert the library's errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from shlex import quote
from typing import Any

from h5py import Dataset, ExternalLink, File, h5d, h5i, h5o

from icecore import errors
from icecore.repository.json_attributes import text
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
            from icecore.sources.files.byte_source import RemoteFile

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


# Find missing external files and sources of virtual datasets.


def check(dsid: Any, source: str) -> None:
    """Raise ``link-not-allowed`` if a dataset's elements lie in files that this process may not open.

    The library opens external files, and the sources of virtual datasets, by itself.
    """
    if access.places() is None:
        return
    plist = dsid.get_create_plist()
    folder = "" if is_remote(source) else os.path.dirname(os.path.abspath(source))
    if plist.get_layout() == h5d.VIRTUAL:
        names = {plist.get_virtual_filename(i) for i in range(plist.get_virtual_count())}
        for name in sorted(names - {"."}):
            # The library tries several directories; a pattern matches any text in a name.
            for place in _places(name, source, folder):
                found = place if "%" not in name else os.path.dirname(place.split("%")[0]) or "."
                if os.path.lexists(found):
                    access.check(found)
        return
    for i in range(plist.get_external_count()):
        access.check(_external(plist, i, folder))


def _external(plist: Any, number: int, folder: str) -> str:
    """Return the path of an external file."""
    prefix = os.environ.get("HDF5_EXTFILE_PREFIX", "").replace("${ORIGIN}", folder)
    return os.path.abspath(os.path.join(prefix, text(plist.get_external(number)[0])))


def missing(dsid: Any, source: str, above: tuple[Any, ...] = ()) -> str:
    """Return the first missing external file or source of a virtual dataset; "" if none is missing.

    The library only reports a read failure for external files, and returns the fill value for virtual
    sources.

    Args:
        dsid: the dataset.
        source: the file that contains it.
        above: the virtual datasets that use it as a source.

    Raises:
        Error: ``unsupported`` for a virtual dataset that is its own source, which crashes the library.
    """
    plist = dsid.get_create_plist()
    folder = "" if is_remote(source) else os.path.dirname(os.path.abspath(source))
    if plist.get_layout() == h5d.VIRTUAL:
        info = h5o.get_info(dsid)
        own = (info.fileno, info.addr)
        if own in above:
            raise errors.make("unsupported", "a virtual dataset that is a source of itself")
        count = range(plist.get_virtual_count())
        pairs = dict.fromkeys((plist.get_virtual_filename(i), plist.get_virtual_dsetname(i)) for i in count)
        # A pattern matches any number of files or datasets.
        named = (pair for pair in pairs if not any("%b" in part for part in pair))
        absent = (_absent(dsid, source, folder, *pair, (*above, own)) for pair in named)
        return next(filter(None, absent), "")
    for i in range(plist.get_external_count()):
        name = _external(plist, i, folder)
        if not os.path.exists(name):
            return name
    return ""


def _absent(dsid: Any, source: str, folder: str, name: str, inside: str, above: tuple[Any, ...]) -> str:
    """Return the missing part of one source of a virtual dataset: its file, its dataset, or their sources."""
    place = source if name == "." else _found(name, source, folder)
    if not place:
        return name
    opened: AbstractContextManager[Any]
    opened = nullcontext(File(h5i.get_file_id(dsid))) if name == "." else open_file(place)
    with opened as file, guard(place, inside):
        try:
            found = file[inside]
        except KeyError:
            return _link(file, inside) or f"{place}:{inside}"
        if not isinstance(found, Dataset):
            return ""
        access.check(found.file.filename)
        check(found.id, found.file.filename)
        return missing(found.id, found.file.filename, above)


def _link(file: File, inside: str) -> str:
    """Return the file that an external link names; "" for other links."""
    try:
        link = file.get(inside, getlink=True)
    except KeyError:
        return ""
    return link.filename if isinstance(link, ExternalLink) else ""


def _found(name: str, source: str, folder: str) -> str:
    """Return the path of a virtual dataset's source; "" if missing."""
    return next(filter(os.path.exists, _places(name, source, folder)), "")


def _places(name: str, source: str, folder: str) -> list[str]:
    """Return the paths at which the library looks for a virtual dataset's source."""
    prefixes = os.environ.get("HDF5_VDS_PREFIX", "").replace("${ORIGIN}", folder).split(":")
    folders = [*prefixes, folder, os.path.dirname(os.path.realpath(source)), ""]
    names = [name, os.path.basename(name)] if os.path.isabs(name) else [name]
    return [os.path.join(place, each) for place in folders for each in names]
