"""Repositories and links on S3, against moto (`make integration-deps`)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.errors import Error

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto.server")
pytestmark = pytest.mark.integration
DATA = np.arange(20_000.0).reshape(200, 100)
#: requests that moto answers before it looks at credentials: as many as the fixture makes
FREE = 5


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A server that wants credentials, and the storage options with those of its one user."""
    with _serving(FREE) as options:
        yield options


@pytest.fixture(scope="module")
def open_server() -> Iterator[dict[str, str]]:
    """One that takes any credentials: moto doesn't verify signatures of addresses with blanks or ``~``."""
    with _serving(1_000_000) as options:
        yield options


@contextmanager
def _serving(free_requests: int) -> Iterator[dict[str, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(free_requests)}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        url = f"http://127.0.0.1:{port}"
        key = _user(url)
        yield {
            "region": "us-east-1",
            "endpoint_url": url,
            "access_key_id": key["AccessKeyId"],
            "secret_access_key": key["SecretAccessKey"],
        }
    finally:
        process.terminate()
        process.wait()


def _user(url: str) -> dict[str, str]:
    given = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
    iam, s3 = (boto3.client(name, endpoint_url=url, **given) for name in ("iam", "s3"))
    iam.create_user(UserName="u")
    policy = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
    }
    iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(policy))
    s3.create_bucket(Bucket="moon")
    s3.create_bucket(Bucket="files")
    return iam.create_access_key(UserName="u")["AccessKey"]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)


def made(url: str, server: dict[str, str]) -> None:
    with icecore.create(url, storage=server).writer("one") as writer:
        writer.array("/x", dtype="f8", shape=DATA.shape, chunks=(10, 100), shards=(100, 100))[...] = DATA


def read(url: str, storage: dict[str, str] | None, path: str = "/x") -> str:
    """``right``, or the kind of error."""
    try:
        found = icecore.open(url, storage=storage)[path].read()
    except Error as error:
        return error.kind
    np.testing.assert_array_equal(found, DATA)
    return "right"


def test_a_repository(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    made("s3://moon/a", server)
    repo = icecore.open("s3://moon/a", storage=server)
    assert read("s3://moon/a", server) == "right"
    with repo.writer("two") as writer:
        writer["/x"][5] = 7
    again = icecore.open("s3://moon/a", storage=server)
    assert (again["/x"][5] == 7).all()
    assert (repo["/x"][5] == DATA[5]).all()
    assert again.verify(deep=True) == []
    again.tag("v1")
    assert len(again.log()) == 3
    with pytest.raises(Error, match="is a repository already"):
        icecore.create("s3://moon/a", storage=server)
    assert read("s3://moon/nothing", server) == "not-found"
    assert read("s3://nobucket/a", server) == "not-found"
    names = {
        "AWS_ACCESS_KEY_ID": "access_key_id",
        "AWS_SECRET_ACCESS_KEY": "secret_access_key",
        "AWS_REGION": "region",
        "AWS_ENDPOINT_URL": "endpoint_url",
    }
    for name, option in names.items():
        monkeypatch.setenv(name, server[option])
    assert (icecore.open("s3://moon/a")["/x"][5] == 7).all()


@pytest.mark.parametrize(
    "prefix",
    ["a%b", "a%20b", "c d", "#1", "what?", "~me", "[x]*", "ä/日本", 'q"\\|^`{}<>', "a%2Fb", "x+y&z=1"],
)
def test_any_name(open_server: dict[str, str], prefix: str, tmp_path: Path) -> None:
    """Keys are what was typed, so that other programs find them; packing there reads back what it wrote."""
    url, copy = f"s3://moon/{prefix}", f"s3://moon/copy of {prefix}"
    made(url, open_server)
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=open_server["endpoint_url"], **keys)
    found = client.list_objects_v2(Bucket="moon", Prefix=f"{prefix}/")["Contents"]
    assert {f"{prefix}/repo"} < {entry["Key"] for entry in found}
    icecore.pack(url, into=copy, group="/", storage=open_server)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 9_000)
    icecore.pack(tmp_path / "t.csv", into=copy, group="/t", storage=open_server)
    repo = icecore.open(copy, storage=open_server)
    assert read(copy, open_server) == "right"
    assert repo.table("/t").reduce("sum:b") == [{"sum:b": 18_000}]
    assert repo.verify(deep=True) == []
    with repo.writer("again") as writer:
        writer["/x"][:] = DATA
    assert read(copy, open_server) == "right"


@pytest.mark.parametrize("prefix", ["a//b", "./a", "a/..", "a\nb"])
def test_names_that_clients_disagree_about(open_server: dict[str, str], prefix: str) -> None:
    with pytest.raises(Error, match="is not a valid key") as caught:
        icecore.create(f"s3://moon/{prefix}", storage=open_server)
    assert caught.value.kind == "invalid"


def test_wrong_credentials(server: dict[str, str]) -> None:
    made("s3://moon/b", server)
    began = time.monotonic()
    for wrong in ({"secret_access_key": "no"}, {"access_key_id": "nobody"}):
        assert read("s3://moon/b", {**server, **wrong}) == "permission"
        with pytest.raises(Error) as caught:
            icecore.create("s3://moon/c", storage={**server, **wrong})
        assert caught.value.kind == "permission"
    assert read("s3://moon/b", {**server, "endpoint_url": "http://127.0.0.1:9"}) == "network"
    assert read("s3://moon/b", {**server, "allow_http": "false"}) == "network"
    assert time.monotonic() - began < 30


def linked(url: str, source: Path, storage: dict[str, str]) -> None:
    """References to an HDF5 file's chunks as they lie in the bucket."""
    icecore.link(source, into=f"memory://{source.stem}{len(url)}", group="/l")
    document = json.dumps(icecore.open(f"memory://{source.stem}{len(url)}")._nodes["/l/x"].document)
    found: list[Any] = []
    with h5py.File(source) as file:
        file["x"].id.chunk_iter(
            lambda chunk: found.append((chunk.chunk_offset[0] // 10, chunk.byte_offset, chunk.size))
        )
    numbers, offsets, lengths = (np.array(column, "u8") for column in zip(*found, strict=True))
    with icecore.open(url, storage=storage).writer("links") as writer:
        native = writer._native
        native.add_group("/l", "{}")
        native.add_array("/l/x", document)
        native.allow_container("s3://files/")
        names, size = ["s3://files/d/x.h5"], [source.stat().st_size]
        native.set_links(
            "/l/x", names, size, [-1], [None], np.zeros(len(found), "u4"), numbers, offsets, lengths
        )


def test_links(server: dict[str, str], tmp_path: Path) -> None:
    """Of a repository on S3 and of one in a folder; the folder's needs the bucket's credentials too."""
    source = tmp_path / "x.h5"
    with h5py.File(source, "w") as file:
        file.create_dataset("x", data=DATA, chunks=(10, 100), compression="gzip")
    names = {"aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key"}
    keys = {name: server[option] for name, option in names.items()}
    client = boto3.client("s3", endpoint_url=server["endpoint_url"], region_name="us-east-1", **keys)
    client.upload_file(str(source), "files", "d/x.h5")
    made("s3://moon/l", server)
    icecore.create(tmp_path / "r")
    for url in ("s3://moon/l", str(tmp_path / "r")):
        linked(url, source, server)
        assert read(url, server, "/l/x") == "right"
    near = str(tmp_path / "r")
    assert read(near, {**server, "secret_access_key": "no"}, "/l/x") == "permission"
    assert icecore.open(near, storage=server).verify(deep=True) == []
    client.put_object(Bucket="files", Key="d/x.h5", Body=source.read_bytes() + b"!")
    assert read(near, server, "/l/x") == "source-changed"
    client.delete_object(Bucket="files", Key="d/x.h5")
    assert read(near, server, "/l/x") == "source-missing"


def test_links_to_files_are_noted(open_server: dict[str, str], tmp_path: Path) -> None:
    """By itself a repository in a bucket may not read the files of whoever opens it."""
    (tmp_path / "my data").mkdir()
    np.save(tmp_path / "my data" / "x.npy", DATA)
    report = icecore.link(tmp_path / "my data" / "x.npy", "s3://moon/links", storage=open_server)
    said = [note.message for note in report.notes if note.kind == "links"]
    assert len(said) == 1
    assert f"{tmp_path}/my data " in said[0]
    assert "--allow-links" in said[0]
    assert read("s3://moon/links", open_server, "/x/x") == "link-not-allowed"
    near = icecore.link(tmp_path / "my data" / "x.npy", tmp_path / "r.icecore")
    assert not near.notes
    packed = icecore.pack(tmp_path / "my data" / "x.npy", "s3://moon/packed", storage=open_server)
    assert not packed.notes


def test_files_on_s3_need_keys(repo_path: str) -> None:
    with pytest.raises(Error, match="s3://") as caught:
        icecore.link("s3://files/d/x.h5", into=repo_path)
    assert caught.value.kind == "permission"
