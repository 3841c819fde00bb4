"""Archives that grow: an append stores what it adds, and n appends make the same arrays as one."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import icecore
import numpy as np
import pytest
import xarray as xr
from icecore.samples.gwf import write_frame
from icecore.writing.row_grid import RowGrid

T0 = 1_400_000_000


def size(place: Path) -> int:
    return sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(place) for name in names
    )


def objects(place: Path) -> int:
    """Bytes of chunks that are not stored in references."""
    return size(place / "chunks") if (place / "chunks").exists() else 0


def steps(count: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    if dtype == "O":
        return np.array(
            [f"{i:x}" * (i % 9) for i in rng.integers(0, 1 << 20, (count, *shape)).flat], "O"
        ).reshape(count, *shape)
    values = 280 + np.cumsum(rng.normal(0, 1, (count, *shape)), axis=-1 if shape else 0)
    return values.astype(dtype)


@pytest.mark.parametrize("first", [0, 1, 40, 1000])
@pytest.mark.parametrize(("shape", "dtype"), [((37, 72), "f4"), ((260,), "i8"), ((4, 4, 90), "f8")])
def test_an_append_stores_what_it_adds(
    tmp_path: Path, first: int, shape: tuple[int, ...], dtype: str
) -> None:
    """Most appends store what they add; some merge what earlier ones added. Compare docs/design/0127."""
    count, row = 34, steps(1, shape, dtype).nbytes
    data = steps(first + count, shape, dtype)
    with icecore.create(tmp_path / "r").writer() as w:
        array = w.array("/t", dtype, (0, *shape))
        if first:
            array.append(data[:first])
    grown, chunks = [], []
    for i in range(first, first + count):
        before, stored = size(tmp_path / "r"), objects(tmp_path / "r")
        with icecore.open(tmp_path / "r").writer() as w:
            w["/t"].append(data[i])
        grown.append(size(tmp_path / "r") - before)
        chunks.append(objects(tmp_path / "r") - stored)
    np.testing.assert_array_equal(icecore.open(tmp_path / "r")["/t"][:], data)
    # One of the first two may write the last chunk again, which may hold all rows.
    assert sum(grown[:2]) <= 1.1 * data[: first + 2].nbytes + (24 << 10), grown
    later, ordinary = grown[2:], 1.3 * row + (8 << 10)
    assert np.median(later) <= ordinary, grown
    # In 16 appends, one merges chunks, and two merge manifests that hold short chunks.
    assert sum(more > 1.3 * row for more in chunks[2:]) <= 2, chunks
    assert sum(more > ordinary for more in later) <= 6, grown
    assert sum(chunks[2:]) <= 2 * len(later) * row, chunks
    assert sum(later) <= 3 * len(later) * row, grown  # at most 2.7 measured


@pytest.mark.parametrize("dtype", ["f4", "O"])
def test_appends_of_one_writer_store_what_they_add(tmp_path: Path, dtype: str) -> None:
    data = steps(300, (5000,), "f4") if dtype == "f4" else steps(300, (40,), "O")
    with icecore.create(tmp_path / "r").writer() as w:
        array = w.array("/t", str if dtype == "O" else dtype, (0, *data.shape[1:]))
        for row in data:
            array.append(row)
            w.commit()
    assert icecore.open(tmp_path / "r")["/t"][:].tolist() == data.tolist()
    raw = data.nbytes if dtype == "f4" else sum(len(text) + 4 for text in data.flat)
    assert objects(tmp_path / "r") <= 5 * raw


@pytest.mark.parametrize("seed", range(6))
def test_random_changes_of_a_growing_array(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    other = [(), (7,), (3, 50)][seed % 3]
    expected = np.zeros((0, *other), "i4")
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/a", "i4", (0, *other), chunks=(10, *(max(n // 2, 1) for n in other)))
    for _ in range(40):
        with icecore.open(tmp_path / "r").writer(memory=1 << 20) as w:
            array = w["/a"]
            for _ in range(rng.integers(1, 4)):
                kind = rng.integers(0, 10)
                if kind < 7:
                    rows = rng.integers(0, 99, (int(rng.choice([1, 1, 2, 9, 10, 33, 500])), *other)).astype(
                        "i4"
                    )
                    array.append(rows)
                    expected = np.concatenate([expected, rows])
                elif kind == 7 and len(expected):
                    low = int(rng.integers(0, len(expected)))
                    high = int(rng.integers(low, len(expected))) + 1
                    array[low:high] = expected[low:high] = seed
                elif kind == 8:
                    rows = int(rng.integers(0, len(expected) + 1))
                    array.resize((rows, *other))
                    expected = expected[:rows]
                else:
                    more = int(rng.integers(0, 30))
                    array.resize((len(expected) + more, *other))
                    expected = np.concatenate([expected, np.zeros((more, *other), "i4")])
                if rng.integers(0, 3) == 0:
                    w.commit()
        found = icecore.open(tmp_path / "r")["/a"]
        np.testing.assert_array_equal(found[:], expected)
        if len(expected):
            at = rng.integers(0, len(expected), 2)
            np.testing.assert_array_equal(found[int(at.min()) : int(at.max())], expected[at.min() : at.max()])
    assert not icecore.open(tmp_path / "r").verify(deep=True)


def test_a_long_tail_is_read_with_few_requests(tmp_path: Path) -> None:
    data = steps(3000, (64,), "f4")
    for name, count in (("once", 3000), ("grown", 2600)):
        with icecore.create(tmp_path / name).writer() as w:
            w.array("/t", "f4", (0, 64)).append(data[:count])
    for i in range(2600, 3000):
        with icecore.open(tmp_path / "grown").writer() as w:
            w["/t"].append(data[i])
    once, grown = (icecore.open(tmp_path / name)["/t"] for name in ("once", "grown"))
    np.testing.assert_array_equal(grown[:], data)
    bytes_once, bytes_grown = (array.plan(np.s_[:]).bytes_fetched for array in (once, grown))
    assert bytes_grown <= 1.2 * bytes_once
    assert grown.plan(np.s_[:]).requests <= once.plan(np.s_[:]).requests + 48
    assert len(grown._node.document["chunk_grid"]["configuration"]["chunk_shapes"][0]) < 48


@pytest.mark.parametrize(("unit", "tiers"), [(16, 1), (64, 2), (256, 3), (1000, 3), (4096, 4)])
def test_merging_writes_each_row_once_for_each_tier(unit: int, tiers: int) -> None:
    """Tiers of 16, 128, 1024, ... appends, up to the first that is as long as the planned chunk."""
    grid, rows, again = RowGrid(unit, np.array([unit])), unit, 0
    most = 0
    for count in range(5000):
        assert again <= tiers * count
        found = grid.merged(rows, 1 << 30)
        if found is not None:
            grid, first = found
            again += rows - first
        rows += 1
        grid = grid.resized(rows)
        most = max(most, len(grid.runs))
    assert grid.ceil(rows) == rows
    assert most <= 40


def test_portable_arrays_and_given_shards_keep_one_shape_of_chunks(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r")
    with repo.writer() as w:
        w.array("/p", "f4", (0, 500), portable=True).append(np.ones((30, 500)))
        w.array("/s", "f4", (0, 500), chunks=(4, 500), shards=(8, 500)).append(np.ones((30, 500)))
    with icecore.open(tmp_path / "r").writer() as w:
        for path in ("/p", "/s"):
            w[path].append(np.full(500, 2))
    repo = icecore.open(tmp_path / "r")
    for path in ("/p", "/s"):
        assert repo[path].chunks is not None
        assert repo[path][29:, 0].tolist() == [1, 2]


# Links


def same(one: Path, two: Path) -> None:
    """Check that two repositories have equal arrays and attributes."""
    a, b = icecore.open(one), icecore.open(two)
    assert sorted(a.arrays) == sorted(b.arrays)
    for path, array in a.arrays.items():
        other = b.arrays[path]
        assert (array.shape, array.dtype, array.dims) == (other.shape, other.dtype, other.dims), path
        assert repr(array.attrs) == repr(other.attrs), path  # NaN is not equal to itself
        np.testing.assert_array_equal(array[...], other[...], err_msg=path)


def frame(folder: Path, start: int, seconds: int, rate: int, dtype: str, extra: bool) -> Path:
    values = np.arange(start * rate, (start + seconds) * rate).astype(dtype)
    channels = {"H1:X": (values, float(rate)), "H1:OK": (np.arange(seconds * 4, dtype="i4") + start, 4.0)}
    if extra:
        channels["L1:Y"] = (values[: seconds * rate], float(rate))
    return write_frame(folder / f"H-T-{T0 + start}-{seconds}.gwf", T0 + start, channels)


@pytest.mark.parametrize("seed", range(12))
def test_frames_linked_in_any_order_and_split(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at, files = 0, []
    rate, dtype = 16, "f4"
    for _ in range(9):
        at += int(rng.choice([0, 0, 2, 4, 3]))
        if seed % 2 and rng.integers(0, 4) == 0:
            rate, dtype = int(rng.choice([16, 32])), str(rng.choice(["f4", "f8"]))
        seconds = int(rng.choice([4, 4, 4, 2]))
        files.append(frame(tmp_path, at, seconds, rate, dtype, bool(rng.integers(0, 5))))
        at += seconds
    icecore.link(files, tmp_path / "once", group="/")
    order = rng.permutation(9) if seed % 3 else np.arange(9)
    cuts = sorted({0, 9, *rng.integers(1, 9, 4).tolist()})
    for low, high in pairwise(cuts):
        some = [files[i] for i in order[low:high]]
        icecore.link(some, tmp_path / "bit", group="/", concat="time", append=low > 0)
    same(tmp_path / "once", tmp_path / "bit")
    version = icecore.open(tmp_path / "bit").snapshot_id
    report = icecore.link(files, tmp_path / "bit", group="/", concat="time", append=True)
    assert {row.how for row in report.rows} == {"skipped"}
    assert icecore.open(tmp_path / "bit").snapshot_id == version
    assert not icecore.open(tmp_path / "bit").verify(deep=True)


def test_a_changed_frame_file_is_refused(tmp_path: Path) -> None:
    files = [frame(tmp_path, at, 4, 16, "f4", False) for at in (0, 4)]
    icecore.link(files, tmp_path / "r", group="/")
    os.utime(files[0], ns=(1, 1))
    with pytest.raises(icecore.Error, match="changed since it was linked") as caught:
        icecore.link(files, tmp_path / "r", group="/", concat="time", append=True)
    assert caught.value.kind == "source-changed"


def month(folder: Path, first: int, days: int, chunk: int) -> Path:
    rng = np.random.default_rng(first)
    values = rng.normal(size=(days, 240, 90)).astype("f4")
    data = xr.Dataset(
        {"t": (("time", "y", "x"), values, {"units": "K"}), "n": (("time",), np.arange(days, dtype="i4"))},
        {"time": ("time", np.arange(first, first + days), {"units": "days since 2001-01-01"})},
    )
    encoding = {"t": {"zlib": True, "chunksizes": (min(chunk, days), 240, 90)}}
    data.to_netcdf(folder / f"{first:05}.nc", unlimited_dims=["time"], encoding=encoding)
    return folder / f"{first:05}.nc"


@pytest.mark.parametrize("seed", range(5))
def test_files_of_different_lengths_linked_in_any_split(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, files = 0, []
    for _ in range(7):
        days = int(rng.choice([31, 28, 30])) if seed else 31
        files.append(month(tmp_path, first, days, [31, 31, 10, 7, 40][seed]))
        first += days
    icecore.link(files, tmp_path / "once", group="/g", concat="time")
    cuts = sorted({0, 7, *rng.integers(1, 7, 3).tolist()})
    for low, high in pairwise(cuts):
        report = icecore.link(files[low:high], tmp_path / "bit", group="/g", concat="time", append=low > 0)
        assert next(row for row in report.rows if row.path == "/g/t").how in ("linked", "mixed")
    same(tmp_path / "once", tmp_path / "bit")


def test_references_of_appended_files_cost_what_they_add(tmp_path: Path) -> None:
    def one(number: int) -> Path:
        channels = {f"H1:C{i}": (np.arange(4, dtype="f4"), 4.0) for i in range(10)}
        return write_frame(tmp_path / f"H-{number:04}.gwf", T0 + number, channels)

    icecore.link([one(i) for i in range(600)], tmp_path / "r", group="/")
    before = {name: size(tmp_path / "r" / name) for name in ("manifests", "snapshots")}
    for i in range(600, 620):
        icecore.link(one(i), tmp_path / "r", group="/", concat="time", append=True)
    grown = {name: size(tmp_path / "r" / name) - old for name, old in before.items()}
    assert grown["manifests"] < before["manifests"], "20 new references of 600 in each array"
    assert grown["snapshots"] < 20 * (6 << 10)
    assert icecore.open(tmp_path / "r")["/H1/C3"].shape == (4 * 620,)
