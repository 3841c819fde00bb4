"""VOTables through astropy: values, units, UCDs, descriptions and nulls of all three serializations."""

from __future__ import annotations

import sys
from pathlib import Path

import icecore
import numpy as np
import pytest

pytest.importorskip("astropy")
from astropy.io import votable
from astropy.table import MaskedColumn, Table


def table() -> Table:
    return Table(
        [
            MaskedColumn([1, 2, 3], name="id", dtype="i4", mask=[False, True, False]),
            MaskedColumn([10.5, np.nan, -3.25], name="ra", unit="deg", description="right ascension"),
            MaskedColumn([1.5, 2.5, 3.5], name="mag", dtype="f4", mask=[False, False, True]),
            MaskedColumn(["HD 1", "", "é"], name="name"),
            MaskedColumn([True, False, True], name="ok", mask=[False, False, True]),
            MaskedColumn([[1, 2], [3, 4], [5, 6]], name="pair", dtype="i2"),
            MaskedColumn([2**60, 5, -7], name="big", dtype="i8"),
            MaskedColumn([255, 0, 1], name="byte", dtype="u1"),
        ]
    )


def written(path: Path, form: str, made: Table | None = None) -> Path:
    rows = table() if made is None else made
    if form == "binary":  # which has no null for integers
        rows["id"].mask = False
    document = votable.from_table(rows)
    first = document.get_first_table()
    first.description = "three stars"
    for field in first.fields:
        if field.name == "ra":
            field.ucd = "pos.eq.ra"
    document.to_xml(str(path), tabledata_format=form)
    return path


@pytest.mark.parametrize("form", ["tabledata", "binary", "binary2"])
@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_all_serializations(tmp_path: Path, form: str, verb) -> None:
    path = written(tmp_path / "t.xml", form)
    verb(path, tmp_path / "r.icecore", group="/t")
    repo = icecore.open(tmp_path / "r.icecore")
    found = repo.table("/t").scan().read_all()
    assert found.column_names == ["id", "ra", "mag", "name", "ok", "pair", "big", "byte"]
    if form == "binary2":
        assert found["id"].to_pylist() == [1, None, 3]
    assert found["id"].to_pylist()[::2] == [1, 3]
    ra = repo["/t/ra"]
    np.testing.assert_array_equal(ra[...], [10.5, np.nan, -3.25])
    assert (ra.attrs["units"], ra.attrs["ucd"]) == ("deg", "pos.eq.ra")
    assert ra.attrs["description"] == "right ascension"
    np.testing.assert_array_equal(repo["/t/mag"][...], np.array([1.5, 2.5, np.nan], "f4"))
    assert repo["/t/name"][...].tolist() == ["HD 1", "", "é"]
    assert found["ok"].to_pylist()[:2] in ([True, False], [1, 0])
    assert repo["/t/pair"][...].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert repo["/t/big"][...].tolist() == [2**60, 5, -7]
    assert repo["/t/byte"][...].tolist() == [255, 0, 1]
    assert repo["/t"].attrs["description"] == "three stars"


def test_stated_nulls(tmp_path: Path) -> None:
    (tmp_path / "t.vot").write_text(
        '<?xml version="1.0"?>\n<VOTABLE version="1.3"><RESOURCE><TABLE>'
        '<FIELD name="n" datatype="int"><VALUES null="-99"/></FIELD><FIELD name="x" datatype="double"/>'
        "<DATA><TABLEDATA><TR><TD>5</TD><TD>1.5</TD></TR><TR><TD>-99</TD><TD/></TR></TABLEDATA></DATA>"
        "</TABLE></RESOURCE></VOTABLE>"
    )
    icecore.pack(tmp_path / "t.vot", tmp_path / "r.icecore", group="/t")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/t/n"].attrs["_FillValue"] == -99
    assert repo.table("/t").scan().read_all()["n"].to_pylist() == [5, None]
    np.testing.assert_array_equal(repo["/t/x"][...], [1.5, np.nan])


def test_on_a_server(site, tmp_path: Path) -> None:
    written(site.folder / "x.xml", "tabledata")
    icecore.pack(f"{site.url}/x.xml", tmp_path / "r.icecore", group="/t")
    assert icecore.open(tmp_path / "r.icecore").table("/t")["big"][...].tolist() == [2**60, 5, -7]


def test_several_tables_and_none(tmp_path: Path) -> None:
    data = "<DATA><TABLEDATA><TR><TD>{}</TD></TR></TABLEDATA></DATA>"
    one = '<TABLE name="{}"><FIELD name="n" datatype="int"/>' + data + "</TABLE>"
    text = "<VOTABLE version='1.3'><RESOURCE>{}</RESOURCE></VOTABLE>"
    (tmp_path / "t.xml").write_text(text.format(one.format("a", 1) + one.format("b", 2)))
    icecore.pack(tmp_path / "t.xml", tmp_path / "r.icecore", group="/t")
    repo = icecore.open(tmp_path / "r.icecore")
    assert [int(repo[f"/t/{name}/n"][0]) for name in "ab"] == [1, 2]
    (tmp_path / "none.xml").write_text(text.format(""))
    with pytest.raises(icecore.Error, match="without a table"):
        icecore.pack(tmp_path / "none.xml", tmp_path / "r.icecore")
    (tmp_path / "cut.xml").write_text(text.format(one.format("a", 1))[:120])
    with pytest.raises(icecore.Error, match="a VOTable that astropy can't read"):
        icecore.pack(tmp_path / "cut.xml", tmp_path / "r.icecore")


def test_without_astropy_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "t.xml", "tabledata")
    for name in [name for name in sys.modules if name == "astropy" or name.startswith("astropy.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "astropy", None)
    with pytest.raises(icecore.Error, match="needs the package astropy") as error:
        icecore.pack(path, tmp_path / "r.icecore")
    assert "icecore-archive[votable]" in error.value.hint
