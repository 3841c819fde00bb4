"""``link`` in several commits: resumed, appended, recorded with the references."""

from __future__ import annotations

from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.errors import Error


def write(folder: Path, count: int, length: int = 4) -> list[Path]:
    """Write files of one array along ``time``."""
    files = [folder / f"f{k:03}.h5" for k in range(count)]
    for k, path in enumerate(files):
        with h5py.File(path, "w") as file:
            time = file.create_dataset("time", data=np.arange(k * length, (k + 1) * length))
            time.make_scale("time")
            data = file.create_dataset("x", data=np.full((length, 3), k, "f4"), chunks=(length, 3))
            data.dims[0].attach_scale(time)
    return files


def commits(place: Path) -> int:
    """Number of commits after the first, empty one."""
    return len(icecore.open(place).log()) - 1


def test_each_commit_has_its_files(tmp_path: Path) -> None:
    write(tmp_path, 7)
    seen: list[tuple[str, int, int]] = []
    into = tmp_path / "r.icecore"
    report = icecore.link(
        str(tmp_path / "*.h5"), into, commit_every=3, progress=lambda *step: seen.append(step)
    )
    assert report.count("linked") == 14
    assert commits(into) == 3
    assert [step[1:] for step in seen] == [(3, 7), (6, 7), (7, 7)]
    repo = icecore.open(into)
    assert [float(repo[f"/f{k:03}/x"][0, 0]) for k in range(7)] == list(range(7))


def test_a_second_run_opens_new_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 3)
    into = tmp_path / "r.icecore"
    icecore.link(str(tmp_path / "*.h5"), into, commit_every=2)
    with h5py.File(tmp_path / "f900.h5", "w") as file:
        file["x"] = np.arange(5)
    opened: list[str] = []
    from icecore.sources import index_pool

    original = index_pool.open_one
    monkeypatch.setattr(
        index_pool, "open_one", lambda source, o: opened.append(source) or original(source, o)
    )
    report = icecore.link(str(tmp_path / "*.h5"), into, commit_every=2)
    assert [Path(name).name for name in opened] == ["f900.h5"]
    assert report.count("linked") == 1
    before = commits(into)
    again = icecore.link(str(tmp_path / "*.h5"), into, commit_every=2)
    assert commits(into) == before, "nothing new: no empty commit"
    assert not again.rows
    assert "committed before" in again.notes[0].message


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    files = write(tmp_path, 5)
    good = files[3].read_bytes()
    files[3].write_bytes(good[:100])
    into = tmp_path / "r.icecore"
    with pytest.raises(Error, match="2 of 5 files are committed"):
        icecore.link([str(f) for f in files], into, commit_every=2)
    assert commits(into) == 1
    files[3].write_bytes(good)
    icecore.link([str(f) for f in files], into, commit_every=2)
    assert commits(into) == 3
    assert float(icecore.open(into)["/f003/x"][0, 0]) == 3.0


def test_joined_files_are_appended(tmp_path: Path) -> None:
    write(tmp_path, 5)
    into = tmp_path / "r.icecore"
    icecore.link(str(tmp_path / "*.h5"), into, "/all", "time", commit_every=2)
    array = icecore.open(into)["/all/x"]
    assert array.shape == (20, 3)
    np.testing.assert_array_equal(array[:, 0], np.repeat(np.arange(5), 4))
    with h5py.File(tmp_path / "f005.h5", "w") as file:
        time = file.create_dataset("time", data=np.arange(20, 24))
        time.make_scale("time")
        file.create_dataset("x", data=np.full((4, 3), 5, "f4"), chunks=(4, 3)).dims[0].attach_scale(time)
    icecore.link(str(tmp_path / "*.h5"), into, "/all", "time", commit_every=2)
    np.testing.assert_array_equal(icecore.open(into)["/all/x"][:, 0], np.repeat(np.arange(6), 4))


def test_failed_files_are_tried_again(tmp_path: Path) -> None:
    files = write(tmp_path, 4)
    good = files[1].read_bytes()
    files[1].write_bytes(good[:100])
    into = tmp_path / "r.icecore"
    report = icecore.link([str(f) for f in files], into, commit_every=2, keep_going=True)
    assert [Path(item.name).name for item in report.failures] == ["f001.h5"]
    files[1].write_bytes(good)
    report = icecore.link([str(f) for f in files], into, commit_every=2, keep_going=True)
    assert sorted(row.path for row in report.rows) == ["/f001/time", "/f001/x"]


def test_a_changed_file_is_linked_again(tmp_path: Path) -> None:
    files = write(tmp_path, 2)
    into = tmp_path / "r.icecore"
    icecore.link([str(f) for f in files], into, commit_every=1)
    write(tmp_path, 1, 6)
    icecore.link([str(f) for f in files], into, commit_every=1, replace=True)
    assert icecore.open(into)["/f000/x"].shape == (6, 3)


@pytest.mark.parametrize("wrong", [{"commit_every": 0}, {"commit_every": 2, "dry_run": True}])
def test_wrong_options(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(Error) as error:
        icecore.link(str(tmp_path / "*.h5"), tmp_path / "r.icecore", **wrong)
    assert error.value.kind == "invalid"
