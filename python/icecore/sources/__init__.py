"""Sources: one module per format, and the table that selects the module for a file.

    from icecore.sources import open_source
    from icecore.sources.source_list import expand

    for path in expand("archive/**/*.nc"):
        arrays = open_source(path)          # an ArrayMap

The table, and how to add a format: :mod:`icecore.sources.formats`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from icecore import errors
from icecore.repository import address
from icecore.sources.files import tree_address as trees
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import Identity, file_url, identity, is_remote, local_path
from icecore.sources.files.open_files import keep_open
from icecore.sources.files.signatures import HDF4
from icecore.sources.formats import (
    FORMATS,
    Format,
    folder_format,
    format_of,
    known_formats,
    remote_folder_format,
)
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

#: package → the extra that installs it


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
    if is_remote(source) and (row := remote_folder_format(source)) is not None:
        return row, source.rstrip("/") + "/"
    row = format_of(source)
    if row is None:
        raise _unknown(source)
    return row, source


def _open_tree(pattern: str, tree: str, **options: Any) -> ArrayMap:
    """Open a tree of a file, or of all files that match a pattern as one."""
    row: Format | None = next(row for row in FORMATS if row.has_trees)
    if trees.files(pattern) == [pattern]:
        row = format_of(pattern)
    if row is None or not row.has_trees:
        found = row.name if row is not None else "of no known format"
        raise errors.make("format", f"{pattern} is {found}, it has no tree {tree}", "name ROOT files")
    return _open_as(row, pattern, {"tree": tree}, **options)


def _open_as(
    row: Format, source: str, part: Mapping[str, str] = MappingProxyType({}), **options: Any
) -> ArrayMap:
    options = {name: value for name, value in options.items() if name in row.options}
    try:
        return _checked(import_module(row.module).open(source, **part, **options))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f"{source} is {row.name}, which needs the package {package}"
        raise errors.needs(errors.extra_of(package), message) from error


def _checked(result: ArrayMap) -> ArrayMap:
    for entry in result.arrays.values():
        entry.zarr_json()  # raise now rather than during a commit
    return result


def _unknown(source: str) -> errors.Error:
    from icecore.sources.tables import text_kinds
    from icecore.sources.tables.delimited import is_commented, is_printable
    from icecore.sources.tables.encoding import TO_UTF8, UTF16
    from icecore.sources.tables.preamble import COMMENTED
    from icecore.sources.tables.text_kinds import root_element
    from icecore.sources.tables.text_kinds import xml_refusal as refusal

    data = open_bytes(source)
    try:
        size, start = data.identity.size, data.read_at(0, 1 << 16)
    finally:
        data.close()
    if (root := root_element(start)) is not None:
        return refusal(source, root)
    if is_printable(start) and (known := text_kinds.kind(start)) is not None:
        return text_kinds.refusal(source, known)
    found = f"starts with {start[:8]!r}" if size else "is empty"
    hint = f"known: {known_formats()}"
    if start.startswith(UTF16):
        hint = TO_UTF8
    elif start.startswith(HDF4):
        found, hint = "is HDF4", "make HDF5 of it: h4toh5convert, of the HDF Group's H4toH5 tools"
    elif is_commented(start):
        hint = f"{COMMENTED}, or put a line of names above them if it is a part of their values"
    elif is_printable(start):
        hint += (
            "; a table of text has as many cells in each row, between commas, tabs, semicolons, | or blanks"
        )
    return errors.make("format", f"{source} ({size} bytes) {found}: no known format", hint)
