"""Repositories on versitygw, an S3 server with real signatures (`make integration-deps`)."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.errors import Error

pytestmark = pytest.mark.integration
PROGRAM = Path(__file__).resolve().parents[2] / ".integration" / "bin" / "versitygw"
DATA = np.arange(60_000.0).reshape(300, 200)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the server serves: a directory a bucket."""
    folder = tmp_path_factory.mktemp("gateway")
    for bucket in ("moon", "out"):
        (folder / bucket).mkdir()
    return folder


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's log: a request a line."""
    return tmp_path_factory.mktemp("log") / "access.log"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, files: Path, log: Path) -> Iterator[dict[str, str]]:
    """The storage options of a server's one user; its buckets are named ``moon`` and ``out``."""
    if not PROGRAM.exists():
        pytest.skip("versitygw is not installed: make integration-deps")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(PROGRAM), "--access", "user", "--secret", "password", "--port", f"127.0.0.1:{port}"]
    command += ["--access-log", str(log)]
    process = subprocess.Popen(
        # Without --sidecar, with which its conditional writes are not atomic.
        [*command, "posix", str(files)],
        env={**os.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.skip("versitygw did not start")
        yield {
            "region": "us-east-1",
            "endpoint_url": f"http://127.0.0.1:{port}",
            "access_key_id": "user",
            "secret_access_key": "password",
        }
    finally:
        process.terminate()
        process.wait()


def test_write_append_and_read(server: dict[str, str]) -> None:
    with icecore.create("s3://moon/a", storage=server).writer("one") as writer:
        writer.array("/x", dtype="f8", shape=DATA.shape, chunks=(10, 200), shards=(100, 200))[...] = DATA
    with icecore.open("s3://moon/a", storage=server).writer("two") as writer:
        writer["/x"][5] = 7
    array = icecore.open("s3://moon/a", storage=server)["/x"]
    expected = DATA.copy()
    expected[5] = 7
    np.testing.assert_array_equal(array.read(), expected)
    np.testing.assert_array_equal(array[17:40, ::7], expected[17:40, ::7])


def test_a_wrong_key_is_a_permission_error(server: dict[str, str]) -> None:
    with pytest.raises(Error) as error:
        icecore.open("s3://moon/a", storage={**server, "secret_access_key": "wrong"})
    assert error.value.kind == "permission"


def granule(folder: Path, name: str, seed: int) -> np.ndarray:
    """Write an HDF5 file; return the values of its array ``t2m``."""
    values = np.random.default_rng(seed).normal(size=(400, 300)).astype("f4")
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / name, "w") as file:
        file.create_dataset("t2m", data=values, chunks=(40, 50), compression="gzip", shuffle=True)
        file["c"] = np.arange(10)
    return values


@pytest.mark.parametrize("place", ["bucket", "local"])
def test_objects_are_linked_where_they_are(
    place: str, server: dict[str, str], files: Path, tmp_path: Path
) -> None:
    values = [granule(files / "moon" / place / "b", f"x {k}.h5", k) for k in range(3)]
    (files / "moon" / place / "b" / "readme.txt").write_text("none of them")
    into = str(tmp_path / "r.icecore") if place == "local" else "s3://out/linked"
    report = icecore.link(f"s3://moon/{place}/*/x ?.h5", into, storage=server)
    assert [(row.path, row.how) for row in report.rows if row.path.endswith("t2m")] == [
        (f"/x {k}/t2m", "linked") for k in range(3)
    ]
    repo = icecore.open(into, storage=server)
    assert repo.link_prefixes == [f"s3://moon/{place}/b/"]
    for k, expected in enumerate(values):
        np.testing.assert_array_equal(repo[f"/x {k}/t2m"].read(), expected)
    stored = files / "out" if place == "bucket" else tmp_path
    written = [path for path in stored.rglob("*") if path.is_file()]
    assert written
    assert not any(server["secret_access_key"].encode() in path.read_bytes() for path in written)
    assert server["secret_access_key"].encode() not in pickle.dumps(repo)
    assert server["secret_access_key"] not in repr(repo)


def test_indexing_an_object_takes_few_requests(
    server: dict[str, str], files: Path, log: Path, tmp_path: Path
) -> None:
    for k in range(4):
        granule(files / "moon" / "few", f"{k}.h5", k)

    def requests() -> int:
        return sum("GetObject few/" in line for line in log.read_text().splitlines())

    before = requests()
    icecore.link("s3://moon/few/*.h5", str(tmp_path / "r.icecore"), storage=server)
    assert 4 <= requests() - before <= 5 * 4


def test_kerchunk_parquet_in_a_bucket(server: dict[str, str], files: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = granule(files / "moon" / "lazy", "a.h5", 3)
    with h5py.File(files / "moon" / "lazy" / "a.h5") as file:
        places = [file["t2m"].id.get_chunk_info(k) for k in range(60)]
    filters = [{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 4}]
    array = {"zarr_format": 2, "shape": [400, 300], "chunks": [40, 50], "dtype": "<f4", "order": "C"}
    array |= {"filters": filters, "compressor": None, "fill_value": None}
    root = files / "moon" / "lazy" / "refs.parq"
    (root / "t2m").mkdir(parents=True)
    metadata = {".zgroup": {"zarr_format": 2}, "t2m/.zarray": array}
    (root / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 25}))
    # The third of the three files, of the chunks 50 and later, is not there.
    for part in range(2):
        some = places[part * 25 : part * 25 + 25]
        columns = {"path": ["s3://moon/lazy/a.h5"] * 25, "raw": pa.array([None] * 25, "binary")}
        columns |= {"offset": [p.byte_offset for p in some], "size": [p.size for p in some]}
        parquet.write_table(pa.table(columns), root / "t2m" / f"refs.{part}.parq")
    expected = values.copy()
    for k in range(50, 60):
        row, column = places[k].chunk_offset
        expected[row : row + 40, column : column + 50] = 0
    icecore.link("s3://moon/lazy/refs.parq", str(tmp_path / "r.icecore"), group="/", storage=server)
    got = icecore.open(tmp_path / "r.icecore", storage=server)["/t2m"]
    np.testing.assert_array_equal(got.read(), expected)
    assert got.storage.linked == 50


def test_a_replaced_object_is_an_error(server: dict[str, str], files: Path, tmp_path: Path) -> None:
    granule(files / "moon" / "old", "a.h5", 1)
    repo = icecore.link("s3://moon/old/a.h5", into := str(tmp_path / "r.icecore"), storage=server)
    assert repo.snapshot
    granule(files / "moon" / "old", "a.h5", 2)
    with pytest.raises(Error) as error:
        icecore.open(into, storage=server)["/a/t2m"].read()
    assert error.value.kind == "source-changed"


def test_objects_are_packed(server: dict[str, str], files: Path, tmp_path: Path) -> None:
    values = granule(files / "moon" / "packed", "a.h5", 3)
    icecore.pack("s3://moon/packed/a.h5", into := str(tmp_path / "r.icecore"), storage=server)
    (files / "moon" / "packed" / "a.h5").unlink()
    np.testing.assert_array_equal(icecore.open(into)["/a/t2m"].read(), values)


def test_spellings_and_profiles(
    server: dict[str, str], files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    granule(files / "moon" / "names", "a.h5", 4)
    credentials = tmp_path / "credentials"
    credentials.write_text("[moon]\naws_access_key_id = user\naws_secret_access_key = password\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    at = {"endpoint_url": server["endpoint_url"], "region_name": "us-east-1"}
    s3fs = {"key": "user", "secret": "password", "client_kwargs": at}
    obstore = {
        "aws_access_key_id": "user",
        "aws_secret_access_key": "password",
        "aws_endpoint": server["endpoint_url"],
        "aws_region": "us-east-1",
    }
    for number, storage in enumerate([s3fs, obstore, {"profile": "moon", **at}]):
        into = f"s3://out/names{number}"
        icecore.link("s3://moon/names/a.h5", into, storage=storage)
        assert icecore.open(into, storage=storage)["/a/c"].read().tolist() == list(range(10))


@pytest.mark.parametrize(
    ("source", "changes", "kind"),
    [
        ("s3://moon/none.h5", {}, "source-missing"),
        ("s3://moon/none*.h5", {}, "source-missing"),
        ("s3://nobucket/a.h5", {}, "source-missing"),
        ("s3://mo*n/a.h5", {}, "invalid"),
        ("s3://moon/none.h5", {"secret_access_key": "wrong"}, "permission"),
        ("s3://moon/none.h5", {"profile": "none"}, "not-found"),
    ],
)
def test_wrong_sources(
    source: str, changes: dict[str, str], kind: str, server: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(Error) as error:
        icecore.link(source, str(tmp_path / "r.icecore"), storage={**server, **changes})
    assert error.value.kind == kind
    assert "password" not in str(error.value)
    assert not (tmp_path / "r.icecore").exists()


def test_copies_to_and_from_a_bucket(server: dict[str, str], files: Path, tmp_path: Path) -> None:
    """A clone in a bucket, one from it, what is new, and an object that is mended from a copy."""
    here, back = tmp_path / "here.icecore", tmp_path / "back.icecore"
    with icecore.create(here).writer("first") as w:
        w.array("/x", "f8", DATA.shape, chunks=(10, 200), codec="zstd")[...] = DATA
    repo = icecore.open(here)
    repo.tag("v1")
    assert icecore.clone(here, "s3://out/copy", target_storage=server).versions == 2
    icecore.clone("s3://out/copy", back, storage=server)
    with icecore.open(here).writer("second") as w:
        w["/x"][0] = 3
    icecore.pull("s3://out/copy", storage=server)
    ids = [version.id for version in icecore.open(here).log()]
    assert [version.id for version in icecore.open("s3://out/copy", storage=server).log()] == ids
    assert [version.id for version in icecore.open(back).log()] == ids[1:]
    assert icecore.open("s3://out/copy@v1", storage=server)["/x"][0, 5] == DATA[0, 5]

    damaged = max((files / "out" / "copy" / "chunks").iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    found = icecore.repair("s3://out/copy", here, storage=server)
    assert [name.rpartition("/")[2] for name in found.mended] == [damaged.name]
    np.testing.assert_array_equal(icecore.open("s3://out/copy", storage=server)["/x"][1:], DATA[1:])
