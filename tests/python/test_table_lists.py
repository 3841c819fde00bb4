"""Columns of several values a row."""

from __future__ import annotations

import csv
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.query.export import export
from icecore.tables.summaries import write

pytest.importorskip("pyarrow")
ROWS = 30_000


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    spectrum = rng.normal(0, 1, (ROWS, 3)).astype("f4")
    spectrum[::7, 1] = np.nan
    kind = rng.integers(0, 3, (ROWS, 2)).astype("i2")
    words = np.array([[f"w{i % 9}", f"x{i % 4}"] for i in range(ROWS)], "S3")
    return {"n": np.arange(ROWS, dtype="i8"), "kind": kind, "spectrum": spectrum, "words": words}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory, data: dict[str, np.ndarray]) -> icecore.Repo:
    path = tmp_path_factory.mktemp("lists") / "t.icecore"
    with icecore.create(path).writer() as w:
        for name, values in data.items():
            unit = (4096, 2)[: values.ndim]
            attrs = {"_FillValue": 2} if name == "kind" else {}
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=unit, attrs=attrs)[...] = values
        w.array("/t/map", "f4", (5, 3))[...] = 1
        write.write(w, "/t")
    return icecore.open(path)


def test_lists_as_numpy_and_arrow(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    table = repo.table("/t")
    assert list(table) == ["kind", "n", "spectrum", "words"]
    assert "5 rows" in table.left_out["map"]
    for where, rows in [
        (None, slice(None)),
        ("n between 5000 and 21000", slice(5000, 21001)),
        ("n in (3, 29999)", [3, 29999]),
    ]:
        found = table.to_numpy(where=where)
        for name, values in data.items():
            np.testing.assert_array_equal(found[name], values[rows])
        batch = table.scan(where=where).read_all()
        assert batch["spectrum"].type.list_size == 3
        flat = batch["spectrum"].combine_chunks().flatten().to_numpy()
        np.testing.assert_array_equal(flat.reshape(-1, 3), data["spectrum"][rows])
        wanted = [[None if v == 2 else v for v in row] for row in data["kind"][rows].tolist()]
        assert batch["kind"].to_pylist() == wanted
        assert batch["words"].to_pylist()[:2] == data["words"][rows][:2].astype(str).tolist()


def test_one_value_of_a_list(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    table, spectrum = repo.table("/t"), data["spectrum"]
    hits = (spectrum[:, 2] > 1) & (spectrum[:, 1] < 0)
    where = "spectrum[2] > 1 and spectrum[1] < 0"
    found = table.to_numpy(["n", "spectrum[1]", "words[0]", "spectrum"], where)
    np.testing.assert_array_equal(found["n"], np.flatnonzero(hits))
    np.testing.assert_array_equal(found["spectrum[1]"], spectrum[hits, 1])
    np.testing.assert_array_equal(found["words[0]"], data["words"][hits, 0])
    np.testing.assert_array_equal(found["spectrum"], spectrum[hits])
    assert table.scan([], "n < 5000 and words[1] = 'x3'").count() == 1250
    assert table.scan([], "kind[0] is null").count() == (data["kind"][:, 0] == 2).sum()
    row = table.reduce("count, mean:spectrum[1], max:spectrum[2]", where)[0]
    assert row["count"] == hits.sum()
    assert row["max:spectrum[2]"] == spectrum[hits, 2].max()
    assert row["mean:spectrum[1]"] == pytest.approx(spectrum[hits, 1].astype("f8").mean())


def test_lists_laid_out_side_by_side(repo: icecore.Repo, data: dict[str, np.ndarray], tmp_path: Path) -> None:
    table = repo.table("/t")
    frame = table.to_pandas(["n", "spectrum"], "n < 4")
    assert list(frame) == ["n", "spectrum_0", "spectrum_1", "spectrum_2"]
    np.testing.assert_array_equal(frame["spectrum_2"], data["spectrum"][:4, 2])
    export(table.scan(["words", "n"], "n < 3"), str(tmp_path / "o.csv"))
    with open(tmp_path / "o.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[:2] == [["words_0", "words_1", "n"], ["w0", "x0", "0"]]
    export(table.scan(["spectrum"], "n < 3"), str(tmp_path / "o.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy")["spectrum"], data["spectrum"][:3])
    polars = pytest.importorskip("polars")
    lazy = table.to_polars().filter(polars.col("n") > 29_990).select("spectrum").collect()
    np.testing.assert_array_equal(lazy["spectrum"].to_numpy(), data["spectrum"][29_991:])


def test_what_a_list_is_not(repo: icecore.Repo) -> None:
    table = repo.table("/t")
    with pytest.raises(Error, match="3 values per row") as caught:
        table.scan(where="spectrum > 1")
    assert "spectrum[0]" in str(caught.value.hint)
    with pytest.raises(Error, match="3 values per row"):
        table.reduce("mean:spectrum")
    with pytest.raises(Error) as caught:
        table.scan(["spectrum[3]"])
    assert caught.value.kind == "not-found"
    with pytest.raises(Error) as caught:
        table.scan(where="spectrum[3] > 1")
    assert caught.value.kind == "not-found"
    with pytest.raises(Error, match="2 dimensions"):
        table.scan(["map"])


def test_values_of_a_list_beside_a_column_of_their_name(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "t.icecore").writer() as w:
        w.array("/t/s", "f8", (2, 2))[...] = [[1, 2], [3, 4]]
        w.array("/t/s_0", "f8", (2,))[...] = [5, 6]
    table = icecore.open(tmp_path / "t.icecore").table("/t")
    export(table.scan(), str(tmp_path / "t.csv"))
    assert (tmp_path / "t.csv").read_text() == '"s[0]","s_1","s_0"\n1,2,5\n3,4,6\n'
