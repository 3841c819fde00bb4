"""Metadata documents that another program may have written: refused by kind, in little time and memory."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import icecore
import numpy as np
import pytest
from damage import KINDS, run
from peer import Peer, icechunk, zarr

HUGE = 2**62
GOOD: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [20, 30],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10, 10]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
    "storage_transformers": [],
}
LITTLE = GOOD["codecs"][0]


def regular(*chunk: Any) -> dict[str, Any]:
    return {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}}}


def rectilinear(*chunks: Any) -> dict[str, Any]:
    configuration = {"kind": "inline", "chunk_shapes": list(chunks)}
    return {"chunk_grid": {"name": "rectilinear", "configuration": configuration}}


def sharded(chunk: Any, **more: Any) -> dict[str, Any]:
    configuration = {
        "chunk_shape": chunk,
        "codecs": [LITTLE],
        "index_codecs": [LITTLE, {"name": "crc32c"}],
        "index_location": "end",
        **more,
    }
    return {"codecs": [{"name": "sharding_indexed", "configuration": configuration}]}


def codecs(*items: Any) -> dict[str, Any]:
    return {"codecs": list(items)}


def nested(depth: int) -> dict[str, Any]:
    inner: list[Any] = [LITTLE]
    for _ in range(depth):
        inner = sharded([10, 10], codecs=inner)["codecs"]
    return {"codecs": inner}


#: what replaces parts of GOOD
HOSTILE: dict[str, dict[str, Any]] = {
    "huge shape": {"shape": [HUGE, HUGE]},
    "huge shape in one chunk": {"shape": [2**40], **regular(2**40)},
    "huge chunks": regular(HUGE, HUGE),
    "chunks that overflow": regular(2**33, 2**33),
    "chunks larger than memory": {"shape": [2**36, 10], **regular(2**36, 10)},
    "many axes": {"shape": [2] * 60, **regular(*[1] * 60)},
    "nothing and too much": {"shape": [0, HUGE], **regular(1, 1)},
    "no text and too much": {
        **{"shape": [HUGE, 0], "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]},
        **regular(1, 1),
    },
    "zero chunks": regular(0, 10),
    "negative chunks": regular(-1, 10),
    "fractional chunks": regular(1.5, 10),
    "chunks of another rank": regular(10),
    "chunks as text": regular("10", "10"),
    "negative shape": {"shape": [-20, 30]},
    "shape as text": {"shape": "20"},
    "no shape": {"shape": None},
    "grid unknown": {"chunk_grid": {"name": "hexagonal", "configuration": {}}},
    "grid without configuration": {"chunk_grid": {"name": "regular"}},
    "grid as a list": {"chunk_grid": [10, 10]},
    "rectilinear too short": rectilinear([5, 5], [10, 10, 10]),
    "rectilinear zero": rectilinear([0, 20], [30]),
    "rectilinear overflow": rectilinear([HUGE, HUGE, HUGE, HUGE], [30]),
    "rectilinear runs": rectilinear([[1, 2**40]], [30]),
    "dtype unknown": {"data_type": "float77"},
    "dtype as a number": {"data_type": 7},
    "dtype huge": {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": HUGE}}},
    "dtype odd": {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 7}}},
    "dtype negative": {"data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": -1}}},
    "dtype raw huge": {"data_type": "r9223372036854775800"},
    "dtype time": {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "eon"}}},
    "dtype struct in struct": {
        "data_type": {
            "name": "struct",
            "configuration": {
                "fields": [{"name": "a", "data_type": {"name": "struct", "configuration": {}}}]
            },
        }
    },
    "fill of another type": {"fill_value": "many"},
    "fill as an object": {"fill_value": {"a": 1}},
    "fill beyond the type": {"data_type": "int8", "fill_value": 10**30},
    "no fill": {"fill_value": None},
    "no codecs": codecs(),
    "codecs null": {"codecs": None},
    "codec unknown": codecs(LITTLE, {"name": "acme.secret"}),
    "codec without name": codecs(LITTLE, {"configuration": {}}),
    "codec twice bytes": codecs(LITTLE, LITTLE),
    "no array to bytes": codecs({"name": "gzip", "configuration": {"level": 1}}),
    "bytes before transpose": codecs(LITTLE, {"name": "transpose", "configuration": {"order": [1, 0]}}),
    "endian unknown": codecs({"name": "bytes", "configuration": {"endian": "middle"}}),
    "transpose of another rank": codecs({"name": "transpose", "configuration": {"order": [0, 1, 2]}}, LITTLE),
    "transpose twice the same": codecs({"name": "transpose", "configuration": {"order": [1, 1]}}, LITTLE),
    "transpose huge": codecs({"name": "transpose", "configuration": {"order": [HUGE, 0]}}, LITTLE),
    "shuffle of nothing": codecs(LITTLE, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 0}}),
    "shuffle huge": codecs(LITTLE, {"name": "numcodecs.shuffle", "configuration": {"elementsize": HUGE}}),
    "shuffle negative": codecs(LITTLE, {"name": "numcodecs.shuffle", "configuration": {"elementsize": -4}}),
    "delta of another type": codecs({"name": "numcodecs.delta", "configuration": {"dtype": "<f9"}}, LITTLE),
    "blosc huge": codecs(
        LITTLE, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 99, "typesize": HUGE}}
    ),
    "gzip level": codecs(LITTLE, {"name": "gzip", "configuration": {"level": "fast"}}),
    "string codec for numbers": codecs({"name": "vlen-utf8"}),
    "numbers codec for strings": {"data_type": "string", "fill_value": ""},
    "shard of nothing": sharded([0, 10]),
    "shard that does not divide": sharded([7, 10]),
    "shard of another rank": sharded([10]),
    "shard of crumbs": {"shape": [2**31, 2**31], **regular(2**31, 2**31), **sharded([1, 1])},
    "shard index compressed": sharded(
        [5, 5], index_codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 1}}]
    ),
    "shard index without codecs": sharded([5, 5], index_codecs=[]),
    "shard index location": sharded([5, 5], index_location="middle"),
    "shards nested deeply": nested(200),
    "extension that must be understood": {"acme": {"must_understand": True}},
    "storage transformers": {"storage_transformers": [{"name": "acme"}]},
    "version 4": {"zarr_format": 4},
    "attributes as a list": {"attributes": [1]},
    "names of another rank": {"dimension_names": ["a"]},
    "names as numbers": {"dimension_names": [1, 2]},
}


def store(path: str, document: Any, chunks: dict[str, bytes]) -> bool:
    """Write a document and chunks as Icechunk takes them; False where Icechunk itself refuses it."""
    peer = Peer(path, create=True)
    session = peer.repo.writable_session("main")
    buffer = zarr.core.buffer.default_buffer_prototype().buffer

    async def put() -> None:
        await session.store.set("zarr.json", buffer.from_bytes(b'{"zarr_format":3,"node_type":"group"}'))
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        await session.store.set("a/zarr.json", buffer.from_bytes(text))
        for key, data in chunks.items():
            await session.store.set(f"a/c/{key}", buffer.from_bytes(data))

    try:
        asyncio.run(put())
        session.commit("hostile")
    except (icechunk.IcechunkError, ValueError, KeyError, TypeError):
        return False
    return True


@pytest.mark.parametrize("size", [0, 1, 400, 600, 5000])
def test_documents(tmp_path: Any, size: int) -> None:
    """Each is met with a chunk of a size that may or may not fit, and without any."""
    jobs: list[dict[str, Any]] = []
    names = {}
    good = str(tmp_path / "good")
    assert store(good, GOOD, {"0/0": np.zeros(100, "f4").tobytes()})
    for name, change in HOSTILE.items():
        path = str(tmp_path / name.replace(" ", "-"))
        document = {**copy.deepcopy(GOOD), **change}
        rank = len(document["shape"]) if isinstance(document["shape"], list) else 2
        if store(path, document, {"/".join(["0"] * rank): b"\xa5" * size} if size else {}):
            names[path] = name
            jobs.append({"repo": path})
    assert len(names) >= 30, "Icechunk refuses so many that little is tested"
    outcomes = run([{"warm": good, "repo": good}, *jobs])
    assert outcomes[0] == (good, "read")
    odd = [f"{names[path]}: {what}" for path, what in outcomes[1:] if what not in KINDS and what != "read"]
    assert not odd, "; ".join(odd)


MUST_BE_REFUSED = ["codec unknown", "dtype unknown", "extension that must be understood"]


@pytest.mark.parametrize("name", [*MUST_BE_REFUSED, "transpose twice the same", "shard that does not divide"])
def test_what_is_not_understood_is_named(tmp_path: Any, name: str) -> None:
    path = str(tmp_path / "r")
    if not store(path, {**GOOD, **HOSTILE[name]}, {"0/0": b"\0" * 400}):
        pytest.skip("Icechunk refuses to store it")
    with pytest.raises(icecore.Error) as caught:
        icecore.open(path)["/a"].read()
    assert caught.value.kind in ("unsupported", "format", "codec", "dtype", "invalid")
    assert "/a" in caught.value.message
    problems = icecore.open(path).verify()
    assert [problem.path for problem in problems] == ["/a"]


def with_a_bad_array(path: str, name: str) -> str:
    """A repository with /good, and /bad of a hostile document."""
    with icecore.create(path).writer() as writer:
        writer.array("/good", dtype="i4", shape=(10,))[...] = np.arange(10)
    session = Peer(path).repo.writable_session("main")
    buffer = zarr.core.buffer.default_buffer_prototype().buffer
    document = json.dumps({**GOOD, **HOSTILE[name]}).encode()
    asyncio.run(session.store.set("bad/zarr.json", buffer.from_bytes(document)))
    session.commit("bad")
    return path


def test_one_bad_array_does_not_spoil_the_others(tmp_path: Any) -> None:
    repo = icecore.open(with_a_bad_array(str(tmp_path / "r"), "codec unknown"))
    assert repr(repo)
    assert repo["/good"].read().tolist() == list(range(10))
    with pytest.raises(icecore.Error):
        repo["/bad"].read()


@pytest.mark.parametrize("name", ["codec unknown", "fill of another type"])
def test_a_repository_is_packed_without_its_bad_array(tmp_path: Any, name: str) -> None:
    """What isn't known is left out and named; what is damaged stops a pack that isn't told to go on."""
    source = with_a_bad_array(str(tmp_path / "r"), name)
    damaged = name == "fill of another type"
    if damaged:
        with pytest.raises(icecore.Error, match="/bad") as caught:
            icecore.pack(source, tmp_path / "p")
        assert caught.value.kind == "corrupt"
    report = icecore.pack(source, tmp_path / "p", keep_going=damaged)
    assert [row.path for row in report.rows] == ["/good"]
    if damaged:
        [failure] = report.failures
        assert failure.message.startswith(f"{source}:/bad: ")
    else:
        assert [note.name for note in report.notes] == [f"{source}:/bad"]
    with pytest.raises(icecore.Error, match="/bad"):
        icecore.pack(f"{source}:/bad", tmp_path / "q")


def test_an_answer_too_large_for_memory(tmp_path: Any) -> None:
    with icecore.create(tmp_path / "r").writer() as writer:
        writer.array("/x", dtype="f8", shape=(2**44,), chunks=(2**20,), shards=(2**20,), codec="zstd")
    array = icecore.open(tmp_path / "r")["/x"]
    assert (array[2**43 : 2**43 + 10] == 0).all()
    for part in (slice(None), slice(2**43), slice(None, None, 2)):
        with pytest.raises(icecore.Error) as caught:
            array[part]
        assert caught.value.kind == "memory"
        assert isinstance(caught.value, MemoryError)
