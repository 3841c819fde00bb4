"""Labels with anything in them: an icecore error or a table, never another exception.

`LABEL_EXAMPLES=2000` looks further than the test does by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import icecore
import pytest
import tables_kit as kit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from icecore import errors
from icecore.sources import open_source

pytest.importorskip("pvl")
TEXT, _ = kit.rows(20)
PDS3 = kit.PDS3.format(record=26, rows=20, file="T.TAB", columns=kit.COLUMNS).replace(
    "END_OBJECT = TABLE", '  ^STRUCTURE = "T.FMT"\r\nEND_OBJECT = TABLE'
)
CONTAINER = """OBJECT = CONTAINER\r\n NAME = C\r\n START_BYTE = 10\r\n BYTES = 3\r\n REPETITIONS = 2\r
 OBJECT = COLUMN\r\n NAME = X\r\n DATA_TYPE = MSB_INTEGER\r\n START_BYTE = 1\r\n ITEMS = 2\r
 ITEM_BYTES = 1\r
 BYTES = 2\r\n END_OBJECT = COLUMN\r\nEND_OBJECT = CONTAINER\r\n"""


def test_labels_that_once_hung_or_overflowed(tmp_path: Path) -> None:
    """pvl goes round in circles over a value behind a value, and no cell is as long as some labels say."""
    (tmp_path / "t.tab").write_bytes(TEXT)
    (tmp_path / "t.fmt").write_text(CONTAINER, newline="")
    label = tmp_path / "t.lbl"
    label.write_text(PDS3.replace("BYTES = 5\r\n    UNIT", "BYTES = 5"), newline="")
    with pytest.raises(errors.Error, match=r"the text near .* in line 2[0-9] is not a statement"):
        icecore.pack(label, into="memory://", group="/t")
    for length in ("999999999999", "4294967295"):
        label.write_text(PDS3.replace("BYTES = 9", f"BYTES = {length}"), newline="")
        with suppress(errors.Error):
            icecore.pack(label, into="memory://", group="/t")


def field(number: int, name: str, kind: str, start: int, length: int) -> str:
    return (
        f"<Field_Character><name>{name}</name><field_number>{number}</field_number>"
        f'<field_location unit="byte">{start}</field_location><data_type>{kind}</data_type>'
        f'<field_length unit="byte">{length}</field_length><unit>K</unit>'
        "<Special_Constants><missing_constant>-99</missing_constant></Special_Constants></Field_Character>"
    )


PDS4 = (
    '<?xml version="1.0"?><Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1">'
    "<Identification_Area><title>a table</title></Identification_Area><File_Area_Observational>"
    "<File><file_name>t.tab</file_name></File><Table_Character><offset>0</offset><records>20</records>"
    "<record_delimiter>Carriage-Return Line-Feed</record_delimiter><Record_Character><fields>3</fields>"
    '<groups>0</groups><record_length unit="byte">26</record_length>'
    + field(1, "NAME", "ASCII_String", 2, 6)
    + field(2, "COUNT", "ASCII_Integer", 10, 5)
    + "<Group_Field_Character><repetitions>1</repetitions><fields>1</fields>"
    + '<group_location unit="byte">16</group_location><group_length unit="byte">9</group_length>'
    + field(1, "VALUE", "ASCII_Real", 1, 9)
    + "</Group_Field_Character></Record_Character></Table_Character></File_Area_Observational>"
    "</Product_Observational>"
)
LABELS = {"t.lbl": PDS3, "t.xml": PDS4}
ODD = [
    "0",
    "-1",
    "9" * 12,
    "1e400",
    "nan",
    '""',
    "(1, 2",
    "{}",
    "<",
    ">",
    "&#0;",
    "\0",
    "é",
    "END",
    "=",
    "/*",
    "16#FF#",
]
ODD += [
    "OBJECT = COLUMN",
    "END_OBJECT",
    "^TABLE = 3",
    "^TABLE = ('T.TAB', 2)",
    "ITEMS = 99999999",
    "VAX_REAL",
    "\r\n",
]


@st.composite
def mutated(draw: Callable[..., object], label: str) -> str:
    """A label of which pieces were cut out, doubled, moved, or written over."""
    text = label
    for _ in range(draw(st.integers(1, 4))):  # type: ignore[call-overload]
        start = draw(st.integers(0, max(len(text) - 1, 0)))
        stop = min(start + draw(st.integers(0, 40)), len(text))  # type: ignore[operator]
        piece = draw(
            st.one_of(
                st.just(""),
                st.sampled_from(ODD),
                st.text(max_size=4),
                st.integers(-3, 300).map(str),
                st.integers(0, len(label) - 1).map(lambda at: label[at : at + 60]),
            )
        )
        text = text[:start] + str(piece) + text[stop:]
    return text


@pytest.mark.parametrize("name", LABELS)
def test_labels_give_tables_or_errors(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.tab").write_bytes(TEXT)
    (tmp_path / "t.fmt").write_text(CONTAINER, newline="")
    label = tmp_path / name
    read = packed = 0

    @settings(
        max_examples=int(os.environ.get("LABEL_EXAMPLES", "60")),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated(LABELS[name]))
    def try_one(text: str) -> None:
        nonlocal read, packed
        label.write_text(text, newline="", errors="surrogatepass")
        with suppress(errors.Error):
            open_source(label)
            read += 1
            icecore.pack(label, into=f"memory://{read}", group="/t")
            packed += 1

    try_one()
    assert read > 0
