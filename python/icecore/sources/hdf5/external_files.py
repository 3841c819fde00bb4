"""Find missing external files and sources of virtual datasets."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from h5py import Dataset, ExternalLink, File, h5d, h5i, h5o

from icecore import errors
from icecore.repository.json_attributes import text
from icecore.sources.files.identity import is_remote
from icecore.sources.hdf5.file import guard, open_file


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
        prefix = os.environ.get("HDF5_EXTFILE_PREFIX", "").replace("${ORIGIN}", folder)
        name = os.path.abspath(os.path.join(prefix, text(plist.get_external(i)[0])))
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
        return missing(found.id, found.file.filename, above) if isinstance(found, Dataset) else ""


def _link(file: File, inside: str) -> str:
    """Return the file that an external link names; "" for other links."""
    try:
        link = file.get(inside, getlink=True)
    except KeyError:
        return ""
    return link.filename if isinstance(link, ExternalLink) else ""


def _found(name: str, source: str, folder: str) -> str:
    """Return the path of a virtual dataset's source among the places the library searches; "" if missing."""
    prefixes = os.environ.get("HDF5_VDS_PREFIX", "").replace("${ORIGIN}", folder).split(":")
    folders = [*prefixes, folder, os.path.dirname(os.path.realpath(source)), ""]
    names = [name, os.path.basename(name)] if os.path.isabs(name) else [name]
    places = (os.path.join(place, each) for place in folders for each in names)
    return next(filter(os.path.exists, places), "")
