"""Tables: clauses against NumPy, pruning, summaries, and what each scan reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.summaries import write

pa = pytest.importorskip("pyarrow")
N = 50_000
CHUNK = 8192


def columns() -> dict[str, np.ndarray]:
    """Rows along an orbit: a longitude that jumps, a latitude that swings, and measurements."""
    rng = np.random.default_rng(3)
    phase = np.arange(N) / 1000
    tb = rng.normal(200, 30, N).astype("f4")
    tb[rng.random(N) < 0.05] = np.nan
    count = rng.integers(-50, 50, N).astype("i2")
    count[rng.random(N) < 0.05] = -999
    return {
        "lat": 80 * np.sin(2 * np.pi * phase),
        "lon": (phase * 3.0 + 180 * (np.floor(2 * phase) % 2)) % 360,
        "tb": tb,
        "count": count,
        "big": np.arange(N, dtype="i8") + 2**60,
        "flag": rng.random(N) < 0.5,
        "when": np.datetime64("2020-01-01", "ms") + np.arange(N) * np.timedelta64(500, "ms"),
        "name": np.array([f"obj{i % 7}" for i in range(N)], "S6"),
        "word": np.array(["Ä" + "xy"[i % 2] for i in range(N)]),
    }


ATTRS = {"count": {"missing_value": -999}}


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    return columns()


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory, data: dict[str, np.ndarray]) -> icecore.Repo:
    path = tmp_path_factory.mktemp("table") / "t.icecore"
    with icecore.create(path).writer() as w:
        for name, values in data.items():
            a = w.array(
                f"/t/{name}",
                values.dtype,
                values.shape,
                ("row",),
                (CHUNK,),
                (4 * CHUNK,),
                attrs=ATTRS.get(name),
            )
            a[...] = values
        write.write(w, "/t")
    return icecore.open(path)


CLAUSES = {
    "tb > 200": lambda d: d["tb"] > 200,
    "not tb > 200": lambda d: d["tb"] <= 200,
    "tb is null": lambda d: np.isnan(d["tb"]),
    "tb is not null and count is null": lambda d: ~np.isnan(d["tb"]) & (d["count"] == -999),
    "count < 0": lambda d: (d["count"] < 0) & (d["count"] != -999),
    "count in (1, 2, 3.5, 7) or count = -49": lambda d: np.isin(d["count"], [1, 2, 7, -49]),
    "count not between -40 and 40": lambda d: (np.abs(d["count"].astype(int)) > 40) & (d["count"] != -999),
    "lon between 120 and 120.1": lambda d: (d["lon"] >= 120) & (d["lon"] <= 120.1),
    "120 <= lon < 121 and lat > 0": lambda d: (d["lon"] >= 120) & (d["lon"] < 121) & (d["lat"] > 0),
    "wrap(lon, 350, 10)": lambda d: (d["lon"] >= 350) | (d["lon"] <= 10),
    "wrap(lon, -10, 10)": lambda d: (d["lon"] >= 350) | (d["lon"] <= 10),
    f"big >= {2**60 + N - 3}": lambda d: d["big"] >= 2**60 + N - 3,
    f"big = {2**60 + 1}": lambda d: d["big"] == 2**60 + 1,
    "big < 0 or big > 1e30": lambda d: np.zeros(N, bool),
    "flag": lambda d: d["flag"],
    "not flag and tb < 150": lambda d: ~d["flag"] & (d["tb"] < 150),
    "when between '2020-01-01T01:00' and '2020-01-01T01:00:10Z'": lambda d: (
        (d["when"] >= np.datetime64("2020-01-01T01:00")) & (d["when"] <= np.datetime64("2020-01-01T01:00:10"))
    ),
    "name = 'obj3'": lambda d: d["name"] == b"obj3",
    "name like 'obj%' and name > 'obj5'": lambda d: d["name"] > b"obj5",
    "name in ('obj1', 'nothing') and word like '_y'": lambda d: (d["name"] == b"obj1") & (d["word"] == "Äy"),
    "lat * 2 + tb / 4 > 150": lambda d: d["lat"] * 2 + d["tb"].astype("f8") / 4 > 150,
    "abs(lat) < 1": lambda d: np.abs(d["lat"]) < 1,
    "count % 10 = 3": lambda d: (d["count"] % 10 == 3) & (d["count"] != -999),
    "lat < lon and not (lat < -50 or lon > 300)": lambda d: (
        (d["lat"] < d["lon"]) & ~((d["lat"] < -50) | (d["lon"] > 300))
    ),
    "count < big": lambda d: d["count"] != -999,
    "true": lambda d: np.ones(N, bool),
}


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("clause", CLAUSES)
def test_clause_against_numpy(
    repo: icecore.Repo, data: dict[str, np.ndarray], clause: str, prune: bool
) -> None:
    wanted = CLAUSES[clause](data)
    got = repo.table("/t").to_numpy(where=clause, prune=prune)
    assert list(got) == sorted(data)
    for name, values in got.items():
        np.testing.assert_array_equal(values, data[name][wanted], err_msg=name)


def test_arrow_has_nulls_texts_and_times(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    reader = repo.table("/t").scan(["count", "name", "word", "when", "flag", "tb"], "lat > 79")
    assert isinstance(reader.reader(), pa.RecordBatchReader)
    reader = repo.table("/t").scan(["count", "name", "word", "when", "flag", "tb"], "lat > 79")
    got, rows = reader.read_all(), data["lat"] > 79
    count = data["count"][rows]
    assert got["count"].to_pylist() == [None if v == -999 else v for v in count.tolist()]
    assert got["name"].to_pylist() == [v.decode() for v in data["name"][rows].tolist()]
    assert got["word"].to_pylist() == data["word"][rows].tolist()
    assert got["flag"].to_pylist() == data["flag"][rows].tolist()
    np.testing.assert_array_equal(got["when"].to_numpy(), data["when"][rows])
    np.testing.assert_array_equal(got["tb"].to_numpy(), data["tb"][rows])


def test_only_zones_with_hits_are_read(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    clause = "lon between 120 and 120.1"
    hits = np.flatnonzero((data["lon"] >= 120) & (data["lon"] <= 120.1))
    chunks = np.unique(hits // CHUNK).size
    scan = repo.table("/t").scan(["lat", "tb"], clause)
    assert scan.count() == hits.size > 0
    report = scan.report()
    assert report["zones"] == -(-N // 4096)
    assert report["zones"] - report["zones_pruned"] == np.unique(hits // 4096).size
    assert report["predicate"]["chunks"] == chunks
    assert report["data"]["chunks"] == 2 * chunks
    everything = repo.table("/t").scan(["lat"], clause, prune=False)
    assert everything.count() == hits.size
    assert everything.report()["predicate"]["chunks"] == -(-N // CHUNK)
    assert everything.report()["zones"] == 0


def test_nothing_is_read_where_nothing_can_match(repo: icecore.Repo) -> None:
    scan = repo.table("/t").scan(["lat"], "lat > 500")
    assert scan.count() == 0
    report = scan.report()
    assert report["zones_pruned"] == report["zones"] > 0
    assert report["predicate"] == report["data"] == {"requests": 0, "bytes_fetched": 0, "chunks": 0}


def test_zones_that_match_as_a_whole_need_no_test(repo: icecore.Repo) -> None:
    scan = repo.table("/t").scan(["tb"], "lat > -1000 and big > 5")
    assert scan.count() == N
    report = scan.report()
    assert (report["zones_whole"], report["rows_tested"], report["predicate"]["chunks"]) == (
        report["zones"],
        0,
        0,
    )


def test_limit(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    got = repo.table("/t").scan(["big"], "tb > 200", limit=10).read_all()
    assert got["big"].to_pylist() == data["big"][data["tb"] > 200][:10].tolist()
    assert repo.table("/t").scan(limit=0).read_all().num_rows == 0


def test_small_memory_gives_the_same(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    got = repo.table("/t").scan(["big", "lat"], "flag", memory=1 << 10).read_all()
    np.testing.assert_array_equal(got["big"].to_numpy(), data["big"][data["flag"]])
    np.testing.assert_array_equal(got["lat"].to_numpy(), data["lat"][data["flag"]])


@pytest.mark.parametrize(
    ("clause", "kind", "words"),
    [
        ("tb >> 3", "invalid", ["character 5", "tb >> 3\n      ^"]),
        ("tbb > 3", "not-found", ["there is no column tbb", "did you mean tb"]),
        ("name > 3", "dtype", ["name holds strings", "this is a number"]),
        ("tb = 'x'", "dtype", ["tb holds float32", "'x' is a string"]),
        ("when > 3", "dtype", ["when holds times"]),
        ("when > 'yesterday'", "dtype", ["'yesterday' is not a time"]),
        ("(tb > 3", "invalid", ["unexpected end"]),
        ("tb > 3 lat < 4", "invalid", ["unexpected lat", "character 8"]),
        ("tb", "invalid", ["not a condition"]),
        ("", "invalid", ["empty"]),
        ("tb & 3", "invalid", ["'&'", "and"]),
        ("tb between 3", "invalid", ["between LOW and HIGH"]),
        ("foo(tb) > 3", "not-found", ["unknown function foo"]),
        ("name = 'open", "invalid", ["unclosed quote"]),
        ("(" * 5000 + "tb" + ")" * 5000, "invalid", ["nesting"]),
    ],
)
def test_errors_say_where(repo: icecore.Repo, clause: str, kind: str, words: list[str]) -> None:
    with pytest.raises(Error) as caught:
        repo.table("/t").scan(None, clause)
    assert caught.value.kind == kind
    for word in words:
        assert word in str(caught.value)


def test_summaries_are_hidden_and_right(repo: icecore.Repo, data: dict[str, np.ndarray]) -> None:
    assert not any("__summary__" in path for path in repo)
    assert write.state(repo["/t/tb"]) == "fresh"
    zones = write.read(repo["/t/tb"])
    for i in range(-(-N // 4096)):
        part = data["tb"][i * 4096 : (i + 1) * 4096].astype("f8")
        good = part[~np.isnan(part)]
        assert zones["count"][i] == good.size
        assert (zones["min"][i], zones["max"][i]) == (good.min(), good.max())
        assert zones["mean"][i] == pytest.approx(good.mean())
        assert zones["rms"][i] == pytest.approx(np.sqrt((good**2).mean()))
        low, high = zones["intervals"][i].T
        assert all(((low <= v) & (v <= high)).any() for v in good[:200])
    counted = write.read(repo["/t/count"])
    assert counted["count"].sum() == (data["count"] != -999).sum()
    assert counted["min"].min() > -999


def test_summaries_of_a_group_are_together(tmp_path: Path) -> None:
    path = tmp_path / "s.icecore"
    values = {
        "u": np.arange(10_000, dtype="u8") * 7 + 2**63 - 5000,
        "f": np.linspace(-1, 1, 10_000).astype("f2"),
        "b": np.arange(10_000) % 3 == 0,
        "long": np.arange(70_000, dtype="i2"),
    }
    with icecore.create(path).writer() as w:
        for name, data in values.items():
            w.array(f"/t/{name}", data.dtype, data.shape)[...] = data
    # One by one: what is there already stays.
    for name in values:
        assert write.write(icecore.open(path), "/t", [name]) == [f"/t/{name}"]
    repo = icecore.open(path)
    stored = [node for node in repo._nodes.values() if "__summary__" in node.path and node.is_array]
    assert sorted(node.path.rsplit("/", 1)[1] for node in stored) == ["count", "moments", "real", "whole"]
    for name, data in values.items():
        assert write.state(repo[f"/t/{name}"]) == "fresh"
        zones = write.read(repo[f"/t/{name}"])
        parts = [data[at : at + 4096] for at in range(0, data.size, 4096)]
        assert zones["min"].dtype == zones["intervals"].dtype == data.dtype
        assert zones["count"].tolist() == [part.size for part in parts]
        for extreme in ("min", "max"):
            assert zones[extreme].tolist() == [getattr(part, extreme)() for part in parts]
        assert zones["mean"].tolist() == pytest.approx([part.astype("f8").mean() for part in parts])
    table = repo.table("/t", ["u", "f"])
    scan = table.scan(["u"], f"u > {2**63} and f < 0.9")
    assert scan.to_numpy()["u"].tolist() == values["u"][(values["u"] > 2**63) & (values["f"] < 0.9)].tolist()
    scan = table.scan(["u"], f"u >= {int(values['u'][9000])}")
    assert (scan.count(), scan.report()["zones_pruned"]) == (1000, 2)


def test_an_overwritten_column_loses_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "s.icecore"
    values = np.arange(20_000.0)
    with icecore.create(path).writer() as w:
        w.array("/t/a", "f8", values.shape)[...] = values
    assert write.write(icecore.open(path), "/t") == ["/t/a"]
    assert icecore.open(path).table("/t").scan(["a"], "a > 19000").count() == 999
    with icecore.open(path).writer() as w:
        w["/t/a"][:5000] = 1e6
    repo = icecore.open(path)
    assert write.state(repo["/t/a"]) == "stale"
    scan = repo.table("/t").scan(["a"], "a > 19000")
    assert scan.count() == 5999
    assert scan.report()["zones"] == 0
    write.write(repo, "/t/a")
    scan = icecore.open(path).table("/t").scan(["a"], "a > 19000")
    assert (scan.count(), scan.report()["zones"]) == (5999, 5)
    with icecore.open(path).writer() as w:
        w["/t/a"].append(np.full(10, 5e6))
    assert icecore.open(path).table("/t").scan(["a"], "a > 19000").count() == 6009


def test_what_is_no_table(repo: icecore.Repo, tmp_path: Path) -> None:
    with pytest.raises(Error, match="is an array"):
        repo.table("/t/tb")
    path = tmp_path / "x.icecore"
    with icecore.create(path).writer() as w:
        w.array("/g/a", "f8", (5,))[...] = 1
        w.array("/g/b", "f8", (6,))[...] = 1
        w.array("/h/a", "f8", (5,))[...] = 1
        w.array("/h/matrix", "f8", (5, 2, 2))[...] = 1
        w.array("/h/z", "c16", (5,))[...] = 1
    other = icecore.open(path)
    with pytest.raises(Error, match="differ in length"):
        other.table("/g")
    with pytest.raises(Error, match="no array that can be a column") as none:
        other.table("/")
    assert none.value.hint == "name a table below it: /g, /h"
    assert list(other.table("/g", ["b"])) == ["b"]
    table = other.table("/h")
    assert (list(table), list(table.left_out)) == (["a"], ["matrix", "z"])
    with pytest.raises(Error, match="3 dimensions"):
        table.scan(["matrix"])
    assert "left out" in repr(table)
    assert "rows" in table._repr_html_()


def test_text_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / "v.icecore"
    words = np.array([f"w{i}" * (i % 5) for i in range(10_000)], object)
    with icecore.create(path).writer() as w:
        w.array("/t/word", str, words.shape, chunks=(1000,))[...] = words
        w.array("/t/i", "i4", words.shape)[...] = np.arange(words.size)
    table = icecore.open(path).table("/t")
    wanted = np.array([word.startswith("w9") for word in words])
    got = table.scan(["i", "word"], "word like 'w9%'").read_all()
    assert got["word"].to_pylist() == words[wanted].tolist()
    got = table.scan(["word"], "i in (17, 9999)").read_all()
    assert got["word"].to_pylist() == [words[17], words[9999]]


def test_times_in_numbers(tmp_path: Path) -> None:
    path = tmp_path / "n.icecore"
    with icecore.create(path).writer() as w:
        attrs = {"units": "seconds since 2018-01-01 00:00:00"}
        w.array("/t/delta_time", "f8", (100,), attrs=attrs)[...] = np.arange(100.0)
    got = icecore.open(path).table("/t").to_numpy(where="delta_time > '2018-01-01T00:01:37.5Z'")
    assert got["delta_time"].tolist() == [98.0, 99.0]


@pytest.mark.parametrize(("dtype", "scale", "offset"), [("i4", 0.5, 0), ("i2", 2, -40.0), ("f8", 0.25, 7)])
def test_times_in_packed_numbers(tmp_path: Path, dtype: str, scale: float, offset: float) -> None:
    """A time is compared with what the numbers stand for."""
    path = tmp_path / "n.icecore"
    attrs = {"units": "seconds since 2018-01-01", "scale_factor": scale, "add_offset": offset}
    with icecore.create(path).writer() as w:
        w.array("/t/time", dtype, (100,), attrs=attrs)[...] = np.arange(100)
    stands = np.arange(100) * scale + offset
    clause = "time between '2018-01-01T00:00:09.5' and '2018-01-01T00:00:20'"
    got = icecore.open(path).table("/t").to_numpy(where=clause)
    np.testing.assert_array_equal(got["time"], np.flatnonzero((stands >= 9.5) & (stands <= 20)))


def test_times_of_other_calendars_are_refused(tmp_path: Path) -> None:
    """The days of a clause are not theirs: other rows would come out."""
    path = tmp_path / "n.icecore"
    attrs = {"units": "days since 2001-01-01", "calendar": "noleap"}
    with icecore.create(path).writer() as w:
        w.array("/t/time", "f8", (2000,), attrs=attrs)[...] = np.arange(2000)
    table = icecore.open(path).table("/t")
    with pytest.raises(Error, match="'2005-01-01' is a string") as refused:
        table.scan(where="time > '2005-01-01'")
    assert (refused.value.kind, "noleap" in refused.value.hint) == ("dtype", True)
    assert table.reduce("count", "time > 1460") == [{"count": 539}]


def test_odd_arguments_are_errors_that_say_so(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        for name in ("lon", "lat"):
            w.array(f"/t/{name}", "f8", (3,))[...] = [1.0, 2.0, 3.0]
    repo = icecore.open(tmp_path / "r.icecore")
    t = repo.table("/t")
    assert t.scan((name for name in ("lat", "lon")), limit=2**70).read_all().column_names == ["lat", "lon"]
    assert list(t.to_numpy(["lon", "lon"])) == ["lon"]
    wrong: list[tuple[Any, str, str]] = [
        (lambda: t.scan("lon"), "invalid", "columns=['lon']"),
        (lambda: t.scan([3]), "invalid", "columns=['3']"),  # type: ignore[list-item]
        (lambda: repo.table("/t", "lon"), "invalid", "columns=['lon']"),
        (lambda: t.scan(where=3), "invalid", "for example"),  # type: ignore[arg-type]
        (lambda: t.scan(memory=-1), "invalid", "0 or more"),
        (lambda: t["height"], "not-found", "there are lat, lon"),
        (lambda: t[None], "invalid", "columns="),  # type: ignore[index]
        (lambda: t.scan(["lon", "lon"]), "invalid", "once"),
        (lambda: t.scan(3), "invalid", "columns=['3']"),  # type: ignore[arg-type]
        (lambda: t.scan([b"lon"]), "invalid", "columns=['lon']"),  # type: ignore[list-item]
        (lambda: t.scan(limit="3"), "invalid", "0 or more"),  # type: ignore[arg-type]
        (lambda: t.scan(limit=3.5), "invalid", "0 or more"),  # type: ignore[arg-type]
        (lambda: t.scan(memory=[1]), "invalid", "0 or more"),  # type: ignore[arg-type]
        (lambda: t.scan(prune="no"), "invalid", "prune=False"),  # type: ignore[arg-type]
        (lambda: t.scan(source=3), "invalid", "glob"),  # type: ignore[arg-type]
        (lambda: repo.table(None), "invalid", "name an array or a group"),  # type: ignore[arg-type]
        (lambda: repo[tmp_path], "invalid", "name an array or a group"),  # type: ignore[index]
    ]
    for ask, kind, hint in wrong:
        with pytest.raises(Error) as error:
            ask()
        assert error.value.kind == kind
        assert hint in error.value.hint
