"""Tables as others use them: reductions, polygons, pandas, Polars, DuckDB, summaries of links and packs."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.query.reduce import reduced
from icecore.tables.summaries import write
from icecore.tables.text import column_codecs
from latsrv import LatencyServer

pytest.importorskip("pyarrow")
N = 40_000


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    tb = rng.normal(200, 30, N)
    tb[rng.random(N) < 0.05] = np.nan
    return {
        "lon": np.linspace(0, 360, N, endpoint=False),
        "lat": 60 * np.sin(np.arange(N) / 300),
        "tb": tb,
        "c": rng.integers(1, 5, N).astype("i2"),
        "count32": rng.integers(-(2**30), 2**30, N).astype("i4"),
    }


def written(path: Path, data: dict[str, np.ndarray]) -> icecore.Repo:
    with icecore.create(path).writer() as w:
        for name, values in data.items():
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=(4096,), shards=(4096 * 4,))[...] = (
                values
            )
    return icecore.open(path)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory, data: dict[str, np.ndarray]) -> icecore.Repo:
    path = tmp_path_factory.mktemp("uses") / "u.icecore"
    write.write(written(path, data), "/t")
    return icecore.open(path)


def test_numbers_of_whole_columns_come_from_summaries_alone(
    tmp_path: Path, data: dict[str, np.ndarray]
) -> None:
    path = tmp_path / "z.icecore"
    repo = written(path, data)
    chunks = list((path / "chunks").iterdir())
    write.write(repo, "/t")
    for file in chunks:  # the data's, not the summaries': whoever looks at one of them fails
        file.write_bytes(b"\xff" * file.stat().st_size)
    table = icecore.open(path).table("/t")
    with pytest.raises(Error):
        table.to_numpy(["tb"])
    what = "count, count:tb, mean:tb, std:tb, rms:tb, min:tb, max:tb, sum:count32, min:c, max:lon"
    [row] = table.reduce(what)
    tb = data["tb"][~np.isnan(data["tb"])]
    assert (row["count"], row["count:tb"]) == (N, tb.size)
    assert (row["min:tb"], row["max:tb"], row["min:c"]) == (tb.min(), tb.max(), data["c"].min())
    assert row["sum:count32"] == int(data["count32"].astype("i8").sum())
    expected = [tb.mean(), tb.std(), np.sqrt((tb**2).mean())]
    assert [row["mean:tb"], row["std:tb"], row["rms:tb"]] == pytest.approx(expected)


@pytest.mark.parametrize("where", ["lon between 50 and 300", "lon < 200 and tb > 150", "lon > 1e9", "c > 0"])
def test_zones_that_match_as_a_whole_are_taken_from_summaries(
    repo: icecore.Repo, data: dict[str, np.ndarray], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, scans, scanning = repo.table("/t"), [], repo.table("/t")._scan

    def spy(*arguments: Any, **options: Any) -> Any:
        scans.append(scanning(*arguments, **options))
        return scans[-1]

    monkeypatch.setattr(table, "_scan", spy)
    what = "count, count:tb, mean:tb, std:tb, min:tb, max:tb, sum:count32"
    [row], [slow] = table.reduce(what, where), table.reduce(what, where, prune=False)
    assert row == {name: value if value is None else pytest.approx(value) for name, value in slow.items()}
    assert row["sum:count32"] == slow["sum:count32"]
    few, all_ = (scan.report() for scan in scans)
    assert few["rows_out"] + sum(stop - start for start, stop in scans[0].whole()) == all_["rows_out"]
    if where.startswith("lon between"):  # only the two zones at the ends are read
        assert few["predicate"]["chunks"] == 2
        assert few["data"]["chunks"] == 4
        assert few["zones_whole"] > 5


def test_sums_of_large_numbers_are_exact(tmp_path: Path) -> None:
    values = np.arange(9000, dtype="i8") + 2**58
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/t/a", "i8", values.shape)[...] = values
        w.array("/t/b", "u8", values.shape)[...] = values % 1000
        write.write(w, "/t")
    [row] = icecore.open(tmp_path / "r.icecore").table("/t").reduce("sum:a, sum:b, max:a")
    assert row == {
        "sum:a": sum(values.tolist()),
        "sum:b": sum((values % 1000).tolist()),
        "max:a": values.max(),
    }


def test_deviations_of_what_varies_little_around_a_large_number(tmp_path: Path) -> None:
    """From a mean and a mean square they are nothing but rounding: dates as numbers, times."""
    rng = np.random.default_rng(2)
    data = {
        "jdate": 2_455_000.5 + np.sort(rng.uniform(0, 0.01, 9000)),
        "clock": 2**40 + rng.integers(0, 3, 9000),
        "same": np.full(9000, 0.1),
        "step": np.repeat([7.1, 7.2], [4096, 4904]),
        "tb": rng.normal(200, 30, 9000),
        "huge": np.full(9000, 1e200) * rng.choice([-1, 1], 9000),
        "inf": np.where(np.arange(9000) == 8999, np.inf, 1.0),
    }
    repo = written(tmp_path / "s.icecore", data)
    write.write(repo, "/t")
    table = icecore.open(tmp_path / "s.icecore").table("/t")
    for name in ("jdate", "clock", "same", "step", "tb"):
        found = reduced(table, f"std:{name}, rms:{name}")
        [row] = found.rows
        wanted = data[name].astype(np.longdouble)
        assert row[f"std:{name}"] == pytest.approx(float(wanted.std()), rel=1e-6), name
        assert row[f"rms:{name}"] == pytest.approx(float(np.sqrt((wanted**2).mean()))), name
        assert bool(found.summed) == (name in ("same", "step", "tb")), name
    [row] = table.reduce("std:huge, rms:huge, rms:inf, max:inf")
    assert list(row.values()) == [np.inf] * 4


def test_a_histogram_of_one_large_number(tmp_path: Path) -> None:
    table = written(tmp_path / "h.icecore", {"a": np.full(10, 2**63 - 1)}).table("/t")
    [row] = table.reduce("histogram:a:4")
    assert row["histogram:a:4"]["counts"] == [10, 0, 0, 0]


def test_counting_zones_that_match_as_a_whole_reads_nothing(repo: icecore.Repo) -> None:
    scan = repo.table("/t").scan([], "lon >= 0")
    assert scan.count() == N
    report = scan.report()
    assert report["predicate"]["bytes_fetched"] == report["data"]["bytes_fetched"] == 0
    assert report["zones_whole"] == report["zones"]


@pytest.mark.parametrize("where", [None, "tb > 190 and lon < 200", "lon > 1e9"])
def test_reductions_against_pandas(
    repo: icecore.Repo, data: dict[str, np.ndarray], where: str | None
) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data)
    if where is not None:
        frame = frame.query(where)
    what = "count, count:tb, sum:tb, mean:tb, std:tb, min:tb, max:tb, sum:count32"
    got = repo.table("/t").reduce(f"{what} by c", where)
    groups = frame.groupby("c")
    assert [row["c"] for row in got] == list(groups.groups)
    for row, (_, part) in zip(got, groups, strict=True):
        tb = part["tb"]
        assert (row["count"], row["count:tb"]) == (len(part), tb.count())
        assert row["sum:count32"] == int(part["count32"].astype("i8").sum())
        expected = [tb.sum(), tb.mean(), tb.std(ddof=0), tb.min(), tb.max()]
        assert [row[f"{name}:tb"] for name in ("sum", "mean", "std", "min", "max")] == pytest.approx(expected)
    [whole] = repo.table("/t").reduce("count, mean:tb", where)
    assert whole["count"] == len(frame)
    assert whole["mean:tb"] == (pytest.approx(frame["tb"].mean()) if len(frame) else None)


def test_histograms(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    [row] = repo.table("/t").reduce("histogram:tb:20:100:300", "lon < 180")
    part = data["tb"][(data["lon"] < 180) & ~np.isnan(data["tb"])]
    counts = np.histogram(part, 20, (100, 300))[0]
    assert row["histogram:tb:20:100:300"] == {"low": 100.0, "high": 300.0, "counts": counts.tolist()}
    [row] = repo.table("/t").reduce("histogram:c:4")
    assert sum(row["histogram:c:4"]["counts"]) == N


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("median:tb", "invalid"),
        ("mean", "invalid"),
        ("mean:tbb", "not-found"),
        ("mean:tb by cc", "not-found"),
        ("count by", "invalid"),
        ("", "invalid"),
        ("histogram:tb:0", "invalid"),
        ("histogram:tb:10:5:1", "invalid"),
        ("histogram:tb:10:5", "invalid"),
    ],
)
def test_reductions_that_make_no_sense(repo: icecore.Repo, what: str, kind: str) -> None:
    with pytest.raises(Error) as caught:
        repo.table("/t").reduce(what)
    assert caught.value.kind == kind


def test_polygons(repo: icecore.Repo, data: dict[str, np.ndarray], tmp_path: Path) -> None:
    shapely = pytest.importorskip("shapely")
    triangle = shapely.Polygon([(100, -30), (140, -30), (120, 40)])
    ring = shapely.Point(300, 0).buffer(20).difference(shapely.Point(300, 0).buffer(5))
    area = shapely.union_all([triangle, ring])
    wanted = np.flatnonzero(shapely.contains_xy(area, data["lon"], data["lat"]))
    table = repo.table("/t")
    scan = table.scan(["count32"], within=area)
    got = scan.reader().read_all()
    np.testing.assert_array_equal(got["count32"].to_numpy(), data["count32"][wanted])
    assert wanted.size > 0
    assert 0 < scan.report()["zones_pruned"] < scan.report()["zones"]
    assert table.scan(["c"], "tb > 200", within=area, limit=7).read_all().num_rows == 7
    file = tmp_path / "area.geojson"
    feature = {"type": "Feature", "geometry": shapely.geometry.mapping(area), "properties": {}}
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    assert table.scan(["c"], within=file).count() == wanted.size
    assert table.scan(["c"], within=file, xy=("lat", "lon")).count() == 0
    [row] = table.reduce("count", within=area)
    assert row["count"] == wanted.size
    for text, kind in (('{"type": "Point", "coordinates": [1, 2]}', "invalid"), ("{", "format")):
        file.write_text(text)
        with pytest.raises(Error) as caught:
            table.scan(within=file)
        assert caught.value.kind == kind


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_tables_go_to_other_processes(
    repo: icecore.Repo, data: dict[str, np.ndarray], again: Callable[[Any], Any]
) -> None:
    for columns in (None, ["tb", "lon"]):
        table = repo.table("/t", columns)
        assert len(table.to_numpy(["lon"], "lon < 90")["lon"]) == N // 4  # used before
        found = again(table)
        assert (list(found), found.left_out) == (list(table), table.left_out)
        np.testing.assert_array_equal(found.to_numpy(["tb"])["tb"], data["tb"])


def test_pandas_and_duckdb(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    pytest.importorskip("pandas")
    frame = repo.table("/t").to_pandas(["lon", "tb"], "c = 2")
    np.testing.assert_array_equal(frame["tb"], data["tb"][data["c"] == 2])
    duckdb = pytest.importorskip("duckdb")
    reader = repo.table("/t").scan(["c", "tb"], "lon < 90")
    got = duckdb.sql("select c, count(*) from reader group by c order by c").fetchall()
    values, counts = np.unique(data["c"][data["lon"] < 90], return_counts=True)
    assert got == list(zip(values.tolist(), counts.tolist(), strict=True))
    assert reader is not None


def test_a_table_is_an_arrow_stream(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    """DuckDB said std::bad_cast of a table itself, and the others took it for a list of names."""
    pa = pytest.importorskip("pyarrow")
    rows = repo.table("/t", ["c", "tb"])
    np.testing.assert_array_equal(pa.table(rows)["tb"], data["tb"])
    duckdb = pytest.importorskip("duckdb")
    for _ in range(2):  # unlike a reader it can be asked again
        assert duckdb.sql("select count(*) from rows where c = 2").fetchall() == [((data["c"] == 2).sum(),)]


def test_arrow_and_parquet_have_the_attributes(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet
    from icecore.tables.query.export import export

    attrs = {"units": "K", "scale_factor": 0.5, "_FillValue": -9, "flags": [1, 2]}
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        w.array("/t/tb", "i2", (3,), attrs=attrs)[...] = [1, -9, 3]
        w.array("/t/pair", "f4", (3, 2), attrs={"units": "m", "ARROW:extension:name": "x"})[...] = 1
    table = icecore.open(tmp_path / "a.icecore").table("/t")
    wanted = {b"units": b"K", b"scale_factor": b"0.5", b"_FillValue": b"-9", b"flags": b"[1, 2]"}
    export(table.scan(), str(tmp_path / "a.parquet"))
    export(table.scan(), str(tmp_path / "a.arrow"))
    for schema in (
        table.scan().schema,
        pyarrow.parquet.read_schema(tmp_path / "a.parquet"),
        pa.ipc.open_file(tmp_path / "a.arrow").schema,
    ):
        found = schema.field("tb").metadata
        assert {name: found[name] for name in wanted} == wanted
        assert schema.field("pair").metadata[b"units"] == b"m"
    assert table.to_pandas()["tb"].isna().tolist() == [False, True, False]


def test_polars_reads_only_what_it_needs(
    repo: icecore.Repo, data: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    pl = pytest.importorskip("polars")
    table, scans = repo.table("/t"), []
    scanning = table.scan

    def spy(*arguments: Any, **options: Any) -> Any:
        scans.append(scanning(*arguments, **options))
        return scans[-1]

    monkeypatch.setattr(table, "scan", spy)
    lazy = table.to_polars()
    got = (
        lazy.filter((pl.col("lon") >= 120) & (pl.col("lon") < 121) & (pl.col("c") > 1)).select("tb").collect()
    )
    wanted = (data["lon"] >= 120) & (data["lon"] < 121) & (data["c"] > 1)
    np.testing.assert_array_equal(got["tb"].to_numpy(), data["tb"][wanted])
    assert set(scans[-1].columns) == {"lon", "tb", "c"}
    report = scans[-1].report()
    assert report["zones"] - report["zones_pruned"] == 1
    assert report["data"]["chunks"] == 1  # tb, in the one zone
    rows = pl.DataFrame({name: data[name] for name in table})
    for predicate in (
        pl.col("tb") > 230,  # NaN too: Polars counts it as larger than every number
        pl.col("tb").is_between(150, 160) | (pl.col("c") == 3),
        pl.col("lon").is_between(10, 11, closed="none") & ~(pl.col("c") == 3),
        (pl.col("lat") * 2 > 100) & (pl.col("lon") < 50),
        pl.col("tb").is_nan(),
        pl.col("c").is_in([1, 4]),
    ):
        expected = rows.filter(predicate)
        assert lazy.filter(predicate).collect().equals(expected), str(predicate)
    assert lazy.head(3).collect()["lon"].to_list() == data["lon"][:3].tolist()
    two = pl.col("c") == 2
    assert lazy.filter(two).head(3).collect().equals(rows.filter(two).head(3))
    for engine in ("auto", "streaming"):  # which hand over both, the rows and the filter
        assert lazy.head(9000).filter(two).collect(engine=engine).equals(rows.head(9000).filter(two))


def test_what_polars_pushes_down(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    from datetime import datetime

    from icecore.tables.query.polars import clause

    n = 20_000
    data = {
        "x": np.where(np.arange(n) % 10 == 0, np.nan, np.arange(n)).astype("f4"),
        "i": np.arange(n, dtype="i2"),
        "name": np.array([f"it's {i % 3}" for i in range(n)], "U6"),
        "when": np.datetime64("2020-01-01", "ms") + np.arange(n) * np.timedelta64(1, "m"),
    }
    with icecore.create(tmp_path / "p.icecore").writer() as w:
        for name, values in data.items():
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=(4096,))[...] = values
        write.write(w, "/t")
    table = icecore.open(tmp_path / "p.icecore").table("/t")
    rows = pl.DataFrame({name: data[name] for name in table})
    noon = datetime(2020, 1, 3, 12)
    for predicate, zones in (
        (pl.col("when") == noon, 1),
        ((pl.col("when") > noon) & (pl.col("when") < datetime(2020, 1, 3, 13)), 1),
        (pl.lit(noon) >= pl.col("when"), 1),
        (pl.col("name") == "it's 1", 5),
        ((pl.col("i") > 5000) & (pl.col("i") <= 5001.5), 1),
        ((pl.col("x") > 19990) | (pl.col("i") == 3), 5),  # NaN may be anywhere
        (pl.col("x").is_nan() & (pl.col("i") < 100), 1),
        ((pl.col("i") < 5) | (pl.col("i") == 19000), 2),
        (pl.col("x") < 4.5, 1),
        (pl.col("i").cast(pl.Float64) > 3, 5),  # not understood: left to Polars
    ):
        assert table.to_polars().filter(predicate).collect().equals(rows.filter(predicate)), str(predicate)
        scan = table.scan([], clause(predicate, table))
        scan.count()
        report = scan.report()
        left = report["zones"] - report["zones_pruned"] if report["zones"] else 5
        assert left == zones, str(predicate)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_polars_compares_with_constants_of_narrow_floats(tmp_path: Path, dtype: str) -> None:
    """Polars serialises those of 32 bits by their shortest digits, and those of 16 as bits."""
    pl = pytest.importorskip("polars")
    values = (np.arange(-4000, 6000) / 7).astype(dtype)
    with icecore.create(tmp_path / "n.icecore").writer() as w:
        w.array("/t/x", dtype, values.shape, chunks=(4096,))[...] = values
        write.write(w, "/t")
    lazy, rows = icecore.open(tmp_path / "n.icecore").table("/t").to_polars(), pl.DataFrame({"x": values})
    x, third = pl.col("x"), float(values[4003])
    for predicate in (
        x == third,
        x >= third,
        ~(x > third),
        x > 1,
        x <= 0.1,
        x.is_between(-third, third),
        x < np.inf,
    ):
        assert lazy.filter(predicate).collect().equals(rows.filter(predicate)), str(predicate)
    assert lazy.filter(x == third).collect().height > 0


def test_linked_and_packed_with_summaries(tmp_path: Path, data: dict[str, np.ndarray]) -> None:
    source = tmp_path / "g.h5"
    with h5py.File(source, "w") as file:
        for name, values in data.items():
            file.create_dataset(f"beam/{name}", data=values, chunks=(5000,), compression="gzip", shuffle=True)
        file["beam/matrix"] = np.zeros((N, 2))
        file["other/x"] = np.arange(10)
    for verb, group in ((icecore.link, "/l"), (icecore.pack, "/p")):
        verb(source, tmp_path / "r.icecore", group=group, summaries=True)
        repo = icecore.open(tmp_path / "r.icecore")
        assert write.state(repo[f"{group}/beam/tb"]) == write.state(repo[f"{group}/other/x"]) == "fresh"
        assert write.state(repo[f"{group}/beam/matrix"]) == "none"
        scan = repo.table(f"{group}/beam").scan(["tb"], "lon between 100 and 100.5")
        rows = (data["lon"] >= 100) & (data["lon"] <= 100.5)
        np.testing.assert_array_equal(scan.to_numpy()["tb"], data["tb"][rows])
        assert scan.report()["zones_pruned"] == scan.report()["zones"] - 1
        assert not any("summary" in path for path in repo)
    assert repo["/p/beam/tb"].chunks == (column_codecs.CHUNK,)
    icecore.pack(
        source, tmp_path / "r.icecore", group="/p", replace=True
    )  # without: the old ones don't count
    assert write.state(icecore.open(tmp_path / "r.icecore")["/p/beam/tb"]) == "stale"
    with h5py.File(source, "a") as file:
        file["beam/lon"][...] = 0
    repo = icecore.open(tmp_path / "r.icecore")
    for use in (lambda t: t.scan(["tb"], "lon > 359"), lambda t: t.reduce("mean:lon")):
        with pytest.raises(Error) as caught:
            use(repo.table("/l/beam"))
        assert caught.value.kind == "source-changed"


def test_a_table_far_away_is_read_in_few_requests(
    tmp_path: Path, data: dict[str, np.ndarray], serve: Callable[..., LatencyServer]
) -> None:
    write.write(written(tmp_path / "f.icecore", data), "/t")
    server = serve(tmp_path)
    table = icecore.open(f"{server.url}/f.icecore").table("/t")
    wanted = (data["lon"] >= 100) & (data["lon"] <= 100.5)
    got = table.to_numpy(["tb", "count32"], "lon between 100 and 100.5")
    np.testing.assert_array_equal(got["count32"], data["count32"][wanted])
    server.reset()
    scan = table.scan(["tb", "count32"], "lon between 200 and 200.5")
    assert scan.count() == ((data["lon"] >= 200) & (data["lon"] <= 200.5)).sum()
    report, stats = scan.report(), server.stats()
    assert (report["predicate"]["chunks"], report["data"]["chunks"]) == (1, 2)
    # indexes of shards and chunks, of three columns; the summary is known already
    assert stats["requests"] <= 6
    # Gaps up to 1 MiB are read with them if the latency that was learned says so, but not all columns.
    assert stats["bytes"] < sum(values.nbytes for values in data.values())


def test_what_is_missing_is_named(repo: icecore.Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyarrow", "polars", "shapely"):
        monkeypatch.setitem(sys.modules, module, None)
    table = repo.table("/t")
    for use in (table.scan().read_all, table.to_polars, lambda: table.scan(within={"type": "Polygon"})):
        with pytest.raises(Error, match=r"icecore-archive\[table\]") as caught:
            use()
        assert caught.value.kind == "unsupported"
    assert table.to_numpy(["c"], "lon < 1")["c"].size > 0  # needs none of them


def test_scans_and_reductions_are_arrow_streams(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    duckdb, pa, pl = (pytest.importorskip(name) for name in ("duckdb", "pyarrow", "polars"))
    table, wanted = repo.table("/t"), int((data["lon"] < 100).sum())
    scan = table.scan(["lon"], "lon < 100")  # noqa: F841 (DuckDB finds it by its name)
    assert duckdb.sql("select count(*) from scan").fetchall() == [(wanted,)]
    assert pa.table(table.scan(["lon"], "lon < 100")).num_rows == wanted
    assert sum(batch.num_rows for batch in table.scan(["lon"], "lon < 100")) == wanted
    counted = table.reduce("count by c")
    assert duckdb.sql("select sum(count) from counted").fetchall() == [(len(data["lon"]),)]
    assert pl.DataFrame(counted).height == len(counted) == len(list(counted))
    assert counted == counted[:]
    assert counted[0] == counted.rows[0]
