"""Finding the right format and files: by content, folder, glob and list; clear words where there is none."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import zipfile
from pathlib import Path

import h5py
import icecore
import netCDF4
import numcodecs
import numpy as np
import pytest
import zarr
from icecore import errors, pack
from icecore import open as open_repo
from icecore.export.save import save
from icecore.sources import format_of, open_source
from icecore.sources.source_list import expand
from sources_kit import OLD_ZARR, everything, same


@pytest.fixture
def archive(tmp_path):
    """One file of each kind, with misleading names, and things that are none."""
    with h5py.File(tmp_path / "a.dat", "w") as file:
        file["x"] = np.arange(3)
    with h5py.File(tmp_path / "block.h5", "w", userblock_size=2048) as file:
        file["x"] = np.arange(3)
    (tmp_path / "sub").mkdir()
    with netCDF4.Dataset(tmp_path / "sub" / "b.h5", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        file.createVariable("x", "f4", ("x",))[:] = 1
    np.save(tmp_path / "c.npy", np.arange(3))
    np.savez(tmp_path / "sub" / "d.npz", x=np.arange(3))
    zarr.create_array(tmp_path / "sub" / "e.zarr", shape=(3,), dtype="i4")
    (tmp_path / "readme.txt").write_text("hello world")
    (tmp_path / "empty.nc").write_bytes(b"")
    return tmp_path


def names(paths):
    return [os.path.basename(path) for path in paths]


def test_formats_are_told_by_content(archive):
    found = {
        name: format_of(str(archive / name))
        for name in ("a.dat", "block.h5", "sub/b.h5", "c.npy", "sub/d.npz")
    }
    assert [row.name.split()[0] for row in found.values()] == ["HDF5", "HDF5", "netCDF-3", "NumPy", "NumPy"]
    assert format_of(str(archive / "readme.txt")) is None
    assert format_of(str(archive / "empty.nc")) is None


def test_expand(archive):
    assert names(expand(archive)) == ["a.dat", "block.h5", "c.npy", "b.h5", "d.npz", "e.zarr"]
    assert names(expand(archive / "a.dat")) == ["a.dat"]
    assert names(expand(archive / "**" / "*.np?")) == ["c.npy", "d.npz"]
    assert names(expand(archive / "sub" / "e.zarr")) == ["e.zarr"]
    assert expand("https://example.org/x.h5") == ["https://example.org/x.h5"]
    (archive / "list.txt").write_text("# comment\n\na.dat\nsub/*.npz\nhttp://example.org/y.nc\n")
    assert names(expand(f"@{archive}/list.txt")) == ["a.dat", "d.npz", "y.nc"]
    for path in expand(archive):
        assert open_source(path).arrays


@pytest.mark.parametrize("source", ["gone.h5", "*.gone", "@gone.txt", "sub/none"])
def test_nothing_there(archive, source):
    source = f"@{archive}/{source[1:]}" if source.startswith("@") else str(archive / source)
    with pytest.raises(errors.Error) as caught:
        expand(source)
    assert caught.value.kind == "source-missing"
    assert isinstance(caught.value, FileNotFoundError)


def test_unknown_formats_say_what_was_found(archive):
    with pytest.raises(errors.Error) as caught:
        open_source(archive / "readme.txt")
    assert caught.value.kind == "format"
    assert "hello wo" in caught.value.message
    assert "netCDF-3" in caught.value.hint
    with pytest.raises(errors.Error) as caught:
        open_source(archive / "empty.nc")
    assert "empty" in caught.value.message
    with pytest.raises(errors.Error) as caught:
        open_source(archive)
    assert "folder" in caught.value.message
    with pytest.raises(errors.Error) as caught:
        open_source(archive / "gone.h5")
    assert caught.value.kind == "source-missing"


def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(3))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("running as root: everything may be read")
    with pytest.raises(errors.Error) as caught:
        open_source(path)
    assert caught.value.kind == "permission"


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_folders(tmp_path, version):
    root = zarr.create_group(tmp_path / "x.zarr", zarr_format=version, attributes={"title": "t"})
    data = np.arange(60, dtype=">i4").reshape(6, 10)
    extra = (
        {"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}} if version == 2 else {"dimension_names": ("y", "x")}
    )
    array = root.create_array("g/a", shape=(6, 10), chunks=(4, 3), dtype=">i4", fill_value=7, **extra)
    array[...] = data
    words = root.create_array("words", shape=(3,), dtype="string" if version == 3 else str, chunks=(2,))
    words[...] = np.array(["a", "grüße", ""], object)
    root.create_array("flag", shape=(), dtype="bool")[...] = True
    amap = open_source(tmp_path / "x.zarr")
    assert amap.groups["/"] == {"title": "t"}
    assert "/g" in amap.groups
    entry = amap.arrays["/g/a"]
    assert entry.dims == ("y", "x")
    assert entry.chunks == (4, 3)
    assert entry.fill_value == 7
    assert entry.attrs == ({"_FillValue": 7} if version == 2 else {})
    assert same(entry.read(everything(entry)), data)
    assert entry.read(everything(entry)).dtype == np.dtype("i4")
    assert same(entry.read((slice(1, 3), slice(2, 5))), data[1:3, 2:5])
    assert amap.arrays["/words"].read((slice(0, 3),)).tolist() == ["a", "grüße", ""]
    assert amap.arrays["/flag"].read(())[()] == np.True_
    assert all(e.linked and not e.note for e in amap.arrays.values())
    icecore.link(tmp_path / "x.zarr", tmp_path / "r", group="/")
    repo = icecore.open(tmp_path / "r")
    assert same(repo["/g/a"][...], data)
    assert repo["/words"][...].tolist() == ["a", "grüße", ""]
    assert repo["/flag"][...] == np.True_


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_in_a_zip_archive(tmp_path, version):
    path = tmp_path / "x.zarr.zip"
    data = np.arange(60.0).reshape(6, 10)
    with zarr.storage.ZipStore(path, mode="w") as store:
        root = zarr.create_group(store, zarr_format=version, attributes={"title": "t"})
        root.create_array("g/a", shape=(6, 10), chunks=(4, 3), dtype="f8")[...] = data
    report = pack(path, into=tmp_path / "r.icecore", group="/")
    assert [row.path for row in report.rows] == ["/g/a"]
    repo = open_repo(tmp_path / "r.icecore")
    assert repo.attrs == {"title": "t"}
    assert same(repo["/g/a"][...], data)


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_in_the_folder_of_a_zip_archive(tmp_path, version):
    """As file managers zip a folder: its name comes first in every member's."""
    root = zarr.create_group(tmp_path / "in" / "x.zarr", zarr_format=version, attributes={"title": "t"})
    data = np.arange(700.0).reshape(700, 1)
    root.create_array("g/a", shape=data.shape, chunks=(2, 1), dtype="f8")[:500] = data[:500]
    zarr.consolidate_metadata(tmp_path / "in" / "x.zarr")
    shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "in")
    pack(tmp_path / "x.zip", into=tmp_path / "r.icecore", group="/")
    repo = open_repo(tmp_path / "r.icecore")
    assert repo.attrs == {"title": "t"}
    assert same(repo["/g/a"][:500], data[:500])
    assert not repo["/g/a"][500:].any()


def test_byte_strings_of_any_length_as_npy(tmp_path):
    root = zarr.create_group(tmp_path / "x.zarr")
    for name, items in [("fits", [b"a", b"\xff\x00q", b""]), ("cut", [b"a", b"b\x00", b""])]:
        array = root.create_array(name, shape=(3,), dtype="variable_length_bytes")
        array[...] = np.array(items, object)
    pack(tmp_path / "x.zarr", into=tmp_path / "r.icecore", group="/")
    repo = open_repo(tmp_path / "r.icecore")
    save(repo["/fits"], (), str(tmp_path / "fits.npy"))
    assert np.load(tmp_path / "fits.npy").tolist() == [b"a", b"\xff\x00q", b""]
    with pytest.raises(errors.Error, match="NUL"):
        save(repo["/cut"], (), str(tmp_path / "cut.npy"))


def test_zarr_that_is_written_anew_is_read_anew(tmp_path):
    for dtype, shape in [("i4", (6,)), ("f8", (3, 4))]:
        data = np.ones(shape, dtype)
        root = zarr.create_group(tmp_path / "x.zarr", overwrite=True)
        root.create_array("a", shape=shape, dtype=dtype)[...] = data
        entry = open_source(tmp_path / "x.zarr").arrays["/a"]
        assert same(entry.read(everything(entry)), data)


@pytest.mark.skipif(OLD_ZARR, reason="zarr-python knows no rectilinear grids")
def test_zarr_rectilinear_and_sharded(tmp_path):
    zarr.config.set({"array.rectilinear_chunks": True})
    root = zarr.create_group(tmp_path / "x.zarr")
    root.create_array("r", shape=(10,), chunks=[[3, 3, 4]], dtype="i4")[...] = np.arange(10)
    root.create_array("s", shape=(10,), chunks=(2,), shards=(4,), dtype="i4")[...] = np.arange(10)
    amap = open_source(tmp_path / "x.zarr")
    assert amap.arrays["/s"].chunks == (4,)
    for name in ("/r", "/s"):
        assert amap.arrays[name].read((slice(2, 9),)).tolist() == list(range(2, 9))


def test_broken_zarr(tmp_path):
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "zarr.json").write_text("{ not json")
    with pytest.raises(errors.Error) as caught:
        open_source(tmp_path / "x.zarr")
    assert caught.value.kind == "corrupt"


@pytest.mark.parametrize("zipped", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("consolidated", [False, True], ids=["plain", "consolidated"])
@pytest.mark.parametrize("version", [2, 3])
def test_an_array_that_zarr_has_no_codec_for_does_not_hold_up_the_others(
    tmp_path, version, consolidated, zipped
):
    source = tmp_path / "x.zarr"
    root = zarr.open_group(source, mode="w", zarr_format=version)
    root.create_array("g/good", data=np.arange(5))
    root.create_array("bad", data=np.arange(6.0))
    if consolidated:
        zarr.consolidate_metadata(source)
    for file in [*source.glob("*z*"), source / "bad" / (".zarray" if version == 2 else "zarr.json")]:
        file.write_text(re.sub(r'"(name|id)": "(zstd|blosc)"', r'"\1": "odd"', file.read_text()))
    if zipped:
        source = shutil.make_archive(tmp_path / "x.zarr", "zip", source)
    amap = open_source(source)
    entry = amap.arrays["/g/good"]
    assert list(amap.arrays) == ["/g/good"]
    assert entry.read(everything(entry)).tolist() == [0, 1, 2, 3, 4]
    assert [(note.path, note.kind) for note in amap.dropped] == [("/bad", "unsupported")]
    assert "'odd'" in amap.dropped[0].message
    if not zipped:
        with pytest.raises(errors.Error, match="'odd'") as caught:
            open_source(source / "bad")
        assert caught.value.kind == "unsupported"


def test_hdf4_is_told_from_hdf5(tmp_path):
    (tmp_path / "MOD11.hdf").write_bytes(b"\x0e\x03\x13\x01" + bytes(600))
    with pytest.raises(errors.Error, match="is HDF4: no known format") as caught:
        open_source(tmp_path / "MOD11.hdf")
    assert "h4toh5" in caught.value.hint


@pytest.mark.parametrize("shards", [None, (6,)], ids=["plain", "sharded"])
def test_a_codec_that_zarr_looks_for_late_does_not_hold_up_the_others_either(tmp_path, monkeypatch, shards):
    root = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=3)
    root.create_array("good", data=np.arange(5))
    root.create_array("bad", data=np.arange(6.0), chunks=(3,), shards=shards)
    file = tmp_path / "x.zarr" / "bad" / "zarr.json"
    lz4 = '{"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}'
    text, count = re.subn(r'\{\s*"name": "zstd",\s*"configuration": \{[^}]*\}\s*\}', lz4, file.read_text())
    assert count == 1
    file.write_text(text)
    monkeypatch.delitem(numcodecs.registry.codec_registry, "lz4")
    report = pack(tmp_path / "x.zarr", tmp_path / "r.icecore")
    assert [row.path for row in report.rows] == ["/x/good"]
    assert [(note.name, note.kind) for note in report.notes] == [(f"{tmp_path}/x.zarr:/bad", "unsupported")]
    with pytest.raises(errors.Error, match="lz4") as caught:
        open_source(tmp_path / "x.zarr" / "bad")
    assert caught.value.kind == "unsupported"


def store_with_a_changed_array(path, change, consolidated=False):
    root = zarr.open_group(path, mode="w")
    root.create_array("g/good", data=np.arange(5))
    root.create_array("bad", data=np.arange(6.0))
    file = path / "bad" / "zarr.json"
    changed = {**json.loads(file.read_text()), **change}
    if consolidated:
        zarr.consolidate_metadata(path)
        whole = json.loads((path / "zarr.json").read_text())
        whole["consolidated_metadata"]["metadata"]["bad"] = changed
        (path / "zarr.json").write_text(json.dumps(whole))
    file.write_text(json.dumps(changed))


@pytest.mark.parametrize("consolidated", [False, True], ids=["plain", "consolidated"])
@pytest.mark.parametrize(
    "change",
    [
        {"storage_transformers": [{"name": "odd"}]},
        {"data_type": "odd"},
        {"chunk_grid": {"name": "odd", "configuration": {}}},
        {"chunk_key_encoding": {"name": "odd"}},
        {"odd": {"name": "odd"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_zarr_does_not_know_is_left_out_and_named(tmp_path, change, consolidated):
    store_with_a_changed_array(tmp_path / "x.zarr", change, consolidated)
    report = pack(tmp_path / "x.zarr", tmp_path / "r.icecore")
    assert [row.path for row in report.rows] == ["/x/g/good"]
    assert [(note.name, note.kind) for note in report.notes] == [(f"{tmp_path}/x.zarr:/bad", "unsupported")]
    assert "odd" in report.notes[0].message or OLD_ZARR  # it doesn't say which grid


@pytest.mark.parametrize("consolidated", [False, True], ids=["plain", "consolidated"])
@pytest.mark.parametrize(
    "change",
    [{"shape": [-6]}, {"codecs": []}, {"fill_value": "Nax"}, {"node_type": "arrax"}, {"attributes": 4}],
    ids=lambda change: next(iter(change)),
)
def test_damaged_metadata_of_an_array_are_an_error_that_names_it(tmp_path, change, consolidated):
    store_with_a_changed_array(tmp_path / "x.zarr", change, consolidated)
    with pytest.raises(errors.Error, match=r"x\.zarr:/bad: ") as caught:
        pack(tmp_path / "x.zarr", tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"
    report = pack(tmp_path / "x.zarr", tmp_path / "r.icecore", keep_going=True)
    assert [row.path for row in report.rows] == ["/x/g/good"]
    assert [item.kind for item in report.failures] == ["corrupt"]


@pytest.mark.parametrize("zipped", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("version", [2, 3])
def test_all_that_a_zarr_store_has_is_there(tmp_path, version, zipped):
    """What came behind its consolidated metadata, folders that are no groups, and the other version."""
    source = tmp_path / "x.zarr"
    root = zarr.open_group(source, mode="w", zarr_format=version)
    root.create_array("grown", data=np.arange(4), chunks=(2,))
    zarr.consolidate_metadata(source)
    root = zarr.open_group(source, use_consolidated=False)
    root["grown"].resize((6,))
    root["grown"][4:] = [4, 5]
    root.create_array("late", data=np.arange(2))
    zarr.create_array(source / "no" / "group" / "a", data=np.arange(3), zarr_format=version)
    zarr.create_array(source / "other", data=np.arange(5), zarr_format=5 - version)
    root.create_array("__summary__/a", data=np.arange(3))
    for name in ("no", "no/group"):
        for file in ("zarr.json", ".zgroup"):
            (source / name / file).unlink(missing_ok=True)
    if zipped:
        source = shutil.make_archive(tmp_path / "x.zarr", "zip", source)
    amap = open_source(source)
    lengths = {path: len(entry.read(everything(entry))) for path, entry in amap.arrays.items()}
    assert lengths == {"/grown": 6, "/late": 2, "/no/group/a": 3, "/other": 5}
    assert {(note.path, note.kind) for note in amap.dropped} == {
        ("/__summary__", "name"),
        ("/__summary__/a", "name"),
    }


def test_a_store_with_damage_is_joined_whole_or_not_at_all(tmp_path):
    for name, change in (("a", {}), ("b", {"fill_value": "Nax"})):
        store_with_a_changed_array(tmp_path / f"{name}.zarr", change)
    stores = [tmp_path / "a.zarr", tmp_path / "b.zarr"]
    with pytest.raises(errors.Error, match=r"b\.zarr:/bad: "):
        pack(stores, tmp_path / "r.icecore", concat="dim_0", group="/")
    report = pack(stores[1:], tmp_path / "r.icecore", group="/", keep_going=True)
    assert [row.path for row in report.rows] == ["/g/good"]
    amap = open_source(stores[1], keep_going=True)
    assert (list(amap.arrays), len(amap.failed), amap.dropped) == (["/g/good"], 1, [])
    with pytest.raises(errors.Error, match=r"b\.zarr:/bad: "):
        open_source(stores[1])


def test_an_array_that_consolidated_metadata_miss_is_an_error(tmp_path):
    root = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=2)
    root.create_array("gone", data=np.arange(4))
    zarr.consolidate_metadata(tmp_path / "x.zarr")
    shutil.rmtree(tmp_path / "x.zarr" / "gone")
    with pytest.raises(errors.Error, match=r"x\.zarr:/gone: ") as caught:
        pack(tmp_path / "x.zarr", tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"


def test_integers_of_more_than_64_bits_in_attributes_keep_their_digits(tmp_path):
    attributes = {"big": 2**70, "low": -(2**63) - 1, "list": [1, 2**64], "fits": 2**64 - 1, "least": -(2**63)}
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", attributes=attributes)
    group.create_array("x", data=np.arange(3), attributes=attributes)
    pack(tmp_path / "x.zarr", tmp_path / "r", group="/")
    repo = open_repo(tmp_path / "r")
    text = {"big": str(2**70), "low": str(-(2**63) - 1), "list": [1, str(2**64)]}
    assert repo.attrs == attributes | text
    assert repo["/x"].attrs == attributes | text


@pytest.mark.parametrize("theirs", [{"attr_types": 5}, {"table": 5}, {"unlimited": 5}, {"subarrays": [1]}, 5])
def test_what_others_write_under_our_name_is_not_taken_for_ours(tmp_path, theirs):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", attributes={"icecore": theirs, "units": "m"})
    group.create_array("x", data=np.arange(3), attributes={"icecore": theirs, "units": "m"})
    pack(tmp_path / "x.zarr", tmp_path / "r", group="/")
    pack(tmp_path / "r", tmp_path / "again", group="/")
    repo = open_repo(tmp_path / "again")
    assert repo.attrs == repo["/x"].attrs == {"units": "m"}
    assert repo["/x"][:].tolist() == [0, 1, 2]


@pytest.mark.parametrize("metadata", ["5", "[]", "[" * 100_000, "null", "{"])
def test_a_folder_with_metadata_of_nothing_is_a_folder(tmp_path, metadata):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".zmetadata").write_text(metadata)
    np.save(tmp_path / "x" / "a.npy", np.arange(3))
    report = pack(tmp_path / "x", tmp_path / "r.icecore")
    assert [row.path for row in report.rows] == ["/a/a"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zip"])
@pytest.mark.parametrize(("name", "kind"), [("a.h5", "HDF5 or netCDF-4"), ("a.nc", "netCDF-3")])
def test_arrays_in_an_archive_are_named(tmp_path, name, kind, suffix):
    """They were said to be no tables."""
    plain = tmp_path / name
    if name.endswith(".nc"):
        netCDF4.Dataset(plain, "w", format="NETCDF3_CLASSIC").close()
    else:
        h5py.File(plain, "w").close()
    path = f"{plain}{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(plain, f"in/{name}")
            archive.writestr("README", b"two words")
    else:
        opener = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[suffix].open
        with opener(path, "wb") as file:
            file.write(plain.read_bytes())
    with pytest.raises(errors.Error, match=kind) as caught:
        open_source(path)
    assert caught.value.kind == "format"
    assert name in caught.value.message.removeprefix(path)
    assert caught.value.hint.startswith("unpack it first")


def test_arrays_beside_tables_in_an_archive_are_noted(tmp_path):
    """They were left out without a word."""
    path = tmp_path / "mixed.zip"
    h5py.File(tmp_path / "a.h5", "w").close()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n3,4\n")
        archive.write(tmp_path / "a.h5", "in/a.h5")
        archive.writestr("README", "two words")
    report = pack(path, into="memory://")
    assert [(note.name, note.message) for note in report.notes] == [
        (f"{path}:/in/a.h5", "HDF5 or netCDF-4 inside an archive: unpack it first")
    ]


@pytest.mark.parametrize(("package", "extra"), [("zarr", "zarr"), ("pyarrow", "table")])
def test_a_missing_package_is_told_by_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    def missing(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    (tmp_path / "k.json").write_text('{"version": 1, "refs": {".zgroup": "{}"}}')
    monkeypatch.setattr("icecore.sources.import_module", missing)
    with pytest.raises(errors.Error, match=re.escape(f"pip install 'icecore-archive[{extra}]'")):
        open_source(str(tmp_path / "k.json"))


def test_a_bad_name_in_a_list_leaves_the_others(archive, tmp_path):
    lines = ["# of two", "", "a.dat", "gone.h5", "c.npy"]
    (archive / "list.txt").write_text("\r\n".join(lines), encoding="utf-8-sig")
    with pytest.raises(errors.Error, match=r"no file at .*gone\.h5"):
        pack(f"@{archive}/list.txt", tmp_path / "r")
    report = pack(f"@{archive}/list.txt", tmp_path / "r", keep_going=True)
    assert [failure.name for failure in report.failures] == [str(archive / "gone.h5")]
    assert list(open_repo(tmp_path / "r")) == ["/a", "/a/x", "/c", "/c/c"]
    (tmp_path / "list.txt").write_text("r:/a\n")
    pack(f"@{tmp_path}/list.txt", tmp_path / "again")
    assert "/a/x" in open_repo(tmp_path / "again")


@pytest.mark.parametrize("names", [5, "x", ["x"], ["x", 3], {"x": 0}, None])
def test_names_of_axes_that_are_none_are_an_attribute(tmp_path, names):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=2)
    group.create_array("x", data=np.zeros((2, 3)), attributes={"_ARRAY_DIMENSIONS": names})
    group.create_array("y", data=np.zeros((2, 3)), attributes={"_ARRAY_DIMENSIONS": ["y", "x"]})
    pack(tmp_path / "x.zarr", tmp_path / "r", group="/")
    repo = open_repo(tmp_path / "r")
    assert (repo["/x"].dims, repo["/x"].attrs["_ARRAY_DIMENSIONS"]) == ((None, None), names)
    assert (repo["/y"].dims, "_ARRAY_DIMENSIONS" in repo["/y"].attrs) == (("y", "x"), False)
