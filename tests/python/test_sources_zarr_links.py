"""Chunks and shards of Zarr stores are linked where they are: directories, zip archives, servers."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.sources import open_source

zarr = pytest.importorskip("zarr")
VALUES = np.random.default_rng(3).normal(size=(50, 40)).astype("f4")


def store(path: Path, version: int) -> Path:
    """A store with a grid (of version 3 in shards), an array with missing chunks, a scalar and text."""
    group = zarr.open_group(path, mode="w", zarr_format=version)
    shards = {"shards": (20, 20)} if version == 3 else {}
    grid = group.create_array("t/x", shape=VALUES.shape, chunks=(10, 10), dtype="f4", **shards)
    grid[...] = VALUES
    grid.attrs["units"] = "K"
    sparse = group.create_array("s", shape=(30,), chunks=(10,), dtype="i4", fill_value=-7)
    sparse[10:20] = np.arange(10)
    group.create_array("scalar", shape=(), dtype="f8")[...] = 3.5
    plain = group.create_array("plain", shape=(25,), chunks=(10,), dtype=">i2", compressors=None)
    plain[...] = np.arange(25)
    zarr.consolidate_metadata(path)
    return path


def zipped(folder: Path, how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(f"{folder}.zip", "w", how) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return Path(f"{folder}.zip")


def check(repo: Any, linked: bool = True) -> None:
    assert np.array_equal(repo["/t/x"][...], VALUES)
    assert repo["/t/x"].attrs["units"] == "K"
    assert repo["/s"][...].tolist() == [-7] * 10 + [*range(10)] + [-7] * 10
    assert repo["/scalar"][...] == 3.5
    assert repo["/plain"][...].tolist() == [*range(25)]
    assert all(array.linked == linked for array in repo.arrays.values())


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("place", ["disk", "server"])
def test_stores_are_linked(site: Any, tmp_path: Path, version: int, kind: str, place: str) -> None:
    path = store(site.folder / "x.zarr", version)
    path = path if kind == "folder" else zipped(path)
    name = str(path) if place == "disk" else f"{site.url}/{path.name}"
    into = tmp_path / "r.icecore"
    icecore.link(name, into, group="/")
    check(icecore.open(into))
    icecore.pack(name, tmp_path / "p.icecore", group="/")
    check(icecore.open(tmp_path / "p.icecore"), linked=False)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_chunk_that_is_written_anew(tmp_path: Path) -> None:
    path = store(tmp_path / "x.zarr", 3)
    icecore.link(path, tmp_path / "r.icecore", group="/")
    chunk = path / "s" / "c" / "1"
    chunk.write_bytes(chunk.read_bytes() + b"0")
    with pytest.raises(errors.Error) as caught:
        icecore.open(tmp_path / "r.icecore")["/s"][...]
    assert caught.value.kind == "source-changed"


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_members_that_are_compressed_in_the_archive_are_copied(tmp_path: Path) -> None:
    path = zipped(store(tmp_path / "x.zarr", 2), zipfile.ZIP_DEFLATED)
    icecore.link(path, tmp_path / "r.icecore", group="/")
    check(icecore.open(tmp_path / "r.icecore"), linked=False)
    assert "zip -0" in open_source(path).arrays["/t/x"].note


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_short_chunk_without_a_codec_is_not_linked(tmp_path: Path) -> None:
    path = store(tmp_path / "x.zarr", 3)
    chunk = path / "plain" / "c" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-2])
    assert open_source(path).arrays["/plain"].links is None
    with pytest.raises(errors.Error):
        icecore.link(path, tmp_path / "r.icecore")


def test_a_web_server_without_lists(site: Any, tmp_path: Path) -> None:
    """Without consolidated metadata and pages only an array at the root can be found."""
    root = zarr.create_array(site.folder / "a.zarr", shape=(30,), chunks=(10,), dtype="i4", fill_value=0)
    root[:10] = np.arange(10)
    icecore.link(f"{site.url}/a.zarr", tmp_path / "r.icecore", group="/")
    assert icecore.open(tmp_path / "r.icecore")["/a"][...].tolist() == [*range(10)] + [0] * 20
    wide = zarr.create_array(site.folder / "w.zarr", shape=(20_000,), chunks=(1,), dtype="i4")
    site.requests = 0
    entry = open_source(f"{site.url}/w.zarr").arrays["/w"]
    assert entry.links is None
    assert "bucket" in entry.note
    assert site.requests < 20
    del wide
    shutil.rmtree(site.folder / "w.zarr")


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("version", [2, 3])
def test_a_store_in_a_bucket(tmp_path: Path, version: int) -> None:
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
        bucket = f"archive-{version}"
        client.create_bucket(Bucket=bucket)
        path = store(tmp_path / "x.zarr", version)
        for file in path.rglob("*"):
            if file.is_file():
                client.upload_file(str(file), bucket, file.relative_to(tmp_path).as_posix())
        client.upload_file(str(zipped(path)), bucket, "x.zarr.zip")
        storage = {**keys, "endpoint_url": f"http://{host}:{port}"}
        for number, name in enumerate(("x.zarr", "x.zarr/", "x.zarr.zip")):
            into = tmp_path / f"{number}.icecore"
            icecore.link(f"s3://{bucket}/{name}", into, group="/", storage=storage)
            check(icecore.open(into, storage=storage))
    finally:
        server.stop()
