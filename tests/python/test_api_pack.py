"""``icecore.pack``: files, Zarr folders and repositories re-encoded; nothing lost, memory bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

RNG = np.random.default_rng(5)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "s.h5"
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "source"
        file.create_dataset(
            "a", data=RNG.random((60, 40, 30)).astype("f4"), chunks=(7, 13, 30), compression="gzip"
        )
        file.create_dataset(
            "be", data=np.arange(1000, dtype=">i2"), chunks=(64,), shuffle=True, compression="gzip"
        )
        file.create_dataset("s", data=["ä", "text"], dtype=h5py.string_dtype())
        file.create_dataset("scalar", data=2.5)
        file.create_dataset("nothing", shape=(0, 3), dtype="f8")
        file["a"].attrs["units"] = "m"
    return path


def compare(repo: icecore.Repo, group: str, source: Path) -> None:
    """Element by element against h5py."""
    with h5py.File(source) as file:
        for name in ("a", "be", "scalar", "nothing"):
            got = repo[f"{group}/{name}"][...]
            np.testing.assert_array_equal(got, file[name][...])
            assert got.dtype == file[name].dtype.newbyteorder("=")
        assert repo[f"{group}/s"][...].tolist() == [item.decode() for item in file["s"][...]]


def test_pack(tmp_path: Path, source: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = icecore.pack(
        source, tmp_path / "r.icecore", progress=lambda _, done, total: seen.append((done, total))
    )
    repo = icecore.open(tmp_path / "r.icecore")
    compare(repo, "/s", source)
    assert repo["/s"].attrs["title"] == "source"
    assert repo["/s/a"].attrs == {"units": "m"}
    assert not any(array.linked for array in repo.arrays.values())
    assert report.count("packed") == 5
    assert report.snapshot == repo.snapshot_id
    assert report.bytes_stored > 0
    assert seen[-1][0] == seen[-1][1] == report.bytes_raw
    source.unlink()
    assert repo.verify(deep=True) == []


def test_layout_and_codec_as_asked(tmp_path: Path, source: Path) -> None:
    icecore.pack(source, tmp_path / "r.icecore", chunk=(6, 8, 10), shard=(30, 40, 30), codec="shuffle+zstd:7")
    a = icecore.open(tmp_path / "r.icecore")["/s/a"]
    assert (a.chunks, a.shards) == ((6, 8, 10), (30, 40, 30))
    assert [codec["name"] for codec in a.codecs] == ["bytes", "numcodecs.shuffle", "zstd", "crc32c"]
    compare(icecore.open(tmp_path / "r.icecore"), "/s", source)


def test_layout_by_dimension(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        w.array("/x", "f4", (50, 20), ("time", "y"))[...] = RNG.random((50, 20))
    icecore.pack(str(tmp_path / "a.icecore"), tmp_path / "b.icecore", chunk={"time": 5}, shard={"time": 25})
    a = icecore.open(tmp_path / "b.icecore")["/x"]
    assert (a.chunks, a.shards) == ((5, 20), (25, 20))


@pytest.mark.parametrize("what", ["chunk", "shard"])
def test_a_dimension_that_no_array_has(tmp_path: Path, what: str) -> None:
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file.create_dataset("time", data=np.arange(9))
        file["time"].make_scale("time")
    with pytest.raises(icecore.Error, match=f"'tmie' of {what}") as caught:
        icecore.pack(tmp_path / "s.h5", tmp_path / "r.icecore", **{what: {"tmie": 1}})
    assert (caught.value.kind, caught.value.hint) == ("invalid", "known: time")
    assert not (tmp_path / "r.icecore").exists()


def test_repack_a_repository(tmp_path: Path, source: Path) -> None:
    icecore.link(source, tmp_path / "a.icecore", "/deep/er")
    icecore.pack(f"{tmp_path}/a.icecore:/deep/er", tmp_path / "b.icecore")
    repo = icecore.open(tmp_path / "b.icecore")
    compare(repo, "/er", source)
    assert repo["/er"].attrs["title"] == "source"
    icecore.pack(f"{tmp_path}/a.icecore:/deep/er/a", tmp_path / "b.icecore", "/one")
    np.testing.assert_array_equal(icecore.open(tmp_path / "b.icecore")["/one/a"][...], repo["/er/a"][...])
    icecore.pack(f"{tmp_path}/a.icecore", tmp_path / "c.icecore")
    compare(icecore.open(tmp_path / "c.icecore"), "/deep/er", source)


def test_zarr_folders(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    data = RNG.random((40, 30)).astype("f4")
    root = zarr.open_group(tmp_path / "z.zarr", mode="w")
    root.create_array("x", data=data, chunks=(7, 8), dimension_names=("t", "y"))
    root.attrs["title"] = "zarr"
    icecore.pack(tmp_path / "z.zarr", tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/z/x"][...], data)
    assert repo["/z/x"].dims == ("t", "y")
    assert repo["/z"].attrs["title"] == "zarr"


def test_numpy(tmp_path: Path) -> None:
    data = {"c": RNG.random((30, 20)), "f": np.asfortranarray(RNG.random((30, 20)))}
    np.savez(tmp_path / "plain.npz", **data)
    np.savez_compressed(tmp_path / "small.npz", **data)
    np.save(tmp_path / "f.npy", data["f"])
    icecore.pack([tmp_path / n for n in ("plain.npz", "small.npz", "f.npy")], tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    for group in ("plain", "small"):
        for name, values in data.items():
            np.testing.assert_array_equal(repo[f"/{group}/{name}"][...], values)
    np.testing.assert_array_equal(repo["/f/f"][...], data["f"])


def series(path: Path, start: int, count: int) -> np.ndarray:
    """One file of a series along time."""
    data = RNG.random((count, 9)).astype("f4")
    with h5py.File(path, "w") as file:
        file.create_dataset("time", data=np.arange(start, start + count, dtype="i4"))
        file["time"].make_scale("time")
        file.create_dataset("v", data=data, chunks=(4, 9), compression="gzip")
        file["v"].dims[0].attach_scale(file["time"])
    return data


def test_concat_and_append(tmp_path: Path) -> None:
    data = [series(tmp_path / f"{i}.nc", sum((13, 8, 11)[:i]), n) for i, n in enumerate((13, 8, 11))]
    into = tmp_path / "r.icecore"
    icecore.pack(
        [tmp_path / "0.nc", tmp_path / "1.nc"],
        into,
        "/s",
        concat="time",
        chunk={"time": 5},
        shard={"time": 10},
    )
    icecore.pack(tmp_path / "2.nc", into, "/s", concat="time", append=True)
    repo = icecore.open(into)
    np.testing.assert_array_equal(repo["/s/v"][...], np.concatenate(data))
    np.testing.assert_array_equal(repo["/s/time"][...], np.arange(32))
    assert (repo["/s/v"].chunks, repo["/s/v"].shards) == ((5, 9), (10, 9))
    assert repo.verify(deep=True) == []


def test_linked_arrays_can_be_continued_by_packing(tmp_path: Path) -> None:
    data = [series(tmp_path / "0.nc", 0, 8), series(tmp_path / "1.nc", 8, 7)]
    icecore.link(tmp_path / "0.nc", tmp_path / "r.icecore", "/s", concat="time")
    icecore.pack(tmp_path / "1.nc", tmp_path / "r.icecore", "/s", concat="time", append=True)
    a = icecore.open(tmp_path / "r.icecore")["/s/v"]
    np.testing.assert_array_equal(a[...], np.concatenate(data))
    assert a.storage.linked == 2
    assert a.storage.native + a.storage.inline == 2


def test_existing(tmp_path: Path, source: Path) -> None:
    into = tmp_path / "r.icecore"
    icecore.pack(source, into)
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(source, into)
    assert caught.value.kind == "exists"
    assert icecore.pack(source, into, skip_existing=True).count("skipped") == 5
    icecore.pack(source, into, replace=True, codec="none")
    assert [codec["name"] for codec in icecore.open(into)["/s/a"].codecs] == ["bytes", "crc32c"]
    compare(icecore.open(into), "/s", source)


@pytest.mark.parametrize("portable", [False, True])
def test_portable(tmp_path: Path, source: Path, portable: bool) -> None:
    icecore.pack(source, tmp_path / "r.icecore", portable=portable)
    repo = icecore.open(tmp_path / "r.icecore")
    names = {codec["name"] for array in repo.arrays.values() for codec in array.codecs}
    if portable:
        assert not any(name.startswith("icecore.") for name in names)
    compare(repo, "/s", source)


def test_sizes() -> None:
    from icecore.display.text import parse_size, size

    assert parse_size("1GB") == 10**9
    assert parse_size("64 MiB") == 64 << 20
    assert parse_size("1.5k") == 1500
    assert parse_size(7) == 7
    assert size(1_340_000) == "1.34 MB"
    with pytest.raises(icecore.Error, match="not a size"):
        parse_size("lots")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_bounded(tmp_path: Path) -> None:
    """500 MB go through a budget of 100 MB."""
    path = tmp_path / "big.h5"
    block = RNG.integers(0, 100, (10, 250, 1000)).astype("f4")
    with h5py.File(path, "w") as file:
        a = file.create_dataset("x", (500, 250, 1000), "f4", chunks=(10, 250, 1000))
        for start in range(0, 500, 10):
            a[start : start + 10] = block + start
    # The high-water mark of the process's own memory: ru_maxrss would count what pytest held when it forked.
    code = (
        "import sys, re, icecore;"
        "icecore.pack(sys.argv[1], sys.argv[2], memory='100MB', codec='zstd:1');"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "r.icecore")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = int(done.stdout) * 1024
    assert peak < 100e6 + 200e6, f"{peak / 1e6:.0f} MB"
    packed = icecore.open(tmp_path / "r.icecore")["/big/x"]
    np.testing.assert_array_equal(packed[450:460], block + 450)
    assert packed[499, 3, 7] == block[9, 3, 7] + 490


def test_damage_is_named_by_file_and_array(tmp_path: Path) -> None:
    """Of the files that an array is made of, and not by where a pack keeps its references meanwhile."""
    files = [tmp_path / f"{i}.h5" for i in range(3)]
    for path in files:
        with h5py.File(path, "w") as file:
            file["other"] = np.arange(3)
            scale = file.create_dataset("time", data=np.arange(20.0), chunks=(10,), maxshape=(None,))
            scale.make_scale()
            a = file.create_dataset("g/a", data=np.arange(40).reshape(20, 2), chunks=(10, 2), fletcher32=True)
            a.dims[0].attach_scale(scale)
            info = a.id.get_chunk_info(1)
    with files[1].open("r+b") as file:
        file.seek(info.byte_offset)
        file.write(b"x")
    icecore.link(files, tmp_path / "links", group="/", concat="time")
    calls = [
        lambda: icecore.pack(files[1], tmp_path / "one"),
        lambda: icecore.pack(files, tmp_path / "all", group="/", concat="time"),
        icecore.open(tmp_path / "links")["/g/a"].read,
    ]
    for call in calls:
        with pytest.raises(icecore.Error) as caught:
            call()
        assert caught.value.kind == "corrupt"
        assert caught.value.message.startswith("/g/a: chunk [")
        where = f"(bytes {info.byte_offset}..{info.byte_offset + info.size} of {files[1]})"
        assert where in caught.value.message
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("becomes", ["another", "nothing"])
def test_links_of_a_repository_that_lead_nowhere_leave_the_rest(tmp_path: Path, becomes: str) -> None:
    for name in ("old", "good"):
        np.save(tmp_path / f"{name}.npy", np.arange(1000))
    icecore.link([tmp_path / "old.npy", tmp_path / "good.npy"], tmp_path / "r", group="/")
    if becomes == "another":
        np.save(tmp_path / "old.npy", np.arange(1001))
    else:
        (tmp_path / "old.npy").unlink()
    with pytest.raises(icecore.Error, match="keep-going") as caught:
        icecore.pack(tmp_path / "r", tmp_path / "p", group="/")
    assert caught.value.kind == ("source-changed" if becomes == "another" else "source-missing")
    report = icecore.pack(tmp_path / "r", tmp_path / "p", group="/", keep_going=True)
    assert [(failure.name, failure.kind) for failure in report.failures] == [("/old", caught.value.kind)]
    repo = icecore.open(tmp_path / "p")
    assert list(repo) == ["/good"]
    assert repo["/good"][::999].tolist() == [0, 999]
