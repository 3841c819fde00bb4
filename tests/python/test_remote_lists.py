"""Lists of files on servers, and what labels name beside them: format files of a volume."""

from __future__ import annotations

from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.samples.gwf import write_frame
from icecore.sources.source_list import expand

T0 = 1_187_008_800


@pytest.mark.parametrize("form", ["{url}/0.gwf", "0.gwf", "H R {t} 1 {url}/0.gwf", "{url}/0.gwf {t} 1 0 0"])
@pytest.mark.parametrize("suffix", [".lcf", ".ffl", ".txt"])
def test_lists_on_a_server(site: Any, tmp_path: Any, form: str, suffix: str) -> None:
    if suffix == ".txt" and " " in form:
        pytest.skip("a list of one source a line")
    write_frame(site.folder / "0.gwf", T0, {"H1:X": (np.arange(16.0), 16.0)})
    (site.folder / f"l{suffix}").write_text(f"# list\n{form.format(url=site.url, t=T0)}\n")
    name = f"{'@' if suffix == '.txt' else ''}{site.url}/l{suffix}"
    assert expand(name) == [f"{site.url}/0.gwf"]
    icecore.link(name, tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["H1:X"][...].tolist() == [*range(16)]


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "file://localhost/etc/passwd",
        "~/x.h5",
        "@/etc/passwd",
    ],
)
def test_a_server_names_no_files_of_this_machine(site: Any, name: str) -> None:
    for place in ("l.lcf", "l.txt"):
        (site.folder / place).write_text(f"{name}\n")
        with pytest.raises(errors.Error) as caught:
            expand(f"{'@' if place == 'l.txt' else ''}{site.url}/{place}")
        assert caught.value.kind == "permission"


def test_names_with_a_tree_are_relative_to_the_list(site: Any) -> None:
    (site.folder / "sub").mkdir()
    (site.folder / "sub/l.txt").write_text("a.root:Events\n../b.root:Events\n")
    assert expand(f"@{site.url}/sub/l.txt") == [f"{site.url}/sub/a.root:Events", f"{site.url}/b.root:Events"]
    (site.folder / "sub/l.txt").write_text("a.root\nx/b.root\n")
    assert expand(f"@{site.url}/sub/l.txt:T") == [f"{site.url}/sub/a.root:T", f"{site.url}/sub/x/b.root:T"]


def test_structures_in_the_labels_of_a_volume(site: Any, tmp_path: Any) -> None:
    data, shared = site.folder / "VOL" / "DATA" / "2009", site.folder / "VOL" / "LABEL"
    data.mkdir(parents=True)
    shared.mkdir()
    (data / "X.TAB").write_bytes(b"  1,  2\r\n  3,  4\r\n")
    column = (
        "OBJECT = COLUMN\r\n NAME = {0}\r\n DATA_TYPE = ASCII_INTEGER\r\n START_BYTE = {1}\r\n BYTES = 3\r\n"
        "END_OBJECT\r\n"
    )
    (shared / "X.FMT").write_text(column.format("A", 1) + column.format("B", 5), newline="")
    (data / "X.LBL").write_text(
        "PDS_VERSION_ID = PDS3\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = 9\r\nFILE_RECORDS = 2\r\n"
        '^TABLE = "X.TAB"\r\nOBJECT = TABLE\r\n INTERCHANGE_FORMAT = ASCII\r\n ROWS = 2\r\n COLUMNS = 2\r\n'
        ' ROW_BYTES = 9\r\n ^STRUCTURE = "X.FMT"\r\nEND_OBJECT = TABLE\r\nEND\r\n',
        newline="",
    )
    icecore.pack(f"{site.url}/VOL/DATA/2009/X.LBL", tmp_path / "r.icecore", group="/t")
    assert icecore.open(tmp_path / "r.icecore").table("/t")["B"][...].tolist() == [2, 4]
