"""Programs that can read an array, by its codecs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: codecs of the Zarr v3 specification and registry that any reader should support
_CORE = frozenset({"bytes", "transpose", "gzip", "blosc", "zstd", "crc32c", "sharding_indexed", "vlen-utf8"})


def readers(codecs: Sequence[Mapping[str, Any]]) -> str:
    """Return which programs can decode chunks of these Zarr v3 codecs, including nested codecs.

    Example:
        >>> readers([{"name": "bytes"}, {"name": "zstd"}])
        'any Zarr v3 reader'
        >>> readers([{"name": "icecore.predict"}])
        'icecore, and zarr-python beside an installed icecore (icecore.predict)'
    """
    beyond = sorted(set(_names(codecs)) - _CORE)
    if own := icecore_only(codecs):
        return f"icecore, and zarr-python beside an installed icecore ({', '.join(own)})"
    if beyond:
        return f"icecore, and Zarr v3 readers that have {', '.join(beyond)} (zarr-python with numcodecs)"
    return "any Zarr v3 reader"


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
