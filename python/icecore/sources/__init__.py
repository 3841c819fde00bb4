"""Sources: one module per format, and the table that selects the module for a file.

    from icecore.sources import open_source
    from icecore.sources.source_list import expand

    for path in expand("archive/**/*.nc"):
        arrays = open_source(path)          # an ArrayMap

A format is recognised by its content, never by its suffix. To add one: a module with ``open(source,
**options) -> ArrayMap`` and a row in ``FORMATS``.
"""

from __future__ import annotations

import builtins
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from icecore import errors
from icecore.repository import address
from icecore.sources.files import tree_address as trees
from icecore.sources.files.byte_source import ByteSource, open_bytes, whole
from icecore.sources.files.identity import Identity, file_url, identity, is_remote, local_path
from icecore.sources.files.open_files import keep_open
from icecore.sources.files.signatures import GWF, HDF4, HDF5, NETCDF3, NPY, is_root
from icecore.sources.files.zip_directory import ZARR, zarr_folder
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Note

__all__ = [
    "FORMATS",
    "ArrayEntry",
    "ArrayMap",
    "Format",
    "Identity",
    "Links",
    "Note",
    "file_url",
    "format_of",
    "identity",
    "keep_open",
    "open_source",
]

_DIRECTORY, _EMPTY = 1 << 16, 32
#: package → the extra that installs it
#: options of single modules, which others don't accept
_OF_ROOT = ("allow_missing", "wanted", "keep_going")
#: beginnings of reference files: their own keys, or metadata of a Zarr store
_REFERENCES = re.compile(rb'"(refs|gen|([^"\\]*/)?(\.zgroup|\.zarray|\.zattrs|\.zmetadata|zarr\.json))"\s*:')


@dataclass(frozen=True)
class Format:
    """A row of the table: a format's name, its test of the content, and the module that reads it."""

    name: str
    matches: Callable[[ByteSource, bytes], bool]
    module: str


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
    if not start.startswith(b"PK\x03\x04") or is_remote(source.identity.url):
        return False
    import zipfile

    try:
        with zipfile.ZipFile(local_path(source.identity.url)) as archive:
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

    return not is_remote(source.identity.url) and matches(source, start)


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


FORMATS = [
    Format("netCDF-3", _starts(*NETCDF3), "icecore.sources.netcdf3"),
    Format("NumPy .npy", _starts(NPY), "icecore.sources.numpy.npy"),
    Format("Zarr in a zip archive", _is_zarr_zip, "icecore.sources.zarr.store"),
    Format("NumPy .npz", _is_npz, "icecore.sources.numpy.npz"),
    Format("gravitational-wave frames (GWF)", _starts(GWF), "icecore.sources.gwf"),
    Format("kerchunk references", _is_references, "icecore.sources.kerchunk"),
    Format("DMR++", _is_dmrpp, "icecore.sources.dmrpp"),
    Format("ROOT", lambda _, start: is_root(start), "icecore.sources.root"),
    # After the others: the signature may follow a user block of any size.
    Format("HDF5 or netCDF-4", _is_hdf5, "icecore.sources.hdf5"),
    Format("a VOTable", _is_votable, "icecore.sources.votable"),
    Format(
        "table (PDS3, PDS4, CSV, also zipped)",
        _is_table,
        "icecore.sources.tables",
    ),
]
_ROOT = next(row for row in FORMATS if row.name == "ROOT")
# Directories that are one source.
_ZARR = Format("Zarr folder", _starts(), "icecore.sources.zarr.store")
#: ends of addresses that may be folders on a server
_FOLDERS = ("/", ".parq", ".parquet")
_PARQUET = Format("kerchunk references in Parquet", _starts(), "icecore.sources.kerchunk")


def format_of(source: str) -> Format | None:
    """Return the format of a file or URL by its content; None if it is unknown."""
    data = open_bytes(source)
    try:
        start = data.read_at(0, 16)
        return next((row for row in FORMATS if row.matches(data, start)), None)
    finally:
        data.close()


def open_source(source: str | os.PathLike[str], *, keep_going: bool = False, **options: Any) -> ArrayMap:
    """Index one source: a path, a directory that is a Zarr store, or an http(s) URL.

    Options go to the format's module. With ``keep_going``, errors of damaged parts are in the map's
    ``failed`` and are not raised.

    Raises:
        Error: ``source-missing``; ``format`` for an unknown format; any error of the format's module.
    """
    result = _open(source, keep_going=keep_going, **options)
    if result.failed and not keep_going:
        raise errors.or_rest(result.failed[0])
    return result


def _open(source: str | os.PathLike[str], **options: Any) -> ArrayMap:
    source = local_path(os.fspath(source))
    address.readable(os.path.basename(source))
    file, tree = trees.split(source)
    if tree:
        return _open_tree(file, tree, **options)
    if not is_remote(source) and os.path.isdir(source):
        row = folder_format(source)
        if row is None:
            message = f"{source} is a folder, not a file or Zarr store"
            raise errors.make("format", message, "give the files in it, or a glob")
        return _open_as(row, source, **options)
    if not is_remote(source) and os.path.exists(source) and not os.path.isfile(source):
        hint = "write its bytes to a file first: sources are read more than once"
        raise errors.make("format", f"{source} is a pipe or a device, not a file", hint)
    row, source = _row_of(source)
    return _open_as(row, source, **options)


def _row_of(source: str) -> tuple[Format, str]:
    """Return the format of a file or remote folder, and its address, which ends in "/" if it is a folder."""
    folder = source.rstrip("/") + "/"
    if is_remote(source) and source.endswith(_FOLDERS) and is_remote_folder(folder):
        return _PARQUET, folder
    row = format_of(source)
    if row is None:
        raise _unknown(source)
    return row, source


def _open_tree(pattern: str, tree: str, **options: Any) -> ArrayMap:
    """Open a tree of a ROOT file, or of all files that match a pattern as one."""
    if trees.files(pattern) == [pattern]:
        row = format_of(pattern)
        if row is None or row.module != "icecore.sources.root":
            found = row.name if row is not None else "of no known format"
            raise errors.make("format", f"{pattern} is {found}, it has no tree {tree}", "name ROOT files")
    return _open_as(_ROOT, pattern, tree=tree, **options)


def _open_as(row: Format, source: str, **options: Any) -> ArrayMap:
    if row.module != "icecore.sources.root":
        options = {name: value for name, value in options.items() if name not in _OF_ROOT}
    try:
        return _checked(import_module(row.module).open(source, **options))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f"{source} is {row.name}, which needs the package {package}"
        raise errors.needs(errors.extra_of(package), message) from error


def folder_format(path: str) -> Format | None:
    """Return the format of a directory that is one source; None for other directories, and for files."""
    if any(os.path.isfile(os.path.join(path, name)) for name in ZARR):
        return _ZARR
    try:
        with builtins.open(os.path.join(path, ".zmetadata"), "rb") as file:
            return _PARQUET if _is_parquet(file.read()) else None
    except OSError:
        return None


def is_remote_folder(address: str) -> bool:
    """Whether a bucket's prefix or a web server's folder (with "/" at its end) has references in Parquet."""
    try:
        return _is_parquet(whole(f"{address}.zmetadata"))
    except errors.Error:
        return False


def _is_parquet(zmetadata: bytes) -> bool:
    """Whether the metadata of a folder are those of references in Parquet."""
    try:
        metadata = json.loads(zmetadata)
    except (ValueError, RecursionError):
        return False
    return isinstance(metadata, dict) and "record_size" in metadata


def _checked(result: ArrayMap) -> ArrayMap:
    for entry in result.arrays.values():
        entry.zarr_json()  # raise now rather than during a commit
    return result


def known_formats() -> str:
    """Return the names of all formats."""
    return ", ".join(row.name for row in [*FORMATS, _ZARR])


def _unknown(source: str) -> errors.Error:
    from icecore.sources.tables import text_kinds
    from icecore.sources.tables.delimited import is_commented, is_printable
    from icecore.sources.tables.encoding import TO_UTF8, UTF16
    from icecore.sources.tables.preamble import COMMENTED
    from icecore.sources.tables.xml_kind import refusal, root_element

    data = open_bytes(source)
    try:
        size, start = data.identity.size, data.read_at(0, 1 << 16)
    finally:
        data.close()
    if (root := root_element(start)) is not None:
        return refusal(source, root)
    if is_printable(start) and (known := text_kinds.kind(start)) is not None:
        return text_kinds.refusal(source, known)
    if is_remote(source) and (is_printable(start) or is_commented(start) or start.startswith(UTF16)):
        message = (
            f"{source} ({size} bytes) is text: tables of text, and their labels, are read from disk alone"
        )
        raise errors.make("unsupported", message, "download it, with its label, then pack the copy")
    found = f"starts with {start[:8]!r}" if size else "is empty"
    hint = f"known: {known_formats()}"
    if start.startswith(UTF16):
        hint = TO_UTF8
    elif start.startswith(HDF4):
        found, hint = "is HDF4", "make HDF5 of it: h4toh5convert, of the HDF Group's H4toH5 tools"
    elif start.startswith(b"PK") and is_remote(source):
        hint = "download it: of zip archives on a server only .npz is read"
    elif is_commented(start):
        hint = f"{COMMENTED}, or put a line of names above them if it is a part of their values"
    elif is_printable(start):
        hint += (
            "; a table of text has as many cells in each row, between commas, tabs, semicolons, | or blanks"
        )
    return errors.make("format", f"{source} ({size} bytes) {found}: no known format", hint)
