"""Zarr v2 and v3, folders and zip archives, through zarr-python (the ``zarr`` extra)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute, to_json
from icecore.repository.nodes import hidden
from icecore.repository.zarr_dtypes import ZSTD, copy_codecs, data_type, fill_json
from icecore.sources.files import zip_directory
from icecore.sources.files.identity import is_remote
from icecore.sources.files.open_files import keep_open
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Region, damage, default_chunks
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.sources.zarr import chunk_links, metadata_repair
from icecore.sources.zarr.containers import Archive, Server, container
from icecore.sources.zarr.metadata_repair import is_odd

_STAMPS = count()
_DIMENSIONS = "_ARRAY_DIMENSIONS"
#: arrays of fewer chunks are read as a whole, which costs no more than to look for their names
_MANY = 256
#: ``0.1`` and ``0/1`` (version 2), ``c/0/1`` and ``c.0.1`` (version 3)
_CHUNK = re.compile(r"(?:c[./])?\d+(?:[./]\d+)*")
_NUMBER = re.compile(r"\d+")
#: what zarr-python says of data types, chunk grids, key encodings and extensions that it doesn't know
_UNKNOWN = re.compile(r"No Zarr data type found|^Unknown |storage transformers|disallowed extra fields")

#: where zarr-python names what brings a codec
_PACKAGE = re.compile(r"Known packages supporting this codec: ([\w.\[\]-]+\w\]?)")


def open(source: str) -> ArrayMap:
    """Index a Zarr folder or zip archive: every group and array below it.

    Arrays below the root that are damaged are in the map's ``failed``.

    Raises:
        Error: ``unsupported`` without zarr-python, or where it has no codec or type for an array that is all
            there is; ``corrupt`` where it can't make sense of the store's root.
    """
    with keep_open():  # an archive: its directory is read once for all arrays
        return _indexed(source)


def _indexed(source: str) -> ArrayMap:
    zarr = _zarr()
    top, stamp = "", next(_STAMPS)
    try:
        stored = container(source, stamp)
        if isinstance(stored, Archive):
            with stored.opened() as archive:
                zip_directory.check_methods(source, archive.infolist())
                if not is_remote(source):  # a request for each member
                    zip_directory.check_directory(archive)
                top = zip_directory.zarr_folder(archive) or ""
        root, members, unknown, failed = _members(source, top, stamp)
    except errors.Error:
        raise
    except Exception as error:  # zarr-python and its codecs raise anything on a broken store
        if is_unknown(error):
            hint = _remedy(error) or "install the package that has it"
            raise errors.make("unsupported", f"{source}: {reason(error)}", hint) from error
        raise _broken(source, error) from error
    result = ArrayMap(source, dropped=unknown, failed=failed)
    result.groups["/"] = to_json(metadata_repair.plain(root.attrs)) if isinstance(root, zarr.Group) else {}
    if isinstance(root, zarr.Array):
        members = [(source.rstrip("/").rsplit("/", 1)[-1].removesuffix(".zip").removesuffix(".zarr"), root)]
    for name, node in sorted(members, key=lambda item: item[0]):
        if isinstance(node, zarr.Group):
            result.groups[f"/{name}"] = to_json(metadata_repair.plain(node.attrs))
            continue
        try:
            path = top if node is root else f"{top}/{name}".lstrip("/")
            reader = ZarrReader(source, path, stamp, dtype_of(node))
            entry = entry_of(f"/{name}", node, reader)
        except errors.Error as error:
            result.dropped.append(Note(f"/{name}", "unsupported", error.message))
            continue
        chunk_links.link(entry, node, stored, path)
        if isinstance(stored, Archive):
            entry.check = partial(_check_members, stored, reader.path)
        result.add(entry)
    return result


def _members(
    source: str, top: str, stamp: Hashable
) -> tuple[Any, list[tuple[str, Any]], list[Note], list[errors.Error]]:
    """The node at ``top``, those below it by name, those that are left out (what zarr-python has nothing for,
    names that icecore keeps for itself), and those that are damaged.

    The store's files count: its consolidated metadata may be older.
    """
    zarr = _zarr()
    store = _store(source, stamp)
    root = node_at(store, top, use_consolidated=False)
    if not isinstance(root, zarr.Group):
        return root, [], [], []
    try:
        found = dict(root.members(max_depth=None, use_consolidated_for_children=False))
        found = {name: node for name, node in found.items() if not _is_odd(node)}
        for node in found.values():
            _check(node)
    except Exception:  # one bad node costs zarr-python the list of all
        found = {}
    members, unknown, failed = [], [], []
    for name in sorted({*found, *container(source, stamp).folders(top), *_consolidated(store, top)}):
        try:
            if hidden(name):
                unknown.append(Note(f"/{name}", "name", "icecore keeps this name for itself"))
                continue
            path = f"{top}/{name}".lstrip("/")
            node = found[name] if name in found else node_at(store, path, use_consolidated=False)
            members.append((name, node))
        except errors.Error as error:
            failed.append(errors.make(error.kind, f"{source}:/{name}: {error.message}", error.hint))
        except Exception as error:
            if is_unknown(error):
                remedy = _remedy(error)
                unknown.append(Note(f"/{name}", "unsupported", f"{reason(error)}{remedy and f' ({remedy})'}"))
            else:
                failed.append(damage(f"{source}:/{name}: {reason(error)}"))
    return root, members, unknown, failed


def _is_odd(node: Any) -> bool:
    return hasattr(node, "shape") and is_odd(node.metadata)


def _consolidated(store: Any, top: str) -> list[str]:
    """The arrays that the store's consolidated metadata name: they should be there."""
    try:
        metadata = node_at(store, top).metadata.consolidated_metadata.flattened_metadata
    except Exception:  # none, or such as can't be read: then they can't be missed
        return []
    return [name for name, each in metadata.items() if hasattr(each, "shape")]


def _check(node: Any) -> None:
    """Reject metadata that zarr-python accepts: storage transformers (it can't open such arrays), and, before
    version 3.2, attributes that are not a mapping.
    """
    if getattr(node.metadata, "storage_transformers", ()):
        raise ValueError("storage transformers")
    if not isinstance(node.metadata.attributes, dict):
        raise TypeError(f"attributes that are {node.metadata.attributes!r}, not names and values")
    for codec in getattr(node.metadata, "codecs", ()):
        _check_codec(codec)


def _check_codec(codec: Any) -> None:
    """In version 3 zarr-python looks for codecs of numcodecs only when it reads a chunk."""
    getattr(codec, "_codec", None)
    for inner in getattr(codec, "codecs", ()):  # of a shard
        _check_codec(inner)


def dtype_of(array: Any) -> np.dtype:
    """The dtype that an array of zarr-python is read as."""
    return np.dtype(object) if array.dtype.kind in "OT" else np.dtype(array.dtype).newbyteorder("=")


def entry_of(path: str, array: Any, reader: ZarrReader) -> ArrayEntry:
    """The entry, to be copied, of an array of zarr-python.

    Raises:
        Error: ``dtype`` for a type that Zarr v3 has no name for.
    """
    metadata = array.metadata
    attrs = dict(array.attrs)
    declared = metadata.to_dict().get("data_type")
    if metadata.zarr_format == 2:
        dims = _dimensions(attrs, array.ndim)
        if None in dims:
            dims = metadata_repair.dimensions(attrs, array.ndim) or dims
        kind = None
        # In version 2 xarray keeps _FillValue in the array's fill value.
        if array.fill_value is not None and "_FillValue" not in attrs:
            value = fill_attribute(array.fill_value, np.dtype(array.dtype))
            attrs.update({} if value is None else {"_FillValue": value})
    else:
        dims = tuple(metadata.dimension_names or (None,) * array.ndim)
        kind = declared
    shape, chunks = tuple(int(n) for n in array.shape), _chunks(array)
    if metadata_repair.is_scalar(attrs, dims, shape):
        shape, dims, chunks = (), (), ()
    dtype = reader.dtype
    binary = kind == "variable_length_bytes" or _is_of_bytes(metadata)
    return ArrayEntry(
        path=path,
        shape=shape,
        dims=dims,
        data_type="variable_length_bytes" if binary else data_type(dtype),
        dtype=dtype,
        chunks=chunks,
        codecs=[{"name": "vlen-bytes", "configuration": {}}, dict(ZSTD)] if binary else copy_codecs(dtype),
        fill_value="" if binary else fill_json(array.fill_value, dtype),
        attrs=to_json(metadata_repair.plain(attrs)),
        attr_types=metadata_repair.attribute_types(attrs),
        read=reader,
        held=partial(_held, reader, array),
        note="already Zarr: pack it, or open it as it is",
    )


def _is_of_bytes(metadata: Any) -> bool:
    """Whether version 2 stores bytes of any length; its dtype is the same as for strings."""
    ids = [getattr(each, "codec_id", "") for each in getattr(metadata, "filters", None) or ()]
    return "vlen-bytes" in ids


def _dimensions(attrs: dict[str, Any], ndim: int) -> tuple[str | None, ...]:
    """The names of axes that xarray keeps in an attribute of version 2, taken out of ``attrs``; an attribute
    with other content stays there.
    """
    names = attrs.get(_DIMENSIONS)
    if not isinstance(names, list) or len(names) != ndim or not all(isinstance(name, str) for name in names):
        return (None,) * ndim
    del attrs[_DIMENSIONS]
    return tuple(names)


def _chunks(array: Any) -> tuple[int, ...]:
    try:
        chunks = tuple(int(n) for n in (array.shards or array.chunks))
    except NotImplementedError:  # a rectilinear grid
        return default_chunks(array.shape, array.dtype.itemsize)
    return tuple(max(n, 1) for n in chunks)


def _store(source: str, stamp: Hashable) -> Any:
    """What zarr-python opens for a source; the directory of an archive is read once for all arrays."""
    return _opened(source, stamp)


@lru_cache(maxsize=8)
def _opened(source: str, stamp: Hashable) -> Any:
    return container(source, stamp).store()


@dataclass(frozen=True)
class ZarrReader:
    """Reads regions of one array of a store through zarr-python; ``stamp`` tells apart the times at which the
    store was indexed, as it may have been written anew since. ``store`` makes of both what zarr-python opens.
    """

    source: str
    path: str
    stamp: Hashable
    dtype: np.dtype
    store: Callable[[str, Any], Any] = _store

    def __call__(self, region: Region) -> np.ndarray:
        """The elements of ``region``, C-contiguous, in native byte order."""
        try:
            values = np.asarray(_array(self.store, self.source, self.path, self.stamp)[region])
            return np.ascontiguousarray(values.astype(self.dtype, copy=False)).reshape(
                [s.stop - s.start for s in region]
            )
        except errors.Error:
            raise
        except Exception as error:  # zarr-python and its codecs raise anything on a broken store
            name = f"{self.source}:{self.path}" if self.path else self.source
            raise _broken(name, error) from error


def _held(reader: ZarrReader, array: Any) -> StoredChunks | None:
    """The chunks (shards) that the store has objects for, by their names."""
    try:
        unit = tuple(int(n) for n in (array.shards or array.chunks))
    except NotImplementedError:  # a rectilinear grid
        return None
    counts = [-(-n // max(c, 1)) for n, c in zip(array.shape, unit, strict=True)]
    if prod(counts) < _MANY:
        return None
    stored = container(reader.source, reader.stamp)
    if isinstance(stored, Server) and not stored.has_names():
        return None
    flats = []
    for name in stored.names(reader.path):
        index = [int(part) for part in _NUMBER.findall(name)]
        if _CHUNK.fullmatch(name) and len(index) == len(counts):
            flats.append(sum(i * prod(counts[axis + 1 :]) for axis, i in enumerate(index)))
    return StoredChunks(tuple(array.shape), unit, np.array(flats, "u8"))


def _check_members(stored: Archive, path: str) -> None:
    """Zarr-python reads parts of shards; an archive has no checksum for them."""
    try:
        with stored.opened() as archive:
            for name in archive.below(path):
                zip_directory.check_member(archive, name)
    except zip_directory.FAULTS as error:
        raise errors.make("corrupt", f"{stored.source}:{path}: {error}", "test it with unzip -t") from error


@lru_cache(maxsize=64)
def _array(store: Callable[[str, Any], Any], source: str, path: str, stamp: Hashable) -> Any:
    return node_at(store(source, stamp), path)


def node_at(store: Any, path: str, **how: Any) -> Any:
    """The group or array at ``path`` of a store of zarr-python, or of a folder."""
    zarr = _zarr()
    try:
        node = zarr.open(store, path=path, mode="r", **how)
        odd = hasattr(node, "shape") and is_odd(node.metadata)
    except (TypeError, ValueError):  # of a fill value or a data type, among others
        odd = True
    if odd:
        from icecore.sources.zarr.metadata_repair import Repaired

        node = zarr.open(Repaired(store), path=path, mode="r", **how)
    _check(node)
    return node


def _zarr() -> Any:
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise errors.needs("zarr", "Zarr stores need the package zarr") from error
    zarr.config.set({"array.rectilinear_chunks": True})
    return zarr


def is_unknown(error: Exception) -> bool:
    """Whether, when a node was opened, it named what zarr-python has nothing for. Of plain ValueErrors, which
    it also raises on invalid values, only their text says so.
    """
    return type(error).__name__ == "UnknownCodecError" or _UNKNOWN.search(str(error)) is not None


def reason(error: Exception) -> str:
    """What zarr-python said."""
    # without zarr-python's advice to its developers
    said = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
    return f"zarr-python can't read it: {said}"


def _remedy(error: Exception) -> str:
    """What brings the codec that zarr-python lacks, where it says so."""
    package = _PACKAGE.search(str(error))
    return f"pip install '{package[1]}'" if package else ""


def _broken(name: str, error: Exception) -> errors.Error:
    return errors.make("corrupt", f"{name}: {reason(error)}", "open it with zarr.open to see more")
