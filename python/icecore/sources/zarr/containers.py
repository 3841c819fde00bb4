"""Where a Zarr store is: a directory, a zip archive, a bucket's prefix or a directory of a web server.

Each kind tells zarr-python's store, the names of its objects, and the place of each object's bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from itertools import product
from typing import IO, Any, Protocol
from urllib.parse import quote
from zipfile import ZIP_STORED

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.sources.files import object_stores, web_folders, zip_directory
from icecore.sources.files.byte_source import open_bytes, open_file, whole
from icecore.sources.files.identity import Identity, identity, is_remote
from icecore.sources.files.open_files import shared

#: names of documents of metadata
DOCUMENTS = (*zip_directory.ZARR, ".zattrs", ".zmetadata")
#: concurrent requests
_ASKED = 16
#: most chunks that a web server, which has no list, is asked for by name
PROBED = 10_000
#: file or URL, its identity, offset and length of an object in it
Place = tuple[str, Identity, int, int]


class Container(Protocol):
    """A store's objects."""

    def store(self) -> Any:
        """Return what zarr-python opens."""

    def folders(self, top: str) -> Iterable[str]:
        """Return the paths below ``top`` that have metadata of a node."""

    def names(self, path: str) -> Iterable[str]:
        """Return the names of the objects below an array, relative to it."""

    def places(self, path: str, names: list[str]) -> dict[str, Place] | str:
        """Return the places of objects that exist, or why their bytes can't be linked."""


@lru_cache(maxsize=8)
def container(source: str, _stamp: Hashable) -> Container:
    """Return the container at a path or address, as it was when it was indexed with this stamp."""
    if is_remote(source):
        return Server(source) if source.endswith("/") else Archive(source)
    return Archive(source) if os.path.isfile(source) else Folder(source)


class Folder:
    """A directory."""

    def __init__(self, source: str) -> None:
        self.source = source

    def store(self) -> Any:
        return self.source

    def folders(self, _top: str) -> Iterator[str]:
        for folder, below, files in os.walk(self.source):
            inside = os.path.relpath(folder, self.source).replace(os.sep, "/")
            if inside != "." and not set(zip_directory.ZARR).isdisjoint(files):
                yield inside
            if _is_array(folder, files):
                below.clear()  # nothing but chunks

    def names(self, path: str) -> Iterator[str]:
        top = os.path.join(self.source, path) if path else self.source
        for folder, _, files in os.walk(top):
            inside = os.path.relpath(folder, top).replace(os.sep, "/")
            yield from (file if inside == "." else f"{inside}/{file}" for file in files)

    def places(self, path: str, names: list[str]) -> dict[str, Place]:
        found = {}
        for name in names:
            file = os.path.join(self.source, path, *name.split("/"))
            found[name] = (file, known := identity(file), 0, known.size)
        return found


def _is_array(folder: str, files: list[str]) -> bool:
    if "zarr.json" not in files:
        return ".zarray" in files
    with open(os.path.join(folder, "zarr.json"), "rb") as file:
        return _is_array_document(file.read())


def _is_array_document(text: bytes) -> bool:
    try:
        return bool(json.loads(text)["node_type"] == "array")
    except (ValueError, KeyError, TypeError):  # damaged: there may be nodes below it
        return False


class Archive:
    """A zip archive, on disk or on a server."""

    def __init__(self, source: str) -> None:
        self.source = source

    def opened(self) -> AbstractContextManager[zip_directory.Archive]:
        """Open the archive, or take the one that is open."""
        return shared(self.source, identity(self.source), lambda name: zip_directory.Archive(file_of(name)))

    def store(self) -> Any:
        if not is_remote(self.source):
            from zarr.storage import ZipStore

            return ZipStore(self.source, mode="r")
        with self.opened() as archive:
            return _memory(Objects(archive.namelist(), archive.read))

    def folders(self, top: str) -> Iterator[str]:
        parts = (name.rpartition("/") for name in self.names(top))
        yield from {folder for folder, _, file in parts if folder and file in zip_directory.ZARR}

    def names(self, path: str) -> Iterator[str]:
        below = f"{path}/" if path else ""
        with self.opened() as archive:
            yield from (name[len(below) :] for name in archive.below(path))

    def places(self, path: str, names: list[str]) -> dict[str, Place] | str:
        data = open_bytes(self.source)
        try:
            with self.opened() as archive:
                found = {}
                for name in names:
                    member = archive.getinfo(f"{path}/{name}" if path else name)
                    if member.compress_type != ZIP_STORED:
                        return "compressed in the archive: repack it with zip -0"
                    offset = zip_directory.data_offset(data, member, f"{self.source}:{member.filename}")
                    found[name] = (self.source, data.identity, offset, member.file_size)
                return found
        finally:
            data.close()


def file_of(source: str) -> str | IO[bytes]:
    """Return what :mod:`zipfile` opens."""
    return open_file(source) if is_remote(source) else source


class Server:
    """A prefix of a bucket, or a directory of a web server; its address ends with ``/``."""

    def __init__(self, source: str) -> None:
        self.source = source

    def store(self) -> Any:
        return _memory(Objects(self._documents, lambda key: whole(self._url(key))))

    def folders(self, top: str) -> Iterator[str]:
        parts = (name.rpartition("/") for name in self._documents)
        yield from {folder for folder, _, file in parts if folder and file in zip_directory.ZARR}

    def names(self, path: str) -> Iterator[str]:
        below = f"{path}/" if path else ""
        if self._keys is None:
            raise errors.make(
                "unsupported", f"{self.source} has no list of its objects", "put it into a bucket"
            )
        yield from (name[len(below) :] for name in self._keys if name.startswith(below))

    def places(self, path: str, names: list[str]) -> dict[str, Place] | str:
        urls = [self._url(f"{path}/{name}" if path else name) for name in names]
        with ThreadPoolExecutor(_ASKED) as pool:
            known = list(pool.map(_identity, urls))
        return {
            name: (url, each, 0, each.size)
            for name, url, each in zip(names, urls, known, strict=True)
            if each is not None
        }

    def has_names(self) -> bool:
        """Whether the server lists its objects."""
        return self._keys is not None

    def _url(self, key: str) -> str:
        return self.source + quote(key)

    @cached_property
    def _keys(self) -> list[str] | None:
        """The names of all objects; None if there is no list."""
        if object_stores.is_object(self.source):
            return object_stores.keys_below(self.source)
        return None

    @cached_property
    def _documents(self) -> list[str]:
        """The names of the documents of metadata: by the list of objects, the consolidated metadata, or the
        pages of directories.
        """
        if self._keys is not None:
            return [key for key in self._keys if key.rpartition("/")[2] in DOCUMENTS]
        return [*_consolidated(self.source)] or [*_on_pages(self.source, "")]


def _identity(url: str) -> Identity | None:
    try:
        return identity(url)
    except errors.Error as error:
        if error.kind == "source-missing":
            return None
        raise


def _consolidated(source: str) -> Iterator[str]:
    """Yield the documents that consolidated metadata name, and those of the root."""
    for name, parts in ((".zmetadata", ("metadata",)), ("zarr.json", ("consolidated_metadata", "metadata"))):
        try:
            document = json.loads(whole(source + name))
            for part in parts:
                document = document[part]
        except (errors.Error, ValueError, TypeError, KeyError):
            continue
        if name == ".zmetadata":
            yield from (name, *document)
        else:
            yield from ("zarr.json", *(f"{path}/zarr.json" for path in document))
        return


def _on_pages(source: str, folder: str) -> Iterator[str]:
    """Yield the documents that the pages of directories list."""
    try:
        names = [url[len(source) + len(folder) :] for url in web_folders.listing(source + folder)]
    except errors.Error:  # no page: only what is at the root can be found
        names = [] if folder else [name for name in zip_directory.ZARR if _identity(source + name)]
    documents = [name for name in names if name in DOCUMENTS]
    yield from (folder + name for name in documents)
    if ".zarray" in documents:
        return
    if "zarr.json" in documents and _is_array_document(whole(f"{source}{folder}zarr.json")):
        return
    for name in names:
        if name.endswith("/"):
            yield from _on_pages(source, folder + name)


class Objects(MutableMapping[str, Any]):
    """Read-only objects by name for zarr-python; names that are not listed are asked for."""

    def __init__(self, names: Iterable[str], get: Any) -> None:
        self._names, self._get = list(names), get

    def __getitem__(self, key: str) -> Any:
        from zarr.core.buffer import default_buffer_prototype

        try:
            data = self._get(key)
        except errors.Error as error:
            if error.kind in ("source-missing", "format"):  # not there, or empty
                raise KeyError(key) from error
            raise
        return default_buffer_prototype().buffer.from_bytes(data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __setitem__(self, key: str, value: Any) -> None:
        raise TypeError("read only")

    def __delitem__(self, key: str) -> None:
        raise TypeError("read only")


def _memory(objects: Objects) -> Any:
    from zarr.storage import MemoryStore

    return MemoryStore(objects, read_only=True)


def chunk_names(node: Any, grid: tuple[int, ...]) -> Iterator[str]:
    """Yield the names of all chunks that an array may have."""
    encode = partial(_encoded, node.metadata)
    yield from map(encode, product(*map(range, grid)))


def _encoded(metadata: Any, index: tuple[int, ...]) -> str:
    return str(metadata.encode_chunk_key(index))
