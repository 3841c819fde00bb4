"""``icecore.link``: what is linked, copied, refused; joining and continuing; committing all or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def granule(path: Path, seed: int = 0) -> dict[str, np.ndarray]:
    """An HDF5 file with what can and what can't be linked."""
    rng = np.random.default_rng(seed)
    arrays = {
        "gzip": np.cumsum(rng.integers(-2, 3, (1000, 7)), 0).astype("i4"),
        "plain": rng.random((50, 20)),
        "deep/er/x": rng.random(333).astype("f4"),
    }
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "granule"
        file.create_dataset("gzip", data=arrays["gzip"], chunks=(100, 7), compression="gzip", shuffle=True)
        file.create_dataset("plain", data=arrays["plain"])
        file.create_dataset("deep/er/x", data=arrays["deep/er/x"], chunks=(100,))
        file.create_dataset("text", data=["a", "bc"], dtype=h5py.string_dtype())
        file["gzip"].attrs["units"] = "m"
    return arrays


def month(
    path: Path, days: int, start: int, units: str = "days since 2000-01-01", chunk: int | None = 5
) -> np.ndarray:
    """One file of a series: time (unlimited) by x."""
    data = RNG.random((days, 6)).astype("f4")
    with h5py.File(path, "w", track_order=True) as file:
        for name, values in {"time": np.arange(start, start + days, dtype="f8"), "x": np.arange(6.0)}.items():
            file.create_dataset(name, data=values, maxshape=(None,) if name == "time" else None)
            file[name].make_scale(name)
        file["time"].attrs["units"] = units
        a = file.create_dataset("t", data=data, chunks=None if chunk is None else (chunk, 6))
        a.attrs["units"] = "K"
        for axis, name in enumerate(("time", "x")):
            a.dims[axis].attach_scale(file[name])
    return data


def test_linked_and_copied(tmp_path: Path) -> None:
    arrays = granule(tmp_path / "g.h5")
    report = icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore")
    how = {row.path: row.how for row in report.rows}
    assert how == {"/g/gzip": "linked", "/g/plain": "linked", "/g/deep/er/x": "linked", "/g/text": "copied"}
    assert next(row.why for row in report.rows if row.how == "copied")
    repo = icecore.open(tmp_path / "r.icecore")
    assert report.snapshot == repo.snapshot_id
    for name, data in arrays.items():
        np.testing.assert_array_equal(repo[f"/g/{name}"][...], data)
    assert repo["/g/text"][...].tolist() == ["a", "bc"]
    assert repo["/g"].attrs["title"] == "granule"
    assert repo["/g/gzip"].attrs == {"units": "m"}
    assert repo["/g/gzip"].linked
    assert not repo["/g/text"].linked
    assert repo.verify(deep=True) == []
    table = str(report)
    assert "/g/gzip" in table
    assert "linked" in table


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    report = icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore", dry_run=True)
    assert report.dry_run
    assert report.count("linked") == 3
    assert report.snapshot is None
    assert not (tmp_path / "r.icecore").exists()


def test_repeating_is_refused(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    into = tmp_path / "r.icecore"
    icecore.link(tmp_path / "g.h5", into)
    before = icecore.open(into)
    with pytest.raises(icecore.Error) as caught:
        icecore.link(tmp_path / "g.h5", into)
    assert caught.value.kind == "exists"
    assert "--replace" in caught.value.hint
    report = icecore.link(tmp_path / "g.h5", into, skip_existing=True)
    assert report.count("skipped") == 4
    assert icecore.open(into).snapshot_id == before.snapshot_id
    arrays = granule(tmp_path / "g.h5", seed=1)
    icecore.link(tmp_path / "g.h5", into, replace=True)
    np.testing.assert_array_equal(icecore.open(into)["/g/gzip"][...], arrays["gzip"])
    with pytest.raises(ValueError, match="exclude each other"):
        icecore.link(tmp_path / "g.h5", into, replace=True, skip_existing=True)


def test_group(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore", "/a/b")
    icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore", "/")
    repo = icecore.open(tmp_path / "r.icecore")
    assert "/a/b/gzip" in repo
    assert "/gzip" in repo
    assert repo.attrs["title"] == "granule"


def test_two_sources_in_one_group(tmp_path: Path) -> None:
    data = granule(tmp_path / "g.h5")
    granule(tmp_path / "h.h5", seed=1)
    with pytest.raises(icecore.Error) as caught:
        icecore.link([tmp_path / "g.h5", tmp_path / "h.h5"], tmp_path / "r.icecore", "/same")
    assert caught.value.kind == "exists"
    assert "--concat" in caught.value.hint
    assert not (tmp_path / "r.icecore").exists()
    granule(tmp_path / "twin.h5")
    report = icecore.link([tmp_path / "g.h5", tmp_path / "twin.h5"], tmp_path / "t.icecore", "/same")
    assert report.count("skipped") == 4, "equal arrays are stored once"
    for name, values in data.items():
        np.testing.assert_array_equal(icecore.open(tmp_path / "t.icecore")[f"/same/{name}"][...], values)
    icecore.link([tmp_path / "g.h5", tmp_path / "h.h5"], tmp_path / "r.icecore")
    assert {"/g/gzip", "/h/gzip"} <= set(icecore.open(tmp_path / "r.icecore"))


def test_a_file_named_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a1.npy", np.arange(3))
    with pytest.raises(icecore.Error, match=r"a1\.npy is named twice") as caught:
        icecore.link(["a*.npy", "a1.npy"], "r.icecore")
    assert caught.value.kind == "exists"
    assert "name it once" in caught.value.hint
    with pytest.raises(icecore.Error, match=r"named twice, also as a1\.npy"):
        icecore.pack(["a1.npy", tmp_path / "a1.npy"], "r.icecore")
    report = icecore.pack(["a1.npy", "a1.npy"], "r.icecore", keep_going=True)
    assert [row.path for row in report.rows] == ["/a1/a1"]


def test_one_bad_file(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    (tmp_path / "bad.h5").write_bytes(b"not HDF5")
    sources = [tmp_path / "bad.h5", tmp_path / "g.h5", tmp_path / "missing.h5"]
    with pytest.raises(icecore.Error) as caught:
        icecore.link(sources, tmp_path / "r.icecore")
    assert "bad.h5" in str(caught.value)
    assert "missing.h5" in str(caught.value)
    assert not (tmp_path / "r.icecore").exists()
    report = icecore.link(sources, tmp_path / "r.icecore", keep_going=True)
    assert [Path(item.name).name for item in report.failures] == ["bad.h5", "missing.h5"]
    assert "/g/gzip" in icecore.open(tmp_path / "r.icecore")


@pytest.mark.parametrize("chunk", [5, None, 4])
def test_concat(tmp_path: Path, chunk: int | None) -> None:
    days = [10, 15, 5, 7]
    files = [tmp_path / f"m{i}.nc" for i in range(len(days))]
    data = [month(f, n, sum(days[:i]), chunk=chunk) for i, (f, n) in enumerate(zip(files, days, strict=True))]
    report = icecore.link(files, tmp_path / "r.icecore", "/series", concat="time")
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/series/t"][...], np.concatenate(data))
    np.testing.assert_array_equal(repo["/series/time"][...], np.arange(sum(days)))
    assert repo["/series/x"].shape == (6,)
    if chunk == 5:
        assert {row.path: row.how for row in report.rows}["/series/t"] == "linked"
    assert repo.verify(deep=True) == []


@pytest.mark.parametrize(("first", "linked"), [(10, True), (12, False)])
def test_append(tmp_path: Path, first: int, linked: bool) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    data = [month(a, first, 0), month(b, 9, first)]
    into = tmp_path / "r.icecore"
    icecore.link(a, into, "/series", concat="time")
    report = icecore.link(b, into, "/series", concat="time", append=True)
    how = {row.path: row.how for row in report.rows}
    assert how["/series/t"] == ("linked" if linked else "copied")
    assert how["/series/x"] == "skipped"
    repo = icecore.open(into)
    np.testing.assert_array_equal(repo["/series/t"][...], np.concatenate(data))
    np.testing.assert_array_equal(repo["/series/time"][...], np.arange(first + 9))
    assert repo.verify(deep=True) == []
    np.testing.assert_array_equal(repo.at(repo.log()[1].id)["/series/t"][...], data[0])


def test_append_converts_times_to_the_stored_units(tmp_path: Path) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    month(a, 10, 0)
    month(b, 10, 0, units="days since 2000-01-11")
    icecore.link(a, tmp_path / "r.icecore", "/s", concat="time")
    icecore.link(b, tmp_path / "r.icecore", "/s", concat="time", append=True)
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/s/time"][...], np.arange(20))


def test_append_refuses_what_means_something_else(tmp_path: Path) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    month(a, 10, 0)
    month(b, 10, 10)
    into = tmp_path / "r.icecore"
    icecore.link(a, into, "/s", concat="time")
    with h5py.File(b, "a") as file:
        file["t"].attrs["units"] = "degC"
    with pytest.raises(icecore.Error) as caught:
        icecore.link(b, into, "/s", concat="time", append=True)
    assert caught.value.kind == "mismatch"
    assert "degC" in str(caught.value)
    month(b, 10, 10)
    with h5py.File(b, "a") as file:
        file["x"][...] += 1
    with pytest.raises(icecore.Error, match="/x") as caught:
        icecore.link(b, into, "/s", concat="time", append=True)
    assert caught.value.kind == "mismatch"
    with pytest.raises(icecore.Error, match="append to"):
        icecore.link(b, into, "/other", concat="time", append=True)
    with pytest.raises(icecore.Error, match="dimension"):
        icecore.link(b, into, "/s", append=True)
    assert icecore.open(into)["/s/t"].shape == (10, 6)


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
@pytest.mark.parametrize("having", [{0}, {1}, {0, 2}, {1, 2}])
def test_what_does_not_grow_need_not_be_in_all_files(
    tmp_path: Path, verb: Any, having: set[int], append: bool
) -> None:
    """As in xarray.concat, in one go and file by file; where it is, it has to be the same."""
    files, into = [tmp_path / f"{i}.nc" for i in range(3)], tmp_path / "r.icecore"

    def join(group: str) -> None:
        if append:
            verb(files[0], into, group, concat="time")
            verb(files[1:], into, group, concat="time", append=True)
        else:
            verb(files, into, group, concat="time")

    for i, path in enumerate(files):
        month(path, 10, 10 * i)
        if i in having:
            with h5py.File(path, "a") as file:
                file["area"] = np.arange(6.0)
                file["area"].dims[0].attach_scale(file["x"])
    join("/s")
    assert icecore.open(into)["/s/area"][...].tolist() == list(range(6))
    assert icecore.open(into)["/s/t"].shape == (30, 6)
    if len(having) > 1:
        with h5py.File(files[max(having)], "a") as file:
            file["area"][0] = 7
        with pytest.raises(icecore.Error, match=r"/area.*differs") as caught:
            join("/again")
        assert caught.value.kind == "mismatch"
    with h5py.File(files[1], "a") as file:
        del file["t"]
    with pytest.raises(icecore.Error, match="/t"):
        join("/third")


def test_no_such_dimension(tmp_path: Path) -> None:
    month(tmp_path / "a.nc", 6, 0)
    with pytest.raises(icecore.Error, match="depth") as caught:
        icecore.link(tmp_path / "a.nc", tmp_path / "r.icecore", concat="depth")
    assert caught.value.kind == "not-found"


def test_changed_and_missing_files(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore")
    status = os.stat(tmp_path / "g.h5")
    os.utime(tmp_path / "g.h5", ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000_000))
    with pytest.raises(OSError, match=r"g\.h5") as caught:
        icecore.open(tmp_path / "r.icecore")["/g/gzip"][...]
    assert caught.value.kind == "source-changed"
    (tmp_path / "g.h5").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        icecore.open(tmp_path / "r.icecore")["/g/gzip"][...]
    assert caught.value.kind == "source-missing"
    assert icecore.open(tmp_path / "r.icecore").verify()


def test_links_are_read_from_allowed_places_only(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore")
    elsewhere = icecore.open(tmp_path / "r.icecore", allow_links=["file:///nowhere/"])
    with pytest.raises(PermissionError) as caught:
        elsewhere["/g/gzip"][...]
    assert caught.value.kind == "link-not-allowed"
    here = icecore.open(tmp_path / "r.icecore", allow_links=[tmp_path.as_uri() + "/"])
    assert here["/g/gzip"].shape == (1000, 7)
    here["/g/gzip"][...]


def test_a_link_outside_of_the_allowed_places_is_refused(tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    with pytest.raises(PermissionError) as caught:
        icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore", allow_links=[str(tmp_path / "elsewhere")])
    assert caught.value.kind == "link-not-allowed"
    icecore.link(tmp_path / "g.h5", tmp_path / "r.icecore", allow_links=[str(tmp_path)])
    assert icecore.open(tmp_path / "r.icecore", allow_links=[str(tmp_path)])["/g/plain"].linked


def test_groups_and_arrays_in_each_others_place(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    icecore.link(tmp_path / "a.npy", tmp_path / "r.icecore", "/x")
    icecore.link(tmp_path / "a.npy", tmp_path / "r.icecore", "/y/a")
    before = icecore.open(tmp_path / "r.icecore")
    for group in ("/x/a", "/x/a/b", "/y"):
        with pytest.raises(icecore.Error) as caught:
            icecore.link(tmp_path / "a.npy", tmp_path / "r.icecore", group, replace=True)
        assert caught.value.kind == "exists"
    assert icecore.open(tmp_path / "r.icecore").snapshot_id == before.snapshot_id


def test_numpy_and_globs(tmp_path: Path) -> None:
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", RNG.random((30, 4)))
    icecore.link(str(tmp_path / "*.npy"), tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/a/a"][...], np.load(tmp_path / "a.npy"))
    np.testing.assert_array_equal(repo["/b/b"][...], np.load(tmp_path / "b.npy"))
    assert repo["/a/a"].linked


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_groups_and_attributes_need_no_arrays(tmp_path: Path, verb: Any) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.attrs["title"] = "no data yet"
        file.create_group("g").attrs["station"] = 7
    assert verb(tmp_path / "f.h5", tmp_path / "r").snapshot is not None
    repo = icecore.open(tmp_path / "r")
    assert repo["/f"].attrs == {"title": "no data yet"}
    assert repo["/f/g"].attrs == {"station": 7}
    assert verb(tmp_path / "f.h5", tmp_path / "r").snapshot is None


@pytest.mark.parametrize("kinds", [("i1", "i2"), ("i2", "f4"), ("S2", "S3")])
def test_another_type_is_appended_as_in_one_link_and_packed_in_one_go_only(
    tmp_path: Path, kinds: Any
) -> None:
    files = [tmp_path / f"{kind}.h5" for kind in kinds]
    for path, kind in zip(files, kinds, strict=True):
        with h5py.File(path, "w") as file:
            file["t"] = np.arange(3)
            file["t"].make_scale("t")
            file["v"] = np.arange(3).astype(kind)
            file["v"].dims[0].attach_scale(file["t"])
    icecore.link(files, tmp_path / "once", concat="t", group="/g")
    icecore.link(files[0], tmp_path / "bit", concat="t", group="/g")
    icecore.link(files[1], tmp_path / "bit", concat="t", group="/g", append=True)
    once, bit = (icecore.open(tmp_path / name)["/g/v"] for name in ("once", "bit"))
    assert once.dtype == bit.dtype
    assert once[...].tolist() == bit[...].tolist()
    icecore.pack(files[0], tmp_path / "r", concat="t", group="/g")
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(files[1], tmp_path / "r", concat="t", group="/g", append=True)
    assert caught.value.kind == "mismatch"
    assert ("one go" in caught.value.hint) is (kinds[0][0] != "S")
    if kinds[0][0] != "S":  # and it holds
        icecore.pack(files, tmp_path / "s", concat="t", group="/g")
        assert icecore.open(tmp_path / "s")["/g/v"][...].tolist() == [0, 1, 2] * 2
