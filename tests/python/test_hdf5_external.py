"""HDF5 data in other files: external storage and virtual datasets."""

from __future__ import annotations

import h5py
import numpy as np
from hdf5_kit import check, indexed
from icecore.sources import open_source


def test_external_and_virtual_data_are_copied(tmp_path):
    (tmp_path / "raw.bin").write_bytes(np.arange(20, dtype="<i4").tobytes())
    with h5py.File(tmp_path / "part.h5", "w") as part:
        part["x"] = np.arange(5.0)

    def fill(file):
        file.create_dataset("ext", (20,), "<i4", external=[(str(tmp_path / "raw.bin"), 0, 80)])
        layout = h5py.VirtualLayout((2, 5), "f8")
        layout[0] = h5py.VirtualSource(str(tmp_path / "part.h5"), "x", (5,))
        file.create_virtual_dataset("vds", layout, fillvalue=-1)

    path, amap = indexed(tmp_path, fill)
    assert "external" in check(path, amap, "/ext", linked=False).note
    assert "virtual" in check(path, amap, "/vds", linked=False).note


def test_data_in_missing_files_are_left_out_by_name(tmp_path):
    raw, part = tmp_path / "raw.bin", tmp_path / "part.h5"
    with h5py.File(part, "w") as file:
        file["kept"] = np.arange(5.0)

    def fill(file):
        file.create_dataset("ext", (20,), "<i4", external=[(str(raw), 0, 80)])[...] = np.arange(20)
        for name, source in (("vds", "part.h5"), ("own", ".")):
            layout = h5py.VirtualLayout((5,), "f8")
            layout[:] = h5py.VirtualSource(source, "kept", (5,))
            file.create_virtual_dataset(name, layout, fillvalue=-1)
        file["kept"] = np.arange(5.0)

    assert not [note for note in indexed(tmp_path, fill)[1].dropped if note.kind == "unsupported"]
    raw.unlink()
    part.unlink()
    amap = open_source(tmp_path / "x.h5")
    assert set(amap.arrays) == {"/kept", "/own"}
    lost = {note.path: note.message for note in amap.dropped}
    assert str(raw) in lost["/ext"]
    assert "part.h5" in lost["/vds"]


def virtual(file, name, source, inside):
    layout = h5py.VirtualLayout((5,), "f8")
    layout[:] = h5py.VirtualSource(source, inside, (5,))
    file.create_virtual_dataset(name, layout, fillvalue=-1)


def test_sources_that_lead_to_missing_files_are_missing(tmp_path):
    """As beamlines write them: a virtual dataset of external links in its own file."""
    raw = tmp_path / "raw_000001.h5"
    with h5py.File(raw, "w") as file:
        file["kept"] = np.arange(5.0)
        virtual(file, "again", ".", "kept")
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["link"] = h5py.ExternalLink("raw_000001.h5", "/again")

    def fill(file):
        file["link"] = h5py.ExternalLink("raw_000001.h5", "/kept")
        virtual(file, "own", ".", "link")
        virtual(file, "far", "part.h5", "link")

    path, amap = indexed(tmp_path, fill)
    for name in ("/own", "/far"):
        assert check(path, amap, name, linked=False).read((slice(0, 5),)).tolist() == [0, 1, 2, 3, 4]
    raw.unlink()
    amap = open_source(path)
    assert not amap.arrays
    lost = {note.path: note.message for note in amap.dropped}
    assert all("raw_000001.h5" in lost[name] for name in ("/own", "/far"))


def test_a_virtual_dataset_of_itself_is_left_out(tmp_path):
    """The HDF5 library crashes on it."""
    with h5py.File(tmp_path / "part.h5", "w") as file:
        virtual(file, "x", "x.h5", "ring")

    def fill(file):
        virtual(file, "self", ".", "self")
        virtual(file, "ring", "part.h5", "x")
        file["kept"] = np.arange(5.0)

    _path, amap = indexed(tmp_path, fill)
    assert set(amap.arrays) == {"/kept"}
    assert {note.path: note.message for note in amap.dropped} == dict.fromkeys(
        ("/self", "/ring"), "a virtual dataset that is a source of itself"
    )


def test_a_source_that_its_file_has_not_is_missing(tmp_path):
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["x"] = np.arange(5.0)
    _path, amap = indexed(tmp_path, lambda file: virtual(file, "v", "part.h5", "g/y"))
    assert not amap.arrays
    (note,) = amap.dropped
    assert note.kind == "unsupported"
    assert "part.h5:g/y, which is missing" in note.message
