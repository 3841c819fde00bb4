"""Products of tables: subset, query, stats, histogram, trend; outputs, failures, own products."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint
from typing import Annotated

import h5py
import icecore
import numpy as np
import pytest
from icecore.products import Field, Inputs, Rows, registry
from products_kit import granule

pa = pytest.importorskip("pyarrow")
pytest.importorskip("shapely")


@pytest.fixture
def orbits(tmp_path):
    """Two files with a table ``track`` of 10,000 rows, and a smaller table ``other``."""
    random = np.random.default_rng(1)
    paths = []
    for number in range(2):
        path = tmp_path / f"o{number}.h5"
        with h5py.File(path, "w") as file:
            lon = np.linspace(170, 190, 10_000)
            file["track/lon"] = (lon + 180) % 360 - 180
            file["track/lat"] = np.linspace(-60, 60, 10_000)
            file["track/h"] = random.normal(100 * number, 10, 10_000)
            file["track/n"] = random.integers(0, 4, 10_000).astype("i1")
            file["track/time"] = 1000.0 * number + np.arange(10_000.0)
            file["track/time"].attrs["units"] = "seconds since 2018-01-01"
            file["other/x"] = np.arange(5)
        paths.append(path)
    return paths


def columns(paths, name, below="track"):
    parts = []
    for path in paths:
        with h5py.File(path) as file:
            parts.append(file[f"{below}/{name}"][...])
    return np.concatenate(parts)


def test_subset_selects_space_time_rows_and_variables(orbits):
    lon, lat, h, time = (columns(orbits[:1], name) for name in ("lon", "lat", "h", "time"))
    found = icecore.run(
        "subset", orbits[0], table="track", box=[175, -10, -178, 20], variables="h,lat"
    ).read_all()
    inside = ((lon >= 175) | (lon <= -178)) & (lat >= -10) & (lat <= 20)
    assert found.column_names == ["h", "lat"]
    assert found["h"].to_pylist() == h[inside].tolist()
    found = icecore.run(
        "subset", orbits[0], table="track", t0="2018-01-01T00:10:00", t1="2018-01-01T00:20:00"
    )
    assert len(found.to_numpy()["h"]) == ((time >= 600) & (time < 1200)).sum() == 600
    found = icecore.run("subset", orbits[0], table="track", where="n = 1 and h > 5", limit=7).to_numpy()
    assert (found["n"] == 1).all()
    assert len(found["n"]) == 7


def test_rows_of_several_sources_name_their_origin(orbits, tmp_path):
    found = icecore.run("subset", orbits, table="track", variables=["h"]).read_all()
    assert found.column_names == ["source", "table", "h"]
    assert found["h"].to_pylist() == columns(orbits, "h").tolist()
    assert found["source"].to_pylist()[::10_000] == [str(path) for path in orbits]
    icecore.link(orbits, tmp_path / "all.icecore")
    again = icecore.run("subset", f"{tmp_path}/all.icecore", table="*/track", variables=["h"]).read_all()
    assert again["h"].to_pylist() == found["h"].to_pylist()
    assert again["table"].to_pylist()[::10_000] == ["o0/track", "o1/track"]
    one = icecore.run("subset", f"{tmp_path}/all.icecore:/o1", table="track", variables=["h"]).read_all()
    assert one["h"].to_pylist() == found["h"].to_pylist()[10_000:]


def test_stats_of_all_sources_are_those_of_the_joined_columns(orbits):
    found = icecore.run("stats", orbits, table="track", columns="h,n", where="n > 0").to_pandas()
    h = columns(orbits, "h")[columns(orbits, "n") > 0]
    row = found[found["column"] == "h"].iloc[0]
    expected = [h.size, h.mean(), h.std(), h.min(), h.max()]
    np.testing.assert_allclose(
        row[["count", "mean", "std", "min", "max"]].to_numpy(float), expected, rtol=1e-12
    )
    none = icecore.run("stats", orbits, table="track", columns="h", where="n > 100").to_pandas()
    assert none["count"].tolist() == [0]


def test_a_histogram_of_all_sources_is_that_of_the_joined_column(orbits):
    h = columns(orbits, "h")
    found = icecore.run("histogram", orbits, table="track", column="h", bins=20).to_numpy()
    counts, edges = np.histogram(h, 20)
    assert found["count"].tolist() == counts.tolist()
    np.testing.assert_allclose(found["low"], edges[:-1])
    found = icecore.run("histogram", orbits, table="track", column="h", bins=4, low=0, high=50).to_numpy()
    assert found["count"].tolist() == np.histogram(h, 4, (0, 50))[0].tolist()


def test_query_reduces_each_table(orbits):
    found = icecore.run("query", orbits, table="track", reduce="count, mean:h by n").to_pandas()
    n, h = columns(orbits[1:], "n"), columns(orbits[1:], "h")
    row = found[(found["source"] == str(orbits[1])) & (found["n"] == 2)].iloc[0]
    assert (row["count"], row["mean:h"]) == ((n == 2).sum(), pytest.approx(h[n == 2].mean()))


def test_a_trend_of_a_time_series(tmp_path):
    with icecore.create(tmp_path / "s.icecore").writer() as w:
        axis = {"t0_ns": 10**18, "step": [1, 4], "segments": [[10**18, 10**18 + 250 * 10**9]]}
        array = w.array("/H1", "f8", (1000,), attrs={"icecore_time": axis})
        array[...] = np.arange(1000.0)
    found = icecore.run("trend", f"{tmp_path}/s.icecore", array="H1", points=10).to_numpy()
    assert found["min"].tolist() == list(range(0, 1000, 100))
    assert found["max"].tolist() == list(range(99, 1000, 100))
    assert found["count"].tolist() == [100] * 10
    assert (np.diff(found["gps_ns"]) == 25 * 10**9).all()


@pytest.mark.parametrize("suffix", ["parquet", "geoparquet", "arrow", "csv", "json", "npy"])
def test_outputs_have_the_same_rows(orbits, tmp_path, suffix):
    import pyarrow.parquet as pq

    path = tmp_path / f"out.{suffix}"
    icecore.run("subset", orbits[0], path, table="track", where="h > 25")
    expected = np.sort(columns(orbits[:1], "h")[columns(orbits[:1], "h") > 25])
    if "parquet" in suffix:
        got = pq.read_table(path)["h"].to_numpy()
    elif suffix == "arrow":
        got = pa.ipc.open_file(path).read_all()["h"].to_numpy()
    elif suffix == "csv":
        got = np.genfromtxt(path, delimiter=",", names=True)["h"]
    elif suffix == "json":
        got = np.array([row["h"] for row in json.loads(path.read_text())])
    else:
        got = np.load(path)["h"]
    assert np.sort(got).tolist() == expected.tolist()


def test_geoparquet_has_points_and_their_extent(orbits, tmp_path):
    import pyarrow.parquet as pq
    import shapely

    path = tmp_path / "out.geoparquet"
    icecore.run("subset", orbits[0], path, table="track")
    table = pq.read_table(path)
    points = shapely.from_wkb(table["geometry"].to_numpy())
    assert shapely.get_x(points).tolist() == table["lon"].to_pylist()
    assert shapely.get_y(points).tolist() == table["lat"].to_pylist()
    geo = json.loads(pq.read_metadata(path).metadata[b"geo"])
    lon = table["lon"].to_numpy()
    assert geo["columns"]["geometry"]["bbox"] == [lon.min(), -60.0, lon.max(), 60.0]
    with pytest.raises(icecore.Error, match="needs columns of longitude and latitude"):
        icecore.run("subset", orbits[0], tmp_path / "no.geoparquet", table="track", variables=["h"])
    assert not (tmp_path / "no.geoparquet").exists()


def test_a_point_without_a_coordinate_is_null(tmp_path):
    import pyarrow.parquet as pq

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["lon"], file["lat"] = [1.0, np.nan, 3.0], [4.0, 5.0, 6.0]
    icecore.run("query", tmp_path / "a.h5", tmp_path / "a.geoparquet")
    assert [each is None for each in pq.read_table(tmp_path / "a.geoparquet")["geometry"].to_pylist()] == [
        0,
        1,
        0,
    ]


def test_an_empty_result_has_its_columns(orbits):
    found = icecore.run("subset", orbits, table="track", where="h > 1e9").read_all()
    assert found.num_rows == 0
    assert (
        found.column_names == ["source", "table", "lon", "lat", "h", "n", "time"] or "h" in found.column_names
    )


def test_tables_must_be_named_if_there_are_several(orbits):
    with pytest.raises(icecore.Error, match="has 2 tables: other, track"):
        icecore.run("subset", orbits[0])
    with pytest.raises(icecore.Error, match="has no table trakc"):
        icecore.run("subset", orbits[0], table="trakc")


def test_a_later_source_without_a_column_fails_or_is_reported(orbits, tmp_path):
    other = tmp_path / "z.h5"
    with h5py.File(other, "w") as file:
        file["track/lat"] = np.arange(3.0)
    sources = [*orbits, other]
    with pytest.raises(icecore.Error, match=r"z\.h5"):
        icecore.run("subset", sources, table="track", variables=["h"]).read_all()
    rows = icecore.run("subset", sources, table="track", variables=["h"], keep_going=True)
    assert rows.read_all().num_rows == 20_000
    assert [(each.kind, str(other) in each.name) for each in rows.failures] == [("not-found", True)]


def test_a_damaged_chunk_fails_the_product(tmp_path):
    path = granule(tmp_path / "a.h5")
    with h5py.File(path) as file:
        chunk = file["gt1l/heights/h_ph"].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset + 8)
        file.write(b"\xff" * 64)
    for name, options in (("stats", {"columns": "h_ph"}), ("subset", {}), ("histogram", {"column": "h_ph"})):
        with pytest.raises(icecore.Error, match="h_ph") as caught:
            icecore.run(name, path, table="gt1l/heights", **options).read_all()
        assert caught.value.kind == "corrupt"


@pytest.mark.parametrize("missing", ["missing.h5", "none*.h5", "@missing.txt"])
def test_a_missing_source_fails_or_is_reported(orbits, tmp_path, missing):
    sources = [str(tmp_path / missing) if missing[0] != "@" else f"@{tmp_path / missing[1:]}", *orbits]
    with pytest.raises(icecore.Error, match=r"missing|none"):
        icecore.run("stats", sources, table="track").read_all()
    rows = icecore.run("stats", sources, table="track", keep_going=True)
    assert rows.read_all().equals(icecore.run("stats", orbits, table="track").read_all())
    assert len(rows.failures) == 1
    assert "missing" in rows.failures[0].name or "none" in rows.failures[0].name


def test_a_failing_product_leaves_no_file(orbits, tmp_path):
    with pytest.raises(icecore.Error):
        icecore.run("subset", [*orbits, tmp_path / "missing.h5"], tmp_path / "out.parquet", table="track")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


def test_closing_cancels_the_pieces_that_wait(tmp_path, monkeypatch):
    path = granule(tmp_path / "a.h5", segments=2000)
    monkeypatch.setattr("icecore.products.atl03._PIECE", 500)
    done = []
    rows = icecore.run("atl06", path, progress=lambda *call: done.append(call))
    next(rows.batches())
    rows.close()
    assert len(done) < 5


def test_products_of_packages_are_found(monkeypatch, orbits):
    monkeypatch.setattr(
        registry,
        "_registered",
        lambda: {"rows_of": EntryPoint("rows_of", f"{__name__}:rows_of", registry.GROUP)},
    )
    assert registry.names()["rows_of"] == "?"
    found = icecore.run("rows_of", orbits, unit="0.002 km").to_numpy()
    assert found["rows"].tolist() == [2.0, 2.0]
    monkeypatch.setattr(
        registry, "_registered", lambda: {"gone": EntryPoint("gone", "no_such_module:x", registry.GROUP)}
    )
    with pytest.raises(icecore.Error, match=r"product gone of .* can't be imported"):
        icecore.run("gone", orbits)


def rows_of(inputs: Inputs, unit: Annotated[float, Field("Metres.", unit="m", low=1)] = 1.0) -> Rows:
    """Count sources."""
    batch = pa.record_batch({"rows": [unit for _ in inputs]})
    return Rows(batch.schema, [batch])


def test_the_command_lists_products_parameters_and_schemas(orbits, capfd):
    from icecore.cli import run

    assert run(["run", "--list"]) == 0
    assert re.search(r"^atl06 +icecore +Along-track elevations", capfd.readouterr().out, re.MULTILINE)
    assert run(["run", "atl06", "--help"]) == 0
    assert (
        "fit.sigma_r_max    Largest robust dispersion. [0 to 10,000 m; default 5]" in capfd.readouterr().out
    )
    assert run(["run", "histogram", "--schema"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert schema["required"] == ["column"]
    assert schema["properties"]["bins"]["maximum"] == 1_000_000


def test_the_command_writes_rows_and_reports_status(orbits, tmp_path, capfd):
    from icecore.cli import run

    out = tmp_path / "x.csv"
    plain = ["run", "subset", str(orbits[0]), "-p", "table=track", "-p", "variables=lat,h"]
    assert run([*plain, "-p", "limit=3", "-o", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 4
    assert "3 rows of 2 columns" in capfd.readouterr().err
    assert run([*plain, "-p", "where=h > 1e9"]) == 1
    assert run([*plain, "-p", "lim=3"]) == 2
    assert "subset has no parameter lim\n  try: did you mean limit" in capfd.readouterr().err
    assert (
        run(["run", "subset", str(orbits[0]), str(tmp_path / "no.h5"), "-p", "table=track", "--keep-going"])
        == 2
    )
    assert "no file at" in capfd.readouterr().err
    assert run(["run", "subset"]) == 2
    assert "subset needs a source" in capfd.readouterr().err
    assert run(["run", "atl6"]) == 2
    assert "did you mean atl06?" in capfd.readouterr().err
