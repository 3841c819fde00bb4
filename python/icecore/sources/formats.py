"""The table of formats: for each one, its name, how its files are recognised, and the module that reads them.

A format is recognised by its content, never by its suffix. To add one: a module with ``open(source,
**options) -> ArrayMap`` and a row in ``FORMATS``. Its row states all else that it needs (:class:`Format`).
"""

from __future__ import annotations

import builtins
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from icecore import errors
from icecore.sources.files import tree_address as trees
from icecore.sources.files.byte_source import ByteSource, open_bytes, open_file, whole
from icecore.sources.files.identity import is_remote, local_path
from icecore.sources.files.signatures import GWF, HDF5, NETCDF3, NPY, is_root
from icecore.sources.files.zip_directory import ZARR, zarr_folder

_DIRECTORY, _EMPTY = 1 << 16, 32
#: ends of addresses that may be folders on a server
_FOLDERS = ("/", ".zarr", ".parq", ".parquet")
#: beginnings of reference files: their own keys, or metadata of a Zarr store
_REFERENCES = re.compile(rb'"(refs|gen|([^"\\]*/)?(\.zgroup|\.zarray|\.zattrs|\.zmetadata|zarr\.json))"\s*:')


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Attributes:
        name: as messages show it.
        module: has ``open(source, **options) -> ArrayMap``.
        matches: whether a file has this format, given the file and its first 16 bytes.
        options: keywords that ``open`` accepts, of those of :func:`icecore.sources.open_source`.
        is_folder: whether a local directory is one source of this format.
        is_remote_folder: the same for an address on a server or in a bucket.
        has_trees: whether ``FILE:TREE`` names a part of a file (``open`` then has the option ``tree``).
        joined: key of a source; sources with the same key, which is not empty, become one, in the group that
            the last part of the key names. The module has ``open_many(sources, name, progress, cluster,
            **options) -> ArrayMap``.
        least: fewest sources that are joined.
        lists: suffixes of lists of files; the module has ``listed(path) -> list[str]``.
    """

    name: str
    module: str
    matches: Callable[[ByteSource, bytes], bool] = lambda _source, _start: False
    options: tuple[str, ...] = ()
    is_folder: Callable[[str], bool] | None = None
    is_remote_folder: Callable[[str], bool] | None = None
    has_trees: bool = False
    joined: Callable[[str], str] | None = None
    least: int = 1
    lists: tuple[str, ...] = ()


def _is_hdf5(source: ByteSource, start: bytes) -> bool:
    # A user block of 512, 1024, 2048, … bytes may come before the signature.
    if start.startswith(HDF5):
        return True
    offset = 512
    while offset + len(HDF5) <= source.identity.size:
        if source.read_at(offset, len(HDF5)) == HDF5:
            return True
        offset *= 2
    return False


def _is_zarr_zip(source: ByteSource, start: bytes) -> bool:
    """Whether a zip archive has Zarr metadata in its directory, at its root or in its top-level directory."""
    if not start.startswith(b"PK\x03\x04"):
        return False
    import zipfile

    try:
        with open_file(local_path(source.identity.url)) as file, zipfile.ZipFile(file) as archive:
            return zarr_folder(archive) is not None
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def _is_npz(source: ByteSource, start: bytes) -> bool:
    """Whether a zip archive contains arrays (by its directory at the end), or nothing at all."""
    if not start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return False
    size = source.identity.size
    end = source.read_at(max(size - _DIRECTORY, 0), _DIRECTORY)
    return b".npy" in end or size < _EMPTY


def _is_table(source: ByteSource, start: bytes) -> bool:
    from icecore.sources.tables import matches

    return matches(source, start)


def _is_references(source: ByteSource, start: bytes) -> bool:
    """Whether a file is JSON with a Zarr store whose chunks are references into other files."""
    if start.startswith(HDF5):
        return False  # as most files are: what follows takes longer to import than they to be opened
    from icecore.sources.files.archives import FAULTS, SMALLER, content

    if start.startswith(SMALLER) and not is_remote(source.identity.url):
        try:
            start = content(local_path(source.identity.url), _DIRECTORY)
        except (errors.Error, *FAULTS):
            return False
    elif start.lstrip().startswith(b"{"):
        start = source.read_at(0, _DIRECTORY)
    return start.lstrip().startswith(b"{") and _REFERENCES.search(start) is not None


def _is_dmrpp(source: ByteSource, start: bytes) -> bool:
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return False
    return b"xmlns:dmrpp=" in source.read_at(0, 1 << 12)


def _is_votable(source: ByteSource, start: bytes) -> bool:
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return False
    from icecore.sources.votable import matches

    return matches(source, start)


def _starts(*signatures: bytes) -> Callable[[ByteSource, bytes], bool]:
    return lambda _source, start: start.startswith(signatures)


def is_frames(path: str) -> bool:
    """Whether a file holds frames: a missing one (as files in lists may be) and a remote one by its name."""
    if is_remote(path):
        return urlsplit(path).path.endswith(".gwf")
    if os.path.exists(path) and not os.path.isfile(path):
        return False  # opening a pipe would wait for its writer
    try:
        with builtins.open(path, "rb") as file:
            return file.read(len(GWF)) == GWF
    except FileNotFoundError:
        return path.endswith(".gwf")
    except OSError:
        return False


def _is_zarr_folder(path: str) -> bool:
    return any(os.path.isfile(os.path.join(path, name)) for name in ZARR)


def _is_remote_zarr(address: str) -> bool:
    """Whether a bucket's prefix or a web server's folder has metadata of Zarr."""
    return address.endswith(_FOLDERS) and any(_has(f"{address.rstrip('/')}/{name}") for name in ZARR)


def _has(address: str) -> bool:
    try:
        return whole(address).lstrip().startswith(b"{")
    except errors.Error as error:
        if error.kind in ("source-missing", "permission", "format"):
            return False
        raise


def _is_parquet_folder(path: str) -> bool:
    try:
        with builtins.open(os.path.join(path, ".zmetadata"), "rb") as file:
            return _is_parquet(file.read())
    except OSError:
        return False


def _is_remote_parquet(address: str) -> bool:
    """Whether a bucket's prefix or a web server's folder has references in Parquet."""
    if not address.endswith(_FOLDERS):
        return False
    try:
        return _is_parquet(whole(f"{address.rstrip('/')}/.zmetadata"))
    except errors.Error:
        return False


def _is_parquet(zmetadata: bytes) -> bool:
    """Whether the metadata of a folder are those of references in Parquet."""
    try:
        metadata = json.loads(zmetadata)
    except (ValueError, RecursionError):
        return False
    return isinstance(metadata, dict) and "record_size" in metadata


FORMATS = [
    Format("netCDF-3", "icecore.sources.netcdf3", _starts(*NETCDF3)),
    Format("NumPy .npy", "icecore.sources.numpy.npy", _starts(NPY)),
    Format("Zarr in a zip archive", "icecore.sources.zarr.store", _is_zarr_zip),
    Format("NumPy .npz", "icecore.sources.numpy.npz", _is_npz),
    Format(
        "gravitational-wave frames (GWF)",
        "icecore.sources.gwf",
        _starts(GWF),
        joined=lambda path: "/" if is_frames(path) else "",
        lists=(".cache", ".lcf", ".ffl"),  # LAL caches and FFL
    ),
    Format("kerchunk references", "icecore.sources.kerchunk", _is_references),
    Format("DMR++", "icecore.sources.dmrpp", _is_dmrpp),
    Format(
        "ROOT",
        "icecore.sources.root",
        lambda _, start: is_root(start),
        options=("allow_missing", "copies", "keep_going", "wanted"),
        has_trees=True,
        joined=lambda address: trees.split(address)[1],
        least=2,
    ),
    # After the others: the signature may follow a user block of any size.
    Format("HDF5 or netCDF-4", "icecore.sources.hdf5", _is_hdf5),
    Format("a VOTable", "icecore.sources.votable", _is_votable),
    Format("table (PDS3, PDS4, CSV, also zipped)", "icecore.sources.tables", _is_table),
    Format(
        "Zarr folder",
        "icecore.sources.zarr.store",
        is_folder=_is_zarr_folder,
        is_remote_folder=_is_remote_zarr,
    ),
    Format(
        "kerchunk references in Parquet",
        "icecore.sources.kerchunk",
        is_folder=_is_parquet_folder,
        is_remote_folder=_is_remote_parquet,
    ),
]


def format_of(source: str) -> Format | None:
    """Return the format of a file or URL by its content; None if it is unknown."""
    data = open_bytes(source)
    try:
        start = data.read_at(0, 16)
        return next((row for row in FORMATS if row.matches(data, start)), None)
    finally:
        data.close()


def folder_format(path: str) -> Format | None:
    """Return the format of a directory that is one source; None for other directories, and for files."""
    return next((row for row in FORMATS if row.is_folder is not None and row.is_folder(path)), None)


def remote_folder_format(address: str) -> Format | None:
    """Return the format of a bucket's prefix or a web server's folder."""
    return next((row for row in FORMATS if row.is_remote_folder and row.is_remote_folder(address)), None)


def list_format(path: str) -> Format | None:
    """Return the format whose lists of files have the suffix of ``path``."""
    return next((row for row in FORMATS if row.lists and path.lower().endswith(row.lists)), None)


def known_formats() -> str:
    """Return the names of all formats."""
    return ", ".join(row.name for row in FORMATS)
