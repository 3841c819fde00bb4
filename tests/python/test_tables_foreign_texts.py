# ruff: noqa: E501, PT018
"""Texts of other formats are refused by name; tables that look a little like them are packed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import icecore
import pytest
from icecore.sources.tables.text_kinds import kind

TEXTS = {
    "a JCAMP-DX spectrum": "##TITLE=ETHANOL\n##JCAMP-DX=4.24\n##XYDATA=(X++(Y..Y))\n400 1 2 3\n403 4 5 6\n##END=\n",
    "a GEDCOM family tree": "0 HEAD\n1 SOUR x\n1 CHAR UTF-8\n0 @I1@ INDI\n1 NAME A /B/\n0 TRLR\n",
    "a mailbox": "From a@b.c Mon Jan  1 00:00:00 2024\nSubject: x\nTo: y\n\nhello, you\n",
    "a mail": "Received: from x\nSubject: a, b\n\nhello, you\nagain, you\n",
    "YAML": "name: x\nversion: 2\nlist:\n  - a\n  - b\nmore:\n  inner: 5\n  other: 7\n",
    "a file of settings (INI, TOML)": "[main]\na = 5\nb = 7\n[other]\nc = x, y\nd = 1, 2\n",
    "a LaTeX document": "% made by hand\n\\documentclass{article}\n\\begin{document}\na & b\\\\\nc & d\\\\\n\\end{document}\n",
    "a CIF file": "data_x\nloop_\n_a\n_b\n1 2\n3 4\n5 6\n",
    "a PDB structure": "HEADER    PROTEIN                 01-JAN-20   1ABC\nATOM      1  N   ALA A   1      11.104   6.134  -6.504\nATOM      2  CA  ALA A   1      11.639   6.071  -5.147\nEND\n",
    "a FASTA file of sequences": ">seq1 some, words\nACGTACGT\nACGT\n>seq2\nTTTT\n",
    "a FASTQ file of sequences": "@r1\nACGT\n+\nIIII\n@r2\nACGT\n+\nIIII\n",
    "a log of NMEA sentences of several kinds": "$GPGGA,1,2,3*4A\n$GPRMC,1,2,3*4B\n$GPGGA,1,2,3*4A\n",
    "a G-code program": "%\nG21\nG90\nG1 X1.0 Y2.0\nG1 X2.0 Y3.0 F100\nM30\n",
    "SQL statements": "-- dump\nCREATE TABLE t (a int, b int);\nINSERT INTO t VALUES (1, 2);\n",
    "a BibTeX bibliography": "@article{x,\n  a = {1, 2},\n  b = {3, 4}\n}\n",
    "an MDL molfile": "name\n  prog\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    0.0 0.0 0.0 C\n    1.0 0.0 0.0 O\n",
    "a 3-D model": "# made\nv 1 2 3\nv 2 3 4\nv 3 4 5\nf 1 2 3\n",
    "subtitles": "1\n00:00:01,000 --> 00:00:02,000\nhello\n\n2\n00:00:03,000 --> 00:00:04,000\nyou\n",
    "a calendar or an address book": "BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n",
    "a patch": "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a,b\n+c,d\n",
    "a script": "#!/bin/sh\na=1, b=2\nc=3, d=4\n",
    "a CDL dump": "netcdf x {\ndimensions:\n\tt = 3 ;\n}\n",
}


@pytest.mark.parametrize("what", TEXTS)
def test_other_texts_are_refused_by_name(tmp_path: Path, what: str) -> None:
    file = tmp_path / "t.txt"
    file.write_text(TEXTS[what])
    with pytest.raises(icecore.Error) as error:
        icecore.pack(file, into=tmp_path / "r", group="/t")
    assert error.value.kind == "unsupported" and f"is {what}" in str(error.value)


def test_they_are_left_out_of_an_archive_with_a_note(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("spectrum.txt", TEXTS["a JCAMP-DX spectrum"])
        archive.writestr("t.csv", "a,b\n1,2\n3,4\n")
    report = icecore.pack(tmp_path / "a.zip", into=tmp_path / "r", group="/t")
    assert [note.message for note in report.notes] == ["a JCAMP-DX spectrum, no table"]


TABLES = {
    "VCF": "##fileformat=VCFv4.2\n##source=x\n#CHROM\tPOS\tID\n"
    + "".join(f"chr1\t{i}\trs{i}\n" for i in range(9)),
    "a preamble of fields": "Station: X\nLatitude: 1.5\nLongitude: 2.5\n\ndate,t\n"
    + "".join(f"2020-01-{i + 1:02d},{i}.5\n" for i in range(20)),
    "a preamble of settings": "gain = 5\ntime = 7\n" + "".join(f"{i} {i * 2} {i * 3}\n" for i in range(30)),
    "sentences of one kind": "".join(f"$GPGGA,{i},{i * 2},3*4A\n" for i in range(9)),
    "IPAC": "\\fixlen = T\n|  a |  b |\n| int| int|\n" + "".join(f" {i:4d} {i:4d}\n" for i in range(9)),
    "names that are keywords": "set,use,title\n" + "".join(f"{i},{i},{i}\n" for i in range(9)),
    "an atom table": "atom,x\n" + "".join(f"ATOM {i},{i}.5\n" for i in range(9)),
}


@pytest.mark.parametrize("what", TABLES)
def test_tables_that_look_like_them_are_packed(tmp_path: Path, what: str) -> None:
    assert kind(TABLES[what].encode()) is None
    (tmp_path / "t.txt").write_text(TABLES[what])
    icecore.pack(tmp_path / "t.txt", into=tmp_path / "r", group="/t")
    assert len(icecore.open(tmp_path / "r").table("/t")) >= 9
