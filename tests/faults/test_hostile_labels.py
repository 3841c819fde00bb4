"""Labels that lie, loop or are damaged: an error with a kind, or a table; never anything else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import icecore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore.errors import Error
from icecore.sources import open_source

pytest.importorskip("pvl")
HEAD = "PDS_VERSION_ID = PDS3\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = 12\r\n"
COLUMN = (
    "OBJECT = COLUMN\r\nNAME = A\r\nDATA_TYPE = {kind}\r\nSTART_BYTE = {start}\r\nBYTES = {length}\r\n{more}"
    "END_OBJECT = COLUMN\r\n"
)
PDS4 = """<?xml version="1.0"?>{extra}
<Product_Observational><File_Area_Observational><File><file_name>t.tab</file_name></File>
<Table_Character><offset unit="byte">0</offset><records>5</records><record_delimiter>x</record_delimiter>
<Record_Character><record_length unit="byte">{length}</record_length>{fields}</Record_Character>
</Table_Character></File_Area_Observational></Product_Observational>
"""
FIELD = (
    "<Field_Character><name>a</name><field_location>{at}</field_location><data_type>ASCII_Real</data_type>"
    "<field_length>{length}</field_length></Field_Character>"
)


def pds3(pointer: str = '"t.tab"', **how: object) -> str:
    column = COLUMN.format(**{"kind": "ASCII_REAL", "start": 1, "length": 10, "more": "", **how})
    table = f"OBJECT = TABLE\r\nROWS = 5\r\nROW_BYTES = 12\r\n{column}END_OBJECT = TABLE\r\n"
    return f"{HEAD}^TABLE = {pointer}\r\n{table}END\r\n"


def deep(levels: int) -> str:
    group = "<Group_Field_Character><repetitions>2</repetitions>{}</Group_Field_Character>"
    fields = FIELD.format(at=1, length=2)
    for _ in range(levels):
        fields = group.format(fields)
    return fields


HOSTILE = {
    "far beyond the record.lbl": pds3(start=4000),
    "billions of items.lbl": pds3(more="ITEMS = 99999999999\r\n"),
    "negative.lbl": pds3(start=-5, length=-3),
    "words for numbers.lbl": pds3(start='"one"'),
    "behind the end.lbl": pds3(pointer='("t.tab", 99999999)'),
    "before the start.lbl": pds3(pointer='("t.tab", 0)'),
    "another file.lbl": pds3(pointer='"../../../etc/passwd"'),
    "loop.lbl": pds3().replace("ROWS = 5", '^STRUCTURE = "T.FMT"'),
    "no columns.lbl": f'{HEAD}^TABLE = "t.tab"\r\nOBJECT = TABLE\r\nROWS = 5\r\nEND_OBJECT\r\nEND\r\n',
    "cut off.lbl": pds3()[:120],
    "entities.xml": PDS4.format(extra='<!DOCTYPE x [<!ENTITY a "aa">]>', length=12, fields=FIELD),
    "no length.xml": PDS4.format(extra="", length="long", fields=FIELD.format(at=1, length=4)),
    "too far.xml": PDS4.format(extra="", length=12, fields=FIELD.format(at=10**9, length=4)),
    "many fields.xml": PDS4.format(extra="", length=12, fields=deep(40)),
    "no fields.xml": PDS4.format(extra="", length=12, fields=""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_error_with_a_kind(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HOSTILE[name], newline="")
    (tmp_path / "t.tab").write_bytes(b"   1234.5 \r\n" * 5)
    (tmp_path / "t.fmt").write_text('^STRUCTURE = "T.FMT"\r\nEND\r\n', newline="")
    with pytest.raises(Error) as caught:
        icecore.pack(tmp_path / name, into=tmp_path / "r", group="/t")
    assert caught.value.kind in {"mismatch", "format", "source-missing", "invalid", "corrupt"}


SOUND = [pds3(), PDS4.format(extra="", length=12, fields=FIELD.format(at=1, length=10))]


@settings(max_examples=60, deadline=None)
@given(
    label=st.sampled_from(SOUND),
    damage=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=3),
    cut=st.integers(0, 400),
)
def test_damaged_labels(label: str, damage: list[tuple[int, int]], cut: int) -> None:
    text = bytearray(label.encode("latin-1"))
    for at, byte in damage:
        text[at % len(text)] = byte
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.lbl"
        path.write_bytes(text[: len(text) - cut % 50])
        (Path(folder) / "t.tab").write_bytes(b"   1234.5 \r\n" * 5)
        with suppress(Error):
            open_source(path)
