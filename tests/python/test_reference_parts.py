"""Arrays with references in several manifests: a read loads those manifests only that it needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import icecore
import numpy as np
import pytest
from icecore.errors import Error
from latsrv import LatencyServer

#: references along the first axis that a manifest holds
STRETCH = 131_072
COUNT = 3 * STRETCH + 1000
#: distinct chunks in the linked file
KINDS = 251


def metadata(chunk: int, codecs: list[Any]) -> str:
    """zarr.json of an array of ``COUNT`` chunks (shards) of ``chunk`` bytes."""
    regular = {"name": "regular", "configuration": {"chunk_shape": [chunk]}}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    document = {"zarr_format": 3, "node_type": "array", "shape": [chunk * COUNT], "data_type": "uint8"}
    document |= {"chunk_grid": regular, "chunk_key_encoding": keys, "fill_value": 0, "codecs": codecs}
    return json.dumps(document | {"attributes": {}})


def linked(
    folder: Path, name: str, chunk: int, pieces: list[bytes], codecs: list[Any], arrays: str = "x"
) -> Path:
    """A repository with these arrays, whose chunk ``i`` is ``pieces[i % KINDS]``."""
    file, place = folder / f"{name}.bin", folder / f"{name}.icecore"
    file.write_bytes(b"".join(pieces))
    status, length = file.stat(), len(pieces[0])
    with icecore.create(place).writer() as writer:
        writer._native.allow_container(folder.as_uri() + "/")
        numbers = np.arange(COUNT, dtype="u8")
        known = ([file.as_uri()], [status.st_size], [status.st_mtime_ns], [None])
        lengths = np.full(COUNT, length, "u8")
        offsets = numbers % KINDS * length
        for array in arrays:
            writer._native.add_array(f"/{array}", metadata(chunk, codecs))
            writer._native.set_links(f"/{array}", *known, np.zeros(COUNT, "u4"), numbers, offsets, lengths)
    return place


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chunks of one byte: element ``i`` is ``i % KINDS``."""
    pieces = [bytes([kind]) for kind in range(KINDS)]
    return linked(tmp_path_factory.mktemp("plain"), "plain", 1, pieces, [{"name": "bytes"}])


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of two chunks of one byte; element ``i`` is ``i // 2 % KINDS``, plus one if ``i`` is odd."""
    pieces = []
    for kind in range(KINDS):
        index = np.array([0, 1, 1, 1], "<u8").tobytes()
        checksum = google_crc32c.value(index).to_bytes(4, "little")
        pieces.append(bytes([kind, kind + 1]) + index + checksum)
    inside = {"chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_location": "end"}
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    inside["index_codecs"] = [little, {"name": "crc32c"}]
    codecs = [{"name": "sharding_indexed", "configuration": inside}]
    return linked(tmp_path_factory.mktemp("sharded"), "sharded", 2, pieces, codecs)


SELECTIONS = [
    np.s_[5],
    np.s_[-1],
    np.s_[STRETCH - 2 : STRETCH + 2],
    np.s_[:: STRETCH // 3],
    np.s_[3 * STRETCH : 3 * STRETCH + 1000],
    np.s_[:0],
    np.s_[COUNT - 1 : 2 * STRETCH : -7919],
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_parts_are_the_parts_of_the_whole(plain: Path, sharded: Path, selection: Any) -> None:
    wanted = (np.arange(COUNT) % KINDS).astype("u1")
    np.testing.assert_array_equal(icecore.open(plain)["/x"][selection], wanted[selection])
    each = np.arange(2 * COUNT)
    wanted = (each // 2 % KINDS + each % 2).astype("u1")
    np.testing.assert_array_equal(icecore.open(sharded)["/x"][selection], wanted[selection])


def test_points_and_the_whole(plain: Path, sharded: Path) -> None:
    points = np.random.default_rng(1).integers(0, COUNT, 300)
    wanted = (np.arange(COUNT) % KINDS).astype("u1")
    array = icecore.open(plain)["/x"]
    np.testing.assert_array_equal(array.vindex[points], wanted[points])
    np.testing.assert_array_equal(array[:], wanted)
    np.testing.assert_array_equal(array.vindex[points], wanted[points])
    both = icecore.open(sharded)["/x"]
    np.testing.assert_array_equal(both.vindex[2 * points + 1], wanted[points] + 1)


def outcome(array: icecore.Array, selection: Any) -> Any:
    """The values of a selection, or the kind of the error."""
    try:
        return array[selection]
    except Error as error:
        return error.kind


def test_only_the_manifests_of_the_part_are_read(plain: Path, tmp_path: Path) -> None:
    """One manifest is left as it is and the others are damaged: exactly one of them serves element 5. That
    of the linked files' identities, which every link needs, has one reference and stays.
    """
    by_size = sorted((path.stat().st_size, path.name) for path in (plain / "manifests").iterdir())
    (least, identities), *others = by_size
    assert least < 1000 < others[0][0], "the last one has a thousand references"
    names = [name for _, name in others]
    assert len(names) == 4, "STRETCH references each"
    assert identities not in names
    served = 0
    for kept in names:
        place = tmp_path / kept
        shutil.copytree(plain, place)
        for name in names:
            if name != kept:
                path = place / "manifests" / name
                content = bytearray(path.read_bytes())
                content[len(content) // 2] ^= 0xFF
                path.write_bytes(content)
        array = icecore.open(place)["/x"]
        if outcome(array, 5) == "corrupt":
            continue
        served += 1
        assert outcome(array, 5) == 5
        for selection in (np.s_[COUNT - 1], np.s_[:], np.s_[STRETCH - 1 : STRETCH + 1]):
            assert outcome(array, selection) == "corrupt"
    assert served == 1


def test_parts_of_several_arrays_are_loaded_together(
    tmp_path: Path, serve: Callable[..., LatencyServer]
) -> None:
    """The chunks are in a local file: all requests to the server are for manifests, one for each array at
    once, and then that of the linked file's identity.
    """
    pieces = [bytes([kind]) for kind in range(KINDS)]
    linked(tmp_path, "several", 1, pieces, [{"name": "bytes"}], arrays="abcd")
    server = serve(tmp_path, delay_ms=100)
    repo = icecore.open(f"{server.url}/several.icecore", allow_links=[tmp_path.as_uri() + "/"])
    arrays = [f"/{name}" for name in "abcd"]
    assert list(repo.arrays) == arrays  # the metadata is loaded
    server.reset()
    read = repo.read({path: np.s_[5:6] for path in arrays})
    assert [list(values) for values in read.values()] == [[5]] * 4
    stats = server.stats()
    assert stats["requests"] - stats["heads"] == 4 + 1
    assert stats["peak"] == 4


def test_the_same_array_twice_in_one_read(plain: Path) -> None:
    """Both queries share the part of the table, or the whole one if it was loaded before."""
    native = icecore.open(plain)._native
    items = [("/x", (5,), None), ("/x", (COUNT - 1,), None)]
    for _ in range(2):
        assert [int(value) for value in native.read_many(items)] == [5, (COUNT - 1) % KINDS]
        assert native.read_many([("/x", (slice(None),), None)])[0].size == COUNT
