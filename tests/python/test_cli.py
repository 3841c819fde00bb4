"""The command line: what it prints, where, and how it ends."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.export import save
from icecore.repository import selection

RNG = np.random.default_rng(17)
T = RNG.normal(280, 5, (20, 6, 8)).astype("f4")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "r.icecore"
    dims = ("time", "lat", "lon")
    with icecore.create(path).writer(message="first") as w:
        w.group("/g", {"title": "test"})
        a = w.array(
            "/g/t", "f4", T.shape, dims, chunks=(5, 6, 8), attrs={"units": "K", "_FillValue": "AAAAAAAA+H8="}
        )
        a[...] = T
        w.array("/g/time", "f8", (20,), ("time",), attrs={"units": "days since 2001-01-01"})[...] = (
            np.arange(20) / 2
        )
        w.array("/g/lat", "f8", (6,), ("lat",))[...] = np.linspace(-50, 50, 6)
        w.array("/names", str, (3,), ("n",))[...] = np.array(["a", "b,c", 'd"'], "O")
        w.array("/flag", "?", (4,))[...] = [True, False, True, True]
        w.array("/z", "c8", (2,))[...] = [1 + 2j, 3 - 4j]
        w.array("/day", "M8[D]", (2,))[...] = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    icecore.open(path).tag("v1")
    with icecore.open(path).writer(message="second") as w:
        w["/flag"][0] = False
    return str(path)


def test_help_is_complete_and_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-m", "icecore", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for verb in [
        "demo",
        "link",
        "pack",
        "ls",
        "info",
        "read",
        "explain",
        "plot",
        "log",
        "diff",
        "tag",
        "branch",
        "gc",
        "verify",
    ]:
        assert f"  {verb} " in done.stdout
    heavy = ("h5py", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "xarray", "zarr")
    code = f"import sys, icecore.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_version(run: Any) -> None:
    assert run("--version") == (0, f"icecore {icecore.__version__}\n", "")


def test_ls(run: Any, repo: str) -> None:
    status, out, err = run("ls", repo)
    assert (status, err) == (0, "")
    assert "(time: 20, lat: 6, lon: 8)" in out
    status, out, _ = run("ls", repo, "/g", "--json")
    nodes = json.loads(out)
    assert [node["path"] for node in nodes] == ["/g/lat", "/g/t", "/g/time"]
    assert nodes[1] == {
        "path": "/g/t",
        "type": "array",
        "dtype": "float32",
        "shape": [20, 6, 8],
        "dims": ["time", "lat", "lon"],
    }
    assert run("ls", repo, "/g/t")[1].split() == [
        "/g/t",
        "float32",
        "(time:",
        "20,",
        "lat:",
        "6,",
        "lon:",
        "8)",
    ]


def test_info(run: Any, repo: str) -> None:
    status, out, _ = run("info", repo, "/g/t")
    assert status == 0
    for word in ("float32", "(5, 6, 8)", "ratio", "units", "codecs"):
        assert word in out
    facts = json.loads(run("info", repo, "/g/t", "--json")[1])
    assert facts["shape"] == [20, 6, 8]
    assert facts["attributes"]["units"] == "K"
    assert facts["references"]["missing"] == 0
    facts = json.loads(run("info", repo, "--json")[1])
    manifests = facts["manifests"]
    stored = [path.stat().st_size for path in (Path(repo) / "manifests").iterdir()]
    assert 0 < manifests["bytes"] <= sum(stored)
    live = sum(array.storage.references for array in icecore.open(repo).arrays.values())
    # The first version's manifest, which all arrays share, still holds the replaced reference of /flag.
    assert manifests["references"] == live + 1
    assert "chunk reference" in run("info", repo)[1]
    assert facts["arrays_below"] == 7
    for path in ("/names", "/flag", "/z", "/day", "/g"):
        assert run("info", repo, path)[0] == 0
        json.loads(run("info", repo, path, "--json")[1])


@pytest.mark.parametrize(
    ("text", "sel"),
    [
        (None, ...),
        ("0:10, :, ::4", np.s_[0:10, :, ::4]),
        ("time=0:10, lat=3", np.s_[0:10, 3]),
        ("-1", -1),
        ("-3:, ..., 0", np.s_[-3:, ..., 0]),
        ("[1,5,9], 3", np.s_[[1, 5, 9], 3]),
        ("::-1", np.s_[::-1]),
        ("3,4,5", np.s_[3, 4, 5]),
    ],
)
def test_read(run: Any, repo: str, text: str | None, sel: object) -> None:
    arguments = ["read", repo, "/g/t", *([text] if text else []), "--json"]
    status, out, _ = run(*arguments)
    assert status == 0
    facts = json.loads(out)
    np.testing.assert_array_equal(np.array(facts["data"], "f4"), T[sel])
    assert facts["shape"] == list(np.shape(T[sel]))


def test_read_prints(run: Any, repo: str) -> None:
    status, out, err = run("read", repo, "/g/t", "0")
    assert (status, err) == (0, "")
    assert "/g/t  float32  (6, 8)" in out
    assert f"min {T[0].min()!s}  max {T[0].max()!s}" in out
    for path in ("/names", "/flag", "/z", "/day"):
        assert run("read", repo, path)[0] == 0
        json.loads(run("read", repo, path, "--json")[1])
    assert json.loads(run("read", repo, "/z", "--json")[1])["data"] == [[1, 2], [3, -4]]


def test_read_leaves_missing_values_out_and_says_what_is_packed(run: Any, tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        sea = {"_FillValue": 1e20, "units": "degC"}
        w.array("/sst", "f4", (4,), attrs=sea)[...] = [1e20, 0.1, 0.3, np.nan]
        scaled = {"scale_factor": float(np.float32(0.01)), "add_offset": 273.15, "units": "K"}
        w.array("/t", "i2", (2,), attrs=scaled)[...] = [-100, 100]
    status, out, err = run("read", tmp_path / "r", "/sst")
    assert (status, err) == (0, "")
    assert out.splitlines()[1] == "min 0.1  max 0.3  mean 0.2 degC  finite 2  missing 1"
    facts = json.loads(run("read", tmp_path / "r", "/sst", "--json")[1])
    assert (facts["finite"], facts["missing"], facts["max"]) == (2, 1, float(np.float32(0.3)))
    status, out, err = run("read", tmp_path / "r", "/t")
    assert out.splitlines()[1] == "min -100  max 100  mean 0.0"
    assert "/t is stored as (value - 273.15) / 0.01; the stored numbers are used" in err
    assert "is stored as" in run("read", tmp_path / "r", "/t", "-o", tmp_path / "t.npy")[2]
    assert "is stored as" not in run("read", tmp_path / "r", "/t", "-o", tmp_path / "t.nc")[2]


def test_read_to_npy(run: Any, repo: str, tmp_path: Path) -> None:
    status, out, err = run("read", repo, "/g/t", "::2", "-o", tmp_path / "t.npy")
    assert (status, out) == (0, "")
    assert "t.npy" in err
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), T[::2])
    run("read", repo, "/names", "-o", tmp_path / "n.npy")
    assert np.load(tmp_path / "n.npy").tolist() == ["a", "b,c", 'd"']
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n.npy", "t.npy"]


def test_read_to_csv(run: Any, repo: str, tmp_path: Path) -> None:
    assert run("read", repo, "/g/t", "time=4:6, lat=3", "-o", tmp_path / "t.csv")[0] == 0
    rows = list(csv.reader((tmp_path / "t.csv").open()))
    assert rows[0] == ["time", "lat", "lon", "t"]
    assert len(rows) == 1 + 2 * 8
    for time_, lat, lon, value in rows[1:]:
        assert np.float32(value) == T[int(time_), int(lat), int(lon)]
    assert run("read", repo, "/names", "-o", tmp_path / "n.csv")[0] == 0
    assert [row[1] for row in csv.reader((tmp_path / "n.csv").open())] == ["names", "a", "b,c", 'd"']


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("sel", ["4:6, :, 1", "3, [0, 2], ::-1", "0:0", "1, 2, 0"])
def test_read_to_a_file_block_by_block(
    repo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, sel: str
) -> None:
    pytest.importorskip("pyarrow")
    array = icecore.open(repo)["/g/t"]
    index = selection.parse(sel, array.dims)
    save.save(array, index, str(tmp_path / f"one.{suffix}"))
    monkeypatch.setattr(save, "_ROWS", 7)
    blocks = [len(block["t"]) for block in save.columns(array, index, array.read(index))]
    assert sum(blocks) == array.read(index).size
    assert max(blocks) <= 7
    save.save(array, index, str(tmp_path / f"many.{suffix}"))
    if suffix == "csv":
        assert (tmp_path / "many.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    else:
        pq = pytest.importorskip("pyarrow.parquet")
        assert pq.read_table(tmp_path / "many.parquet") == pq.read_table(tmp_path / "one.parquet")


def test_read_to_parquet(run: Any, repo: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    assert run("read", repo, "/g/t", "-o", tmp_path / "t.parquet")[0] == 0
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.column_names == ["time", "lat", "lon", "t"]
    np.testing.assert_array_equal(table["t"].to_numpy(), T.ravel())
    np.testing.assert_array_equal(table["lon"].to_numpy(), np.indices(T.shape)[2].ravel())
    assert run("read", repo, "/names", "-o", tmp_path / "n.parquet")[0] == 0
    status, _, err = run("read", repo, "/z", "-o", tmp_path / "z.parquet")
    assert status == 2
    assert "error[dtype]" in err


def test_read_to_netcdf(run: Any, repo: str, tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    assert run("read", repo, "/g/t", "time=3:9, lon=::2", "-o", tmp_path / "t.nc")[0] == 0
    with (
        xr.open_dataset(tmp_path / "t.nc", engine="netcdf4") as got,
        xr.open_dataset(repo, engine="icecore", group="/g") as ds,
    ):
        expected = ds[["t"]].isel(time=slice(3, 9), lon=slice(None, None, 2))
        xr.testing.assert_identical(got, expected)
    for path in ("/names", "/flag", "/day", "/g/lat"):
        target = tmp_path / (path.replace("/", "_") + ".nc")
        assert run("read", repo, path, "-o", target)[0] == 0
        with xr.open_dataset(target, engine="netcdf4") as got:
            want = icecore.open(repo)[path][...]
            np.testing.assert_array_equal(got[path.rsplit("/", 1)[-1]].values.astype(want.dtype), want)


def test_read_to_hdf5(run: Any, repo: str, tmp_path: Path) -> None:
    assert run("read", repo, "/g/t", "time=3", "-o", tmp_path / "t.h5")[0] == 0
    with h5py.File(tmp_path / "t.h5") as file:
        np.testing.assert_array_equal(file["t"][...], T[3])
        assert file["t"].attrs["units"] == "K"
        assert file["t"].dims[0][0].name == "/lat"
        np.testing.assert_array_equal(file["lat"][...], np.linspace(-50, 50, 6))
    assert run("read", repo, "/z", "-o", tmp_path / "z.h5")[0] == 0
    with h5py.File(tmp_path / "z.h5") as file:
        assert file["z"][...].tolist() == [1 + 2j, 3 - 4j]


def test_explain(run: Any, repo: str) -> None:
    status, out, _ = run("explain", repo, "/g/t", "time=0")
    assert status == 0
    assert "requests" in out
    plan = json.loads(run("explain", repo, "/g/t", "time=0", "--json")[1])
    assert plan["chunks"] == 1
    assert plan["bytes_out"] == T[0].nbytes


def test_messages_of_several_lines(run: Any, tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer(message="title\r\n\nbody, first\nbody, second\n") as w:
        w.array("/x", "i4", (2,))[...] = [1, 2]
    lines = run("log", tmp_path / "r")[1].splitlines()
    column = lines[0].index("title")
    assert lines[0][column:] == "title  (main)"
    assert lines[1:4] == ["", " " * column + "body, first", " " * column + "body, second"]
    assert len(lines) == 5


def test_versions(run: Any, repo: str) -> None:
    status, out, _ = run("log", repo)
    assert status == 0
    assert out.index("second") < out.index("first")
    assert "(v1)" in out
    assert len(json.loads(run("log", repo, "-n", 1, "--json")[1])) == 1
    assert run("diff", repo, "v1")[1] == "~ /flag: 1 chunk written, 4 elements\n    [0:4]\n"
    assert json.loads(run("diff", repo, "v1", "main", "--json")[1])["new_arrays"] == []
    assert run("diff", repo, "main")[1] == "no difference\n"
    assert run("tag", f"{repo}@v1", "again")[0] == 0
    assert set(json.loads(run("tag", repo, "--json")[1])) == {"v1", "again"}
    assert run("tag", repo, "again", "--delete")[0] == 0
    assert run("branch", f"{repo}@v1", "side")[0] == 0
    assert "side" in run("branch", repo)[1]
    assert run("branch", repo, "side", "--delete")[0] == 0
    for verb in ("tag", "branch"):
        assert run(verb, repo, "other")[0] == 0
        status, out, told = run(verb, repo, "other", "--delete", "--json")
        assert (status, json.loads(out), told) == (0, {verb: "other", "deleted": True}, "")
    assert json.loads(run("read", f"{repo}@v1", "/flag", "--json")[1])["data"][0] is True
    assert json.loads(run("read", repo, "/flag", "--json")[1])["data"][0] is False


def test_gc(run: Any, repo: str) -> None:
    status, out, _ = run("gc", repo, "--dry-run", "--older-than", "0s", "--json")
    assert status == 0
    assert json.loads(out)["dry_run"] is True
    assert run("gc", repo)[0] == 0
    assert run("gc", repo, "--older-than", "1.5d")[0] == run("gc", repo, "--older-than", "2w")[0] == 0
    assert "error[invalid]" in run("gc", repo, "--older-than", "soon")[2]
    assert "--poll need a directory to watch" in run("pack", "x.npy", "--into", repo, "--poll", "5m")[2]


def granule(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
        file.create_dataset("s", data=["a", "b"], dtype=h5py.string_dtype())


def test_link(run: Any, tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    into = tmp_path / "r.icecore"
    status, out, _ = run("link", tmp_path / "g.h5", "--into", into, "--dry-run")
    assert status == 0
    assert "linked" in out
    assert "copied" in out
    assert "dry run" in out
    assert not into.exists()
    assert run("link", tmp_path / "g.h5", "--into", into, "--group", "/p", "-m", "mine")[0] == 0
    assert icecore.open(into).log(1)[0].message == "mine"
    status, _, err = run("link", tmp_path / "g.h5", "--into", into, "--group", "/p")
    assert status == 2
    assert err.startswith("icecore: error[exists]: ")
    assert "\n  try: " in err
    assert run("link", tmp_path / "g.h5", "--into", into, "--group", "/p", "--skip-existing")[0] == 0
    report = json.loads(run("link", tmp_path / "g.h5", "--into", into, "--json")[1])
    assert {row["path"]: row["how"] for row in report["arrays"]} == {"/g/x": "linked", "/g/s": "copied"}


def test_one_bad_file(run: Any, tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    (tmp_path / "bad.h5").write_bytes(b"no")
    into = tmp_path / "r.icecore"
    status, _, err = run("link", tmp_path / "bad.h5", tmp_path / "g.h5", "--into", into)
    assert status == 2
    assert "bad.h5" in err
    assert not into.exists()
    status, out, err = run("link", tmp_path / "bad.h5", tmp_path / "g.h5", "--into", into, "--keep-going")
    assert status == 2
    assert "error[format]" in err
    assert "/g/x" in out
    assert "/g/x" in icecore.open(into)


def test_pack(run: Any, tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    into = tmp_path / "r.icecore"
    arguments = ["--chunk", "50", "--shard", "200", "--codec", "zstd:9", "--memory", "100MB"]
    report = json.loads(run("pack", tmp_path / "g.h5", "--into", into, *arguments, "--json")[1])
    assert report["bytes_raw"] == 8000 + 16
    a = icecore.open(into)["/g/x"]
    assert (a.chunks, a.shards) == ((50,), (200,))
    assert a[...].tolist() == list(range(1000))
    status, out, _ = run(
        "pack", f"{into}:/g", "--into", into, "--group", "/again", "--chunk", "phony_dim_0=20"
    )
    assert status == 0
    assert "packed" in out
    assert "snapshot" in out
    assert "error[invalid]" in run("pack", tmp_path / "g.h5", "--into", into, "--chunk", "many")[2]


def test_verify(run: Any, tmp_path: Path) -> None:
    granule(tmp_path / "g.h5")
    into = tmp_path / "r.icecore"
    run("link", tmp_path / "g.h5", "--into", into)
    assert run("verify", into)[0] == 0
    status, out, _ = run("verify", into, "--deep", "--json")
    assert (status, json.loads(out)["problems"]) == (0, [])
    (tmp_path / "g.h5").unlink()
    status, out, _ = run("verify", into)
    assert status == 1
    assert "source-missing" in out
    assert "g.h5" in out
    assert json.loads(run("verify", into, "--json")[1])["problems"]


def test_verify_history(run: Any, tmp_path: Path) -> None:
    """A file that an older version alone needs is looked at with --history, and named."""
    into = tmp_path / "r.icecore"
    with icecore.create(into).writer() as writer:
        writer.array("/x", "i8", (30_000,), codec="none")[...] = range(30_000)
    old = next((into / "chunks").iterdir())
    with icecore.open(into).writer() as writer:
        writer.delete("/x")
    assert run("verify", into, "--history")[0] == 0
    old.write_bytes(old.read_bytes()[:-1])
    assert run("verify", into, "--deep")[0] == 0
    status, out, _ = run("verify", into, "--history")
    assert (status, f"corrupt: chunks/{old.name}: " in out, "hint: " in out) == (1, True, True)
    newest = icecore.open(into).snapshot_id
    (into / "transactions" / newest).write_bytes(b"nonsense")
    status, out, _ = run("verify", into)
    assert (status, f"corrupt: transactions/{newest}: " in out) == (1, True)
    (into / "seals" / newest).unlink()
    _, out, _ = run("verify", into, "--history", "--json")
    assert json.loads(out)["unsealed"] == [newest]
    assert f"seals/ID): {newest}" in run("verify", into, "--history")[2]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["read", "REPO", "/nope"], "not-found"),
        (["read", "REPO", "/g/t", "99"], "selection"),
        (["read", "REPO", "/g/t", "depth=1"], "selection"),
        (["read", "REPO", "/g/t", "1.5"], "selection"),
        (["read", "REPO", "/g/t", "-o", "x.docx"], "unsupported"),
        (["read", "REPO", "/g/t", "--rtol", "-1"], "invalid"),
        (["read", "REPO", "/g/t", "--rtol", "0.1", "--bytes", "2"], "invalid"),
        (["read", "REPO", "/g"], "not-found"),
        (["ls", "no/such.icecore"], "not-found"),
        (["ls", "REPO@nope"], "not-found"),
        (["info", "REPO", "/g/tt"], "not-found"),
        (["link", "missing.h5", "--into", "x.icecore"], "source-missing"),
        (["link", "--into", "x.icecore"], "invalid"),
        (["ls", "REPO", "--storage", "region"], "invalid"),
        (["frobnicate"], "invalid"),
        (["read", "REPO", "/g/t", "--rtol", "nan"], "invalid"),
        (["read", "REPO", "/g/t", "--bytes", "99"], "invalid"),
        (["read", "REPO", "/g/t", "--bytes", "-1"], "invalid"),
        (["explain", "REPO", "/g/t", "--bytes", "99"], "invalid"),
        (["read", "REPO", "/__icecore__"], "not-found"),
        (["plot", "REPO", "/names", "-o", "x.png"], "dtype"),
        (["plot", "REPO", "/g/lat", "-o", "no/such/folder/x.png"], "not-found"),
        (["pack", "REPO:/g/t", "--into", "x.icecore", "--codec", "zstd:99"], "format"),
        (["pack", "REPO:/g/t", "--into", "x.icecore", "--codec", "gzip:12"], "format"),
        (["pack", "REPO:/g/t", "--into", "x.icecore", "--codec", "blosc:10"], "format"),
        (["pack", "REPO:/g/t", "--into", "x.icecore", "--memory", "0"], "invalid"),
        (["pack", "REPO:/g/t", "--into", "x.icecore", "--memory", "9" * 23], "invalid"),
        (["pack", "--follow", ".", "--into", "x.icecore", "--poll", "9" * 23], "invalid"),
        (["log", "REPO", "-n", "0"], "invalid"),
        (["pack", "REPO:/g/t", "--into", "/proc/x.icecore"], "io"),
        (["branch", "REPO", "main"], "exists"),
        (["branch", "REPO", "--delete", "main"], "invalid"),
        (["branch", "REPO", "--delete", "nope"], "not-found"),
        (["tag", "REPO", "--delete", "nope"], "not-found"),
        (["demo", "/proc/x"], "io"),
        (["ls", "--wrong"], "invalid"),
    ],
)
def test_errors(run: Any, repo: str, arguments: list[str], kind: str) -> None:
    status, out, err = run(*(item.replace("REPO", repo) for item in arguments))
    assert (status, out) == (2, "")
    assert err.startswith(f"icecore: error[{kind}]: ")
    assert "Traceback" not in err
    assert "\n  try: " in err


def test_numbers_of_any_size(run: Any, repo: str) -> None:
    many = "9" * 23
    assert len(json.loads(run("log", repo, "-n", many, "--json")[1])) == len(icecore.open(repo).log())
    assert json.loads(run("gc", repo, "--dry-run", "--older-than", many, "--json")[1])["objects"] == 0
    with pytest.raises(icecore.Error, match="a limit of -1 commits"):
        icecore.open(repo).log(-1)


def test_debug_shows_the_traceback(repo: str) -> None:
    command = [sys.executable, "-m", "icecore", "ls", repo, "/nope"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    done = subprocess.run([*command, "--debug"], capture_output=True, text=True)
    assert "Traceback" in done.stderr


def test_output_that_nobody_reads(repo: str) -> None:
    command = f"{sys.executable} -m icecore read {repo} /g/t --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""
