"""HDF5 files in which something can't be read, or only in another way than h5py's: the rest counts."""

from __future__ import annotations

from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from h5py import h5a, h5d, h5o, h5p, h5s, h5t
from icecore import errors
from icecore.ingest import pack
from icecore.sources import open_source
from icecore.sources.hdf5 import dataset as datasets
from sources_kit import everything


def opaque() -> h5t.TypeID:
    """Four bytes with a tag, from which the library converts to nothing."""
    tid = h5t.create(h5t.OPAQUE, 4)
    tid.set_tag(b"a tag")
    return tid


def twelve_bits() -> h5t.TypeID:
    """Integers of 12 bits, above four that don't count."""
    tid = h5t.STD_I16LE.copy()
    tid.set_precision(12)
    tid.set_offset(4)
    return tid


def record() -> h5t.TypeID:
    """A record with a tagged field."""
    tid = h5t.create(h5t.COMPOUND, 8)
    tid.insert(b"raw", 0, opaque())
    tid.insert(b"n", 4, h5t.STD_I32BE)
    return tid


def test_attributes_of_types_that_take_a_type_of_their_own_to_read(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:

        def put(name: str, tid: h5t.TypeID, values: np.ndarray) -> None:
            h5a.create(file.id, name.encode(), tid, h5s.create_simple((2,))).write(values, mtype=tid)

        put("bits", twelve_bits(), np.array([5, -7], "i2") << 4)
        put("pairs", h5t.array_create(h5t.STD_I32BE, (2,)), np.array([[1, 2], [3, 4]], ">i4"))
        put("tagged", opaque(), np.array([b"abcd", b"efgh"], "V4"))
        put("tagged pairs", h5t.array_create(opaque(), (2,)), np.array([[b"abcd"] * 2] * 2, "V4"))
        put("byte", h5t.STD_B8BE, np.array([3, 4], "u1"))
        put("records", record(), np.array([(b"abcd", 1), (b"efgh", 2)], "V4, >i4"))
        file["x"] = np.arange(3)
    attrs = open_source(path).attrs
    assert attrs["bits"] == [5, -7]
    assert attrs["pairs"] == [[1, 2], [3, 4]]
    assert attrs["tagged"] == ["YWJjZA==", "ZWZnaA=="]
    assert attrs["tagged pairs"] == [["YWJjZA=="] * 2] * 2
    assert attrs["byte"] == [3, 4]
    assert attrs["records"] == [{"raw": "YWJjZA==", "n": 1}, {"raw": "ZWZnaA==", "n": 2}]


def test_lists_of_region_references_are_left_out(tmp_path: Path) -> None:
    # h5py writes past the memory that it takes for them
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(100)
        lists = np.empty(2, object)
        lists[:] = [np.array([file["x"].regionref[:5]] * 30, h5py.regionref_dtype)] * 2
        file.attrs.create("regions", lists, dtype=h5py.vlen_dtype(h5py.regionref_dtype))
    amap = open_source(path)
    assert "regions" not in amap.attrs
    assert [note.message for note in amap.dropped] == [
        "attribute regions was left out: a variable-length list of region references"
    ]


@pytest.mark.parametrize("layout", ["compact", "contiguous", "chunked", "scalar"])
def test_tagged_data_are_copied_as_they_are(tmp_path: Path, layout: str) -> None:
    raw = np.arange(5 * 8, dtype="u1")
    kinds = {"opaque": (opaque(), 4), "record": (record(), 8), "byte": (h5t.STD_B8BE, 1)}
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        for name, (tid, size) in kinds.items():
            space = h5s.create(h5s.SCALAR) if layout == "scalar" else h5s.create_simple((5,))
            plist = h5p.create(h5p.DATASET_CREATE)
            if layout == "compact":
                plist.set_layout(h5d.COMPACT)
            if layout == "chunked":
                plist.set_chunk((2,))
            values = raw[: size * (1 if layout == "scalar" else 5)].view(f"V{size}")
            h5d.create(file.id, name.encode(), tid, space, plist).write(h5s.ALL, h5s.ALL, values, tid)
    amap = open_source(path)
    assert not amap.dropped
    for name, (_, size) in kinds.items():
        entry = amap.arrays[f"/{name}"]
        found = entry.read(everything(entry))
        if name == "record":
            found = found.astype([("raw", "V4"), ("n", ">i4")])
        assert found.tobytes() == raw[: size * (1 if layout == "scalar" else 5)].tobytes()


def test_numbers_that_nobody_converts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("vax", (3,), ">f4")
        h5d.create(file.id, b"bits", twelve_bits(), h5s.create_simple((3,)))
        file["x"] = np.arange(3)
    data = path.read_bytes()
    big, vax = b"\x11\x21\x1f\0\x04\0\0\0", b"\x31\x61\x1f\0\x04\0\0\0"
    assert data.count(big) == 1
    path.write_bytes(data.replace(big, vax))
    monkeypatch.setattr(h5t, "find", lambda *_: None)
    amap = open_source(path)
    assert list(amap.arrays) == ["/x"]
    assert [(note.path, note.kind) for note in amap.dropped] == [
        ("/bits", "unsupported"),
        ("/vax", "unsupported"),
    ]


def test_names_in_latin_1_are_copied(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_group(b"\xe9t\xe9")[b"\xe2ge"] = 7
        file["größe"] = 8
    for verb in icecore.link, icecore.pack:
        verb(path, tmp_path / "r.icecore", group=f"/{verb.__name__}")
        repo = icecore.open(tmp_path / "r.icecore")
        assert repo[f"/{verb.__name__}/été/âge"][()] == 7
        assert repo[f"/{verb.__name__}/größe"][()] == 8


def damaged(path: Path) -> None:
    """A file with a group and a dataset whose headers are overwritten."""
    with h5py.File(path, "w") as file:
        for name in "abc":
            file.create_dataset(name, data=np.arange(6), chunks=(3,)).attrs["units"] = f"unit of {name}"
            file.create_group(f"group {name}")["x"] = np.arange(4)
        spots = [h5o.get_info(file[name].id).addr for name in ("b", "group b")]
    data = bytearray(path.read_bytes())
    for spot in spots:
        data[spot : spot + 8] = b"\xff" * 8
    path.write_bytes(data)


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_what_is_damaged_is_left_out_where_asked(tmp_path: Path, verb: object) -> None:
    path, repo = tmp_path / "x.h5", tmp_path / "r.icecore"
    damaged(path)
    with pytest.raises(errors.Error, match="/b: the HDF5 library can't read it") as caught:
        verb(path, repo)
    assert (caught.value.kind, "--keep-going" in caught.value.hint) == ("corrupt", True)
    assert not repo.exists()
    with pytest.raises(errors.Error, match="/b: the HDF5 library can't read it"):
        open_source(path)
    report = verb(path, repo, group="/", keep_going=True)
    assert [failure.message.split(":")[1] for failure in report.failures] == ["/b", "/group b"]
    found = icecore.open(repo)
    assert sorted(found.arrays) == ["/a", "/c", "/group a/x", "/group c/x"]
    assert np.array_equal(found["/c"][...], np.arange(6))


def test_files_that_are_joined_are_whole_or_left_out(tmp_path: Path) -> None:
    for name in "one.h5", "two.h5":
        with h5py.File(tmp_path / name, "w") as file:
            for path in "a", "b":
                file[path] = np.arange(3)
                file[path].dims[0].label = "t"
                file[path].make_scale() if path == "a" else file[path].dims[0].attach_scale(file["a"])
            spot = h5o.get_info(file["b"].id).addr
    data = bytearray((tmp_path / "two.h5").read_bytes())
    data[spot : spot + 8] = b"\xff" * 8
    (tmp_path / "two.h5").write_bytes(data)
    files = [tmp_path / "one.h5", tmp_path / "two.h5"]
    report = icecore.link(files, tmp_path / "r.icecore", "/", concat="a", keep_going=True)
    assert len(report.failures) == 1
    assert icecore.open(tmp_path / "r.icecore")["/b"].shape == (3,)


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_an_array_with_a_damaged_chunk_that_has_to_be_copied(tmp_path: Path, verb: object) -> None:
    path, repo = tmp_path / "x.h5", tmp_path / "r.icecore"
    with h5py.File(path, "w") as file:
        for name in "abc":  # no Zarr codec undoes the one filter, the other finds the damage
            file.create_dataset(name, data=np.arange(60), chunks=(20,), scaleoffset=0, compression="gzip")
        file.create_dataset("plain", data=np.arange(9))
        info = file["b"].id.get_chunk_info(1)
    verb(path, repo, group="/before")
    data = bytearray(path.read_bytes())
    data[info.byte_offset : info.byte_offset + info.size] = b"\xff" * info.size
    path.write_bytes(data)
    with pytest.raises(errors.Error, match=r"x\.h5:/b: the HDF5 library can't read it.*\n.*--keep-going"):
        verb(path, repo, group="/g")
    with pytest.raises(errors.Error, match=r"x\.h5:/b"):  # what was there before is not lost
        verb(path, repo, group="/before", keep_going=True, replace=True)
    report = verb(path, repo, group="/g", keep_going=True)
    assert [(failure.name, failure.kind) for failure in report.failures] == [("/g/b", "corrupt")]
    assert sorted(row.path for row in report.rows) == ["/g/a", "/g/c", "/g/plain"]
    found = icecore.open(repo)
    assert [path for path in found.arrays if path.startswith("/g")] == ["/g/a", "/g/c", "/g/plain"]
    assert np.array_equal(found["/g/c"][...], np.arange(60))
    assert np.array_equal(found["/before/b"][...], np.arange(60))


def test_a_missing_filter_where_only_edges_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", (5,), "i4", chunks=(3,), compression="gzip")
        x.id.write_direct_chunk((0,), b"shorter")
        x.id.write_direct_chunk((3,), bytes(12))  # of a raw chunk's length: not filtered, or by chance
        file["y"] = np.arange(3)
    monkeypatch.setattr(datasets, "unknown_filter", lambda _: "gzip (1)")
    amap = open_source(path)
    assert list(amap.arrays) == ["/y"]
    assert [(note.path, note.kind) for note in amap.dropped] == [("/x", "unsupported")]
    assert "icecore-archive[plugins]" in amap.dropped[0].message


def series(folder: Path, hurt: str) -> list[str]:
    """Three files to be joined, of the second of which one chunk of ``hurt`` is damaged."""
    for i in range(3):
        with h5py.File(folder / f"{i}.h5", "w") as file:
            time = file.create_dataset(
                "time", data=np.arange(20.0) + 20 * i, chunks=(5,), maxshape=(None,), compression="gzip"
            )
            time.make_scale("time")
            how = {"chunks": (5, 30), "maxshape": (None, 30)}
            values = np.arange(600.0).reshape(20, 30) + i
            for name, more in {"v": {"fletcher32": True}, "w": {"scaleoffset": 2}}.items():
                made = file.create_dataset(name, data=values, compression="gzip", **how, **more)
                made.dims[0].attach_scale(time)
            file.create_dataset("static", data=np.arange(100.0), chunks=(10,), fletcher32=True)
            if i == 1:
                chunk = file[hurt].id.get_chunk_info(1)
    with open(folder / "1.h5", "r+b") as file:
        file.seek(chunk.byte_offset + 3)
        file.write(b"\xff\x13\x77")
    return [str(folder / f"{i}.h5") for i in range(3)]


@pytest.mark.parametrize(
    ("verb", "hurt"),
    [
        (icecore.pack, "v"),
        (icecore.pack, "w"),
        (icecore.pack, "time"),
        (icecore.pack, "static"),
        (icecore.link, "w"),
        (icecore.link, "static"),
    ],
)
def test_a_joined_file_that_turns_out_to_be_damaged_is_left_out(
    tmp_path: Path, verb: object, hurt: str
) -> None:
    files, into = series(tmp_path, hurt), tmp_path / "r.icecore"
    with pytest.raises(errors.Error, match=f"/{hurt}:") as caught:
        verb(files, into, "/", concat="time")
    assert caught.value.kind == "corrupt"
    assert not into.exists()
    report = verb(files, into, "/", concat="time", keep_going=True)
    assert [(each.kind, each.name) for each in report.failures] == [("corrupt", files[1])]
    assert f"1.h5:/{hurt}:" in report.failures[0].message
    assert "--keep-going" not in report.failures[0].hint
    repo = icecore.open(into)
    assert np.array_equal(repo["/time"][...], [*range(20), *range(40, 60)])
    assert all(repo[name].shape == (40, 30) for name in ("/v", "/w"))
    assert repo["/v"][25, 3] == 5 * 30 + 3 + 2
    # as are files that are appended; a file that is linked already is not linked again
    report = verb([files[1], files[0]], into, "/", concat="time", append=True, keep_going=True)
    assert [each.name for each in report.failures] == [files[1]]
    again = [] if verb is icecore.link else range(20)
    assert np.array_equal(icecore.open(into)["/time"][...], [*range(20), *range(40, 60), *again])
    with pytest.raises(errors.Error, match=f"/{hurt}:"):
        verb(files[1], into, "/", concat="time", append=True, keep_going=True)


def test_several_damaged_files_are_found_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would have had all that was written before begun anew."""
    files, attempts = [], []
    for i in range(9):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            v = file.create_dataset(
                "v", data=np.arange(600.0).reshape(20, 30), chunks=(5, 30), fletcher32=True
            )
            file.create_dataset("t", data=np.arange(20.0)).make_scale("t")
            v.dims[0].attach_scale(file["t"])
            at = v.id.get_chunk_info(i % 4).byte_offset
        files.append(str(tmp_path / f"{i}.h5"))
        if i % 2:
            with open(files[-1], "r+b") as file:
                file.seek(at + 3)
                file.write(b"\xff\x13\x77")
    open_target = pack.open_target
    monkeypatch.setattr(pack, "open_target", lambda *given: attempts.append(1) or open_target(*given))
    report = icecore.pack(files, tmp_path / "r.icecore", "/", concat="t", keep_going=True)
    assert [(each.kind, each.name) for each in report.failures] == [("corrupt", name) for name in files[1::2]]
    assert np.array_equal(icecore.open(tmp_path / "r.icecore")["/t"][...], [*range(20)] * 5)
    assert len(attempts) == 2


@pytest.mark.parametrize(
    ("driver", "more", "first"), [("family", {"memb_size": 4096}, "x0.h5"), ("split", {}, "x%d.h5-m.h5")]
)
def test_one_of_several_files_of_a_driver_says_so(
    tmp_path: Path, driver: str, more: dict, first: str
) -> None:
    with h5py.File(tmp_path / "x%d.h5", "w", driver=driver, **more) as file:
        file["x"] = np.arange(2000)
    with pytest.raises(errors.Error, match=f"one of the files that HDF5's {driver} driver") as caught:
        open_source(tmp_path / first)
    assert (caught.value.kind, "h5py.File" in caught.value.hint) == ("unsupported", True)


@pytest.mark.parametrize("form", ["earliest", "latest"])
def test_without_a_root_all_is_lost(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=form) as file:
        file["x"] = np.arange(5)
        spot = h5o.get_info(file.id).addr
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:600])
    with pytest.raises(errors.Error, match=f"has 600 of {len(data)} bytes"):
        open_source(path)
    data[spot : spot + 8] = b"\xff" * 8
    path.write_bytes(data)
    for keep_going in (False, True):
        with pytest.raises(errors.Error, match="HDF5 library can't read it") as caught:
            icecore.link(path, tmp_path / "r", keep_going=keep_going)
        assert (caught.value.kind, "nothing in it can be found" in caught.value.hint) == ("corrupt", True)
        assert "--keep-going" not in caught.value.hint
