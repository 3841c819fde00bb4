"""Thousands of metadata documents with something changed at random: read, or an error with a kind."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
from damage import KINDS, run
from peer import Peer, icechunk, zarr
from zarr import codecs as zc
from zarr.codecs import numcodecs as zn

SEED = int(os.environ.get("ICECORE_SEED", "20260"))
COUNT = int(os.environ.get("ICECORE_DOCUMENTS", "1500"))
ODD: list[Any] = [
    *(
        0,
        1,
        -1,
        2,
        3,
        7,
        8,
        255,
        256,
        2**31,
        2**32,
        2**53,
        2**62,
        2**63,
        2**64,
        -(2**63),
        1.5,
        1e300,
        True,
        False,
    ),
    *(
        None,
        "",
        "0",
        "a",
        "NaN",
        "Infinity",
        "0x7fc00000",
        "AAAA",
        "bytes",
        "gzip",
        "float32",
        "string",
        "little",
    ),
    *(
        [],
        [0],
        [1, 2],
        [[1]],
        [[2, 3]],
        {},
        {"a": 1},
        {"name": "gzip"},
        {"name": "bytes", "configuration": {}},
    ),
]


def models(path: Path) -> list[dict[str, Any]]:
    """Valid documents of many kinds, as zarr-python writes them."""
    options: list[dict[str, Any]] = [
        {"dtype": "f4"},
        {"dtype": "c16", "fill_value": complex(1, np.nan)},
        {"dtype": "?", "compressors": [zc.BloscCodec(cname="lz4", shuffle="bitshuffle")]},
        {"dtype": "string", "fill_value": "none"},
        {"dtype": "variable_length_bytes"},
        {"dtype": np.dtype("S5"), "compressors": [zc.GzipCodec()]},
        {"dtype": np.dtype("U3"), "compressors": [zc.ZstdCodec(), zc.Crc32cCodec()]},
        {"dtype": np.dtype("M8[10m]")},
        {"dtype": np.dtype([("a", "<i4"), ("b", "<f8")])},
        {"dtype": "u2", "shards": (6, 6)},
        {"dtype": "i8", "filters": [zc.TransposeCodec(order=(1, 0))]},
        {"dtype": "i4", "compressors": [zn.Shuffle(elementsize=4), zn.Zlib(level=1), zn.Fletcher32()]},
        {"dtype": "i4", "filters": [zn.Delta(dtype="<i4")], "compressors": [zn.LZ4()]},
        {"dtype": "f8", "filters": [zn.FixedScaleOffset(offset=1, scale=2, dtype="<f8", astype="<i4")]},
        {"dtype": "f8", "compressors": [zn.BZ2(), zn.Zstd()]},
        {"dtype": "f8", "chunks": [[2, 3], [1, 4]]},
    ]
    peer = Peer(str(path), create=True)
    session = peer.repo.writable_session("main")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        root = zarr.open_group(session.store, mode="a")
        for i, option in enumerate(options):
            root.create_array(f"a{i}", shape=(5, 5), **{"chunks": (3, 3), **option})
    prototype = zarr.core.buffer.default_buffer_prototype()
    texts = [asyncio.run(session.store.get(f"a{i}/zarr.json", prototype)) for i in range(len(options))]
    return [json.loads(text.to_bytes()) for text in texts]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a document can be changed: a path of keys and numbers for each part."""
    found = [path] if path else []
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in items:
        found += places(item, (*path, key))
    return found


def changed(rng: random.Random, document: dict[str, Any], models: list[dict[str, Any]]) -> dict[str, Any]:
    """One to three parts left out, doubled, replaced by an odd value, or taken from another document."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 2, 3])):
        *way, last = rng.choice(places(document))
        parent: Any = document
        for key in way:
            parent = parent[key]
        how = rng.randrange(5)
        if how == 0:
            del parent[last]
        elif how == 1 and isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[last]))
        elif how == 2 and isinstance(parent[last], int):
            parent[last] += rng.choice([-1, 1, 2**20])
        elif how == 3:
            key = rng.choice(["data_type", "codecs", "chunk_grid", "fill_value", "shape"])
            document[key] = copy.deepcopy(rng.choice(models)[key])
        else:
            parent[last] = copy.deepcopy(rng.choice(ODD))
        if not places(document):
            break
    return document


def test_random_documents(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    kinds = models(tmp_path / "models")
    peer = Peer(str(tmp_path / "r"), create=True)
    session = peer.repo.writable_session("main")
    buffer = zarr.core.buffer.default_buffer_prototype().buffer
    written: dict[str, dict[str, Any]] = {}

    async def put() -> None:
        await session.store.set("zarr.json", buffer.from_bytes(b'{"zarr_format":3,"node_type":"group"}'))
        for number in range(COUNT):
            document = changed(rng, rng.choice(kinds), kinds)
            size = rng.choice([0, 3, 100, 600, 2000])
            try:
                text = buffer.from_bytes(json.dumps(document).encode())
                await session.store.set(f"a{number}/zarr.json", text)
                written[f"/a{number}"] = document
                if size:
                    await session.store.set(f"a{number}/c/0/0", buffer.from_bytes(rng.randbytes(size)))
            except (icechunk.IcechunkError, ValueError, KeyError, TypeError):
                pass  # Icechunk refuses it, so it can't be met there

    asyncio.run(put())
    session.commit("random")
    assert len(written) > COUNT // 3
    outcomes = run([{"repo": str(tmp_path / "r"), "each": True}])
    odd = [
        f"{what} for {json.dumps(written.get(path))}"
        for path, what in outcomes
        if what not in KINDS and what != "read"
    ]
    assert not odd, f"{len(odd)}: " + "\n".join(odd[:5])
    assert len(outcomes) >= 0.9 * len(written)
    assert sum(what == "read" for _, what in outcomes) > 20
