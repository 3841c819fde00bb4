"""DMR++ documents: what they describe is linked, what is wrong is refused."""

from __future__ import annotations

import base64
import random
import zlib
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.sources import format_of, open_source

rng = np.random.default_rng(17)
TYPES = {"u1": "Byte", "i1": "Int8", "i2": "Int16", "u4": "UInt32", "f4": "Float32", "f8": "Float64"}
NAMESPACES = (
    'xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"'
)


def document(body: str, href: str = "a.h5") -> str:
    head = f'<Dataset {NAMESPACES} dapVersion="4.0" dmrVersion="1.0" name="a.h5" dmrpp:href="{href}">'
    return f'<?xml version="1.0" encoding="ISO-8859-1"?>\n{head}\n{body}\n</Dataset>\n'


def described(dataset: h5py.Dataset, name: str, more: str = "", filters: str = "") -> str:
    """The element of a dataset, as Hyrax writes it."""
    kind = TYPES[dataset.dtype.newbyteorder("=").str[1:]]
    order = "BE" if dataset.dtype.str[0] == ">" else "LE"
    dims = "".join(f'<Dim size="{n}"/>' for n in dataset.shape)
    fill = dataset.fillvalue
    if dataset.chunks is None:
        inside = f'<dmrpp:chunk offset="{dataset.id.get_offset()}" nBytes="{dataset.id.get_storage_size()}"/>'
    else:
        infos: list = []
        dataset.id.chunk_iter(infos.append)
        sizes = f"<dmrpp:chunkDimensionSizes>{' '.join(map(str, dataset.chunks))}</dmrpp:chunkDimensionSizes>"
        inside = sizes + "".join(
            f'<dmrpp:chunk offset="{info.byte_offset}" nBytes="{info.size}" '
            f'chunkPositionInArray="[{",".join(map(str, info.chunk_offset))}]"/>'
            for info in infos
        )
    compression = f'compressionType="{filters}" deflateLevel="4"' if filters else ""
    chunks = f'<dmrpp:chunks {compression} fillValue="{fill}" byteOrder="{order}">{inside}</dmrpp:chunks>'
    return f'<{kind} name="{name}">{dims}{more}{chunks}</{kind}>'


@pytest.fixture
def file(tmp_path: Path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset(
            "g/t",
            data=rng.normal(size=(13, 21)).astype("f4"),
            chunks=(5, 8),
            compression=4,
            shuffle=True,
            fletcher32=True,
        )
        file.create_dataset("b", data=rng.integers(0, 99, 40).astype(">i2"))
        file["s"] = np.float64(2.5)
        holes = file.create_dataset("holes", (20, 20), "i2", chunks=(10, 10), fillvalue=-7)
        holes[10:, 10:] = 3
    with h5py.File(tmp_path / "a.h5") as file:
        yield file


def write(folder: Path, text: str, name: str = "a.h5.dmrpp") -> str:
    (folder / name).write_text(text, encoding="latin-1")
    return str(folder / name)


def test_arrays_are_linked_and_packed(tmp_path: Path, file: h5py.File) -> None:
    units = '<Attribute name="units" type="String"><Value>K</Value></Attribute>'
    units += '<Attribute name="valid" type="Int16"><Value>1</Value><Value value="5"/></Attribute>'
    body = (
        '<Attribute name="title" type="String"><Value>Caf\xe9</Value></Attribute>'
        + '<Group name="g">'
        + described(file["g/t"], "t", units, "shuffle deflate fletcher32")
        + "</Group>"
        + "".join(described(file[name], name) for name in ("b", "s", "holes"))
    )
    source = write(tmp_path, document(body))
    assert format_of(source).name == "DMR++"
    icecore.link(source, into=tmp_path / "r.icecore", group="/")
    icecore.pack(source, into=tmp_path / "p.icecore", group="/")
    for name in ("r", "p"):
        repo = icecore.open(tmp_path / f"{name}.icecore")
        for path in ("g/t", "b", "s", "holes"):
            np.testing.assert_array_equal(repo[f"/{path}"].read(), file[path][()], err_msg=path)
        assert repo["/g/t"].attrs["units"] == "K"
        assert repo["/g/t"].attrs["valid"] == [1, 5]
        assert repo.attrs["title"] == "Caf\xe9"
    linked = icecore.open(tmp_path / "r.icecore")
    assert all(linked[f"/{path}"].linked for path in ("g/t", "b", "holes"))
    assert linked["/holes"][0, 0] == -7


def test_dimensions_and_flattened_groups(tmp_path: Path, file: h5py.File) -> None:
    named = described(file["g/t"], "g_t", "", "shuffle deflate fletcher32").replace(
        '<Dim size="13"/><Dim size="21"/>', '<Dim name="/lat"/><Dim name="/lon"/>'
    )
    place = '<Attribute name="fullnamepath" type="String"><Value>/g/t</Value></Attribute>'
    body = '<Dimension name="lat" size="13"/><Dimension name="lon" size="21"/>'
    body += named.replace("<dmrpp:chunks", f"{place}<dmrpp:chunks", 1)
    found = open_source(write(tmp_path, document(body)))
    assert list(found.arrays) == ["/g/t"]
    assert found.arrays["/g/t"].dims == ("lat", "lon")
    assert "/g" in found.groups


def test_values_in_the_document(tmp_path: Path, file: h5py.File) -> None:
    lat = np.linspace(-90, 90, 91)
    compact = base64.b64encode(np.arange(6, dtype="<i2").tobytes()).decode()
    missing = base64.b64encode(zlib.compress(lat.tobytes())).decode()
    body = f'<Int16 name="c"><Dim size="2"/><Dim size="3"/><dmrpp:compact>{compact}</dmrpp:compact></Int16>'
    body += f'<Float64 name="lat"><Dim size="91"/><dmrpp:missingdata>\n {missing[:40]}\n {missing[40:]}\n'
    body += "</dmrpp:missingdata></Float64>"
    icecore.link(write(tmp_path, document(body)), into=tmp_path / "r.icecore", group="/")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/c"].read().tolist() == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_array_equal(repo["/lat"].read(), lat)


def test_what_is_not_in_chunks_is_named(tmp_path: Path, file: h5py.File) -> None:
    body = described(file["b"], "b")
    body += '<String name="station"><Dim size="4"/><dmrpp:vlsa><v>x</v></dmrpp:vlsa></String>'
    body += '<Structure name="record"><Int16 name="x"/></Structure>'
    body += described(file["holes"], "odd", "", "shuffle scaleoffset")
    found = open_source(write(tmp_path, document(body)))
    assert list(found.arrays) == ["/b"]
    notes = {note.path: note.message for note in found.dropped}
    assert "strings of variable length" in notes["/station"]
    assert "Structure" in notes["/record"]
    assert "scaleoffset" in notes["/odd"]


@pytest.mark.parametrize("href", ["a.h5", "data/dmrpp/a.h5", "OPeNDAP_DMRpp_DATA_ACCESS_URL", ""])
def test_the_file_is_found_beside_the_document(href: str, tmp_path: Path, file: h5py.File) -> None:
    found = open_source(write(tmp_path, document(described(file["b"], "b"), href)))
    links = found.arrays["/b"].links
    assert links is not None
    assert links.urls == [(tmp_path / "a.h5").as_uri()]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[10,10]", "[0,1]", "a chunk at"),
        ("[10,10]", "[90,0]", "a chunk at"),
        ("[10,10]", "[0]", "a chunk at"),
        ('nBytes="200"', 'nBytes="2000000"', "which has"),
        ('nBytes="200"', 'nBytes="100"', "it takes 200"),
        ('nBytes="200"', 'nBytes="-1"', "must be a whole number"),
        ("10 10<", "10<", "chunks of"),
        ("10 10<", "0 10<", "chunks of"),
        ('<Dim size="20"/>', '<Dim name="/none"/>', "dimension /none"),
    ],
)
def test_wrong_variables_fail_by_name(old: str, new: str, said: str, tmp_path: Path, file: h5py.File) -> None:
    good = described(file["holes"], "holes")
    assert old in good
    body = good.replace(old, new) + described(file["b"], "b")
    found = open_source(write(tmp_path, document(body)), keep_going=True)
    assert list(found.arrays) == ["/b"]
    assert len(found.failed) == 1
    assert "/holes" in found.failed[0].message
    assert said in found.failed[0].message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<Dataset xmlns:dmrpp='x'>", "no valid XML"),
        ("<Data xmlns:dmrpp='x'/>", "its root is"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><Dataset xmlns:dmrpp='x'/>", "a document type"),
        ("<Dataset xmlns:dmrpp='x'><Dimension name='a' size='-1'/></Dataset>", "has the size"),
        ("<Dataset xmlns:dmrpp='x'><Group name='a/b'/></Dataset>", "is named"),
    ],
)
def test_wrong_documents_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(errors.Error, match=said) as caught:
        open_source(write(tmp_path, text))
    assert caught.value.kind == "corrupt"


def test_damaged_documents_never_raise_anything_else(tmp_path: Path, file: h5py.File) -> None:
    text = document(
        "".join(described(file[name], name.replace("/", "_")) for name in ("b", "s", "holes", "g/t"))
    )
    chance, seen = random.Random(5), 0
    for _ in range(300):
        broken = list(text)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(broken))
            broken[at : at + chance.randrange(3)] = chance.choice(["", "9", "<", '"', "-", "[", "é"])
        try:
            found = open_source(write(tmp_path, "".join(broken)), keep_going=True)
            seen += bool(found.failed)
        except errors.Error:
            seen += 1
    assert seen > 100
