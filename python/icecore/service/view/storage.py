"""How an array is compressed and where its chunks are."""

from __future__ import annotations

from typing import Any

from icecore.repository.repo import Repo
from icecore.service.view.values import array_of, shown

_SHOWN = 20


def report(repo: Repo, params: dict[str, str]) -> dict[str, Any]:
    """Return codecs, sizes and places of an array's chunks."""
    array = array_of(repo, params)
    found = array.storage
    return {
        "bytes": array.nbytes,
        "bytes_stored": found.bytes_stored,
        "ratio": array.nbytes / found.bytes_stored if found.bytes_stored else None,
        "chunks": None if array.chunks is None else list(array.chunks),
        "shards": None if array.shards is None else list(array.shards),
        "codecs": [
            {"name": each["name"], "configuration": each.get("configuration", {})} for each in array.codecs
        ],
        **{
            name: getattr(found, name)
            for name in ("cells", "references", "missing", "inline", "native", "linked")
        },
        "files": [
            {"name": shown(url), "chunks": chunks, "bytes": size}
            for url, (chunks, size) in list(found.urls.items())[:_SHOWN]
        ],
    }
