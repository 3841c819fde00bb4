"""Tables of text: packed as columns, printed again byte for byte."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.errors import Error
from icecore.tables.summaries import write
from icecore.tables.text import column_codecs
from icecore.tables.text.restore import restore, sources
from tables_kit import COLUMNS, PDS3, labelled, round_trip, rows
from typer.testing import CliRunner

pytest.importorskip("pvl")

CSV = b"time,name,count,value\r\n" + b"".join(
    b"2020-01-01T00:%02d:%02d,%s,%d,%.2f\r\n" % (i // 60, i % 60, b'"a,b"' if i % 3 else b"x", i, i / 4)
    for i in range(900)
)


def test_columns_that_were_written_over_are_told_of(tmp_path: Path, repo_path: str) -> None:
    """What they print is not what was packed; the version before still has it."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    before = icecore.pack(tmp_path / "t.csv", repo_path, group="/t").snapshot
    with icecore.open(repo_path).writer("over") as writer:
        writer["/t/a"][:] = 7
    with pytest.raises(Error, match=r"columns of /t were written over since, or are damaged") as caught:
        restore(icecore.open(repo_path), "/t", tmp_path / "out.csv")
    assert "REPO@REF" in caught.value.hint
    restore(icecore.open(f"{repo_path}@{before}"), "/t", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_pds3_columns_and_text(tmp_path: Path) -> None:
    label, text, values = labelled(tmp_path)
    repo, report, again = round_trip(label, tmp_path)
    assert again == text
    assert not report.notes
    table = repo.table("/t")
    assert list(table) == ["NAME", "COUNT", "VALUE"]
    for name, expected in values.items():
        np.testing.assert_array_equal(table[name][...], expected)
    assert table["COUNT"].attrs == {"units": "COUNTS", "missing_value": [-99]}
    assert table["VALUE"].attrs == {"units": "KELVIN", "description": "how warm"}


def test_a_data_file_finds_its_label(tmp_path: Path) -> None:
    _, text, _ = labelled(tmp_path)
    repo, _, again = round_trip(tmp_path / "t.tab", tmp_path)
    assert again == text
    assert list(repo.table("/t")) == ["NAME", "COUNT", "VALUE"]


def test_a_folder_packs_each_table_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    _, text, _ = labelled(tmp_path / "in")
    (tmp_path / "in" / "u.csv").write_bytes(CSV)
    icecore.pack(tmp_path / "in", into=tmp_path / "r")
    repo = icecore.open(tmp_path / "r")
    assert (len(repo.table("/t")), len(repo.table("/u"))) == (500, 900)
    restore(repo, "/t", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == text


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(CSV)
    repo, report, again = round_trip(tmp_path / "x.csv", tmp_path)
    assert again == CSV
    table = repo.table("/t")
    assert not report.notes
    assert table.dtypes["time"] == np.dtype("M8[s]")
    assert table["time"][61] == np.datetime64("2020-01-01T00:01:01")
    np.testing.assert_array_equal(table["value"][...], np.arange(900) / 4)
    np.testing.assert_array_equal(table["name"][:3], [b"x", b"a,b", b"a,b"])


def _compressed(suffix: str) -> bytes:
    if suffix == "zst":
        return bytes(pytest.importorskip("backports.zstd").compress(CSV))
    return {"gz": gzip, "bz2": bz2, "xz": lzma}[suffix].compress(CSV)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_a_spoilt_archive_is_an_error(tmp_path: Path, suffix: str) -> None:
    """A byte inverted, or the end cut off: packed (zstd alone checks nothing) or an error with a kind."""
    whole, path = _compressed(suffix), tmp_path / f"x.csv.{suffix}"
    refused = 0
    for at in range(4, len(whole), max(1, len(whole) // 25)):
        for spoilt in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            path.write_bytes(spoilt)
            try:
                icecore.pack(path, into=f"memory://spoilt-{suffix}-{at}-{len(spoilt)}")
            except icecore.Error as error:
                refused += error.kind in ("corrupt", "format", "unsupported", "io")
    assert refused > 20


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst", "zip"])
def test_archives(tmp_path: Path, suffix: str) -> None:
    packed = tmp_path / f"x.csv.{suffix}"
    if suffix == "zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("readme.md", "# nothing to see")
            archive.writestr("deep/x.csv", CSV)
    else:
        packed.write_bytes(_compressed(suffix))
    repo, _, again = round_trip(packed, tmp_path)
    assert again == CSV
    assert [source.name for source in sources(repo, "/t")] == ["deep/x.csv" if suffix == "zip" else "x.csv"]


def test_label_and_data_inside_one_zip(tmp_path: Path) -> None:
    label, text, _ = labelled(tmp_path)
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("t.tab", "t.lbl"):
            archive.write(tmp_path / name, f"data/{name}")
    label.unlink()
    (tmp_path / "t.tab").unlink()
    repo, _, again = round_trip(tmp_path / "v.zip", tmp_path)
    assert again == text
    assert list(repo.table("/t")) == ["NAME", "COUNT", "VALUE"]


def test_many_files_are_one_table(tmp_path: Path) -> None:
    texts = {}
    for i in range(3):
        texts[f"f{i}.csv"] = b"a,b\n" + b"".join(b"%d,%d.5\n" % (i, j) for j in range(100 + i))
        (tmp_path / f"f{i}.csv").write_bytes(texts[f"f{i}.csv"])
    icecore.pack([tmp_path / n for n in list(texts)[:2]], into=tmp_path / "r", group="/t", concat="rows")
    icecore.pack(tmp_path / "f2.csv", into=tmp_path / "r", group="/t", concat="rows", append=True)
    repo = icecore.open(tmp_path / "r")
    assert [(s.name, s.start, s.stop) for s in sources(repo, "/t")] == [
        ("f0.csv", 0, 100),
        ("f1.csv", 100, 201),
        ("f2.csv", 201, 303),
    ]
    second = sources(repo, "/t")[1]
    np.testing.assert_array_equal(repo["/t/a"][second.rows], np.ones(101))
    restore(repo, "/t", tmp_path / "all")
    for name, text in texts.items():
        assert (tmp_path / "all" / name).read_bytes() == text
    again = icecore.pack(tmp_path / "f1.csv", into=tmp_path / "r", group="/t", concat="rows", append=True)
    assert (again.snapshot, [row.why for row in again.rows]) == (None, ["it has f1.csv already"])


def test_a_column_of_one_value_needs_no_chunk(tmp_path: Path) -> None:
    def text(first: int, last: int, more: bytes) -> bytes:
        same = b"-7,1.50,1.5e-30,on,2015-12-19T00:00:00,"
        return b"i,n,d,r,w,t,blank\n" + b"".join(b"%d," % i + same + more + b"\n" for i in range(first, last))

    (tmp_path / "a.csv").write_bytes(text(0, 300, b""))
    icecore.pack(tmp_path / "a.csv", into=tmp_path / "r", group="/t", concat="rows")
    repo = icecore.open(tmp_path / "r")
    stored = [name for name in repo.table("/t") if repo[f"/t/{name}"].storage.missing == 0]
    assert stored == ["i"]
    assert repo["/t/n"][5] == repo["/t/n"].fill_value == -7
    assert repo["/t/w"][299] == b"on"
    # Other values later, in the same chunk and behind it.
    (tmp_path / "b.csv").write_bytes(text(300, 400, b"").replace(b"-7", b"-8").replace(b"on", b"no"))
    icecore.pack(tmp_path / "b.csv", into=tmp_path / "r", group="/t", concat="rows", append=True)
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(repo["/t/n"].read(), [-7] * 300 + [-8] * 100)
    restore(repo, "/t", tmp_path / "all")
    for name in ("a.csv", "b.csv"):
        assert (tmp_path / "all" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_wrong_record_length_names_both(tmp_path: Path) -> None:
    _, text, values = labelled(tmp_path)
    wrong = PDS3.format(record=25, rows=500, file="T.TAB", columns=COLUMNS)
    (tmp_path / "t.lbl").write_text(wrong, newline="")
    with pytest.raises(Error, match=r"25 bytes long, in the file they are 26") as caught:
        icecore.pack(tmp_path / "t.lbl", into=tmp_path / "r")
    assert caught.value.kind == "mismatch"
    repo, _, again = round_trip(tmp_path / "t.lbl", tmp_path, trust="data")
    assert again == text
    np.testing.assert_array_equal(repo["/t/VALUE"][...], values["VALUE"])


def test_without_the_print_format(tmp_path: Path) -> None:
    label, _, values = labelled(tmp_path)
    icecore.pack(label, into=tmp_path / "r", group="/t", restore=False)
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(repo["/t/VALUE"][...], values["VALUE"])
    with pytest.raises(Error, match="without its print format"):
        restore(repo, "/t", tmp_path / "again")


DAMAGE = {
    "ragged": lambda t: t[:2600] + t[2600:].replace(b"\r\n", b",x\r\n", 1),
    "short": lambda t: t[:3000] + t[3005:],
    "blank cells": lambda t: t[:260] + t[260:780].replace(b"1", b" ") + t[780:],
    "quotes": lambda t: t.replace(b"obj3", b'o"j3'),
    "cut off": lambda t: t[:-11],
    "no line end": lambda t: t[:-2],
    "mixed line ends": lambda t: t[:5200] + t[5200:].replace(b"\r\n", b"\n"),
    "blank lines": lambda t: b"\r\n\r\n" + t.replace(b"obj4", b"\r\n\r\nobj4", 2) + b"\n\n",
    "zeros": lambda t: t[:1000] + bytes(50) + t[1050:],
    "other numbers": lambda t: t.replace(b" 1", b"+1").replace(b".5", b"e5"),
    "doubled": lambda t: t + t[: len(t) // 2 + 7],
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["fixed", "delimited"])
def test_damaged_tables_come_back_as_they_were(tmp_path: Path, damage: str, kind: str) -> None:
    text = DAMAGE[damage](rows(400)[0])
    if kind == "fixed":
        label, _, _ = labelled(tmp_path, 400)
        (tmp_path / "t.tab").write_bytes(text)
    else:
        label = tmp_path / "t.csv"
        label.write_bytes(b"a,b,c\r\n" + text)
        text = b"a,b,c\r\n" + text
    _, report, again = round_trip(label, tmp_path)
    assert again == text
    if damage in ("ragged", "short") or (damage, kind) == ("mixed line ends", "fixed"):
        assert any("kept as text" in note.message for note in report.notes)


def test_values_beside_damage_are_right(tmp_path: Path) -> None:
    label, text, values = labelled(tmp_path)
    lines = text.split(b"\r\n")
    lines[100] = lines[100][:15] + b"       - "  # no number
    lines[200] = lines[200][:9] + b"     " + lines[200][14:]  # blank
    (tmp_path / "t.tab").write_bytes(b"\r\n".join(lines))
    repo, report, again = round_trip(label, tmp_path)
    assert again == b"\r\n".join(lines)
    kept = np.arange(500)
    value, count = repo["/t/VALUE"][...], repo["/t/COUNT"][...]
    assert np.isnan(value[100])
    assert count[200] == repo["/t/COUNT"].attrs["_FillValue"]
    np.testing.assert_array_equal(value[kept != 100], values["VALUE"][kept != 100])
    np.testing.assert_array_equal(count[kept != 200], values["COUNT"][kept != 200])
    [note] = report.notes
    assert note.message == "1 cell of column VALUE kept as text, no values: '-' (line 101)"


@pytest.mark.parametrize("count", [2, 3, 400])
@pytest.mark.parametrize("damaged", [0, 1])
def test_rows_behind_a_row_that_is_cut_short(tmp_path: Path, count: int, damaged: int) -> None:
    label, text, values = labelled(tmp_path, count)
    at = 26 * damaged + 12
    (tmp_path / "t.tab").write_bytes(text[:at] + text[at + 1 :])
    repo, report, again = round_trip(label, tmp_path)
    assert again == text[:at] + text[at + 1 :]
    others = np.arange(count) != damaged
    for name in values:
        np.testing.assert_array_equal(repo[f"/t/{name}"][...], values[name][others])
    told = " ".join(note.message for note in report.notes)
    assert "1 line kept as text, no rows" in told
    assert f"says {count} rows, the file has {count - 1}" in told


def test_a_failed_pack_leaves_nothing_behind(tmp_path: Path) -> None:
    label, _, _ = labelled(tmp_path)
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(CSV)[:-200])
    with pytest.raises(Error) as caught:
        icecore.pack([label, tmp_path / "bad.csv.gz"], into=tmp_path / "r")
    assert caught.value.kind == "corrupt"
    report = icecore.pack([label, tmp_path / "bad.csv.gz"], into=tmp_path / "r", keep_going=True)
    assert len(report.failures) == 1
    assert len(icecore.open(tmp_path / "r").table("/t")) == 500


def test_command_line(tmp_path: Path) -> None:
    from icecore.cli import table

    label, text, _ = labelled(tmp_path)
    run = CliRunner().invoke
    repo = str(tmp_path / "r")
    assert run(table(), ["pack", str(label), "--into", repo]).exit_code == 0
    done = run(table(), ["restore", repo, "/t", "-o", str(tmp_path / "again.tab")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "again.tab").read_bytes() == text
    with pytest.raises(Error, match="no source nothing"):
        restore(icecore.open(repo), "/t", tmp_path / "x", "nothing")


def test_values_that_come_back_otherwise_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    label, _, _ = labelled(tmp_path)
    honest = column_codecs.codecs

    def lossy(column: dict[str, Any], values: np.ndarray, *rest: Any) -> list[dict[str, Any]]:
        if values.dtype.kind != "f":
            return honest(column, values, *rest)
        return [
            {"name": "bitround", "configuration": {"keepbits": 3}},
            {"name": "bytes", "configuration": {"endian": "little"}},
        ]

    monkeypatch.setattr(column_codecs, "codecs", lossy)
    with pytest.raises(Error, match="could not be printed again") as caught:
        icecore.pack(label, into=tmp_path / "r", group="/t")
    assert caught.value.kind == "internal"


def test_no_memory_to_look_at_a_table_is_no_fault_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label, _, _ = labelled(tmp_path)

    def exhausted(*_: Any) -> Any:
        raise errors.make("memory", "no memory for the columns of a scan")

    monkeypatch.setattr(write, "read_back", exhausted)
    with pytest.raises(Error, match=r"t\.tab: no memory for the columns") as caught:
        icecore.pack(label, into=tmp_path / "r", group="/t")
    assert caught.value.kind == "memory"


def test_gzip_members_headers_and_damage(tmp_path: Path) -> None:
    parts = [CSV[:5000], CSV[5000:], b""]
    named = gzip.compress(parts[0])
    named = named[:3] + bytes([4 | 8 | 16 | 2]) + named[4:10] + b"\3\0abc" + b"x.csv\0note\0\0\0" + named[10:]
    whole = b"".join([named, *(gzip.compress(part) for part in parts[1:])]) + b"\0" * 7
    path = tmp_path / "x.csv.gz"
    path.write_bytes(whole)
    _, _, again = round_trip(path, tmp_path)
    assert again == CSV
    for damaged in (whole[:-40], whole[:20], whole[:-12] + b"\1" + whole[-11:], whole + b"more"):
        path.write_bytes(damaged)
        with pytest.raises(Error) as caught:
            icecore.pack(path, into=tmp_path / "damaged")
        assert caught.value.kind == "corrupt"


def test_a_label_and_its_file_are_one_table_however_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(tmp_path)
    monkeypatch.chdir(tmp_path)
    for names in (["t.lbl", "t.tab"], ["./t.lbl", "t.tab"], [tmp_path / "t.tab", "t.lbl"]):
        icecore.pack(names, into="memory://named", group="/t", concat="rows", replace=True)
        assert len(icecore.open("memory://named").table("/t")) == 500


def test_of_thousands_of_columns_the_first_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def counting(column: dict[str, Any], *rest: Any) -> Any:
        measured.append(column["name"])
        return codecs(column, *rest)

    codecs = column_codecs.codecs
    monkeypatch.setattr(column_codecs, "codecs", counting)
    rng = np.random.default_rng(1)
    values = rng.normal(0, 10, (5, 700)).round(3)
    lines = [",".join(f"c{i}" for i in range(700)), *(",".join(map(str, row)) for row in values.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == (tmp_path / "t.csv").read_bytes()
    assert len(measured) < 700
    np.testing.assert_array_equal([repo[f"/t/c{i}"][...] for i in range(700)], values.T)


def test_of_thousands_of_rows_the_first_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the table is one chunk; what takes 50 times as long must be worth it."""
    measured = []

    def counting(candidate: list[dict[str, Any]], sample: np.ndarray) -> int:
        measured.append(len(sample))
        return stored(candidate, sample)

    stored = column_codecs._stored
    monkeypatch.setattr(column_codecs, "_stored", counting)
    values = np.random.default_rng(1).normal(0, 10, 20_000).round(3)
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{value}\n" for value in values.tolist()))
    repo, _, _ = round_trip(tmp_path / "t.csv", tmp_path)
    assert max(measured) == 8192
    assert "pcodec" in str(repo["/t/x"].codecs)
    assert "predict" not in str(repo["/t/x"].codecs)
    np.testing.assert_array_equal(repo["/t/x"][...], values)
