"""Work on a Dask cluster of processes: results equal those of one machine, also if a worker is killed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.cluster.connection import connected
from icecore.errors import Error
from icecore.ingest.write import cluster_pack
from icecore.samples.gwf import write_frame
from icecore.tables.query import scan
from icecore.writing.fork import Chunks, Fork

distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")

FIELD = np.random.default_rng(0).normal(size=(200, 120, 60)).cumsum(0).astype("f4")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two workers, which are processes of one thread."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tasks from little data."""
    monkeypatch.setattr(cluster_pack, "_LEAST", 256 << 10)
    monkeypatch.setattr(cluster_pack, "_BOX", 256 << 10)
    monkeypatch.setattr(scan, "RANGE", 256 << 10)


@pytest.fixture
def source(tmp_path: Path) -> str:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("field", data=FIELD, chunks=(20, 50, 60), compression="gzip")
        file["field"].attrs["units"] = "K"
        file["plain"] = np.arange(200_000.0)
        file["scalar"] = 7
        file.create_dataset("sparse", shape=(1000, 400), dtype="i4", chunks=(100, 100), fillvalue=-1)
        file["sparse"][150:160, 10:20] = 5
        file["names"] = ["a", "bc", "ü"]
        for i in range(5):
            file[f"group/x{i}"] = np.arange(1000 * (i + 1))
    return str(tmp_path / "a.h5")


def same(one: Path, many: Path) -> icecore.Repo:
    """Compare two repositories: nodes, documents and elements; return the second."""
    a, b = icecore.open(one), icecore.open(many)
    assert sorted(a._nodes) == sorted(b._nodes)
    for path, node in a._nodes.items():
        assert node.document == b._nodes[path].document, path
    for path, array in a.arrays.items():
        np.testing.assert_array_equal(array.read(), b[path].read(), path)
        assert array._native.held()[1].tolist() == b[path]._native.held()[1].tolist(), path
    return b


def test_pack_equals_one_machine(tmp_path: Path, source: str, client: Any) -> None:
    seen: list[tuple[str, int, int]] = []
    how: dict[str, Any] = {"codec": "zstd"}
    one = icecore.pack(source, tmp_path / "one.icecore", **how)
    many = icecore.pack(
        source, tmp_path / "many.icecore", client=client, progress=lambda *a: seen.append(a), **how
    )
    repo = same(tmp_path / "one.icecore", tmp_path / "many.icecore")
    assert len(repo.log()) == 2, "one commit"
    assert many.bytes_stored == one.bytes_stored
    assert [(r.path, r.chunks, r.raw) for r in many.rows] == [(r.path, r.chunks, r.raw) for r in one.rows]
    assert seen[-1][1] == seen[-1][2] == sum(row.raw for row in many.rows)


def test_a_large_array_is_several_tasks(tmp_path: Path, client: Any) -> None:
    np.save(tmp_path / "x.npy", FIELD)
    done: list[str] = []
    how: dict[str, Any] = {"codec": "zstd", "chunk": (10, 120, 60), "shard": (20, 120, 60)}
    icecore.pack(tmp_path / "x.npy", tmp_path / "one.icecore", **how)
    icecore.pack(
        tmp_path / "x.npy",
        tmp_path / "many.icecore",
        client=client,
        progress=lambda path, *_: done.append(path),
        **how,
    )
    same(tmp_path / "one.icecore", tmp_path / "many.icecore")
    assert len(done) == 10, "one task for each shard"


def test_a_killed_worker_changes_nothing(tmp_path: Path, client: Any) -> None:
    np.save(tmp_path / "x.npy", FIELD)
    how: dict[str, Any] = {"codec": "zstd:15", "chunk": (4, 120, 60), "shard": (4, 120, 60)}
    icecore.pack(tmp_path / "x.npy", tmp_path / "one.icecore", **how)
    killed: list[int] = []

    def kill(path: str, done: int, total: int) -> None:
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    icecore.pack(tmp_path / "x.npy", tmp_path / "many.icecore", client=client, progress=kill, **how)
    assert killed
    client.wait_for_workers(2)
    repo = same(tmp_path / "one.icecore", tmp_path / "many.icecore")
    assert len(repo.log()) == 2, "one commit"


def test_auto_codecs_and_replace(tmp_path: Path, client: Any) -> None:
    np.save(tmp_path / "x.npy", FIELD)
    place = tmp_path / "r.icecore"
    icecore.pack(tmp_path / "x.npy", place, client=client)
    np.testing.assert_array_equal(icecore.open(place)["/x/x"].read(), FIELD)
    changed = FIELD.copy()
    changed[:3] += 1
    np.save(tmp_path / "x.npy", changed)
    icecore.pack(tmp_path / "x.npy", place, client=client, replace=True)
    np.testing.assert_array_equal(icecore.open(place)["/x/x"].read(), changed)


def test_replaced_chunks_that_are_equal_are_kept(tmp_path: Path, client: Any) -> None:
    np.save(tmp_path / "x.npy", FIELD)
    how: dict[str, Any] = {"codec": "zstd", "chunk": (20, 120, 60), "shard": (20, 120, 60)}
    icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore", client=client, **how)
    changed = FIELD.copy()
    changed[25] += 1
    np.save(tmp_path / "x.npy", changed)
    report = icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore", client=client, replace=True, **how)
    assert [(row.chunks, row.why) for row in report.rows] == [(1, "9 chunks as before")]
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/x/x"].read(), changed)


def test_arrays_in_memory_and_repositories(tmp_path: Path, client: Any) -> None:
    icecore.pack({"x": FIELD}, tmp_path / "a.icecore", group="/", codec="zstd", client=client)
    np.testing.assert_array_equal(icecore.open(tmp_path / "a.icecore")["/x"].read(), FIELD)
    icecore.pack(str(tmp_path / "a.icecore"), tmp_path / "b.icecore", codec="lz4", client=client)
    np.testing.assert_array_equal(icecore.open(tmp_path / "b.icecore")["/x"].read(), FIELD)


def test_append(tmp_path: Path, client: Any) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = FIELD
    for place, how in (("one", {}), ("many", {"client": client})):
        for append in (False, True):
            options: dict[str, Any] = {"concat": "phony_dim_0", "append": append, "codec": "zstd", **how}
            icecore.pack(tmp_path / "a.h5", tmp_path / f"{place}.icecore", group="/", **options)
    same(tmp_path / "one.icecore", tmp_path / "many.icecore")


def test_text_tables(tmp_path: Path, client: Any) -> None:
    names = []
    for i in range(4):
        names.append(str(tmp_path / f"t{i}.csv"))
        rows = "".join(f"{k},{k * 0.5 + i},x{k % 7}\n" for k in range(9000))
        Path(names[-1]).write_text("a,b,c\n" + rows)
    icecore.pack(names, tmp_path / "one.icecore")
    report = icecore.pack(names, tmp_path / "many.icecore", client=client)
    repo = same(tmp_path / "one.icecore", tmp_path / "many.icecore")
    assert report.rows
    assert repo.table("/t2").reduce("count, max:b") == [{"count": 9000, "max:b": 4501.5}]


def test_link_equals_one_machine(tmp_path: Path, client: Any) -> None:
    names = []
    for i in range(12):
        names.append(str(tmp_path / f"f{i:02}.h5"))
        with h5py.File(names[-1], "w") as file:
            file.create_dataset("x", data=FIELD[i * 10 : i * 10 + 10], chunks=(5, 60, 60))
    icecore.link(names, tmp_path / "one.icecore", group="/", concat="phony_dim_0")
    icecore.link(names, tmp_path / "many.icecore", group="/", concat="phony_dim_0", client=client)
    repo = same(tmp_path / "one.icecore", tmp_path / "many.icecore")
    np.testing.assert_array_equal(repo["/x"].read(), FIELD[:120])
    assert repo["/x"].linked


def test_frames(tmp_path: Path, client: Any) -> None:
    rate, data = 4096, np.random.default_rng(4).normal(size=24 * 4096)
    for i in range(24):
        part = {"H1:A": (data[i * rate : (i + 1) * rate], float(rate)), "H1:B": (np.arange(16.0) + i, 16.0)}
        write_frame(tmp_path / f"H-T-{10**9 + i}-1.gwf", 10**9 + i, part)
    for verb, how in ((icecore.link, {}), (icecore.pack, {"codec": "zstd"})):
        name = verb.__name__
        verb(str(tmp_path / "*.gwf"), tmp_path / f"{name}-one.icecore", **how)
        verb(str(tmp_path / "*.gwf"), tmp_path / f"{name}-many.icecore", client=client, **how)
        repo = same(tmp_path / f"{name}-one.icecore", tmp_path / f"{name}-many.icecore")
        np.testing.assert_array_equal(repo["/H1/A"].read(), data)


def test_damage_is_reported_as_on_one_machine(tmp_path: Path, source: str, client: Any) -> None:
    with h5py.File(source) as file:
        info = file["field"].id.get_chunk_info(3)
    data = bytearray(Path(source).read_bytes())
    data[info.byte_offset + 2 : info.byte_offset + 400] = bytes(398)
    Path(source).write_bytes(data)
    with pytest.raises(Error) as error:
        icecore.pack(source, tmp_path / "a.icecore", client=client, codec="zstd")
    assert error.value.kind == "corrupt"
    assert not (tmp_path / "a.icecore").exists()
    one = icecore.pack(source, tmp_path / "one.icecore", codec="zstd", keep_going=True)
    many = icecore.pack(source, tmp_path / "many.icecore", client=client, codec="zstd", keep_going=True)
    assert [f.name for f in many.failures] == [f.name for f in one.failures] == ["/a/field"]
    same(tmp_path / "one.icecore", tmp_path / "many.icecore")


def test_a_missing_source_and_wrong_options(tmp_path: Path, client: Any) -> None:
    np.save(tmp_path / "x.npy", FIELD)
    for options, kind in (
        ({"sources": tmp_path / "x.npy", "into": "memory://a"}, "invalid"),
        ({"sources": tmp_path / "no.npy", "into": tmp_path / "a.icecore"}, "source-missing"),
    ):
        with pytest.raises(Error) as error:
            icecore.pack(**options, client=client)
        assert error.value.kind == kind


def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Error) as error, connected(7):
        pass
    assert error.value.kind == "invalid"
    monkeypatch.setattr("icecore.cluster.connection._PATIENCE", 0.5)
    with pytest.raises(Error) as error, connected("tcp://127.0.0.1:9"):
        pass
    assert error.value.kind == "network"
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Error) as error, connected("tcp://127.0.0.1:9"):
        pass
    assert error.value.kind == "unsupported"
    assert "icecore-archive[dask]" in error.value.hint


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icecore.cluster.connection._PATIENCE", 0.5)
    options = {"n_workers": 0, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as empty,
        pytest.raises(Error) as error,
        connected(empty.scheduler_address),
    ):
        pass
    assert error.value.kind == "network"
    assert "no workers" in error.value.message


def test_workers_without_this_version(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(dask_worker: Any) -> None:
        raise ModuleNotFoundError("No module named 'icecore'")

    for answer, word in ((lambda dask_worker: ("0.0.0", 1), "0.0.0"), (missing, "No module named")):
        monkeypatch.setattr("icecore.cluster.connection.version_and_threads", answer)
        with pytest.raises(Error) as error, connected(client):
            pass
        assert error.value.kind == "unsupported"
        assert word in error.value.message


def test_a_task_that_kills_its_workers() -> None:
    import dask

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options) as local,
        distributed.Client(local) as client,
        connected(client) as cluster,
    ):
        [(_, result)] = cluster.in_order(os._exit, [1])
        with pytest.raises(Error) as error:
            result()
    assert error.value.kind == "io"
    assert "worker died" in error.value.message


@pytest.mark.parametrize("count", [1, 2, 8, 9, 65, 130])
def test_the_tree_keeps_the_order(client: Any, count: int) -> None:
    with connected(client) as cluster:
        joined = cluster.reduced(
            lambda i: [i], lambda parts: [i for part in parts for i in part], range(count)
        )
        assert joined == list(range(count))
        assert cluster.reduced(lambda i: [i], lambda parts: [i for part in parts for i in part], []) is None


def test_chunks_that_do_not_fit_are_rejected(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "a.icecore").writer() as writer:
        writer.array("/x", "f4", (4,), chunks=(2,), shards=(2,), codec="none")
        for place in ((2, bytes(12), 0, 8), (0, bytes(5), 0, 8), (0, bytes(12), 2**64 - 1, 8)):
            with pytest.raises(Error) as error:
                Chunks((0, 0, 0, 0), [place]).merge(writer, "/x")
            assert error.value.kind == "invalid"
        with pytest.raises(Error) as error:
            Chunks((0, 0, 0, 0), [(0, bytes(12), 0, 8)]).merge(writer, "/y")
        assert error.value.kind == "not-found"
        writer.abort()


def test_secrets_do_not_travel(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "a.icecore")
    repo._storage = {"secret_access_key": "hush", "region": "eu", "header.Authorization": "hush"}
    with repo.writer() as writer:
        fork = Fork.of(writer)
        assert dict(fork.storage) == {"region": "eu"}
        assert b"hush" not in pickle.dumps(fork)
        writer.abort()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table of several ranges of rows."""
    place, rng, rows = tmp_path_factory.mktemp("table") / "t.icecore", np.random.default_rng(1), 200_000
    tb = rng.normal(250, 30, rows).astype("f4")
    tb[::97] = np.nan
    with icecore.create(place).writer() as writer:
        options: dict[str, Any] = {"shape": (rows,), "chunks": (8192,), "shards": (16384,), "codec": "zstd"}
        writer.array("/t/tb", "f4", **options)[...] = tb
        writer.array("/t/c", "i1", **options)[...] = rng.integers(1, 10, rows)
        writer.array("/t/n", "i8", **options)[...] = rng.integers(-(2**60), 2**60, rows)
        writer.array("/t/s", str, **options)[...] = rng.choice(["a", "bb", "ccc"], rows).astype(object)
        time = np.datetime64("2018-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "s")
        writer.array("/t/time", "M8[ns]", **options)[...] = time
    return icecore.open(place).table("/t")


@pytest.mark.parametrize("where", [None, "tb > 280 and c in (3, 4)", "tb > 1000"])
def test_scan(table: Any, client: Any, where: str | None) -> None:
    one, many = table.scan(where=where), table.scan(where=where, client=client)
    assert many.schema == one.schema
    assert many.read_pandas().equals(one.read_pandas()), "NaN equals NaN"
    assert many.report()["rows_out"] == one.report()["rows_out"]
    assert many.report()["data"]["chunks"] == one.report()["data"]["chunks"]
    numbers = table.to_numpy(where=where, client=client)
    for name, values in table.to_numpy(where=where).items():
        np.testing.assert_array_equal(numbers[name], values)
    assert (
        table.scan(["c"], where, limit=1234, client=client)
        .read_all()
        .equals(table.scan(["c"], where, limit=1234).read_all())
    )


@pytest.mark.parametrize(
    "what",
    [
        "count, count:tb, min:n, max:n, sum:n, min:time, max:s",
        "count, min:tb, max:tb, sum:n, max:time, min:s by c",
        "count, histogram:tb:20:200:300, max:n by s, c",
        "histogram:tb:40",
        "count by time",
    ],
)
@pytest.mark.parametrize("where", [None, "tb > 240", "tb > 1000"])
def test_exact_reductions(table: Any, client: Any, what: str, where: str | None) -> None:
    one, many = table.reduce(what, where), table.reduce(what, where, client=client)
    assert many.schema == one.schema
    assert many.rows == one.rows
    assert many.matched == one.matched


def test_rounded_reductions(table: Any, client: Any) -> None:
    what = "mean:tb, std:tb, rms:tb, sum:tb, mean:n, std:n"
    for keys in ("", " by c"):
        one, many = table.reduce(what + keys), table.reduce(what + keys, client=client)
        assert len(one) == len(many)
        for a, b in zip(one, many, strict=True):
            assert b == pytest.approx(a, rel=1e-12)
        assert many.rows == table.reduce(what + keys, client=client).rows, "the tree is always the same"


def test_dataframe_partitions(table: Any, client: Any) -> None:
    frame = table.to_dask(["tb", "c"], where="tb > 280")
    assert frame.npartitions == len(scan.row_ranges(table, ["tb", "c"])) > 2
    expected = table.to_pandas(["tb", "c"], where="tb > 280")
    found = frame.compute(scheduler=client)
    assert found.reset_index(drop=True).equals(expected)


def test_blocks_of_arrays_are_shards(tmp_path: Path, client: Any) -> None:
    xr = pytest.importorskip("xarray")
    with icecore.create(tmp_path / "a.icecore").writer() as writer:
        options: dict[str, Any] = {"chunks": (10, 60, 60), "shards": (50, 60, 60), "dims": ("t", "y", "x")}
        writer.array("/f", "f4", FIELD.shape, **options)[...] = FIELD
    lazy = icecore.open(tmp_path / "a.icecore")["/f"].to_dask()
    assert lazy.chunks == ((50,) * 4, (60, 60), (60,))
    np.testing.assert_array_equal(lazy.compute(scheduler=client), FIELD)
    dataset = xr.open_dataset(tmp_path / "a.icecore", chunks={})
    assert dataset["f"].chunks == lazy.chunks
    np.testing.assert_array_equal(dataset["f"].data.compute(scheduler=client), FIELD)


@pytest.fixture(scope="module")
def granules(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng = tmp_path_factory.mktemp("granules"), np.random.default_rng(2)
    for i in range(6):
        with h5py.File(folder / f"g{i}.h5", "w") as file:
            file["t/h"] = rng.normal(size=1000 + i)
            file["t/lon"] = rng.uniform(0, 10, 1000 + i)
    return sorted(map(str, folder.glob("*.h5")))


@pytest.mark.parametrize(
    ("product", "parameters"),
    [
        ("stats", {}),
        ("stats", {"where": "lon > 5"}),
        ("histogram", {"column": "h", "bins": 20}),
        ("subset", {"where": "h > 1.5"}),
        ("query", {"reduce": "count, mean:h"}),
    ],
)
def test_products_equal_one_machine(
    granules: list[str], client: Any, product: str, parameters: dict[str, Any]
) -> None:
    seen: list[tuple[int, int]] = []
    one = icecore.run(product, granules, **parameters).read_all()
    many = icecore.run(
        product, granules, client=client, progress=lambda _, *n: seen.append(n), **parameters
    ).read_all()
    assert many.equals(one)
    assert seen[-1] == (6, 6)


def test_failures_of_products(granules: list[str], client: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    names = [granules[0], str(tmp_path / "bad.h5"), granules[1]]
    for product in ("subset", "stats"):
        with pytest.raises(Error):
            icecore.run(product, names, client=client).read_all()
        one = icecore.run(product, names, keep_going=True)
        many = icecore.run(product, names, keep_going=True, client=client)
        assert many.read_all().equals(one.read_all())
        assert [f.name for f in many.failures] == [f.name for f in one.failures] == [names[1]]


def test_commands(tmp_path: Path, source: str, client: Any, table: Any) -> None:
    address = client.scheduler.address
    into = str(tmp_path / "c.icecore")
    assert _status("pack", source, "--into", into, "--codec", "zstd", "--dask", address) == 0
    assert _status("link", source, "--into", into, "--group", "/linked", "--dask", address) == 0
    np.testing.assert_array_equal(icecore.open(into)["/linked/field"].read(), FIELD)
    output = str(tmp_path / "q.csv")
    place = table._group.repo.url
    assert _status("query", place, "/t", "--where", "tb > 300", "-o", output, "--dask", address) == 0
    assert len(Path(output).read_text().splitlines()) == len(table.to_numpy(["c"], "tb > 300")["c"]) + 1
    assert _status("run", "stats", place, "-o", output, "--dask", address) == 0
    assert Path(output).read_text().startswith('"column","count"')


def _status(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "icecore", *arguments], check=False).returncode
