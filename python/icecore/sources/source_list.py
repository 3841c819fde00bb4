"""Expand the sources that a user names: files, directories, globs, lists, URLs."""

from __future__ import annotations

import glob
import os
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from shlex import quote
from urllib.parse import urlsplit

from icecore import errors
from icecore.repository import address
from icecore.repository.nodes import suggestion
from icecore.sources import catalogs
from icecore.sources.files import object_stores, pelican, web_folders
from icecore.sources.files import tree_address as trees
from icecore.sources.files.byte_source import open_file
from icecore.sources.files.identity import is_remote, local_path, named_by
from icecore.sources.formats import (
    Format,
    folder_format,
    format_of,
    known_formats,
    list_format,
    remote_folder_format,
)

#: largest number of names that are searched for a similar one; more would take too long per missing file
_FEW = 500
#: number of concurrent requests
_ASKED = 16
_XROOTD = ("root", "roots", "xroot", "xroots")


def expand(source: str | os.PathLike[str]) -> list[str]:
    """Return the files that a source argument names, sorted.

    It may be a file, a directory (every file of a known format below it that is not in a repository), a glob,
    ``@list.txt`` (one source per line, relative to the list), an http(s) URL, a pattern or directory on a web
    server, an object or a glob of objects (``s3://bucket/*.h5``), a Zarr store, or a question to a
    catalogue (``cmr:ATL03?bbox=…``).

    Raises:
        Error: ``source-missing`` if nothing matches, ``format`` for a repository; kinds of
            :func:`icecore.sources.catalogs.find`.
    """
    source = os.fspath(source)
    if catalogs.is_search(source) and not os.path.exists(source):
        found = catalogs.urls(source)
        for url in found:
            object_stores.grant(url, source)  # options of the call, for buckets only
        return [pelican.address(url) if pelican.is_federation(url) else local_path(url) for url in found]
    if pelican.is_federation(source):
        return [pelican.address(source)]
    if object_stores.is_object(source) and glob.has_magic(source):
        return object_stores.matching(source)
    source = local_path(source)
    if is_remote(source):
        return _on_server(source)
    if source.startswith("~") and not os.path.exists(source):
        source = os.path.expanduser(source)  # shells do not expand it between quotes
    if (names := listed(source)) is not None:
        return [path for name in names for path in expand(name)]
    if os.path.isdir(source):
        return [source] if folder_format(source) else _from_folder(source)
    if (row := list_format(source)) is not None and os.path.isfile(source):
        return _listed(row, source)
    if os.path.exists(source):
        return [source]
    pattern, tree = trees.split(source)
    if tree and trees.files(pattern):
        return [source]  # one tree, in one file or in all files of a pattern
    if glob.has_magic(source):
        found = sorted(
            path for path in glob.glob(source, recursive=True) if os.path.isfile(path) or folder_format(path)
        )
        if found:
            return found
        raise errors.make(
            "source-missing", f"nothing matches {source}", "quote the pattern and check the folder"
        )
    scheme, is_url, _ = source.partition("://")
    if is_url:
        raise errors.make(
            "unsupported",
            f"{source}: files can't be linked or packed from {scheme}://",
            "give an address on http(s)://, s3://, gs://, az:// or osdf://, or download it"
            + ("; most XRootD servers answer https, too" if scheme in _XROOTD else ""),
        )
    raise errors.make("source-missing", f"no file at {source}", _beside(source))


def _on_server(source: str) -> list[str]:
    """Return the files that a URL names: itself, or those of a directory or a pattern."""
    if (row := list_format(urlsplit(source).path)) is not None:
        return _listed(row, source)
    if object_stores.is_object(source):
        return [source]
    pattern, tree = trees.split(source)
    if web_folders.is_pattern(pattern):
        return [f"{url}:{tree}" if tree else url for url in web_folders.matching(pattern)]
    if not web_folders.is_folder(source) or remote_folder_format(source) is not None:
        return [source]
    urls = web_folders.files_below(source)
    with ThreadPoolExecutor(_ASKED) as pool:
        found = [url for url, known in zip(urls, pool.map(_is_known, urls), strict=True) if known]
    if not found:
        raise errors.make(
            "source-missing", f"no file of a known format below {source}", f"known: {known_formats()}"
        )
    return found


def _is_known(url: str) -> bool:
    """Whether a file on a server has a known format, or can't be opened, which is reported later.

    Links of a page that lead to no file are not files of the directory.
    """
    try:
        return format_of(url) is not None
    except errors.Error as error:
        return error.kind != "source-missing"


def _beside(source: str) -> str:
    """Return a hint for a missing file: files with similar names in its directory."""
    if os.path.islink(source):
        return f"it is a link to {os.readlink(source)}, where nothing is"
    folder, name = os.path.split(source)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return f"check the path: the directory {folder} does not exist"
    return suggestion(name, names if len(names) <= _FEW else (), "check the path")


def listed(source: str) -> list[str] | None:
    """Return the sources in the list ``@list.txt``, one per line; None for another argument.

    ``@list.txt:Events`` names the tree of all files in the list.

    Raises:
        Error: ``source-missing`` if the list can't be read or is empty.
    """
    if not source.startswith("@") or os.path.exists(source):
        return None
    path, tree = source[1:], ""
    # The colon of a host and its port comes before the last slash.
    if ":" in (path.rpartition("/")[2] if is_remote(path) else path) and not os.path.exists(path):
        path, _, tree = path.rpartition(":")
    try:
        with open_file(path) as file:
            lines = [line.strip() for line in file.read().decode("utf-8-sig").splitlines()]
    except errors.Error:
        raise
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"can't read the list {path}: {reason}"
        raise errors.make("source-missing", message, "@ names a file with one source per line") from error
    if (row := list_format(path)) is not None:
        return _listed(row, path)
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise errors.make("source-missing", f"the list {path} names no source", "one source per line")
    base = os.path.dirname(path)
    if tree:
        names = [f"{name}:{tree}" for name in names]
    if is_remote(path):
        return [named_by(path, name) for name in names]
    return [name if "://" in name or name.startswith("~") else os.path.join(base, name) for name in names]


def _listed(row: Format, path: str) -> list[str]:
    found: list[str] = import_module(row.module).listed(path)
    return found


def _from_folder(folder: str) -> list[str]:
    if address.holds_repository(folder):
        message = f"{folder} is a repository; what it holds can't be linked"
        raise errors.make("format", message, f"icecore pack {quote(folder)} takes what it holds")
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        stores = [name for name in folders if folder_format(os.path.join(root, name))]
        # Some of their files look like tables.
        inside = [name for name in folders if address.holds_repository(os.path.join(root, name))]
        folders[:] = sorted(set(folders) - set(stores) - set(inside))
        found += [os.path.join(root, name) for name in stores]
        for name in files:
            path = os.path.join(root, name)
            if os.path.isfile(path) and os.access(path, os.R_OK) and format_of(path) is not None:
                found.append(path)
    if not found:
        raise errors.make(
            "source-missing", f"no file of a known format below {folder}", f"known: {known_formats()}"
        )
    return sorted(found)
