"""Kerchunk references: fsspec and zarr-python read linked files from them without icecore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.integrations.kerchunk_references import INLINE, references

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
    for name in ("refs.parquet", "refs"):
        status, _, err = run("export", linked.url, "-o", tmp_path / name)
        assert status == 2
        assert "error[invalid]" in err
        assert not (tmp_path / name).exists()
