"""Parse codec specifications: ``default``, ``zstd``, ``shuffle+gzip:6``, or a Zarr v3 list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import bytes_codec

Codec = dict[str, Any]
Spec = str | Sequence[Codec]

_NAME = re.compile(r"(?P<shuffle>shuffle\+)?(?P<name>[a-z0-9]+)(?::(?P<level>-?\d+))?")
_SHUFFLE = "numcodecs.shuffle"


def _named(name: str, **configuration: Any) -> Codec:
    return {"name": name, "configuration": configuration}


#: name → (default level, level and item size → codec)
_COMPRESSORS: dict[str, tuple[int, Callable[[int, int], Codec]]] = {
    "gzip": (5, lambda level, _: _named("gzip", level=level)),
    "zlib": (5, lambda level, _: _named("numcodecs.zlib", level=level)),
    "zstd": (3, lambda level, _: _named("zstd", level=level, checksum=False)),
    "lz4": (1, lambda level, _: _named("numcodecs.lz4", acceleration=level)),
    "bz2": (9, lambda level, _: _named("numcodecs.bz2", level=level)),
    "lzma": (6, lambda level, _: _named("numcodecs.lzma", format=1, check=-1, preset=level, filters=None)),
    "blosc": (
        5,
        lambda level, itemsize: _named(
            "blosc", cname="zstd", clevel=level, shuffle="shuffle", typesize=itemsize, blocksize=0
        ),
    ),
}

#: bytes of a float → bytes of its planes, most significant first: PStore's split, the top two bytes together
_WIDTHS = {2: (1, 1), 4: (2, 1, 1), 8: (2, 1, 1, 1, 1, 2)}
#: LZ4HC's level for the top plane: decodes in 6 % less time than level 5, encodes in 50 % more; higher
#: levels don't decode faster
_TOP_LEVEL = 7
#: smallest and largest bytes of a chunk of planes: low planes are skipped only if reading them would cost
#: more than another request
_PLANES_CHUNK = (1 << 20, 2 << 20)
#: elements of a page (one batch of pco's), and smallest and largest bytes of a chunk of pages
PAGE = 256
_PAGES_CHUNK = (128 << 10, 256 << 10)
_PAGES_LEVEL, _LONGEST_ROW = 8, 1 << 14
#: kinds of dtypes that are stored in pages
_PAGED = "biufmMSV"
#: ends each chain that is built from a name: neither blosc nor zstd notices every flipped bit
_CHECKSUM: Codec = {"name": "crc32c"}
#: codecs that other readers of Zarr v3 support
_PORTABLE = frozenset(
    ("bytes", "vlen-utf8", "vlen-bytes", "gzip", "zstd", "blosc", "crc32c", "transpose", "sharding_indexed")
)


def resolve(
    spec: Spec, data_type: Any, dtype: np.dtype[Any], chunk: Sequence[int], portable: bool = False
) -> list[Codec]:
    """Return the Zarr v3 ``codecs`` list of a chunk.

    A chain that is built from a name detects every flipped bit: it ends with ``crc32c``, except for the
    codecs of ``planes`` and ``pages``, which contain checksums. A list is returned as given.

    Args:
        spec: one of

            - ``default``: by data type; also used for ``auto`` if nothing can be measured;
            - ``none``: no compression;
            - a compressor: ``gzip``, ``zlib``, ``zstd``, ``lz4``, ``bz2``, ``lzma``, ``blosc``, optionally
              ``shuffle+NAME`` and ``NAME:LEVEL``;
            - ``planes`` or ``planes:LEVEL``: byte planes of floats, for reads with reduced precision; other
              dtypes as ``default``;
            - ``pages`` or ``pages:LEVEL``: small pages over shared statistics, for reads of single elements;
              strings and complex numbers as ``default``;
            - a Zarr v3 list or its JSON.
        data_type: the Zarr v3 ``data_type`` of the array.
        dtype: its NumPy dtype.
        chunk: shape of a chunk.
        portable: accept only codecs that other Zarr readers support.

    Raises:
        Error: ``codec`` for an unknown name, an invalid list, or a codec that is not portable.
    """
    codecs = _resolved(spec, data_type, dtype, chunk)
    others = [] if not portable or spec in ("auto", "default") else list(_others(codecs))
    if others:
        message = f"codec {others[0]} is not portable: other Zarr readers do not support it"
        hint = "remove portable, or use gzip, zstd or blosc (blosc includes a shuffle)"
        raise errors.make("codec", f"{spec!r:.60}: {message}", hint)
    return codecs


def _others(codecs: Sequence[Codec]) -> Iterator[str]:
    """Yield the names of codecs that are not portable, including those in shards."""
    for codec in codecs:
        if codec["name"] not in _PORTABLE:
            yield codec["name"]
        elif codec["name"] == "sharding_indexed":
            inside = codec.get("configuration") or {}
            for name in ("codecs", "index_codecs"):
                yield from _others(_checked(inside[name])) if inside.get(name) else ()


def _resolved(spec: Spec, data_type: Any, dtype: np.dtype[Any], chunk: Sequence[int]) -> list[Codec]:
    if not isinstance(spec, str):
        return _checked(list(spec))
    text = spec.strip()
    if text.startswith(("[", "{")):
        return _checked(_parse(text))
    if text in ("auto", "default"):
        return _default(data_type, chunk)
    if text == "none":
        return [bytes_codec(dtype), _CHECKSUM]
    match = _NAME.fullmatch(text)
    if match is not None and match["name"] == "planes" and not match["shuffle"]:
        level = int(match["level"] or _TOP_LEVEL)
        return _planes(level, dtype) or _default(data_type, chunk)
    if match is not None and match["name"] == "pages" and not match["shuffle"]:
        return _pages(int(match["level"] or _PAGES_LEVEL), dtype, chunk) or _default(data_type, chunk)
    if match is None or match["name"] not in _COMPRESSORS:
        known = ", ".join(["auto", "default", "none", "planes", "pages", *_COMPRESSORS])
        raise errors.make(
            "codec", f"unknown codec {spec!r}", f"use {known}; shuffle+NAME, NAME:LEVEL, or a JSON list"
        )
    level, make = _COMPRESSORS[match["name"]]
    chain = [bytes_codec(dtype)]
    if match["shuffle"] and dtype.kind not in "OT":
        chain.append(_named(_SHUFFLE, elementsize=dtype.itemsize))
    compressor = make(int(match["level"]) if match["level"] else level, max(dtype.itemsize, 1))
    return [*chain, compressor, _CHECKSUM]


def with_checksum(codecs: Sequence[Codec]) -> list[Codec]:
    """Return a chain that another program declared, with a checksum at its end."""
    return list(codecs) if codecs[-1] == _CHECKSUM else [*codecs, _CHECKSUM]


def check(spec: Spec, portable: bool = False) -> None:
    """Check a specification as far as that does not depend on the array; see :func:`resolve`.

    Raises:
        Error: ``codec`` for an unknown name or an invalid list; ``format`` for an invalid level.
    """
    from icecore import _icecore

    codecs = resolve(spec, "float32", np.dtype("f4"), (1,), portable)
    if isinstance(spec, str) and not spec.strip().startswith(("[", "{")):
        _icecore.Chain(json.dumps(codecs), '"float32"')


def fit(codecs: Sequence[Codec], data_type: Any, dtype: np.dtype[Any], path: str, rank: int) -> None:
    """Check that the codecs fit an array of this dtype and rank.

    Otherwise the error would appear only when the first chunk is written, possibly after hours of a run.

    Raises:
        Error: ``format``, ``unsupported``.
    """
    from icecore import _icecore

    try:
        chain = _icecore.Chain(json.dumps(codecs), json.dumps(data_type))
    except errors.Error as error:
        raise errors.make(error.kind, f"{path}: {error.message}", error.hint) from None
    if dtype.kind in "OT":
        return
    try:
        chain.encode(np.zeros(dtype.itemsize, "u1"), (1,) * rank)
    except errors.Error as error:
        if error.kind == "format":
            message = f"{path}: the codecs don't fit its {rank} axes: {error.message}"
            raise errors.make("format", message, f"use axes 0 to {rank - 1}") from None


def chunk_bytes(spec: Spec, dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """Return the preferred range of chunk sizes of these codecs in bytes; None without a preference."""
    name = spec.strip().split(":")[0] if isinstance(spec, str) else ""
    if name == "pages" and dtype.kind in _PAGED:
        return _PAGES_CHUNK
    return _PLANES_CHUNK if name == "planes" and dtype.kind in "fc" else None


def _pages(level: int, dtype: np.dtype[Any], chunk: Sequence[int]) -> list[Codec]:
    """Return the codec for pages of whole rows; an empty list for dtypes that it does not support."""
    if dtype.kind not in _PAGED or not dtype.itemsize:
        return []
    row = prod(chunk[1:]) if len(chunk) > 1 else 1
    page = row if PAGE < row <= _LONGEST_ROW else max(PAGE // row, 1) * row if row <= PAGE else PAGE
    return [_named("icecore.pages", page=page, level=level)]


def _planes(level: int, dtype: np.dtype[Any]) -> list[Codec]:
    """Return byte-plane codecs; an empty list for dtypes without byte planes.

    The top plane uses LZ4HC, which compresses it about as well as zstd and decodes faster. The other planes
    use zstd, or stay raw if the engine finds only noise.
    """
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    if dtype.kind not in "fc" or size not in _WIDTHS:
        return []

    def plane(width: int, cname: str, clevel: int) -> Codec:
        raw = bytes_codec(np.dtype(f"u{width}"))
        packed = _named("blosc", cname=cname, clevel=clevel, shuffle="shuffle", typesize=width, blocksize=0)
        return {"bytes": width, "codecs": [raw, packed]}

    top, *low = _WIDTHS[size]
    planes = [plane(top, "lz4hc", level), *(plane(width, "zstd", 3) for width in low)]
    return [_named("icecore.byteplanes", planes=planes)]


def _default(data_type: Any, chunk: Sequence[int]) -> list[Codec]:
    from icecore import _icecore

    found: list[Codec] = json.loads(_icecore.default_codecs(json.dumps(data_type), list(chunk)))
    return found


def _parse(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise errors.make(
            "codec", f"the codecs are not JSON: {error}", 'write [{"name": "bytes"}, …]'
        ) from None
    return value if isinstance(value, list) else [value]


def _checked(codecs: list[Any]) -> list[Codec]:
    if not codecs or not all(
        isinstance(codec, dict) and isinstance(codec.get("name"), str) for codec in codecs
    ):
        raise errors.make(
            "codec",
            f"not a list of Zarr v3 codecs (got {codecs!r})",
            'use [{"name": …, "configuration": {…}}, …]; the first one converts the array to bytes',
        )
    return codecs
