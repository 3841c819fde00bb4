"""Groups of small arrays: their arrays share manifests, so they cost few bytes and few requests."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.repository.stored_bytes import stored_bytes

RNG = np.random.default_rng(25)
COLUMNS, ROWS = 124, 124
#: most bytes of references that a commit writes into one manifest
SEALED = 160 << 10


def numbers() -> dict[str, np.ndarray]:
    return {f"c{i:03d}": RNG.random(ROWS) for i in range(COLUMNS)}


def as_csv(path: Path, data: dict[str, np.ndarray]) -> Path:
    rows = zip(*(column.tolist() for column in data.values()), strict=True)
    path.write_text("\n".join([",".join(data), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return path


def size(repository: Path) -> int:
    return sum(path.stat().st_size for path in repository.rglob("*") if path.is_file())


def manifests(repository: Path) -> set[str]:
    return {path.name for path in (repository / "manifests").iterdir()}


def check(repository: Any, group: str, data: dict[str, np.ndarray]) -> None:
    repo = icecore.open(repository)
    for name, values in data.items():
        assert np.array_equal(repo[f"{group}/{name}"][...], values), name
    assert repo.verify(deep=True) == []


@pytest.mark.parametrize("source", ["csv", "arrays"])
def test_small_arrays_take_little_more_than_their_values(tmp_path: Path, source: str) -> None:
    data = numbers()
    given: Any = as_csv(tmp_path / "x.csv", data) if source == "csv" else data
    icecore.pack(given, into=tmp_path / "r", group="/t")
    raw = sum(column.nbytes for column in data.values())
    assert size(tmp_path / "r") <= 1.05 * raw + 20_000
    assert size(tmp_path / "r") <= 1.02 * raw, "noise, and 100 bytes a column"
    assert len(manifests(tmp_path / "r")) == 1
    check(tmp_path / "r", "/t", data)


def test_tiny_arrays_cost_a_hundred_bytes_each(tmp_path: Path) -> None:
    data = {f"a{i}": np.array([i, i + 1], "i8") for i in range(400)}
    icecore.pack(data, into=tmp_path / "r", group="/t")
    assert size(tmp_path / "r") <= 1.05 * 16 * 400 + 20_000 + 110 * 400
    check(tmp_path / "r", "/t", data)


def test_a_group_is_read_in_few_requests(tmp_path: Path, site: Any) -> None:
    data = numbers()
    icecore.pack(data, into=tmp_path / "r", group="/t")
    repo = icecore.open(f"{site.url}/r")
    repo.snapshot_id  # noqa: B018 (the version is looked up)
    assert site.requests <= 6, "the root object, the settings, the version"
    opened = site.requests
    assert all(repo[f"/t/{name}"].storage.native == 1 for name in data)
    assert site.requests - opened == 1, "one manifest for all arrays"
    together = repo.read({f"/t/{name}": None for name in data})
    assert site.requests - opened == 2, "and one request for all values"
    for name, values in data.items():
        assert np.array_equal(together[f"/t/{name}"], values)


def test_changed_arrays_get_a_manifest_and_the_others_keep_theirs(tmp_path: Path) -> None:
    data = numbers()
    icecore.pack(data, into=tmp_path / "r", group="/t")
    first = manifests(tmp_path / "r")
    with icecore.open(tmp_path / "r").writer("three columns") as w:
        for name in ("c003", "c050", "c123"):
            w[f"/t/{name}"][5:6] = np.array([-1.0])
            data[name][5] = -1
    assert len(manifests(tmp_path / "r") - first) == 1
    check(tmp_path / "r", "/t", data)
    with icecore.open(tmp_path / "r").writer("attributes") as w:
        w.attrs("/t/c004", {"units": "m"})
    check(tmp_path / "r", "/t", data)
    with icecore.open(tmp_path / "r").writer("one less") as w:
        w.delete("/t/c000")
    del data["c000"]
    check(tmp_path / "r", "/t", data)


def test_appends_of_a_table_write_one_manifest_each(tmp_path: Path) -> None:
    data = {f"c{i}": np.arange(50) * (i + 1) for i in range(30)}
    icecore.pack(as_csv(tmp_path / "0.csv", data), into=tmp_path / "r", group="/t")
    for step in range(1, 4):
        before = manifests(tmp_path / "r")
        icecore.pack(
            as_csv(tmp_path / f"{step}.csv", data), into=tmp_path / "r", group="/t", concat="row", append=True
        )
        assert len(manifests(tmp_path / "r") - before) == 1
    check(tmp_path / "r", "/t", {name: np.tile(column, 4) for name, column in data.items()})


def test_long_and_short_arrays_in_one_commit(tmp_path: Path) -> None:
    """References of long arrays are kept in stretches. A commit writes the changed ones, in parts of at most
    160 KiB, so that the next change costs one part.
    """
    long = RNG.integers(1, 255, 140_000).astype("u1")
    with icecore.create(tmp_path / "r").writer("long") as w:
        w.array("/x/long", "u1", long.shape, chunks=(1,), shards=(1,), codec="none")[...] = long
    before = manifests(tmp_path / "r")
    assert len(before) == 2
    with icecore.open(tmp_path / "r").writer("both") as w:
        w["/x/long"][3:4] = np.array([255], "u1")
        w.array("/x/short", "i4", (3,), codec="none")[...] = np.arange(3, dtype="i4")
    long[3] = 255
    new = manifests(tmp_path / "r") - before
    lengths = {name: (tmp_path / "r/manifests" / name).stat().st_size for name in manifests(tmp_path / "r")}
    changed = max(before, key=lengths.__getitem__)
    assert len(new) > 2
    assert max(lengths[name] for name in new) <= SEALED * 1.1
    assert sum(lengths[name] for name in new) <= 1.1 * lengths[changed], "the first stretch, the short array"
    check(tmp_path / "r", "/x", {"long": long, "short": np.arange(3, dtype="i4")})
    with icecore.open(tmp_path / "r").writer("one more") as w:
        w["/x/long"][70_000:70_001] = np.array([255], "u1")
    long[70_000] = 255
    assert len(manifests(tmp_path / "r") - before - new) == 1, "the part of that element"
    check(tmp_path / "r", "/x", {"long": long, "short": np.arange(3, dtype="i4")})


def test_icechunk_reads_changes_and_collects_them(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk", minversion="2")
    zarr = pytest.importorskip("zarr")
    data = numbers()
    icecore.pack(data, into=tmp_path / "r", group="/t", portable=True)
    theirs = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "r")))
    group = zarr.open_group(theirs.readonly_session("main").store, mode="r", path="t")
    for name, values in data.items():
        assert np.array_equal(group[name][:], values)
    session = theirs.writable_session("main")
    zarr.open_group(session.store, mode="r+", path="t")["c005"][3] = 7.0
    session.commit("one value")
    data["c005"][3] = 7
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    theirs.garbage_collect(later)
    assert theirs.expire_snapshots(later)
    theirs.garbage_collect(later)
    check(tmp_path / "r", "/t", data)
    theirs.rewrite_manifests("each its own", branch="main")
    check(tmp_path / "r", "/t", data)


def test_shared_chunks_are_counted_once(tmp_path: Path) -> None:
    times = np.datetime64("2004-02-06T10:22:00.123", "ms") + RNG.integers(0, 10**11, 3000)
    rows = zip(
        *(np.datetime_as_string(times + np.timedelta64(i * 7001, "ms")) for i in range(8)), strict=True
    )
    text = "\n".join(",".join(row) for row in rows)
    (tmp_path / "t.csv").write_text(",".join(f"T{i}" for i in range(8)) + f"\n{text}\n")
    icecore.pack(tmp_path / "t.csv", into=tmp_path / "r", group="/t")
    repo = icecore.open(tmp_path / "r")
    arrays = [array for path, array in repo.arrays.items() if path.startswith("/t/")]
    one = repo["/t/T0"].nbytes_stored
    assert sum(array.nbytes_stored for array in arrays) >= 8 * one
    stored = stored_bytes(arrays)
    assert one <= stored < 1.2 * one
    assert stored <= size(tmp_path / "r")


def test_zarr_python_reads_columns_a_constant_apart(tmp_path: Path) -> None:
    """With icecore installed, plain zarr-python finds ``icecore.offset`` by its entry point."""
    icechunk = pytest.importorskip("icechunk", minversion="2")
    zarr = pytest.importorskip("zarr")
    numbers = RNG.integers(0, 10**12, 3000)
    data = {f"n{i}": numbers + 10**6 * i for i in range(3)}
    icecore.pack(as_csv(tmp_path / "n.csv", data), into=tmp_path / "r", group="/t")
    repo = icecore.open(tmp_path / "r")
    codecs = [codec["name"] for codec in repo["/t/n2"].codecs]
    assert "icecore.offset" in str(repo["/t/n2"].codecs), codecs
    theirs = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "r")))
    group = zarr.open_group(theirs.readonly_session("main").store, mode="r", path="t")
    for name, values in data.items():
        assert np.array_equal(group[name][:], values)
        assert np.array_equal(group[name][1500:1510], values[1500:1510])
