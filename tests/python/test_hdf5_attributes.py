"""HDF5 groups, names and attributes of every type."""

from __future__ import annotations

import h5py
import icecore
import numpy as np
import pytest
from hdf5_kit import check, indexed
from icecore import link
from icecore.export.save import save
from icecore.repository.typed_attributes import typed
from sources_kit import same, through_zarr


def test_every_group_once_and_every_dataset_under_each_name(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["far"] = np.arange(6)
        other["back"] = h5py.ExternalLink("x.h5", "/")

    def fill(file):
        file["a/b/data"] = np.arange(4)
        file["a/b/loop"] = file["a"]
        file["a/soft"] = h5py.SoftLink("/a/b")
        file["0first"] = h5py.SoftLink("/a/b/data")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["self"] = h5py.SoftLink("/self")
        file["root"] = h5py.SoftLink("/")
        file["ext"] = h5py.ExternalLink("other.h5", "/")
        file["gone"] = h5py.ExternalLink("missing.h5", "/")
        file["hard"] = file["a/b/data"]

    _path, amap = indexed(tmp_path, fill)
    assert set(amap.arrays) == {"/hard", "/a/b/data", "/0first", "/ext/far"}
    for path in ("/hard", "/a/b/data", "/0first"):
        assert same(amap.arrays[path].read((slice(0, 4),)), np.arange(4))
    assert set(amap.groups) == {"/", "/a", "/a/b", "/ext"}
    kinds = {note.path: note.kind for note in amap.dropped}
    assert kinds == {
        "/a/b/loop": "alias",
        "/a/soft": "alias",
        "/root": "alias",
        "/dangling": "unsupported",
        "/self": "unsupported",
        "/gone": "unsupported",
        "/ext/back": "alias",
    }
    far = amap.arrays["/ext/far"]
    assert far.links.urls[0].endswith("/other.h5")
    assert same(through_zarr(amap, "/ext/far"), np.arange(6))
    assert same(far.read((slice(0, 6),)), np.arange(6))


def test_attributes_of_every_type(tmp_path):
    compound = np.array([(1, 2.5), (3, 4.5)], [("i", "i4"), ("f", "f8")])

    def fill(file):
        dataset = file.create_dataset("x", data=np.arange(3))
        for attrs in (file.attrs, dataset.attrs, file.create_group("g").attrs):
            attrs["int"] = np.int32(-3)
            attrs["big"] = np.array([2**63 + 1], "u8")
            attrs["single"] = np.float32(0.1)
            attrs["list"] = np.arange(3, dtype=">i2")
            attrs["matrix"] = np.arange(4.0).reshape(2, 2)
            attrs["text"] = "grüße"
            attrs["fixed"] = np.bytes_(b"abc")
            attrs["latin"] = np.bytes_("é".encode("latin-1"))
            attrs["texts"] = np.array(["a", "bc"], object)
            attrs["fixeds"] = np.array([b"a", b"bc"])
            attrs["empty"] = ""
            attrs["null"] = h5py.Empty("S1")
            attrs["nonumber"] = h5py.Empty("f4")
            attrs["none"] = np.empty(0, "i4")
            attrs["bool"] = True
            attrs["complex"] = 1 + 2j
            attrs["compound"] = compound
            attrs["ref"] = file.ref
            attrs["nan"] = np.array([np.nan, np.inf])
            attrs.create("enum", 1, dtype=h5py.enum_dtype({"A": 0, "B": 1}))

    _path, amap = indexed(tmp_path, fill)
    wanted = {
        "int": -3,
        "big": 2**63 + 1,
        "single": float(np.float32(0.1)),
        "list": [0, 1, 2],
        "matrix": [[0.0, 1.0], [2.0, 3.0]],
        "text": "grüße",
        "fixed": "abc",
        "latin": "é",
        "texts": ["a", "bc"],
        "fixeds": ["a", "bc"],
        "empty": "",
        "null": "",
        "nonumber": [],
        "none": [],
        "bool": True,
        "complex": [1.0, 2.0],
        "compound": [{"i": 1, "f": 2.5}, {"i": 3, "f": 4.5}],
        "ref": "/",
        "nan": ["NaN", "Infinity"],
        "enum": 1,
    }
    types = {"icecore": {"attr_types": {"complex": "<c16", "nan": "<f8"}}}
    for found in (amap.groups["/"], amap.groups["/g"], {**amap.arrays["/x"].attrs, **types}):
        assert found == {**wanted, **types}
    assert amap.arrays["/x"].attr_types["single"] == "<f4"
    assert amap.arrays["/x"].attr_types["big"] == "<u8"
    assert amap.arrays["/x"].attr_types["complex"] == "<c16"


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_an_attribute_of_our_name_is_left_out_with_a_note(tmp_path, verb):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["icecore"] = "ours?"
        file.create_dataset("x", data=np.arange(3)).attrs["icecore"] = 1
    report = verb(tmp_path / "a.h5", tmp_path / "r", group="/")
    left = [str(note) for note in report.notes if "attribute icecore was left out" in str(note)]
    assert len(left) == 2
    assert "icecore" not in icecore.open(tmp_path / "r")["/x"].attrs


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_complex_attributes(tmp_path, verb):
    wanted = {
        "scalar": np.complex128(1 + 2j),
        "one": np.array([1 - 2j]),
        "single": np.array([1 - 2j, complex(np.nan, np.inf)], "c8"),
        "matrix": np.array([[1j, 2], [3, 4]]),
    }
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for attrs in (file.attrs, file.create_dataset("x", data=np.arange(3)).attrs):
            for name, value in wanted.items():
                attrs[name] = value
    verb(tmp_path / "a.h5", into=tmp_path / "r")
    icecore.pack(tmp_path / "r", into=tmp_path / "again")
    for folder in ("r", "again"):
        repo = icecore.open(tmp_path / folder)
        for node in (repo["a"]._node, repo["a/x"]._node):
            assert node.numbers["scalar"] == 1 + 2j
            assert node.numbers["one"] == 1 - 2j
            for name, value in typed(node).items():
                np.testing.assert_array_equal(value, wanted[name].squeeze(), strict=True)


def test_attributes_of_any_shape_are_written_again(tmp_path):
    def fill(file):
        ragged = np.empty(2, object)
        ragged[:] = [np.arange(3, dtype="i4"), np.arange(1, dtype="i4")]
        dataset = file.create_dataset("x", data=np.arange(4.0))
        for target in (file, dataset):
            target.attrs.create("ragged", ragged, dtype=h5py.vlen_dtype("i4"))
            target.attrs.create("record", np.array([(1, 2.5)] * 2, [("a", "i4"), ("b", "f8")]))
            target.attrs["nan"] = np.array([np.nan, 1])
            target.attrs["mixed"] = np.array([[1, 2], [3, 4]], ">i2")
            target.attrs["empty"] = h5py.Empty("f4")

    path, _ = indexed(tmp_path, fill)
    link(path, into=tmp_path / "r.icecore", group="/")
    array = icecore.open(tmp_path / "r.icecore")["/x"]
    for target in (tmp_path / "out.h5", tmp_path / "out.nc"):
        save(array, (), str(target))
        with h5py.File(target) as file:
            for attrs in (file.attrs, file["x"].attrs):
                assert attrs["ragged"] == "[[0, 1, 2], [0]]"
                assert np.isnan(attrs["nan"][0])
                assert attrs["nan"][1] == 1
                assert attrs["mixed"].tolist() == [[1, 2], [3, 4]]
                assert len(attrs["empty"]) == 0


def test_names_that_zarr_cannot_hold(tmp_path):
    def fill(file):
        file["zarr.json"] = 1
        file["__icecore__/x"] = 1
        file["fine thing %20#?"] = np.arange(3)

    path, amap = indexed(tmp_path, fill, name="odd name %41#?.h5")
    assert set(amap.arrays) == {"/fine thing %20#?"}
    assert {n.path for n in amap.dropped if n.kind == "name"} == {"/zarr.json", "/__icecore__"}
    check(path, amap, "/fine thing %20#?")
