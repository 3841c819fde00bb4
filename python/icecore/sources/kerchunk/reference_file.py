"""Parser for reference files: metadata of a Zarr store, and an address and range (or the bytes) per chunk."""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from icecore import errors
from icecore.sources.files import object_stores
from icecore.sources.files.archives import FAULTS, content
from icecore.sources.files.byte_source import whole
from icecore.sources.files.identity import is_remote
from icecore.sources.files.zip_directory import ZARR

if TYPE_CHECKING:
    import pyarrow as pa

_METADATA = {*ZARR, ".zattrs", ".zmetadata"}
_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_WRITE_OUT = "write its references out: json.dump(fsspec.filesystem('reference', fo=…).references, file)"
#: chunk names in any form
_CHUNK = re.compile(r"c|(?:c[./])?[0-9]+(?:[./][0-9]+)*")


@dataclass
class Refs:
    """A reference file.

    Attributes:
        source: its path or URL.
        nodes: paths of groups and arrays, sorted; the root is ``""``.
        metadata: metadata documents by store key.
        chunks: array → chunk names and their references.
        templates: template name → its value in addresses.
        record: number of chunks per file in a directory of Parquet references; 0 otherwise.
        refused: arrays that are left out, with the reason.
    """

    source: str
    nodes: list[str]
    metadata: dict[str, bytes]
    chunks: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    templates: dict[str, Any] = field(default_factory=dict)
    record: int = 0
    refused: dict[str, errors.Error] = field(default_factory=dict)

    def columns(self, path: str, grid: tuple[int, ...], number: Callable[[str], int | None]) -> Columns:
        """Return the references of the array at ``path``; ``number`` converts chunk names to flat numbers.

        Raises:
            Error: ``corrupt`` if it is invalid, ``unsupported`` for a formula.
        """
        if self.record:
            return recorded(os.path.join(self.source, path), grid, self.record)
        known: dict[str, int] = {}
        rows: list[tuple[int, int, int, int]] = []
        inline: dict[int, bytes] = {}
        taken: dict[int, str] = {}
        unused: list[str] = []
        for name, value in self.chunks.get(path, ()):
            chunk = number(name)
            if chunk is None:
                unused.append(name)
                continue
            if chunk in taken:
                what = f"{taken[chunk]!r} and {name!r} are references to the same chunk"
                raise wrong(f"{self.source}:/{path}", what)
            taken[chunk] = name
            if isinstance(value, (str, dict)):
                inline[chunk] = plain(value)
                continue
            address, offset, length = self._reference(path, name, value)
            rows.append((known.setdefault(address, len(known)), chunk, offset, length))
        ids, chunks, offsets, lengths = np.array(rows, "i8").reshape(len(rows), 4).T
        self._check_unused(path, unused, grid)
        return Columns([*known], ids, chunks, offsets, lengths, inline, unused)

    def _check_unused(self, path: str, unused: list[str], grid: tuple[int, ...]) -> None:
        """Raise ``corrupt`` for chunk references that do not match the array's grid: they would be lost.

        References beyond the array and other files are ignored.
        """
        strange = [name for name in unused if _CHUNK.fullmatch(name) and not _is_beyond(name, grid)]
        if strange:
            chunks = f"{' by '.join(map(str, grid)) or 'one'} chunks"
            message = f"reference {strange[0]!r} fits no chunk of the array, which has {chunks}"
            more = f" ({len(strange):,} such)" if len(strange) > 1 else ""
            raise wrong(f"{self.source}:/{path}", f"{message}{more}")

    def _reference(self, path: str, name: str, value: Any) -> tuple[str, int, int]:
        """Return address, offset and length of one reference."""
        match value:
            case [str() as address]:
                offset, length = 0, WHOLE
            case [str() as address, int() as offset, int() as length] if min(offset, length) >= 0:
                pass
            case _:
                what = "no text, [address] or [address, offset, length]"
                raise wrong(f"{self.source}:/{path}", f"chunk {name} is {json.dumps(value)[:100]}: {what}")
        if "{{" not in address:
            return address, offset, length
        address = _TEMPLATE.sub(lambda match: str(self.templates.get(match[1], match[0])), address)
        if "{{" in address:
            message = f"{self.source}:/{path}: the address {value[0]!r} is a formula"
            raise errors.make("unsupported", message, _WRITE_OUT)
        return address, offset, length


def _is_beyond(name: str, grid: tuple[int, ...]) -> bool:
    """Whether a chunk name has one number per axis, and one of them is too large."""
    parts = [int(part) for part in re.findall("[0-9]+", name)]
    return len(parts) == len(grid) and any(i >= n for i, n in zip(parts, grid, strict=True))


def main_file(source: str) -> str:
    """Return the file that identifies a version of a reference file or directory."""
    return os.path.join(source, ".zmetadata") if is_folder(source) else source


def is_folder(source: str) -> bool:
    """Whether a source is a directory of Parquet references; a remote one has "/" at its end."""
    return source.endswith("/") if is_remote(source) else os.path.isdir(source)


def read(source: str) -> Refs:
    """Read a reference file, or a directory of references.

    Raises:
        Error: ``corrupt`` if it is invalid, ``unsupported`` for formulas.
    """
    document = _document(main_file(source))
    if is_folder(source):
        import pyarrow  # noqa: F401  to say so before anything else where it is missing

        record = document.get("record_size")
        if type(record) is not int or record < 1:
            raise wrong(source, f"{record!r} chunks in each of its files")
        return _of(source, document.get("metadata"), record=record)
    version = document.get("version")
    if version not in (None, 1):
        raise errors.make(
            "unsupported", f"{source}: references of version {version}", "versions 0 and 1 are read"
        )
    if document.get("gen"):
        raise errors.make("unsupported", f"{source}: references that are made by formulas (gen)", _WRITE_OUT)
    return _of(source, document.get("refs", document), document.get("templates") or {})


def _of(source: str, entries: Any, templates: dict[str, Any] | None = None, record: int = 0) -> Refs:
    if not isinstance(entries, dict):
        raise wrong(source, f"its references are {json.dumps(entries)[:50]}, not names and values")
    try:
        metadata = {
            key: plain(value) for key, value in entries.items() if key.rpartition("/")[2] in _METADATA
        }
    except ValueError as error:
        raise wrong(source, f"invalid base64: {error}") from error
    nodes = {key.rpartition("/")[0] for key in metadata if key.rpartition("/")[2] in ZARR}
    result = Refs(source, sorted(nodes), metadata, {}, templates or {}, record)
    for key, value in entries.items():
        if key not in metadata:
            node = key.rpartition("/")[0]
            while node and node not in nodes:
                node = node.rpartition("/")[0]
            result.chunks.setdefault(node, []).append((key[len(node) :].lstrip("/"), value))
    return result


def _document(source: str) -> dict[str, Any]:
    try:
        document = json.loads(whole(source) if is_remote(source) else content(source))
    except (RecursionError, *FAULTS) as error:
        raise wrong(source, f"no JSON: {error}") from error
    if not isinstance(document, dict):
        raise wrong(source, "a list, not names and values")
    return document


# References in Parquet: files ``refs.0.parq``, ``refs.1.parq``, … per array, with chunks in C order.

_PART = re.compile(r"refs\.(0|[1-9]\d{0,17})\.parq")
#: number of concurrent requests
_CONCURRENT = 16
#: largest number of files that are asked for by name
_PROBED = 10_000


def recorded(folder: str, grid: tuple[int, ...], record: int) -> Columns:
    """Return the references of the array whose files are in ``folder``, with ``record`` chunks per file.

    Raises:
        Error: ``corrupt`` if a file is invalid.
    """
    # Only references in Parquet need pyarrow.
    import pyarrow as pa
    from pyarrow import parquet

    known: dict[str, int] = {}
    parts: list[tuple[np.ndarray, ...]] = []
    inline: dict[int, bytes] = {}
    unused: list[str] = []
    count = prod(grid)
    for part, data in _files(folder, -(-count // record)):
        file, first = _file(folder, part), part * record
        try:
            table = parquet.ParquetFile(data).read()
            inside = min(record, max(count - first, 0))
            beyond = table.slice(inside)
            more = len(set(_valid(beyond, "path").tolist()) | set(_valid(beyond, "raw").tolist()))
            unused += [f"{os.path.basename(file)}, row {inside} and later"] * more
            table = table.slice(0, inside)
            raw, there = _inline(table), _valid(table, "path")
            inline.update({first + at: value for at, value in raw.items()})
            there = there[~np.isin(there, [*raw])]
            if not len(there):
                continue
            names = table["path"].cast(pa.string()).take(there).combine_chunks().dictionary_encode()
            offsets, sizes = (np.asarray(table[name])[there].astype("i8") for name in ("offset", "size"))
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise wrong(file, " ".join(str(error).split())) from error
        known_ids = [known.setdefault(name, len(known)) for name in names.dictionary.to_pylist()]
        ids = np.array(known_ids, "i8")[np.asarray(names.indices)]
        whole = (offsets == 0) & (sizes == 0)
        parts.append((ids, there + first, offsets, np.where(whole, WHOLE, sizes)))
    nothing = (np.empty(0, "i8"),) * 4
    ids, chunks, offsets, lengths = (np.concatenate(each) for each in zip(nothing, *parts, strict=True))
    return Columns([*known], ids, chunks, offsets, lengths, inline, unused)


def _file(folder: str, part: int) -> str:
    return os.path.join(folder, f"refs.{part}.parq")


def _files(folder: str, count: int) -> Iterator[tuple[int, str | BinaryIO]]:
    """Yield number and path (remote: content) of each file; missing files have no references."""
    if not is_remote(folder):
        names = os.listdir(folder) if os.path.isdir(folder) else []
        yield from ((part, _file(folder, part)) for part in _numbers(names))
        return
    if object_stores.is_object(folder):
        parts = _numbers(object_stores.names_in(folder))
    elif count > _PROBED:
        message = f"{folder}: it may have {count:,} files of references, and http(s) has no list of them"
        raise errors.make("unsupported", message, "copy the folder, or put it into a bucket")
    else:
        parts = [*range(count)]
    with ThreadPoolExecutor(_CONCURRENT) as pool:
        for part, data in zip(
            parts, pool.map(_content, (_file(folder, part) for part in parts)), strict=True
        ):
            if data is not None:
                yield part, BytesIO(data)


def _numbers(names: list[str]) -> list[int]:
    return sorted(int(match[1]) for match in map(_PART.fullmatch, names) if match)


def _content(url: str) -> bytes | None:
    """Return the content of a remote file; None if it doesn't exist."""
    try:
        return whole(url)
    except errors.Error as error:
        if error.kind == "source-missing":
            return None
        raise


def _valid(table: pa.Table, name: str) -> np.ndarray:
    """Return the rows in which a column is not null."""
    if name not in table.column_names:
        return np.empty(0, "i8")
    return np.flatnonzero(np.asarray(table[name].is_valid()))


def _inline(table: pa.Table) -> dict[int, bytes]:
    rows: dict[int, Any] = {at: table["raw"][at].as_py() for at in _valid(table, "raw").tolist()}
    return {at: plain(value) for at, value in rows.items()}


# References as columns, the common form of both kinds of reference files.

#: length that means a whole file
WHOLE = -1


@dataclass
class Columns:
    """The references of one array, one row per chunk.

    ``ids`` index ``addresses``; ``chunks`` are flat in C order. ``inline`` are the chunks stored in the
    reference file itself. ``unused`` are the names of references to chunks outside the array.
    """

    addresses: list[str]
    ids: np.ndarray
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    inline: dict[int, bytes]
    unused: list[str] = field(default_factory=list)


def plain(value: Any) -> bytes:
    """Decode bytes stored in a reference file: text, base64, or (metadata) JSON."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes):
        return json.dumps(value).encode()
    return b64decode(value[7:], validate=True) if value.startswith(b"base64:") else value


def wrong(name: str, what: str) -> errors.Error:
    """Return the error for invalid references."""
    return errors.make("corrupt", f"{name}: {what}", "write it anew with kerchunk or VirtualiZarr")
