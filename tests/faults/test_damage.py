"""Every byte of small stored objects flipped, every length cut: the right data or an error with a kind.

Never another exception, a crash, a hang, a huge allocation; and wrong values only where the codec that was
asked for has no means to notice.
"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
import zoo
from damage import KINDS, clean, cuts, flips, hurt, only

ZSTD = [{"name": "bytes", "configuration": {"endian": "little"}}]
CHECKED: dict[str, Any] = {
    "auto": "auto",
    "gzip": "gzip:6",
    "zlib": "zlib:1",
    "bz2": "bz2",
    "zstd+checksum": json.dumps([*ZSTD, {"name": "zstd", "configuration": {"level": 3, "checksum": True}}]),
    "crc32c": json.dumps([*ZSTD, {"name": "crc32c"}]),
    "zstd+crc32c": json.dumps(
        [*ZSTD, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}, {"name": "crc32c"}]
    ),
    "fletcher32": json.dumps([*ZSTD, {"name": "numcodecs.fletcher32"}]),
}
#: bytes in front of the zstd frame of the repository's own files
HEADER = 39
#: a flipped bit in their stored bytes may be a value
UNCHECKED = ["none", "zstd", "lz4", "blosc", "shuffle+lz4"]


def data() -> np.ndarray:
    """Values that no codec makes so small that they would be kept inside their references."""
    return np.random.default_rng(1).normal(size=(10, 11))


def make(path: str, codec: str, chunk: tuple[int, int] = (5, 11)) -> Path:
    """A repository with one array in one small shard (of one chunk: unsharded), and the file that it is."""
    with icecore.create(path).writer() as writer:
        array = writer.array("/a", dtype="f8", shape=(10, 11), chunks=chunk, shards=(10, 11), codec=codec)
        array[...] = data()
    return only(path, "chunks")


@pytest.mark.parametrize("codec", CHECKED)
def test_a_shard(repo_path: str, codec: str) -> None:
    file = make(repo_path, CHECKED[codec])
    clean(hurt(repo_path, file, flips(file)))
    clean(hurt(repo_path, file, cuts(file, 7)))


@pytest.mark.parametrize("codec", ["auto", "crc32c"])
def test_a_chunk(repo_path: str, codec: str) -> None:
    file = make(repo_path, CHECKED[codec], chunk=(10, 11))
    clean(hurt(repo_path, file, [*flips(file), *cuts(file, 31)]))


@pytest.mark.parametrize("codec", UNCHECKED)
def test_codecs_without_a_checksum_fail_in_no_other_way(repo_path: str, codec: str) -> None:
    file = make(repo_path, codec)
    counts = hurt(repo_path, file, [*flips(file, 2), *cuts(file, 11)])
    for outcome in list(counts):
        if outcome.startswith("wrong: values of /a (after ['flip'"):
            del counts[outcome]
    clean(counts)


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_shard_index(repo_path: str, codec: str) -> None:
    """The index has a checksum, whatever the chunks have."""
    file = make(repo_path, codec)
    size, index = file.stat().st_size, 2 * 16 + 4
    every_bit = [["flip", i, 1 << bit] for i in range(size - index, size) for bit in range(8)]
    zeros = [["zero", size - index, size], ["zero", size - index, size - 4], ["zero", size - 4, size]]
    counts = hurt(repo_path, file, every_bit + zeros)
    clean(counts)
    assert counts["right"] == 0


def test_strings(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/a", dtype=str, shape=(40,), chunks=(40,), shards=(40,), codec="none")
        array[...] = zoo.values("str", (40,))
    file = only(repo_path, "chunks")
    counts = hurt(repo_path, file, [*flips(file), *cuts(file, 5)])
    for outcome in list(counts):
        if outcome.startswith("wrong: values of /a (after ['flip'"):
            del counts[outcome]
    clean(counts)


@pytest.mark.parametrize("folder", ["snapshots", "manifests", "transactions", ""])
def test_the_repositorys_own_files(repo_path: str, folder: str) -> None:
    """Snapshots, manifests, and the file that names the branches."""
    make(repo_path, "auto")
    with icecore.open(repo_path).writer(message="second") as writer:
        writer.group("/g", attrs={"title": "a group", "numbers": [1, 2, 3]})
    if not folder:
        repo = icecore.open(repo_path)
        repo.tag("v1", repo.log()[1].id)
        repo.branch("side", "v1")
    folders = Path(repo_path) / folder
    files = [path for path in folders.iterdir() if path.is_file() and path.stat().st_size]
    assert files
    for file in files:
        counts = hurt(repo_path, file, [*flips(file, 5 if folder == "transactions" else 1), *cuts(file, 7)])
        for outcome in list(counts):
            # its checksum is found by the time of its last update: what spoils that and a message stays
            if not folder and outcome.startswith("wrong: log"):
                del counts[outcome]
        clean(counts)


def respelled(repo_path: str, old: bytes, new: bytes) -> bytes:
    """The root object with a text replaced; returns what it was."""
    codec = pytest.importorskip("numcodecs.zstd").Zstd()
    root = Path(repo_path) / "repo"
    content = root.read_bytes()
    header, unpacked = content[:HEADER], codec.decode(content[HEADER:])
    assert unpacked.count(old) == 1
    root.write_bytes(header + codec.encode(unpacked.replace(old, new)))
    return content


def test_a_commit_from_an_impossible_time(repo_path: str) -> None:
    """Where no checksum is found for the root object, a time beyond the calendar is damage."""
    make(repo_path, "auto")
    time = icecore.open(repo_path).log()[0].time
    micros = round((time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))
    year_21676 = micros + (1 << 59)
    respelled(repo_path, micros.to_bytes(8, "little"), year_21676.to_bytes(8, "little"))
    (Path(repo_path) / "seals" / "repo").unlink()
    with pytest.raises(icecore.Error, match="claims to be from") as caught:
        icecore.open(repo_path).log()
    assert caught.value.kind == "corrupt"


def test_a_root_object_that_is_not_as_it_was_written(repo_path: str) -> None:
    """Reads say so, and the ways out that the hint names are ways out."""
    make(repo_path, "auto")
    with icecore.open(repo_path).writer(message="Xylophone!") as writer:
        writer.group("/g")
    before = respelled(repo_path, b"Xylophone!", b"Xylophone?")
    with pytest.raises(icecore.Error, match="had the checksum") as caught:
        icecore.open(repo_path)
    assert caught.value.kind == "corrupt"
    assert "seals/repo" in caught.value.hint
    kept = (Path(repo_path) / "repo").rename(repo_path + ".kept")
    newest = max((Path(repo_path) / "overwritten").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    shutil.copy(newest, Path(repo_path) / "repo")
    repo = icecore.open(repo_path)
    np.testing.assert_array_equal(repo["/a"].read(), data())
    assert "/g" not in repo
    # and unsealed it is read as it is; what a commit's own file says otherwise is found
    kept.rename(Path(repo_path) / "repo")
    (Path(repo_path) / "seals" / "repo").unlink()
    repo = icecore.open(repo_path)
    assert repo.log()[0].message == "Xylophone?"
    (problem,) = repo.verify()
    assert problem.where == "repo"
    assert "Xylophone!" in problem.message
    (Path(repo_path) / "repo").write_bytes(before)
    assert icecore.open(repo_path).verify(history=True) == []


def test_objects_that_are_gone(repo_path: str) -> None:
    file = make(repo_path, "auto")
    content = file.read_bytes()
    file.unlink()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/a"].read()
    assert caught.value.kind == "corrupt"
    assert [(p.kind, p.path) for p in icecore.open(repo_path).verify()] == [("corrupt", "/a")]
    file.write_bytes(content)
    manifest = only(repo_path, "manifests")
    manifest.unlink()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/a"].read()
    assert caught.value.kind == "corrupt"
    assert [p.path for p in icecore.open(repo_path).verify()] == ["/a"]


def test_verify_names_the_chunk(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/a", dtype="f8", shape=(20, 11), chunks=(5, 11), shards=(10, 11), codec="gzip")
        array[...] = np.vstack([data(), data() + 1])
    files = sorted((Path(repo_path) / "chunks").iterdir())
    content = bytearray(files[0].read_bytes())
    content[20] ^= 0xFF
    files[0].write_bytes(content)
    repo = icecore.open(repo_path)
    assert repo.verify() == []
    (problem,) = repo.verify(deep=True)
    assert problem.path == "/a"
    assert tuple(problem.chunk) in ((0, 0), (1, 0))
    assert problem.kind in ("corrupt", "codec")
    assert problem.message


def packed(path: Path, repo: str, group: str) -> str:
    try:
        icecore.pack(path, repo, group=group)
    except icecore.Error as error:
        return error.kind
    return "packed"


def test_a_file_to_pack_that_is_damaged(tmp_path: Path, repo_path: str) -> None:
    """HDF5 files cut and flipped: linked, packed or refused by kind, and what is refused commits nothing."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("a", data=data(), chunks=(5, 11), compression="gzip", fletcher32=True)
        file["g/b"] = np.arange(10)
    content = path.read_bytes()
    before = icecore.create(repo_path).snapshot_id
    rng = np.random.default_rng(11)
    for trial in range(60):
        hurt_bytes = bytearray(content[: rng.integers(1, len(content))] if trial % 2 else content)
        for at in rng.integers(0, len(hurt_bytes), 3):
            hurt_bytes[at] ^= int(rng.integers(1, 256))
        path.write_bytes(hurt_bytes)
        kind = packed(path, repo_path, f"/t{trial}")
        assert kind in KINDS | {"packed"}
        now = icecore.open(repo_path).snapshot_id
        assert (now != before) == (kind == "packed")
        before = now
    assert icecore.open(repo_path).verify(deep=True) == []
