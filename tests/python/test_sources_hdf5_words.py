"""HDF5 records with texts of any length or object references."""

from __future__ import annotations

import h5py
import icecore
import numpy as np
import pytest

WORD = h5py.string_dtype()
RECORD = np.dtype(
    [
        ("name", WORD),
        ("n", "<i4"),
        ("at", h5py.ref_dtype),
        ("inner", [("t", WORD), ("k", ">f8", (2,))]),
        ("two", WORD, (2,)),
    ]
)


def filled(file: h5py.File) -> np.ndarray:
    group, data = file.create_group("a/bé"), file.create_dataset("a/x", data=np.arange(4))
    values = np.zeros(7, RECORD)
    for i in range(7):
        ref = group.ref if i % 2 else data.ref
        values[i] = ("ab" * i + "é", i, ref, (f"t{i}", [i, i + 0.5]), ("q" * i, "r"))
    values["at"][3] = h5py.Reference()
    return values


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_texts_and_references_in_records(tmp_path, verb) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        values = filled(file)
        file["plain"] = values
        file.create_dataset("chunked", data=values.reshape(7, 1), chunks=(2, 1), compression="gzip")
        file["one"] = values[4]
        file.create_dataset("none", (0,), RECORD)
        file.create_dataset("holes", (9, 2), RECORD, chunks=(2, 2))[3, 1] = values[2]
    verb(tmp_path / "f.h5", tmp_path / "r", group="/")
    repo = icecore.open(tmp_path / "r")
    for path in ("/plain", "/chunked"):
        found = repo[path][...].reshape(7)
        assert found["name"].tolist() == ["ab" * i + "é" for i in range(7)]
        assert found["n"].tolist() == list(range(7))
        assert found["at"].tolist() == ["/a/x", "/a/bé", "/a/x", "", "/a/x", "/a/bé", "/a/x"]
        assert found["inner"]["t"].tolist() == [f"t{i}" for i in range(7)]
        assert found["inner"]["k"].tolist() == [[i, i + 0.5] for i in range(7)]
        assert found["two"].tolist() == [["q" * i, "r"] for i in range(7)]
        assert found.dtype["name"] == np.dtype("U13")
        assert found.dtype["two"].base == np.dtype("U6")
    assert repo["/one"][()]["name"] == "ab" * 4 + "é"
    assert repo["/none"].shape == (0,)
    assert repo["/none"].dtype["name"] == np.dtype("U1")
    holes = repo["/holes"][...]
    assert holes["name"][3, 1] == "ababé"
    assert holes["at"][3, 1] == "/a/x"
    assert (holes["name"] == "").sum() == 17
    assert holes["n"].sum() == 2


def test_other_objects_in_records_are_left_out_by_name(tmp_path, monkeypatch) -> None:
    lists = np.dtype([("n", "i4"), ("in", [("v", h5py.vlen_dtype("i4"))])])
    regions = np.dtype([("n", "i4"), ("r", h5py.regionref_dtype)])
    words = np.dtype([("w", WORD)])
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("lists", (2,), lists)
        file.create_dataset("regions", (2,), regions)
        file.create_dataset("filled", (4,), words, chunks=(2,))
        file["n"] = np.arange(3)
    # h5py writes no such fill value that it could read again
    monkeypatch.setattr("icecore.sources.hdf5.region_reader._has_fill", lambda dataset: True)
    report = icecore.link(tmp_path / "f.h5", tmp_path / "r", group="/")
    assert list(icecore.open(tmp_path / "r").arrays) == ["/n"]
    notes = {note.name.rpartition(":")[2]: note.message for note in report.notes}
    assert "field in.v holds variable-length sequences" in notes["/lists"]
    assert "field r holds region references" in notes["/regions"]
    assert "a fill value where chunks are missing" in notes["/filled"]
