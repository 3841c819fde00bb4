"""First lines of tables without a label: names of the columns, or a row."""

from __future__ import annotations

from pathlib import Path

import icecore
import pytest
from icecore.errors import Error
from icecore.sources.tables.delimited import sniff
from tables_kit import round_trip

HEADERS = {
    "pandas": (b",x,n,s\n0,1.5,2,a\n1,2.5,3,b\n", ["column_1", "x", "n", "s"]),
    "pandas, quoted": (b'"","x"\n"0","1.5"\n"1","2.5"\n', ["column_1", "x"]),
    "pandas, numbered": (b",0,1\n0,1.5,2\n1,2.5,3\n", ["column_1", "0", "1"]),
    "pandas, words": (b",name,kind\na,b,c\nd,e,f\n", ["column_1", "name", "kind"]),
    "pandas, words, counted": (b",name\n0,b\n1,e\n", ["column_1", "name"]),
    "one without a name": (b"a,,c\n1,2,3\n4,5,6\n", ["a", "column_2", "c"]),
    "a comma too many": (b"a,b,\n1,2,3\n", ["a", "b", "column_3"]),
    "a comma too many in all lines": (b"a,b,\n1,x,\n2,y,\n", ["a", "b", "column_3"]),
    "words, a comma too many": (b"a,b,\nv,x,\nw,y,\n", ["a", "b", "column_3"]),
    "years": (b"name,2019,2020\nx,1,2\ny,3,4\n", ["name", "2019", "2020"]),
    "years, no name": (b",2019,2020\nx,1,2\ny,3,4\n", ["column_1", "2019", "2020"]),
    "quotes in names": (b'a,"the ""b""","""c"" or d"," e "\n1,2,3,4\n', ["a", 'the "b"', '"c" or d', "e"]),
    "a year above words": (b"state,2018\nAK,R+15\nAL,R+28\nCA,D+12\n", ["state", "2018"]),
    "years above words": (b"id,2018,2019\n1,low,high\n2,low,low\n", ["id", "2018", "2019"]),
    "wavelengths": (b"t,400,410,420\n0.5,1,9,3\n0.7,2,3,4\n", ["t", "400", "410", "420"]),
    "times": (b"when,\n2009-01-01,\n2009-01-02,\n", ["when", "column_2"]),
    "numbers with markers": (b"a,,c\nnan,N/A,3\n4,5,6\n", ["a", "column_2", "c"]),
    "words over words": (b"a,b\nc,d\n", ["a", "b"]),
    "names that come twice, a comma too many": (b"x,x,n,\n1,2,3,\n4,5,6,\n", ["x", "x_2", "n", "column_4"]),
    "a name like a marker": (b"na,b\nc,d\n", ["na", "b"]),
}
ROWS = {
    "numbers": b"1,2\n3,4\n",
    "small numbers in turn": b"x,1,2\ny,5,9\nz,4,7\n",
    "years in all rows": b"x,2019,2020\ny,2018,2021\n",
    "a year above words and a number": b"Mars,2018\nEarth,rocky\nVenus,1990\n",
    "a year beside a word that comes again": b"Mars,2018\nEarth,rocky\nMars,gas\n",
    "a blank cell": b"x,,abc\ny,3,def\n",
    "blank numbers": b"site1,,\nsite2,1,2\n",
    "a number that is missing": b"N/A,5,3\n1,2,3\n2,8,9\n",
    "all are missing": b"nan,nan\n1,2\n",
    "a word between numbers": b"err,5,3\n1,2,3\n2,8,9\n",
    "little beside blanks": b"err,,,\n1,2,3,4\n",
    "times": b"2009-01-01T00:00:00,x\n2009-01-01T00:00:01,y\n",
    "words, one missing": b",b,c\na,b,d\n,e,f\n",
    "quoted numbers": b'"1","2"\n"3","4"\n',
    "a word before numbers that rise in all rows": b"err,1,2,3\n20.1,2,3,4\n20.2,3,4,5\n",
    "a word that comes twice between numbers": b"err,5,err,3\n1,2,3,4\n2,8,9,4\n",
    "words, of which one comes again": b"Mars,rocky\nEarth,rocky\nJupiter,gas\n",
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers(tmp_path: Path, case: str) -> None:
    text, names = HEADERS[case]
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert list(repo.table("/t")) == names
    assert len(repo.table("/t")) == text.count(b"\n") - 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_names_of_several_lines(tmp_path: Path, end: str) -> None:
    head = f'# a comment{end}"how warm{end}(K)",n,"how{end}{end}far"{end}'
    text = (head + f"1.5,2,3{end}2.5,3,4{end}").encode()
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert (again, report.notes) == (text, [])
    assert list(repo.table("/t")) == ["how warm (K)", "n", "how far"]
    assert repo["/t/n"][...].tolist() == [2, 3]


@pytest.mark.parametrize("above", [b"", b"size,n\n"])
def test_an_inch_in_the_first_row_spans_no_lines(tmp_path: Path, above: bytes) -> None:
    text = above + b'3" disk,1\n5" disk,2\n"8"" disk",3\n'
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    _, n = list(repo.table("/t"))
    assert again == text
    assert repo[f"/t/{n}"][...].tolist() == [1, 2, 3]


@pytest.mark.parametrize("case", ROWS)
def test_first_rows(case: str) -> None:
    spec = sniff(ROWS[case])
    assert spec is not None
    assert spec.offset == 0
    assert [field.name for field in spec.fields][:2] == ["column_1", "column_2"]


def test_numbers_below_a_blank_name_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(HEADERS["pandas"][0])
    table = round_trip(tmp_path / "t.csv", tmp_path)[0].table("/t")
    assert table["x"][...].tolist() == [1.5, 2.5]
    assert table["column_1"][...].tolist() == [0, 1]


@pytest.mark.parametrize("header", [None, True, False])
@pytest.mark.parametrize("case", ["wavelengths", "words over words", "pandas"])
def test_what_is_doubtful_is_told_and_can_be_said(tmp_path: Path, case: str, header: bool | None) -> None:
    text, names = HEADERS[case]
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path, header=header)
    assert again == text
    table = repo.table("/t")
    assert len(table) == text.count(b"\n") - (header is not False)
    assert list(table) == (names if header is not False else [f"column_{i + 1}" for i in range(len(names))])
    told = [note for note in report.notes if note.message.endswith("a row? --no-header")]
    assert len(told) == (header is None and case != "pandas")


def test_numbers_are_names_where_somebody_says_so(tmp_path: Path) -> None:
    text = b"3,4\n1,2\n5,6\n"
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path, header=True)
    assert again == text
    assert {name: array[...].tolist() for name, array in repo.table("/t").columns.items()} == {
        "3": [1, 5],
        "4": [2, 6],
    }


TWO_WORDS = {
    "first": b"name age\nJohn Smith 42\nJane Doe 37\nBob Jones 12\n",
    "behind others": b"id lat name\n1 4.5 Big Hill\n2 5.5 Old Field\n3 16.5 New Moor\n",
    "behind a counted one": b"id name age\n1 John Smith 42\n2 Jane Doe 37\n3 Bob Jones 121\n",
}


@pytest.mark.parametrize("case", TWO_WORDS)
def test_words_with_blanks_between_are_not_given_to_other_names(tmp_path: Path, case: str) -> None:
    (tmp_path / "t.txt").write_bytes(TWO_WORDS[case])
    with pytest.raises(
        Error, match=r"t\.txt: . names \('.*'\) stand above rows of . words and numbers"
    ) as caught:
        round_trip(tmp_path / "t.txt", tmp_path)
    assert caught.value.kind == "format"
    assert "quotes" in caught.value.hint
    assert "--header" in caught.value.hint


@pytest.mark.parametrize("header", [True, False])
def test_what_blanks_separate_can_be_said(tmp_path: Path, header: bool) -> None:
    (tmp_path / "t.txt").write_bytes(TWO_WORDS["first"])
    repo, _, again = round_trip(tmp_path / "t.txt", tmp_path, header=header)
    assert again == TWO_WORDS["first"]
    names = ["name", "age"] if header else ["column_2", "column_3"]
    assert list(repo.table("/t")) == ["column_1", *names]
    assert repo[f"/t/{names[1]}"][...].tolist() == [42, 37, 12]


def test_quoted_texts_with_blanks_are_one_cell(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b'name age\n"John Smith" 42\n"Jane Doe" 37\n"Bob Jones" 121\n')
    repo, _, _ = round_trip(tmp_path / "t.txt", tmp_path)
    assert repo["/t/name"][...].tolist() == [b"John Smith", b"Jane Doe", b"Bob Jones"]


@pytest.mark.parametrize("index", ["", '""'])
def test_an_empty_file_of_a_series_has_a_header_as_pandas_writes_it(tmp_path: Path, index: str) -> None:
    """Of which nothing below tells that it is one: it was a row of words, and no column had its name."""
    for name, rows in {"a": "0,1,2.5\n1,2,3.5\n", "b": "", "c": "0,5,2.25\n"}.items():
        (tmp_path / f"{name}.csv").write_text(f"{index},t,x\n{rows}")
    for order in ("abc", "bca"):
        files, into = [tmp_path / f"{name}.csv" for name in order], tmp_path / order
        icecore.pack(files, into, "/t", concat="rows")
        table = icecore.open(into).table("/t")
        assert list(table) == ["column_1", "t", "x"]
        assert sorted(table["x"][...].tolist()) == [2.25, 2.5, 3.5]


def test_rows_that_begin_as_comments_do(tmp_path: Path) -> None:
    """They were left out, unsaid, where no other row stood above them; lower down they were rows."""
    text = b"tag,n,day\n#ff0000,1,2020-01-05\n\n!b,-,2020-01-06\nx,5,2020-01-07\n#c,7,\n"
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/tag"][...].tolist() == [b"#ff0000", b"!b", b"x", b"#c"]
    said = "a row and no comment, as it seems: '#ff0000,1,2020-01-05'"
    assert said in [note.message for note in report.notes]


@pytest.mark.parametrize(
    "line", ["#m,s,UTC", "#---,---,---", "# x,5,2020-01-05", "#x,5", "#x,y,z", "#2.5,5,2020-01-05"]
)
@pytest.mark.parametrize("first", ["x", "1.5"])
def test_comments_below_the_names(line: str, first: str) -> None:
    text = f"tag,n,day\n{line}\n{first},1,2020-01-05\n{first},2,2020-01-06\n".encode()
    spec = sniff(text)
    assert spec is not None
    is_row = (first, line) == ("x", "#2.5,5,2020-01-05")
    assert spec.offset == text.index(b"#" if is_row else first.encode() + b",1,")
