"""HDF5 files as such: identity, changes, open handles, memory."""

from __future__ import annotations

import subprocess
import sys

import h5py
import icecore
import numpy as np
import pytest
from hdf5_kit import indexed
from icecore import errors, link, pack
from icecore.sources import keep_open, open_source
from icecore.sources.hdf5 import region_reader
from icecore.sources.hdf5.file import open_file
from sources_kit import same, zarr_store

rng = np.random.default_rng(5)


def test_a_file_that_changes_is_refused(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(1000)))
    with h5py.File(path, "r+") as file:
        file["y"] = np.arange(10)
    entry = amap.arrays["/x"]
    with pytest.raises(errors.Error) as caught:
        entry.read((slice(0, 3),))
    assert caught.value.kind == "source-changed"


def test_identity_is_the_files(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(1000)))
    links = amap.arrays["/x"].links
    status = path.stat()
    assert links.urls == [path.as_uri()]
    assert links.sizes.tolist() == [status.st_size]
    assert links.mtimes_ns.tolist() == [status.st_mtime_ns]
    assert [c.dtype.str for c in (links.url_ids, links.chunks, links.offsets, links.lengths)] == [
        "<u4",
        "<u8",
        "<u8",
        "<u8",
    ]


def test_readers_can_be_pickled(tmp_path):
    import pickle

    data = rng.normal(size=(30, 4))
    _path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(7, 4)))
    region_reader = pickle.loads(pickle.dumps(amap.arrays["/x"].read))
    assert same(region_reader((slice(3, 9), slice(1, 3))), data[3:9, 1:3])


def test_many_arrays_through_one_store(tmp_path):
    """A whole tree at once, as a foreign reader walks it."""
    import zarr

    def fill(file):
        for i in range(5):
            file.create_dataset(f"g{i}/x", data=np.arange(i + 1), chunks=(1,))
        file.attrs["title"] = "tree"

    _, amap = indexed(tmp_path, fill)
    group = zarr.open_group(zarr_store(amap), mode="r")
    assert group.attrs["title"] == "tree"
    assert [group[f"g{i}/x"][...].tolist() for i in range(5)] == [list(range(i + 1)) for i in range(5)]


def test_a_file_that_changes_while_it_is_indexed_is_refused(tmp_path, monkeypatch):
    import icecore.sources.hdf5 as source

    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
    finish = source._assemble

    def meanwhile(*args):
        with path.open("ab") as file:
            file.write(b"more")
        return finish(*args)

    monkeypatch.setattr(source, "_assemble", meanwhile)
    with pytest.raises(errors.Error) as caught:
        open_source(path)
    assert caught.value.kind == "source-changed"
    assert "4 bytes" not in caught.value.hint


def test_files_stay_closed_between_reads(tmp_path):
    """An open HDF5 file is locked: its owner must be able to write to it while a map of it is around."""
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(30)))
    amap.arrays["/x"].read((slice(0, 3),))
    with h5py.File(path, "r+") as file:
        file["y"] = 1
    amap = open_source(path)
    with keep_open():
        for i in range(10):
            assert amap.arrays["/x"].read((slice(i, i + 1),)).tolist() == [i]
    with h5py.File(path, "r+") as file:
        file["z"] = 1


@pytest.mark.parametrize("verb", [link, pack])
def test_a_file_is_opened_once_for_all_that_is_copied(tmp_path, monkeypatch, verb):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        for i in range(20):
            file[f"scalar {i}"] = i
    opened = []
    monkeypatch.setattr(region_reader, "open_file", lambda name: opened.append(name) or open_file(name))
    verb(path, tmp_path / "r", group="/g")
    assert len(opened) == 1
    assert icecore.open(tmp_path / "r")["/g/scalar 7"][()] == 7
    h5py.File(path, "r+").close()  # and closed again


def test_a_file_that_is_being_written_is_named(tmp_path):
    path = tmp_path / "x.h5"
    code = (
        "import h5py, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = 1; f.flush(); "
        "print('open', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(errors.Error) as caught:
            open_source(path)
        writer.communicate(b"\n")
    assert caught.value.kind == "io"
    assert "open for writing" in caught.value.message
    assert "/x" in open_source(path).arrays


@pytest.mark.parametrize("crash", [False, True])
def test_a_file_that_others_may_read_while_it_is_written_is_named(tmp_path, crash):
    path = tmp_path / "x.h5"
    code = (
        "import h5py, os, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); f['x'] = 1; "
        "f.swmr_mode = True; print('open', flush=True); sys.stdin.readline(); "
        f"{'os._exit(0)' if crash else 'f.close()'}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(errors.Error, match="open for writing") as caught:
            open_source(path)
        writer.communicate(b"\n")
    assert caught.value.kind == "io"
    assert "h5clear" in caught.value.hint
    if crash:
        with pytest.raises(errors.Error, match="without closing"):
            open_source(path)
    else:
        assert "/x" in open_source(path).arrays


def test_file_urls(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(3)), name="a b%.h5")
    assert open_source(path.as_uri()).arrays["/x"].links.urls == amap.arrays["/x"].links.urls


def test_open_datasets_take_little_memory(tmp_path):
    """A file of thousands of datasets has them all open while it is linked: each had a table of 64 KiB."""
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(10), chunks=(5,))
    with open_file(str(path)) as file:
        _, slots, _, _ = file.id.get_access_plist().get_cache()
        assert slots <= 521
