"""NumPy ``.npy`` files, linked in place: raw elements in C or Fortran order."""

from __future__ import annotations

import ast
import os
import re
from math import prod
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import (
    bytes_codec,
    copy_codecs,
    data_type,
    fill_json,
    packed_struct,
    same_bytes,
    subarrays,
)
from icecore.sources.files.byte_source import ByteSource, open_bytes
from icecore.sources.files.identity import Identity, identity, is_remote, unchanged
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, default_chunks
from icecore.sources.mapping.contiguous import Located, contiguous, grid_of
from icecore.sources.mapping.raw_read import RawReader

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 1 << 20
#: Python 2 wrote large lengths as ``10L``
_LONG = re.compile(r"\b(\d+)L\b")


def open(source: str) -> ArrayMap:
    """Index a ``.npy`` file: one array, named after the file.

    Raises:
        Error: ``corrupt`` if the header is invalid or the file is truncated; ``unsupported`` for pickled
            objects.
    """
    before = identity(source)
    data = open_bytes(source)
    try:
        shape, dtype, fortran, start = read_header(data, 0, before.size, source)
    finally:
        data.close()
    result = ArrayMap(source)
    entry = raw_entry(f"/{stem(source)}", source, before, start, before.size - start, shape, dtype, fortran)
    result.add(entry)
    unchanged(source, before)
    return result


def stem(source: str) -> str:
    """Return a file's name without directory and suffix."""
    path = unquote(urlsplit(source).path) if is_remote(source) else source
    return os.path.splitext(os.path.basename(path))[0] or "array"


def read_header(
    data: ByteSource, at: int, length: int, name: str
) -> tuple[tuple[int, ...], np.dtype, bool, int]:
    """Return shape, dtype, Fortran order and data offset of the ``.npy`` of ``length`` bytes at byte
    ``at``.
    """
    start = data.read_at(at, min(length, 12))
    if len(start) < 10 or not start.startswith(_MAGIC) or start[6] not in (1, 2, 3):
        raise _wrong(name, f"no .npy header in its first bytes {start!r}")
    width = 2 if start[6] == 1 else 4
    size = int.from_bytes(start[8 : 8 + width], "little")
    if size > min(_MAX_HEADER, length - 8 - width):
        raise _wrong(name, f"a header of {size} bytes in {length} bytes")
    raw = data.read_at(at + 8 + width, size)
    try:
        header = _evaluate(raw.decode("utf-8" if start[6] == 3 else "latin-1").strip())
        descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
        dtype = np.lib.format.descr_to_dtype(descr)
    except (
        ValueError,
        SyntaxError,
        TypeError,
        KeyError,
        RecursionError,
        MemoryError,
        UnicodeError,
        IndexError,
    ) as error:
        raise _wrong(name, f"its header can't be understood: {error}") from error
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 64:
        raise _wrong(name, f"its shape is {shape!r}")
    if dtype.hasobject:
        raise errors.make(
            "unsupported", f"{name}: pickled Python objects ({dtype})", "save it with a numeric dtype"
        )
    offset = at + 8 + width + size
    if dtype.subdtype is not None:
        dtype, shape = dtype.base, shape + dtype.shape
    if prod(shape) * dtype.itemsize > at + length - offset:
        have, need = at + length - offset, prod(shape) * dtype.itemsize
        raise _wrong(name, f"{shape} of {dtype} takes {need} bytes, it has {have}: it looks cut off")
    return shape, dtype, bool(fortran) and len(shape) > 1, offset


def raw_entry(
    path: str,
    source: str,
    ident: Identity,
    offset: int,
    available: int,
    shape: tuple[int, ...],
    stored: np.dtype,
    fortran: bool,
) -> ArrayEntry:
    """Return the entry of an array whose raw elements begin at ``offset`` of a file."""
    big, plain = stored.newbyteorder("S").isnative and not stored.isnative, True
    dtype = stored.newbyteorder("=")
    if stored.names is not None:
        dtype = _record(stored, source)
        big, plain = False, same_bytes(stored, dtype)
    entry = ArrayEntry(
        path=path,
        shape=shape,
        dims=(None,) * len(shape),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=default_chunks(shape, stored.itemsize),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(None, dtype),
        read=RawReader(source, ident, offset, shape, stored, dtype, fortran=fortran),
        subarrays=subarrays(stored),
    )
    if not shape or not plain:
        entry.note = "a single value" if not shape else "records with gaps or mixed byte orders"
        return entry
    codecs: list[dict[str, Any]] = [bytes_codec(dtype, big)]
    located = contiguous(offset, shape[::-1] if fortran else shape, stored.itemsize, available)
    if fortran:
        located = _reversed(located, shape)
        codecs.insert(0, {"name": "transpose", "configuration": {"order": list(range(len(shape)))[::-1]}})
    entry.chunks, entry.codecs = located.chunk, codecs
    entry.links = Links.one_file(ident, located.chunks, located.offsets, located.lengths)
    entry.native = entry.copied(located.copied)
    return entry


def _record(stored: np.dtype, name: str) -> np.dtype:
    try:
        return packed_struct(stored)
    except TypeError as error:
        raise errors.make("unsupported", f"{name}: {error}", "save it with smaller fields") from error


def _reversed(located: Located, shape: tuple[int, ...]) -> Located:
    """Convert chunks of the reversed array to chunks of the array itself."""
    chunk = located.chunk[::-1]
    inner, grid = grid_of(shape[::-1], located.chunk), grid_of(shape, chunk)

    def turn(flat: np.ndarray) -> np.ndarray:
        if not len(flat):
            return flat
        return np.ravel_multi_index(np.unravel_index(flat.astype("i8"), inner)[::-1], grid).astype("u8")

    return Located(chunk, turn(located.chunks), located.offsets, located.lengths, turn(located.copied))


def _evaluate(header: str) -> Any:
    try:
        return ast.literal_eval(header)
    except SyntaxError:
        return ast.literal_eval(_LONG.sub(r"\1", header))


def _wrong(name: str, what: str) -> errors.Error:
    return errors.make("corrupt", f"{name}: {what}", "compare the file with its original")
