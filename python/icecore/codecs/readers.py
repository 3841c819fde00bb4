"""Programs that can read an array, by its metadata: codecs, data type and chunk grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

#: codecs of the Zarr v3 specification that any reader should support
_CORE = frozenset({"bytes", "transpose", "gzip", "blosc", "zstd", "crc32c", "sharding_indexed"})
#: codecs of the registry that zarr-python has besides those of numcodecs
_ZARR_PYTHON = frozenset({"vlen-utf8", "vlen-bytes", "cast_value", "scale_offset"})
_NUMCODECS = frozenset(
    f"numcodecs.{name}"
    for name in (
        *("adler32", "astype", "bitround", "blosc", "bz2", "crc32", "crc32c", "delta", "fixedscaleoffset"),
        *("fletcher32", "gzip", "lz4", "lzma", "packbits", "pcodec", "quantize", "shuffle", "zlib", "zstd"),
    )
)
#: data types of the Zarr v3 specification
_TYPES = frozenset(
    (
        *("bool", "complex64", "complex128", "float16", "float32", "float64"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)


def readers(document: Mapping[str, Any]) -> str:
    """Return which programs can read the chunks of an array with this Zarr v3 metadata document.

    Example:
        >>> readers({"data_type": "float32", "codecs": [{"name": "bytes"}, {"name": "zstd"}]})
        'any Zarr v3 reader'
        >>> readers({"data_type": "float32", "codecs": [{"name": "icecore.predict"}]})
        'icecore, and zarr-python beside an installed icecore (icecore.predict)'
        >>> readers({"data_type": "string", "codecs": [{"name": "vlen-utf8"}]})
        'icecore, and Zarr v3 readers that have string, vlen-utf8 (zarr-python)'
    """
    codecs = document.get("codecs", [])
    names = set(_names(codecs))
    is_rectilinear = document.get("chunk_grid", {}).get("name") == "rectilinear"
    setting = ["array.rectilinear_chunks"] if is_rectilinear else []
    if own := icecore_only(codecs):
        with_ = f" with {setting[0]}" if setting else ""
        return f"icecore, and zarr-python{with_} beside an installed icecore ({', '.join(own)})"
    kind = document.get("data_type")
    kind = kind if isinstance(kind, str) else (kind or {}).get("name", "?")
    beyond = sorted(names - _CORE) + (["rectilinear chunks"] if is_rectilinear else [])
    beyond = ([] if kind in _TYPES else [kind]) + beyond
    if not beyond:
        return "any Zarr v3 reader"
    if names - _CORE - _ZARR_PYTHON - _NUMCODECS:
        how = "not zarr-python"
    else:
        needs = [*(["numcodecs"] if names & _NUMCODECS else []), *setting]
        needs += ["pcodec"] if "numcodecs.pcodec" in names else []
        how = f"zarr-python with {' and '.join(needs)}" if needs else "zarr-python"
    return f"icecore, and Zarr v3 readers that have {', '.join(beyond)} ({how})"


def summary(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return in one line which programs can read several arrays.

    Example:
        >>> plain, own = {"data_type": "int8", "codecs": []}, {"codecs": [{"name": "icecore.fpc"}]}
        >>> summary([plain, plain, own])
        'any Zarr v3 reader (2 arrays); icecore, and zarr-python beside an installed icecore (1 array)'
    """
    counts: dict[str, int] = {}
    for document in documents:
        found = readers(document)
        if icecore_only(document.get("codecs", [])):
            found = found.rpartition(" (")[0]
        counts[found] = counts.get(found, 0) + 1
    parts = [f"{text} ({count:,} array{'' if count == 1 else 's'})" for text, count in counts.items()]
    return "; ".join(parts)


def icecore_only(codecs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the codecs that only icecore decodes.

    Example:
        >>> icecore_only([{"name": "bytes"}, {"name": "icecore.predict"}])
        ['icecore.predict']
    """
    return sorted({name for name in _names(codecs) if name.startswith("icecore.")})


def _names(value: Any) -> Iterator[str]:
    """Yield the names of codecs, including nested codecs."""
    if isinstance(value, Mapping):
        if isinstance(value.get("name"), str):
            yield value["name"]
        for item in value.get("configuration", value).values():
            yield from _names(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _names(item)
