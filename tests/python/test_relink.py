"""``icecore.relink``: a moved directory is linked at its new place, after each file was compared."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.cli import run
from icecore.sources.files import content_check
from icecore.tables.summaries.write import read, state

RNG = np.random.default_rng(8)


def project(folder: Path, files: int = 3) -> dict[str, np.ndarray]:
    """A directory with HDF5 files of one gzip array, one array that is read in place, one small one."""
    (folder / "deep dir").mkdir(parents=True)
    values = {}
    for number in range(files):
        data = np.cumsum(RNG.integers(-2, 3, (500, 6)), 0).astype("i4")
        name = f"deep dir/é{number}.h5" if number else "a.h5"
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("x", data=data, chunks=(100, 6), compression="gzip")
            file.create_dataset("t", data=np.arange(9000.0) + number)
        values[f"/{Path(name).stem}/x"] = data
        values[f"/{Path(name).stem}/t"] = np.arange(9000.0) + number
    return values


def linked(tmp_path: Path, **options: object) -> tuple[Path, Path, dict[str, np.ndarray]]:
    old, repo = tmp_path / "old", tmp_path / "r.icecore"
    values = project(old)
    icecore.link(old, repo, **options)
    return old, repo, values


def touch(path: Path, seconds: int = 5) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + seconds * 10**9))


def check_values(repo: Path, values: dict[str, np.ndarray]) -> None:
    opened = icecore.open(repo)
    for path, data in values.items():
        np.testing.assert_array_equal(opened[path][...], data)


def test_moved_directory(tmp_path: Path) -> None:
    old, repo, values = linked(tmp_path)
    before = len(icecore.open(repo).log())
    new = tmp_path / "new place"
    old.rename(new)
    with pytest.raises(icecore.Error, match="No such file") as caught:
        icecore.open(repo)["/a/x"][...]
    assert caught.value.kind == "source-missing"
    assert "icecore relink OLD NEW" in caught.value.hint
    calls = []
    report = icecore.relink(old, new, repo, progress=lambda *call: calls.append(call))
    assert [file.state for file in report.files] == ["relinked"] * 3
    assert report.unchanged == 0
    assert {file.why for file in report.files} == {"same size and modification time"}
    assert sorted(report.arrays) == sorted(values)
    assert [call[1:] for call in calls] == [(1, 3), (2, 3), (3, 3)]
    opened = icecore.open(repo)
    assert len(opened.log()) == before + 1
    assert opened.snapshot_id == report.snapshot
    assert not opened.verify(deep=True)
    assert all(opened[path].linked for path in values)
    check_values(repo, values)


def test_only_repository_below_the_new_place(tmp_path: Path) -> None:
    old = tmp_path / "old"
    values = project(old)
    icecore.link(old / "a.h5", old / "work" / "r.icecore")
    new = tmp_path / "new"
    old.rename(new)
    assert icecore.relink(old, new).counts == "1 file relinked, 0 missing, 0 differing, 0 unchanged"
    check_values(new / "work" / "r.icecore", {p: v for p, v in values.items() if p.startswith("/a/")})
    icecore.create(new / "other.icecore")
    with pytest.raises(icecore.Error, match="has 2 repositories") as error:
        icecore.relink(old, new)
    assert error.value.kind == "invalid"


def test_copied_without_times(tmp_path: Path) -> None:
    """A small file is compared by its checksum; the old one is gone."""
    old, repo, values = linked(tmp_path)
    new = tmp_path / "new"
    shutil.copytree(old, new, copy_function=shutil.copyfile)
    shutil.rmtree(old)
    for path in new.rglob("*.h5"):
        touch(path)
    report = icecore.relink(old, new, repo)
    assert {file.why for file in report.files} == {"same content"}
    check_values(repo, values)


@pytest.mark.parametrize("keeps_old", [True, False])
def test_large_copies_are_compared_by_samples_or_with_the_old_file(tmp_path: Path, keeps_old: bool) -> None:
    old, new, repo = tmp_path / "old", tmp_path / "new", tmp_path / "r.icecore"
    old.mkdir()
    data = RNG.random(200_000)
    np.save(old / "x.npy", data)
    icecore.link(old / "x.npy", repo, group="/")
    shutil.copytree(old, new)
    touch(new / "x.npy")
    if not keeps_old:
        shutil.rmtree(old)
    (file,) = icecore.relink(old, new, repo).files
    assert file.why == (
        "same content as the old file" if keeps_old else "same size and samples of the content"
    )
    check_values(repo, {"/x": data})


@pytest.mark.parametrize("keeps_old", [True, False])
@pytest.mark.parametrize("size", [1000, 200_000])
def test_other_content_of_the_same_size(tmp_path: Path, size: int, keeps_old: bool) -> None:
    old, new, repo = tmp_path / "old", tmp_path / "new", tmp_path / "r.icecore"
    old.mkdir()
    np.save(old / "x.npy", np.arange(float(size)))
    icecore.link(old / "x.npy", repo, group="/")
    shutil.copytree(old, new)
    data = np.arange(float(size))
    data[0] = 5  # the first block of a large file is among its samples
    np.save(new / "x.npy", data)
    touch(new / "x.npy")
    if not keeps_old:
        shutil.rmtree(old)
    with pytest.raises(icecore.Error, match="the content differs") as error:
        icecore.relink(old, new, repo)
    assert error.value.kind == "source-changed"


def test_one_value_of_a_large_file_that_still_exists(tmp_path: Path) -> None:
    """Between the samples; the old file shows it."""
    old, new, repo = tmp_path / "old", tmp_path / "new", tmp_path / "r.icecore"
    old.mkdir()
    np.save(old / "x.npy", np.arange(200_000.0))
    icecore.link(old / "x.npy", repo, group="/")
    shutil.copytree(old, new)
    data = np.arange(200_000.0)
    data[3000] = -1
    np.save(new / "x.npy", data)
    touch(new / "x.npy")
    with pytest.raises(icecore.Error, match="the content differs"):
        icecore.relink(old, new, repo)


def test_nothing_is_written_when_a_file_differs(tmp_path: Path) -> None:
    old, repo, values = linked(tmp_path)
    snapshot = icecore.open(repo).snapshot_id
    new = tmp_path / "new"
    old.rename(new)
    (new / "a.h5").write_bytes((new / "a.h5").read_bytes() + b"x")
    (new / "deep dir" / "é1.h5").unlink()
    with pytest.raises(icecore.Error, match="and 1 more; nothing was relinked"):
        icecore.relink(old, new, repo)
    assert icecore.open(repo).snapshot_id == snapshot
    plan = icecore.relink(old, new, repo, dry_run=True)
    assert plan.snapshot is None
    assert icecore.open(repo).snapshot_id == snapshot
    report = icecore.relink(old, new, repo, keep_going=True)
    states = {Path(file.new).name: file.state for file in report.files}
    assert states == {"a.h5": "differing", "%C3%A91.h5": "missing", "%C3%A92.h5": "relinked"}
    check_values(repo, {path: data for path, data in values.items() if path.startswith("/é2/")})
    with pytest.raises(icecore.Error):
        icecore.open(repo)["/a/x"][...]
    again = icecore.relink(old, new, repo, dry_run=True)
    assert len(again.files) == 2
    assert again.unchanged == 1


def test_joined_arrays_and_files_elsewhere(tmp_path: Path) -> None:
    """One array whose chunks are in files at both places, and in the repository."""
    old, stays, repo = tmp_path / "old", tmp_path / "stays", tmp_path / "r.icecore"
    for number, folder in enumerate((old, stays)):
        folder.mkdir()
        with h5py.File(folder / "m.h5", "w") as file:
            file.create_dataset("x", data=np.arange(40.0) + 40 * number, chunks=(10,), maxshape=(None,))
            file["t"] = np.arange(40.0) + 40 * number
            file["t"].make_scale("t")
            file["x"].dims[0].attach_scale(file["t"])
    icecore.link([old / "m.h5", stays / "m.h5"], repo, group="/j", concat="t")
    with icecore.open(repo).writer() as writer:
        writer["/j/x"][0:10] = -np.arange(10.0)
    new = tmp_path / "new"
    old.rename(new)
    report = icecore.relink(old, new, repo)
    assert report.unchanged == 1
    assert len(report.files) == 1
    expected = np.concatenate([-np.arange(10.0), np.arange(10.0, 80.0)])
    check_values(repo, {"/j/x": expected})
    assert icecore.open(repo)["/j/x"].storage.inline + icecore.open(repo)["/j/x"].storage.native == 1


def test_summaries_are_kept(tmp_path: Path) -> None:
    old, repo, _values = linked(tmp_path, summaries=True)
    new = tmp_path / "new"
    before = read(icecore.open(repo)["/a/t"])
    old.rename(new)
    icecore.relink(old, new, repo)
    array = icecore.open(repo)["/a/t"]
    assert state(array) == "fresh"
    after = read(array)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_refusals(tmp_path: Path) -> None:
    old, repo, _ = linked(tmp_path)
    with pytest.raises(icecore.Error, match="links no file in") as error:
        icecore.relink(tmp_path / "ol", tmp_path / "new", repo)
    assert error.value.kind == "not-found"
    assert str(old) in (error.value.hint or "")
    with pytest.raises(icecore.Error, match="no repository"):
        icecore.relink(old, tmp_path / "nowhere")
    with pytest.raises(icecore.Error, match="no repository"):
        icecore.relink(old, old, tmp_path / "no.icecore")


def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old, repo, values = linked(tmp_path)
    new = tmp_path / "new"
    old.rename(new)
    (new / "a.h5").rename(new / "b.h5")
    assert run(["relink", str(old), str(new), "--into", str(repo), "--json"]) == 1
    found = json.loads(capfd.readouterr().out)
    assert (len(found["relinked"]), len(found["missing"]), found["snapshot"]) == (2, 1, None)
    (new / "b.h5").rename(new / "a.h5")
    assert run(["relink", str(old), str(new), "--into", str(repo)]) == 0
    assert "3 files relinked, 0 missing, 0 differing, 0 unchanged" in capfd.readouterr().out
    check_values(repo, values)


def test_from_a_directory_to_a_web_server(site, tmp_path: Path) -> None:
    old, repo = tmp_path / "old", tmp_path / "r.icecore"
    old.mkdir()
    np.save(old / "x.npy", np.arange(50.0))
    icecore.link(old / "x.npy", repo, group="/")
    (file,) = icecore.relink(old, f"{site.url}/old", repo).files
    assert file.why in ("same content", "same content as the old file")
    np.testing.assert_array_equal(icecore.open(repo, allow_links=[site.url])["/x"][...], np.arange(50.0))
    other = tmp_path / "other"
    shutil.copytree(old, other)
    touch(other / "x.npy")
    (site.folder / "old" / "x.npy").unlink()
    with pytest.raises(icecore.Error, match="no checksum of its content"):
        icecore.relink(f"{site.url}/old", other, repo)


def test_checksum_covers_first_and_last_bytes(tmp_path: Path) -> None:
    data = bytearray(RNG.integers(0, 256, 3 << 20, dtype="u1").tobytes())
    (tmp_path / "f").write_bytes(data)
    whole = content_check.checksum_of(str(tmp_path / "f"))
    for at in (0, len(data) - 1):
        changed = bytearray(data)
        changed[at] ^= 1
        (tmp_path / "f").write_bytes(changed)
        assert content_check.checksum_of(str(tmp_path / "f")) != whole


def test_directories_whose_names_begin_alike(tmp_path: Path) -> None:
    repo = tmp_path / "r.icecore"
    for name in ("run1", "run10"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x.npy", np.arange(5.0) + len(name))
        icecore.link(tmp_path / name / "x.npy", repo, group=f"/{name}")
    (tmp_path / "run1").rename(tmp_path / "run2")
    report = icecore.relink(tmp_path / "run1", f"{tmp_path}/run2/", repo)
    assert report.counts == "1 file relinked, 0 missing, 0 differing, 1 unchanged"
    check_values(repo, {f"/{name}/x": np.arange(5.0) + len(name) for name in ("run1", "run10")})
    np.testing.assert_array_equal(
        icecore.open(f"{repo}")["/run10/x"][...], np.load(tmp_path / "run10" / "x.npy")
    )


def test_a_renamed_file_and_a_link_to_a_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    np.save(tmp_path / "real" / "x 1%.npy", np.arange(5.0))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    repo = tmp_path / "r.icecore"
    icecore.link(tmp_path / "link" / "x 1%.npy", repo, group="/")
    with pytest.raises(icecore.Error, match="links no file in"):
        icecore.relink(tmp_path / "real", tmp_path / "moved", repo)
    (tmp_path / "real" / "x 1%.npy").rename(tmp_path / "real" / "y#2.npy")
    icecore.relink(tmp_path / "link" / "x 1%.npy", tmp_path / "real" / "y#2.npy", repo)
    (path,) = icecore.open(repo).arrays
    check_values(repo, {path: np.arange(5.0)})
    assert not icecore.open(repo).verify(deep=True)
