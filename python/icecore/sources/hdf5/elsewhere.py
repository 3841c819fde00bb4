"""Files that a dataset's elements lie in instead of its own: which of them are missing."""

from __future__ import annotations

import os
from typing import Any

from h5py import h5d

from icecore.sources.attributes import text
from icecore.sources.identity import is_remote


def missing(plist: Any, source: str) -> str:
    """The first external file, or source of a virtual dataset, that is not there; "" where there is none. The
    library says nothing of the one but that it can't read, and shows the fill value for the other.
    """
    folder = "" if is_remote(source) else os.path.dirname(os.path.abspath(source))
    if plist.get_layout() == h5d.VIRTUAL:
        names = dict.fromkeys(plist.get_virtual_filename(i) for i in range(plist.get_virtual_count()))
        # "." is the file itself; a pattern stands for as many files as there are.
        named = (name for name in names if name != "." and "%b" not in name)
        return next((name for name in named if not _found(name, source, folder)), "")
    for i in range(plist.get_external_count()):
        prefix = os.environ.get("HDF5_EXTFILE_PREFIX", "").replace("${ORIGIN}", folder)
        name = os.path.abspath(os.path.join(prefix, text(plist.get_external(i)[0])))
        if not os.path.exists(name):
            return name
    return ""


def _found(name: str, source: str, folder: str) -> bool:
    """Whether the source of a virtual dataset is in one of the places that the library looks in."""
    prefixes = os.environ.get("HDF5_VDS_PREFIX", "").replace("${ORIGIN}", folder).split(":")
    folders = [*prefixes, folder, os.path.dirname(os.path.realpath(source)), ""]
    names = [name, os.path.basename(name)] if os.path.isabs(name) else [name]
    return any(os.path.exists(os.path.join(place, each)) for place in folders for each in names)
