"""Files linked bit by bit, in any order, make the arrays that one link makes: NetCDF, ROOT chains, tables."""

from __future__ import annotations

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import xarray as xr
from icecore.tables.text.restore import restore
from test_growth import same

LINK: dict[str, Any] = {"group": "/g", "concat": "time"}


def cuts(rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    """Random consecutive ranges that cover ``count`` files."""
    return list(pairwise(sorted({0, count, *rng.integers(1, count, 3).tolist()})))


def day(
    folder: Path, first: int, days: int, chunk: int = 4, dtype: str = "f4", units: str = "", size: int = 300
) -> Path:
    """A file with a large array, which is linked, and small ones; ``t`` tells where each value belongs."""
    values = (np.arange(first, first + days)[:, None] * 1000 + np.arange(size)).astype(dtype)
    since = np.datetime64("2001-01-01") if not units else np.datetime64(units)
    times = np.arange(first, first + days) - int((since - np.datetime64("2001-01-01")).astype(int))
    data = xr.Dataset(
        {
            "t": (("time", "x"), values, {"units": "K"}),
            "n": (("time",), np.arange(first, first + days, dtype="i4")),
            "bounds": (("time", "two"), np.stack([times, times + 1], 1).astype("f8")),
        },
        {
            "time": ("time", times.astype("f8"), {"units": f"days since {since}", "bounds": "bounds"}),
            "x": np.arange(size),
        },
    )
    encoding = {"t": {"zlib": True, "chunksizes": (min(chunk, days), size)}}
    place = folder / f"{first:05}.nc"
    data.to_netcdf(place, unlimited_dims=["time"], encoding=encoding)
    return place


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Link small arrays too, which are copied otherwise if their chunks have different lengths."""
    monkeypatch.setattr("icecore.sources.mapping.stitched_array.SMALL", 1 << 10)
    monkeypatch.setattr("icecore.ingest.plan.link_plan._SMALL", 1 << 10)


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("seed", range(12))
def test_netcdf_files_in_any_order_and_split(tmp_path: Path, seed: int) -> None:
    """Lengths, chunks, types and units of time change; files are late, missing, or named again."""
    rng = np.random.default_rng(seed)
    first, files = 0, []
    for _ in range(8):
        first += int(rng.choice([0, 0, 3]))
        days, chunk = int(rng.choice([4, 4, 5, 8, 1])), int(rng.choice([4, 4, 2, 5]) if seed % 2 else 4)
        dtype = str(rng.choice(["f4", "f8"])) if seed % 4 == 3 else "f4"
        units = str(rng.choice(["", "2000-12-01"])) if seed % 3 == 2 and files else ""
        files.append(day(tmp_path, first, days, chunk, dtype, units))
        first += days
    icecore.link(files, tmp_path / "once", **LINK)
    order = np.arange(8)
    if seed >= 6:  # the first file decides on units and codecs
        order[1:] = rng.permutation(np.arange(1, 8)) if seed % 2 else order[1:]
        order = order if seed % 2 else rng.permutation(8) if seed % 3 != 2 else order
    for low, high in cuts(rng, 8):
        some = [files[i] for i in sorted(order[low:high])]
        again = [files[i] for i in order[:low] if rng.integers(0, 4) == 0]
        icecore.link(sorted([*some, *again]), tmp_path / "bit", append=low > 0, **LINK)
    same(tmp_path / "once", tmp_path / "bit")
    repo = icecore.open(tmp_path / "bit")
    assert not repo.verify(deep=True)
    report = icecore.link(files, tmp_path / "bit", append=True, **LINK)
    assert {row.how for row in report.rows} == {"skipped"}
    assert icecore.open(tmp_path / "bit").snapshot_id == repo.snapshot_id


def test_small_files_that_are_copied_are_recognized_by_their_values(tmp_path: Path) -> None:
    files = [day(tmp_path, first, 3, size=2) for first in (0, 3, 9)]
    icecore.link(files, tmp_path / "r", **LINK)
    late = day(tmp_path, 6, 3, size=2)
    icecore.link([*files, late], tmp_path / "r", append=True, **LINK)
    icecore.link(sorted([*files, late]), tmp_path / "once", **LINK)
    same(tmp_path / "once", tmp_path / "r")


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("down", [False, True])
def test_late_files_keep_the_references_of_others(tmp_path: Path, down: bool) -> None:
    files = [day(tmp_path, 4 * i, 4) for i in range(5)]
    if down:
        for i, file in enumerate(files):
            with xr.load_dataset(file, decode_times=False) as data:
                data["time"] = ("time", -data.time.values[::1], data.time.attrs)
                data.to_netcdf(file, encoding={"t": {"zlib": True, "chunksizes": (4, 300)}}, mode="w")
            assert i >= 0
    icecore.link([files[i] for i in (0, 2, 4)], tmp_path / "r", **LINK)
    report = icecore.link([files[3], files[1]], tmp_path / "r", append=True, **LINK)
    assert next(row for row in report.rows if row.path == "/g/t").how == "linked"
    icecore.link(files, tmp_path / "once", **LINK)
    same(tmp_path / "once", tmp_path / "r")
    assert icecore.open(tmp_path / "r")["/g/t"].linked
    assert len(icecore.open(tmp_path / "r").log()) == 3


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize(("first", "days"), [(4, 4), (2, 4), (0, 4), (9, 3), (3, 9), (10, 6), (5, 1)])
def test_rows_are_replaced_by_their_times(tmp_path: Path, first: int, days: int) -> None:
    files = [day(tmp_path, 4 * i, 4) for i in range(3)]
    icecore.link(files, tmp_path / "r", **LINK)
    (tmp_path / "better").mkdir()
    better = day(tmp_path / "better", first, days)
    with xr.load_dataset(better, decode_times=False) as data:
        data["t"] = data.t + 0.5
        data.to_netcdf(better, mode="w", encoding={"t": {"zlib": True, "chunksizes": (min(days, 4), 300)}})
    before = icecore.open(tmp_path / "r")["/g/t"][...]
    icecore.link(better, tmp_path / "r", append=True, replace=True, **LINK)
    repo = icecore.open(tmp_path / "r")
    stop = max(12, first + days)
    assert repo["/g/time"][...].tolist() == list(range(stop))
    expected = (np.arange(stop)[:, None] * 1000 + np.arange(300)).astype("f4")
    expected[first : first + days] += 0.5
    np.testing.assert_array_equal(repo["/g/t"][...], expected)
    np.testing.assert_array_equal(repo.at(repo.log()[1].id)["/g/t"][...], before)
    assert not repo.verify(deep=True)
    report = icecore.link(better, tmp_path / "r", append=True, replace=True, **LINK)
    assert report.snapshot is None


@pytest.mark.usefixtures("linked")
def test_a_linked_file_that_changed_is_named_or_replaced(tmp_path: Path) -> None:
    files = [day(tmp_path, 4 * i, 4) for i in range(3)]
    icecore.link(files, tmp_path / "r", **LINK)
    with xr.load_dataset(files[1], decode_times=False) as data:
        (data.assign(t=data.t + 0.5)).to_netcdf(
            files[1], mode="w", encoding={"t": {"zlib": True, "chunksizes": (4, 300)}}
        )
    os.utime(files[1], ns=(1, 10**18))
    with pytest.raises(icecore.Error, match="changed since it was linked") as caught:
        icecore.link(files, tmp_path / "r", append=True, **LINK)
    assert caught.value.kind == "source-changed"
    assert "--append --replace" in caught.value.hint
    icecore.link(files, tmp_path / "r", append=True, replace=True, **LINK)
    found = icecore.open(tmp_path / "r")["/g/t"]
    assert found[:, 0].tolist() == [1000.0 * i + (0.5 if 4 <= i < 8 else 0) for i in range(12)]


def test_packs_replace_whole_arrays_only(tmp_path: Path) -> None:
    with pytest.raises(icecore.Error, match="exclude each other"):
        icecore.pack(day(tmp_path, 0, 3), tmp_path / "r", append=True, replace=True, **LINK)


@pytest.mark.parametrize("seed", range(6))
def test_root_files_in_any_split(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("uproot")
    from root_kit import write

    rng = np.random.default_rng(seed)
    kinds = ["zstd", "zstd", "zlib", "none"] if seed % 2 else ["zstd"]
    files = [
        write(
            tmp_path / f"f{i}.root",
            seed=i,
            compression=str(rng.choice(kinds)),
            baskets=int(rng.integers(1, 4)),
        )
        for i in rng.permutation(6)
    ]
    how: dict[str, Any] = {"group": "/Events", "concat": "entry"}
    icecore.link([f"{file}:Events" for file in files], tmp_path / "once", **how)
    for low, high in cuts(rng, 6):
        first = 0 if low and rng.integers(0, 2) else low  # files that are linked already are named again
        some = [f"{file}:Events" for file in files[first:high]]
        icecore.link(some, tmp_path / "bit", append=low > 0, **how)
    same(tmp_path / "once", tmp_path / "bit")
    version = icecore.open(tmp_path / "bit").snapshot_id
    report = icecore.link([f"{file}:Events" for file in files], tmp_path / "bit", append=True, **how)
    assert {row.how for row in report.rows} == {"skipped"}
    assert icecore.open(tmp_path / "bit").snapshot_id == version
    os.utime(files[2], ns=(1, 1))
    with pytest.raises(icecore.Error, match="changed since it was linked"):
        icecore.link([f"{files[2]}:Events"], tmp_path / "bit", append=True, **how)


def cell(rng: np.random.Generator, kind: int) -> str:
    return [
        str(rng.integers(0, 100)),
        f"{rng.integers(-999, 999) / 100:.2f}",
        f"{rng.normal():.6e}",
        "x" * int(rng.integers(1, 9)),
        "",
        f"2020-01-{rng.integers(1, 29):02}",
    ][kind]


@pytest.mark.parametrize("seed", range(10))
def test_text_tables_in_any_split(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    files = []
    for i in range(7):
        files.append(tmp_path / f"f{rng.integers(0, 1000)}_{i}.csv")
        widest = [int(rng.choice([0, 0, 1, 2, 3])) if rng.integers(0, 3) == 0 else 0, 5 if seed % 2 else 1]
        rows = [
            [str(j), *(cell(rng, 4 if rng.integers(0, 9) == 0 else k) for k in widest)] for j in range(20)
        ]
        files[-1].write_text("n,a,b\n" + "".join(",".join(row) + "\n" for row in rows))
    how: dict[str, Any] = {"group": "/t", "concat": "rows"}
    icecore.pack(files, tmp_path / "once", **how)
    for low, high in cuts(rng, 7):
        first = 0 if low and rng.integers(0, 2) else low
        icecore.pack(files[first:high], tmp_path / "bit", append=low > 0, **how)
    one, two = (icecore.open(tmp_path / name) for name in ("once", "bit"))
    for name in ("n", "a", "b"):
        assert one[f"/t/{name}"].dtype == two[f"/t/{name}"].dtype, name
        np.testing.assert_array_equal(one[f"/t/{name}"][...], two[f"/t/{name}"][...])
    restore(two, "/t", tmp_path / "again")
    for file in files:
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    report = icecore.pack(files, tmp_path / "bit", append=True, **how)
    assert (report.snapshot, {row.how for row in report.rows}) == (None, {"skipped"})


@pytest.mark.parametrize("part", [False, True])
def test_frames_are_replaced_by_their_times(tmp_path: Path, part: bool) -> None:
    from test_growth import T0, frame

    files = [frame(tmp_path, at, 4, 16, "f4", False) for at in (0, 4, 8)]
    icecore.link(files, tmp_path / "r", group="/")
    (tmp_path / "v2").mkdir()
    better = frame(tmp_path / "v2", 5 if part else 4, 4, 16, "f4", False)
    how: dict[str, Any] = {"group": "/", "concat": "time", "append": True, "replace": True}
    if part:
        with pytest.raises(icecore.Error, match="the new files have a part of GPS"):
            icecore.link(better, tmp_path / "r", **how)
        return
    icecore.link(better, tmp_path / "r", **how)
    repo = icecore.open(tmp_path / "r")
    same(tmp_path / "r", _once(tmp_path, [files[0], better, files[2]]))
    urls = {url for url, _ in repo._native.array("/H1/X").links()[0]}
    assert len(urls) == 3
    assert any("/v2/" in url for url in urls)
    assert icecore.link(better, tmp_path / "r", **how).snapshot is None
    assert T0


def _once(folder: Path, files: list[Path]) -> Path:
    icecore.link(files, folder / "once", group="/")
    return folder / "once"


def test_the_same_folder_again(tmp_path: Path) -> None:
    """As a job that runs each hour does; a copy of a file elsewhere is another file."""
    folder = tmp_path / "f"
    folder.mkdir()
    day(folder, 0, 4)
    icecore.link(f"{folder}/*.nc", tmp_path / "r", **LINK)
    for first in (4, 8):
        day(folder, first, 4)
        icecore.link(f"{folder}/*.nc", tmp_path / "r", append=True, **LINK)
    assert icecore.open(tmp_path / "r")["/g/time"][...].tolist() == list(range(12))
    shutil.copytree(folder, tmp_path / "copy")
    report = icecore.link(f"{tmp_path}/copy/*.nc", tmp_path / "r", append=True, **LINK)
    assert report.snapshot is None, "the same values at the same times"
