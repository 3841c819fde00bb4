"""DMR++: OPeNDAP's index of an HDF5 or netCDF-4 file, in XML.

``document`` parses one, ``variable`` converts a variable's chunks to references; ``sources.kerchunk`` reads
and links these.
"""

from __future__ import annotations

from functools import lru_cache

from icecore.sources.dmrpp.document import read
from icecore.sources.kerchunk import index
from icecore.sources.kerchunk.store import ReferenceStore
from icecore.sources.mapping.array_map import ArrayMap


def open(source: str) -> ArrayMap:
    """Index a DMR++ document (path or URL): its arrays, linked to the file that it describes.

    Strings of variable length, structures and sequences are named in the map's ``dropped``.

    Raises:
        Error: ``corrupt`` if it is not valid, ``unsupported`` without zarr-python.
    """
    return index(source, opened)


@lru_cache(maxsize=8)
def opened(source: str, _stamp: int) -> ReferenceStore:
    """The store of a DMR++ document, and of the file that it describes, as they were when ``_stamp`` was new.

    Raises:
        Error: ``corrupt`` if it is not valid.
    """
    return ReferenceStore(source, read)
