"""References of linked files: fsspec, Icechunk and zarr-python read them without icecore."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.integrations.references.inventory import INLINE
from icecore.integrations.references.kerchunk_json import references

fsspec = pytest.importorskip("fsspec")
zarr = pytest.importorskip("zarr")
FIELD = np.random.default_rng(46).random((30, 40)).astype(">f4")


@pytest.fixture
def linked(tmp_path: Path) -> icecore.Repo:
    """A file of every kind of chunk, linked, and arrays that the repository holds itself."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["title"] = "run 7"
        grid = file.create_dataset(
            "g/grid",
            data=FIELD,
            chunks=(16, 16),
            compression="gzip",
            shuffle=True,
        )
        grid.attrs["units"] = "K"
        file.create_dataset("g/sum", data=np.arange(50, dtype="i2"), chunks=(20,), fletcher32=True)
        file.create_dataset("plain", data=np.arange(12.0).reshape(3, 4))
        sparse = file.create_dataset("sparse", (100,), "i4", chunks=(10,), fillvalue=-7)
        sparse[35:45] = np.arange(10)
        file.create_dataset("scalar", data=np.float64(2.5))
        file.create_dataset("text", data=np.array(["a", "ß", ""], dtype=object), dtype=h5py.string_dtype())
    repo = icecore.create(tmp_path / "r.icecore")
    icecore.link(tmp_path / "x.h5", into=repo, group="/run")
    with repo.at("main").writer() as writer:
        writer.array("/run/small", "f8", (3, 5), codec="pages")[...] = np.arange(15).reshape(3, 5)
        large = writer.array("/run/large", "f8", (INLINE // 8 + 1,))
        large[...] = np.arange(INLINE // 8 + 1)
    return repo.at("main")


def opened(document: Any) -> Any:
    """The group that zarr-python finds in the references."""
    files = fsspec.filesystem("reference", fo=document, remote_protocol="file", asynchronous=True)
    return zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r", use_consolidated=False)


@pytest.mark.parametrize("root", ["/", "/run", "/run/g"])
def test_zarr_reads_the_same_values(linked: icecore.Repo, root: str) -> None:
    found = references(linked, root)
    group = opened(json.loads(found.to_json()))
    inside = root.rstrip("/") + "/"
    wanted = [path for path in linked.arrays if path.startswith(inside) and path not in found.left_out]
    assert len(wanted) == found.linked + found.inline
    for path in wanted:
        array, theirs = linked[path], group[path[len(inside) :]]
        assert np.array_equal(theirs[...], array[...]), path
        assert dict(theirs.attrs) == {key: value for key, value in array.attrs.items()}, path
    assert dict(group.attrs) == linked[root].attrs


def test_linked_chunks_are_places_in_the_file(linked: icecore.Repo, tmp_path: Path) -> None:
    found = references(linked)
    url, offset, length = found.refs["run/g/grid/c/1/2"]
    with h5py.File(tmp_path / "x.h5") as file:
        stored = file["g/grid"].id.get_chunk_info_by_coord((16, 32))
    assert url == (tmp_path / "x.h5").as_uri()
    assert (offset, length) == (stored.byte_offset, stored.size)
    assert "run/sparse/c/3" in found.refs
    assert "run/sparse/c/0" not in found.refs


def test_what_references_cannot_express_is_named(linked: icecore.Repo, tmp_path: Path, run: Any) -> None:
    place = tmp_path / "refs.json"
    status, out, err = run("export", linked.url, "-o", place, "--json")
    assert status == 1
    assert "/run/large" in err
    assert json.loads(out)["left_out"] == 1
    assert json.loads(place.read_text())["version"] == 1
    status, out, err = run("export", linked.url, "/run/g", "-o", place)
    assert (status, err) == (0, "")
    assert set(json.loads(place.read_text())["refs"]) >= {"zarr.json", "grid/zarr.json", "sum/zarr.json"}


def test_other_names_are_refused(linked: icecore.Repo, tmp_path: Path, run: Any) -> None:
    for name in ("refs.txt", "refs"):
        status, _, err = run("export", linked.url, "-o", tmp_path / name)
        assert status == 2
        assert "error[invalid]" in err
        assert not (tmp_path / name).exists()


def test_a_source_is_not_overwritten(linked: icecore.Repo, tmp_path: Path, run: Any) -> None:
    (tmp_path / "x.dmrpp").symlink_to(tmp_path / "x.h5")
    before = (tmp_path / "x.h5").read_bytes()
    status, _, err = run("export", linked.url, "-o", tmp_path / "x.dmrpp")
    assert (status, "is linked by" in err) == (2, True)
    assert (tmp_path / "x.h5").read_bytes() == before


@pytest.fixture
def lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec reads Parquet with pyarrow: its default, fastparquet, is not among the packages of the tests."""
    from functools import partial

    from fsspec.implementations import reference

    mapper = partial(reference.LazyReferenceMapper, engine="pyarrow")
    monkeypatch.setattr(reference, "LazyReferenceMapper", mapper)


@pytest.mark.parametrize("root", ["/", "/run", "/run/g"])
def test_parquet_references_have_the_same_values(
    linked: icecore.Repo, root: str, tmp_path: Path, run: Any, lazily: None
) -> None:
    place = tmp_path / "refs.parquet"
    status, _, err = run("export", linked.url, root, "-o", place)
    files = fsspec.filesystem("reference", fo=f"{place}/", remote_protocol="file", asynchronous=True)
    group = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r", zarr_format=2)
    inside = root.rstrip("/") + "/"
    wanted = [path for path in linked.arrays if path.startswith(inside) and path not in err]
    assert (status, len(wanted)) == {"/": (1, 7), "/run": (1, 7), "/run/g": (0, 2)}[root]
    for path in wanted:
        if path != "/run/sparse":  # fsspec takes a missing chunk for a damaged one if pandas gives it NaN
            assert np.array_equal(group[path[len(inside) :]][...], linked[path][...]), path
    assert group.attrs.asdict() == linked[root].attrs
    status, _, err = run("export", linked.url, root, "-o", place)
    assert (status, "error[exists]" in err) == (2, True)


def test_parquet_files_hold_ten_thousand_chunks(tmp_path: Path, run: Any) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        many = file.create_dataset("many", (25_000,), "i1", chunks=(1,))
        many[:100] = np.arange(100)
        many[24_000:] = 1
    icecore.link(tmp_path / "x.h5", into=tmp_path / "r.icecore", group="/")
    assert run("export", tmp_path / "r.icecore", "-o", tmp_path / "refs.parquet")[0] == 0
    files = sorted((tmp_path / "refs.parquet/many").iterdir())
    assert [file.name for file in files] == ["refs.0.parq", "refs.2.parq"]
    last = pq.read_table(files[1]).to_pydict()
    assert len(last["path"]) == 5_000
    assert last["path"][3_999] is None
    with h5py.File(tmp_path / "x.h5") as file:
        stored = file["many"].id.get_chunk_info_by_coord((24_999,))
    assert [last[name][-1] for name in ("path", "offset", "size")] == [
        (tmp_path / "x.h5").as_uri(),
        stored.byte_offset,
        stored.size,
    ]


@pytest.mark.parametrize("root", ["/", "/run", "/run/g"])
def test_icechunk_opens_the_repository(linked: icecore.Repo, root: str, tmp_path: Path, run: Any) -> None:
    icechunk = pytest.importorskip("icechunk")
    place = tmp_path / "out.icechunk"
    status, _, err = run("export", linked.url, root, "-o", place)
    inside = root.rstrip("/") + "/"
    wanted = [path for path in linked.arrays if path.startswith(inside) and path not in err]
    assert (status, len(wanted)) == {"/": (1, 7), "/run": (1, 7), "/run/g": (0, 2)}[root]
    access = {f"{tmp_path.as_uri()}/": icechunk.credentials.LocalFileSystemAccess}
    storage = icechunk.local_filesystem_storage(str(place))
    opened = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)
    session = opened.readonly_session("main")
    group = zarr.open_group(session.store, mode="r")
    for path in wanted:
        assert np.array_equal(group[path[len(inside) :]][...], linked[path][...]), path
    assert sorted(name for name, _ in group.members(max_depth=None)) == sorted(
        path[len(inside) :] for path in linked if path.startswith(inside) and path != "/run/large"
    )
    assert session.all_virtual_chunk_locations()
    assert icecore.open(place, allow_links=[tmp_path.as_uri()])[wanted[0][len(root.rstrip("/")) :]].linked


def test_icechunk_notices_that_a_file_changed(linked: icecore.Repo, tmp_path: Path, run: Any) -> None:
    icechunk = pytest.importorskip("icechunk")
    place = tmp_path / "out.icechunk"
    run("export", linked.url, "/run/g", "-o", place)
    os.utime(tmp_path / "x.h5", (4e9, 4e9))
    access = {f"{tmp_path.as_uri()}/": icechunk.credentials.LocalFileSystemAccess}
    opened = icechunk.Repository.open(
        icechunk.local_filesystem_storage(str(place)), authorize_virtual_chunk_access=access
    )
    group = zarr.open_group(opened.readonly_session("main").store, mode="r")
    with pytest.raises(icechunk.IcechunkError):
        group["grid"][...]


def test_dmrpp_is_read_again(linked: icecore.Repo, tmp_path: Path, run: Any) -> None:
    place = tmp_path / "all.dmrpp"
    status, _, err = run("export", linked.url, "/run", "-o", place)
    assert status == 1
    assert "/run/text: DMR++ has no chunks of string" in err
    report = icecore.link(place, into=tmp_path / "again.icecore", group="/run")
    again = icecore.open(tmp_path / "again.icecore")
    wanted = [path for path in linked.arrays if path not in err]
    assert len(wanted) == 6
    for path in wanted:
        assert np.array_equal(again[path][...], linked[path][...]), path
        assert again[path].dtype == linked[path].dtype
        marked = {"_FillValue": -7} if path == "/run/sparse" else {}  # DMR++: one value for both meanings
        assert dict(again[path].attrs) == {**linked[path].attrs, **marked}, path
    assert again["/run"].attrs == linked["/run"].attrs
    assert report.count("linked") == 4


def test_chunks_of_several_files(tmp_path: Path, run: Any) -> None:
    """Joined files: each chunk names its file in every format."""
    for i in range(3):
        with h5py.File(tmp_path / f"day {i}.h5", "w") as file:
            file.create_dataset("t", data=np.arange(4.0) + 10 * i, chunks=(4,), compression="gzip")
            file["t"].attrs["_FillValue"] = -1.0
    sources = [tmp_path / f"day {i}.h5" for i in range(3)]
    icecore.link(sources, into=tmp_path / "r.icecore", group="/", concat="phony_dim_0")
    repo = icecore.open(tmp_path / "r.icecore")
    for name in ("r.json", "r.dmrpp"):
        status, _, err = run("export", repo.url, "-o", tmp_path / name)
        assert (status, err) == (0, "")
    group = opened(json.loads((tmp_path / "r.json").read_text()))
    assert np.array_equal(group["t"][...], repo["/t"][...])
    icecore.link(tmp_path / "r.dmrpp", into=tmp_path / "again.icecore", group="/")
    assert np.array_equal(icecore.open(tmp_path / "again.icecore")["/t"][...], repo["/t"][...])
    status, out, _ = run("info", repo.url, "--files", "--json")
    files = json.loads(out)
    assert [file["url"] for file in files] == [source.as_uri() for source in sources]
    assert [part["box"] for file in files for part in file["parts"]] == [[[0, 4]], [[4, 8]], [[8, 12]]]
    assert "/t[4:8]  1 chunk," in run("info", repo.url, "/t", "--files")[1]


def test_files_of_a_group(linked: icecore.Repo, run: Any) -> None:
    status, out, _ = run("info", linked.url, "--files", "--json")
    (file,) = json.loads(out)
    parts = {part["array"]: part for part in file["parts"]}
    assert status == 0
    assert parts["/run/g/grid"]["box"] == [[0, 30], [0, 40]]
    assert (parts["/run/g/grid"]["chunks"], parts["/run/g/grid"]["is_all"]) == (6, True)
    assert parts["/run/sparse"]["box"] == [[30, 50]]
    assert "/run/small" not in parts
    assert sum(part["bytes"] for part in parts.values()) == file["bytes"]
    assert run("info", linked.url, "/run/small", "--files")[1] == "no linked files\n"
