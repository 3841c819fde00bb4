"""Each reference of a reference file is used, or named."""

from __future__ import annotations

import json

import icecore
import numpy as np
import pytest

V2 = {"zarr_format": 2, "dtype": "<f8", "fill_value": 0.0, "order": "C", "filters": None, "compressor": None}
VERBS = pytest.mark.parametrize("verb", [icecore.link, icecore.pack], ids=["link", "pack"])


@pytest.fixture
def made(tmp_path):
    """A file of eight numbers, and what writes a reference file for an array of it."""
    np.arange(8.0).tofile(tmp_path / "v.bin")

    def write(shape, chunks, refs, **more):
        metadata = json.dumps({**V2, "shape": shape, "chunks": chunks, **more})
        bytes_of = {key: [str(tmp_path / "v.bin"), *place] for key, place in refs.items()}
        document = {".zgroup": '{"zarr_format": 2}', "v/.zarray": metadata, **bytes_of}
        (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": document}))
        return tmp_path / "refs.json"

    return tmp_path, write


@VERBS
@pytest.mark.parametrize("key", ["v/", "v/0", "v/c", "v/c/"])
def test_scalars_under_every_name(made, verb, key):
    folder, write = made
    report = verb(write([], [], {key: (16, 8)}), folder / "r", group="/g")
    assert not report.notes
    assert icecore.open(folder / "r")["/g/v"][...] == 2.0


@VERBS
@pytest.mark.parametrize(
    ("chunks", "refs"),
    [
        ([1, 4], {"v/0/0": (0, 32), "v/1/0": (32, 32)}),
        ([2, 4], {"v/0": (0, 64)}),
        ([2, 4], {"v/c/0/0": (0, 64)}),
        ([2, 4], {"v/c.0.0": (0, 64)}),
        ([2, 4], {"v/0.0.0": (0, 64)}),
        ([2, 4], {"v/00.0": (0, 64)}),
        ([2, 4], {"v/c": (0, 64)}),
        ([1, 4], {"v/0.0": (0, 32), "v/1/0": (32, 32)}),
    ],
)
def test_keys_of_another_form_are_refused(made, verb, chunks, refs):
    folder, write = made
    with pytest.raises(icecore.Error, match=r"/v: reference '.*' fits no chunk") as caught:
        verb(write([2, 4], chunks, refs), folder / "r", group="/g")
    assert caught.value.kind == "corrupt"


@VERBS
def test_two_references_to_one_chunk(made, verb):
    folder, write = made
    with pytest.raises(icecore.Error, match="to the same chunk"):
        verb(write([], [], {"v/": (0, 8), "v/0": (8, 8)}), folder / "r", group="/g")


@VERBS
def test_references_beyond_an_array_are_named(made, verb):
    folder, write = made
    refs = {"v/0.0": (0, 64), "v/1.0": (0, 64), "v/readme": (0, 8), "other/0": (0, 8)}
    report = verb(write([2, 4], [2, 4], refs), folder / "r", group="/g")
    assert icecore.open(folder / "r")["/g/v"][...].tolist() == np.arange(8.0).reshape(2, 4).tolist()
    assert [note.kind for note in report.notes] == ["reference", "reference"]
    assert "2 references" in report.notes[0].message
    assert "'1.0'" in report.notes[0].message
    assert "'other/0'" in report.notes[1].message
