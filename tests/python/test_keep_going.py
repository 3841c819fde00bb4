"""``--keep-going`` where what is wrong with an array shows only behind the scenes, while it is encoded."""

from __future__ import annotations

import gzip
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore import errors

#: refuses numbers with more than one decimal, in whichever chunk they are
TENTHS = [{"name": "icecore.decimal", "configuration": {"scale": 1, "dtype": "int32"}}, {"name": "bytes"}]
#: three of fifteen arrays don't suit it: in their last chunk, in the first, and one that is the last of all
BAD = {"a3": -1, "g/only": 0, "z": 500}


def tenths(path: Path, bad: dict[str, int]) -> dict[str, np.ndarray]:
    arrays = {
        name: np.arange(40_000) / 10 for name in [*(f"a{i}" for i in range(12)), "g/only", "h/i/x", "z"]
    }
    for name, where in bad.items():
        arrays[name][where] = np.pi
    with h5py.File(path, "w") as file:
        for name, data in arrays.items():
            file[name] = data
    return arrays


@pytest.mark.parametrize("chunk", [(1000,), None])
def test_arrays_that_a_codec_refuses_are_left_out(tmp_path: Path, chunk: tuple[int, ...] | None) -> None:
    source, into = tmp_path / "s.h5", tmp_path / "r.icecore"
    arrays = tenths(source, BAD)

    def pack(**how: bool) -> icecore.Report:
        return icecore.pack(source, into, group="/", codec=TENTHS, chunk=chunk, shard=chunk, **how)

    with pytest.raises(icecore.Error, match=r"^/(a3|g/only|z): icecore\.decimal: .* is 3\.14") as caught:
        pack()
    assert (caught.value.kind, "--keep-going" in caught.value.hint) == ("codec", True)
    assert not into.exists()
    report = pack(keep_going=True)
    found = [(failure.name, failure.kind) for failure in report.failures]
    assert found == [("/a3", "codec"), ("/z", "codec"), ("/g/only", "codec")]
    good = {f"/{name}": data for name, data in arrays.items() if name not in BAD}
    assert [row.path for row in report.rows] == sorted(good)
    assert report.bytes_stored == sum(row.bytes for row in report.rows)
    repo = icecore.open(into)
    assert sorted(repo.arrays) == sorted(good)
    for path, data in good.items():
        np.testing.assert_array_equal(repo[path].read(), data)
    assert not repo.verify(deep=True)


def test_nothing_is_made_where_all_arrays_are_refused(tmp_path: Path) -> None:
    tenths(tmp_path / "s.h5", BAD)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        for name in [name for name in file if name not in BAD and name != "g"]:
            del file[name]
    with pytest.raises(icecore.Error, match=r"(?s)^/a3: .*also /z: .*also /g/only: ") as caught:
        icecore.pack(tmp_path / "s.h5", tmp_path / "r", group="/", codec=TENTHS, keep_going=True)
    assert caught.value.kind == "codec"
    assert not (tmp_path / "r").exists()


def test_damaged_tables_leave_the_arrays_beside_them(tmp_path: Path) -> None:
    """Damage that shows only while rows are packed; of all tables, also where there are several."""
    rows = "".join(f"{i},{i * 7919 % 10007}\n" for i in range(20_000))
    text = bytearray(gzip.compress(f"a,b\n{rows}".encode()))
    text[-8:-4] = b"\0" * 4  # the checksum
    tables = [tmp_path / f"{name}.csv.gz" for name in ("one", "two")]
    for table in tables:
        table.write_bytes(text)
    np.save(tmp_path / "x.npy", np.arange(7))
    with pytest.raises(icecore.Error, match=r"one\.csv\.gz: its CRC-32") as caught:
        icecore.pack([tables[0], tmp_path / "x.npy"], tmp_path / "r")
    assert "--keep-going" in caught.value.hint
    with pytest.raises(icecore.Error, match=r"(?s)one\.csv\.gz: its CRC-32.*also .*two\.csv\.gz: its CRC-32"):
        icecore.pack(tables, tmp_path / "r", keep_going=True)
    assert not (tmp_path / "r").exists()
    for count in 1, 2:
        report = icecore.pack([*tables[:count], tmp_path / "x.npy"], tmp_path / f"r{count}", keep_going=True)
        assert [failure.kind for failure in report.failures] == ["corrupt"] * count
        assert list(icecore.open(tmp_path / f"r{count}").arrays) == ["/x/x"]


@pytest.mark.parametrize("how", ["replace", "append"])
def test_what_was_there_before_is_not_lost(tmp_path: Path, how: str) -> None:
    """Where the new part of an array can't be encoded nothing is committed, also not of the others."""
    for name, value in ("first", 0.0), ("second", np.pi):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["t"] = np.arange(5) / 10 + (name == "second")
            file["t"].make_scale()
            for array, data in ("x", np.full(5, value)), ("y", np.full(5, 0.5)):
                file[array] = data
                file[array].dims[0].attach_scale(file["t"])
    concat = "t" if how == "append" else None
    before = icecore.pack(tmp_path / "first.h5", tmp_path / "r", "/", concat, codec=TENTHS)
    with pytest.raises(icecore.Error, match=r"^/x: .* is 3\.14") as caught:
        icecore.pack(
            tmp_path / "second.h5", tmp_path / "r", "/", concat, codec=TENTHS, keep_going=True, **{how: True}
        )
    assert caught.value.kind == "codec"
    repo = icecore.open(tmp_path / "r")
    assert repo.snapshot_id == before.snapshot
    np.testing.assert_array_equal(repo["/x"].read(), np.zeros(5))


def test_an_array_that_failed_can_be_deleted_and_the_others_committed(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        a = w.array("/a", "f8", (8,), chunks=(4,), shards=(4,), codec=TENTHS)
        b = w.array("/b", "f8", (8,), chunks=(4,), shards=(4,), codec="none")
        a[...] = np.pi
        b[...] = np.pi
        with pytest.raises(errors.Error, match=r"^/a: icecore\.decimal"):
            w.commit()
        w.delete("/a")
        b[2:6] = 0
        w.array("/a", "f8", (8,), chunks=(4,), shards=(4,), codec=TENTHS)[...] = 0.1
    repo = icecore.open(tmp_path / "r")
    assert repo["/a"].read().tolist() == [0.1] * 8
    assert repo["/b"].read().tolist() == [np.pi, np.pi, 0, 0, 0, 0, np.pi, np.pi]
