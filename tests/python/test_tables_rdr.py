"""Diviner's tables, as the demo makes them: what they are like, and what becomes of them."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.samples import rdr
from icecore.tables.summaries import write
from icecore.tables.text.restore import restore, sources


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 75,000 rows: more than one chunk, with a look into space."""
    path = tmp_path_factory.mktemp("rdr") / "200908010000_RDR.TAB"
    rdr.write(path, samples=400)
    return path


def test_the_layout_of_the_archive(table: Path) -> None:
    lines = table.read_bytes().split(b"\r\n")
    assert [line[:8] for line in lines[:4]] == [b"# Header"] * 3 + [b"#       "]
    rows = lines[4:-1]
    assert len(rows) == 400 * 189
    assert {len(row) for row in rows} == {340}
    # START_BYTE and BYTES of the archive's format file
    places = {
        "date": (2, 11),
        "jdate": (32, 17),
        "sclk": (88, 16),
        "c": (200, 1),
        "det": (203, 3),
        "tb": (253, 8),
    }
    first = {name: rows[0][start - 1 : start - 1 + length] for name, (start, length) in places.items()}
    assert (first["date"], first["c"], first["det"]) == (b"01-Aug-2009", b"1", b"  1")
    assert [row[199:205] for row in rows[20:22]] == [b"1,  21", b"2,   1"]
    assert float(first["tb"]) > 0
    part = table.read_bytes()[:4_000_000]
    assert 6 < len(part) / len(gzip.compress(part, 6)) < 9


def test_packed_from_a_zip_and_printed_again(table: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "200908010000_rdr.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(table, table.name)
    report = icecore.pack(zipped, into=tmp_path / "r", group="/diviner")
    assert not report.notes
    # the goal of the archive: 28 : 1, restorable, summaries and all
    assert table.stat().st_size > 28 * report.bytes_stored
    repo = icecore.open(tmp_path / "r")
    restore(repo, "/diviner", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == table.read_bytes()
    packed = repo.table("/diviner")
    assert list(packed)[:3] == ["date", "utc", "jdate"]
    assert len(packed.columns) == 33
    assert packed["tb"].attrs["units"] == "K"
    assert packed["clat"].attrs["missing_value"] == [-9999, -9998]
    assert packed.dtypes["date"] == np.dtype("M8[D]")
    assert packed.dtypes["utc"] == np.dtype("m8[ms]")
    np.testing.assert_array_equal(packed["det"][:42], [*range(1, 22)] * 2)
    assert packed["sclk"][0] == float(table.read_bytes().split(b"\r\n")[4][87:103])
    assert write.state(packed["tb"]) == "fresh"


def test_ten_minutes_each_become_one_table(tmp_path: Path) -> None:
    for i, start in enumerate(("2009-08-01T00:00:00", "2009-08-01T00:10:00")):
        rdr.write(tmp_path / f"20090801000{i}_RDR.TAB", samples=20, start=start, seed=i)
    icecore.pack(tmp_path / "*.TAB", into=tmp_path / "r", group="/diviner", concat="rows")
    repo = icecore.open(tmp_path / "r")
    first, second = sources(repo, "/diviner")
    assert (first.rows, second.rows) == (slice(0, 3780), slice(3780, 7560))
    assert repo["/diviner/utc"][second.rows][0] == np.timedelta64(600, "s")
    restore(repo, "/diviner", tmp_path / "all")
    for path in tmp_path.glob("*.TAB"):
        assert (tmp_path / "all" / path.name).read_bytes() == path.read_bytes()
