"""References in Parquet: files ``refs.0.parq``, ``refs.1.parq``, … per array, with chunks in C order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from math import prod
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from icecore import errors
from icecore.sources.files import object_stores
from icecore.sources.files.byte_source import whole
from icecore.sources.files.identity import is_remote
from icecore.sources.kerchunk.reference_columns import WHOLE, Columns, plain, wrong

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
