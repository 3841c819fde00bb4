"""``icecore bench``: the studies run, on little data."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore import errors
from icecore.cli.bench import study
from icecore.display import scatter
from icecore.display.scatter import Point, named_ones
from icecore_bench import pds
from icecore_bench.pstore import field, ingestion, layouts, precision, scaling, schemes


def test_pstore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table has rows, every figure is drawn, and no number is further off than its bound."""
    shard, chunk = (8, 5, 23, 39), (8, 5, 23, 13)
    monkeypatch.setattr(field, "SHAPE", (16, *shard[1:]))
    monkeypatch.setattr(field, "SHARD", shard)
    monkeypatch.setattr(field, "CHUNK", chunk)
    monkeypatch.setattr(layouts, "_CHUNKS", [(2, 1, 23, 39), chunk, shard])
    monkeypatch.setattr(layouts, "_QUERIES", 4)
    monkeypatch.setattr(precision, "_REPEATS", 1)
    monkeypatch.setattr(scaling, "_REPEATS", 1)
    monkeypatch.setattr(ingestion, "_STEPS", 16)
    # the few codecs of core Zarr: the others would take most of the time
    portable = functools.partial(icecore.assay, portable=True)
    monkeypatch.setattr(icecore, "assay", portable, raising=False)
    monkeypatch.setenv("ICECORE_CACHE", "0")
    mine = np.cumsum(np.random.default_rng(3).normal(0, 1, (4, 300, 300)), axis=2).astype("f4")
    np.save(tmp_path / "mine.npy", mine)
    outcome = study("pstore")(tmp_path, str(tmp_path / "mine.npy"), lambda _: None)
    assert len(outcome.tables) == 7
    assert all(table.rows for table in outcome.tables)
    assert len(outcome.figures) == 10
    assert all(Path(figure).stat().st_size > 1000 for figure in outcome.figures)
    bounds = next(table for table in outcome.tables if table.title.startswith("Table 2"))
    assert {str(row[0]).split(",")[0] for row in bounds.rows} == {"mine", "field"}
    assert all(row[2] <= row[1] * (1 + 1e-6) for row in bounds.rows)
    assert all(row[1] == 0 for row in bounds.rows if str(row[0]).endswith("4 of 4"))


def test_fields_that_say_nothing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the rain of a dry day: nothing is stored of it. Fields of one name go by their paths."""
    monkeypatch.setattr(icecore, "assay", functools.partial(icecore.assay, portable=True), raising=False)
    monkeypatch.setattr(precision, "_REPEATS", 1)
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        noise = np.random.default_rng(3).normal(0, 1, 70_000).astype("f4")
        for path, values in (("/a/t", noise), ("/b/t", noise), ("/rain", np.zeros_like(noise))):
            w.array(path, "f4", noise.shape, codec=field.planes())[...] = values
    fields = list(icecore.open(tmp_path / "r.icecore").arrays.values())
    for part, table in ((schemes, 1), (precision, 2)):
        outcome = part.measure(tmp_path, fields, lambda _: None)
        assert {str(row[0]).split(",")[0] for row in outcome.tables[0].rows} == {"/a/t", "/b/t"}
        assert [f"rain: not in table {table}" in note for note in outcome.notes] == [True]


def test_little_data_takes_little_time() -> None:
    """Two shards for a small file; all that the study was made for where there is none, or a large one."""
    repo = icecore.create("memory://little-data")
    with repo.writer() as w:
        w.array("/small", "f4", (100, 1000))
        w.array("/middle", "f4", (5 * 60_000_000 // 4,))
        w.array("/large", "f4", (10**9,))
    repo = icecore.open("memory://little-data")
    small, middle, large = (repo[f"/{name}"] for name in ("small", "middle", "large"))
    assert [field.steps(given) for given in ([], [small], [middle], [small, large])] == [240, 32, 80, 240]


def test_a_file_that_says_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.zeros(100))
    with pytest.raises(errors.Error, match="no floating-point array") as caught:
        field.given(str(tmp_path / "mine.npy"), tmp_path, lambda _: None)
    assert caught.value.kind == "not-found"


def test_a_crowd_of_points_is_named_at_its_edge() -> None:
    few = [Point(f"codec {i}", 1.0 + i, 40.0 - i) for i in range(3)]
    many = [Point(f"codec {i}", 1.0 + i, 40.0 + i) for i in range(40)]
    crowds = (few, many, [*many, Point("ours", 0.5, 0.5, chosen="speed")])
    named = [[point.name for point in named_ones(points)] for points in crowds]
    assert named == [["codec 0", "codec 1", "codec 2"], ["codec 39"], ["ours", "codec 39"]]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(20, 380), st.integers(20, 280)), min_size=1, max_size=12, unique=True))
def test_names_lie_over_no_other_name(spots: list[tuple[int, int]]) -> None:
    area, size = (0.0, 0.0, 400.0, 300.0), (80.0, 11.0)
    corners = scatter.place([(spot, size) for spot in spots], spots, area)
    boxes = [(x, y, x + size[0], y + size[1]) for x, y in corners]
    for i, (left, low, right, high) in enumerate(boxes):
        assert left >= -0.01
        assert low >= -0.01
        assert right <= 400.01
        assert high <= 300.01
        for other in boxes[:i]:
            apart = left >= other[2] or other[0] >= right or low >= other[3] or other[1] >= high
            assert apart, (boxes[i], other)


def test_a_table_without_the_column_is_refused_first(tmp_path: Path, run: Any) -> None:
    file, said = tmp_path / "t.csv", []
    file.write_text("lat,lon\n" + "1.5,2.5\n" * 50)
    with pytest.raises(errors.Error, match=r"no column clon.*it has lat, lon") as caught:
        study("pds")(tmp_path, str(file), said.append)
    assert (caught.value.kind, bool(caught.value.hint), said) == ("not-found", True, [])
    status, _, err = run("bench", "pds", file, "-o", tmp_path / "figures")
    assert (status, "error[not-found]" in err, "clon" in err) == (2, True, True)
    assert "clon" in run("bench", "--help")[1]


@pytest.mark.parametrize("name", ["pds", "pstore"])
def test_what_is_refused_leaves_no_folder(tmp_path: Path, run: Any, name: str) -> None:
    (tmp_path / "t.csv").write_text("lat,lon\n1.5,2.5\n")
    (tmp_path / "there").mkdir()
    for file in "t.csv", "none.csv":
        for where in "there", "a", "b/c", "there/d":
            status, _, err = run("bench", name, tmp_path / file, "-o", tmp_path / where)
            assert (status, "error[internal]" in err) == (2, False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["t.csv", "there"]
    status, _, err = run("bench", name, tmp_path / "t.csv", "-o", tmp_path / "t.csv" / "x")
    assert (status, f"{tmp_path / 't.csv' / 'x'} can't be written" in err) == (2, True)


@pytest.mark.parametrize(
    ("rows", "kind", "said"),
    [("", "format", "holds no rows of a table"), ("east,1\nwest,2\n", "dtype", "clon holds string")],
)
def test_what_the_commands_say_of_a_file(tmp_path: Path, rows: str, kind: str, said: str) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text(f"clon,a\n{rows}")
    with pytest.raises(errors.Error, match=said) as caught:
        pds.run(tmp_path / "out", str(tmp_path / "t.csv"), lambda _: None)
    assert caught.value.kind == kind
    assert "-m" not in caught.value.message, "not the command"


def test_rows_are_chosen_by_the_column_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("lat,clon\n" + "1.5,2.5\n" * 50)
    assert pds._column(tmp_path / "t.csv") == 2
    assert "$2>120.0 && $2<120.1" in pds._awk("cat t", 2)


def test_a_python_without_pyarrow_is_told_of_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said: list[str] = []
    with pytest.raises(errors.Error, match=r"icecore-archive\[table\]"):
        study("pds")(tmp_path, None, said.append)
    assert not said


def test_a_machine_without_awk_is_told_of_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a,clon\n1,120.05\n2,121\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    with pytest.raises(errors.Error, match="neither is installed") as caught:
        study("pds")(tmp_path, str(tmp_path / "t.csv"), said.append)
    assert caught.value.kind == "unsupported"
    assert not said


def test_no_such_study() -> None:
    with pytest.raises(errors.Error, match="hsds, ligo, pds, pstore"):
        study("nothing")
