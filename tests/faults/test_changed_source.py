"""Linked files that change, shrink or go: an error with a kind, never other bytes than those linked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

DATA = np.arange(60_000, dtype="f8").reshape(300, 200)


@pytest.fixture
def linked(tmp_path: Path, repo_path: str) -> Path:
    """A file linked into the repository as /x, chunked and contiguous."""
    path = tmp_path / "source" / "x.h5"
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file.create_dataset("chunked", data=DATA, chunks=(50, 200), compression="gzip")
        file.create_dataset("contiguous", data=DATA)
    icecore.link(path, repo_path, group="/x")
    return path


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"later")


def touch(path: Path) -> None:
    os.utime(path, (2e9, 2e9))


def touch_a_nanosecond(path: Path) -> None:
    now = path.stat()
    os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns + 1))


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    with h5py.File(other, "w") as file:
        file.create_dataset("chunked", data=-DATA, chunks=(50, 200), compression="gzip")
        file.create_dataset("contiguous", data=-DATA)
    other.replace(path)


def rewrite_in_place(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["contiguous"][10] = -1.0


def empty(path: Path) -> None:
    os.truncate(path, 0)


CHANGES = [truncate, append, touch, touch_a_nanosecond, replace, rewrite_in_place, empty]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("opened", ["before", "read before", "after"])
def test_a_changed_file_is_never_read(
    linked: Path, repo_path: str, change: Callable[[Path], None], opened: str
) -> None:
    early = icecore.open(repo_path)
    if opened == "read before":
        np.testing.assert_array_equal(early["/x/chunked"][:60], DATA[:60])
        np.testing.assert_array_equal(early["/x/contiguous"][:60], DATA[:60])
    change(linked)
    repo = icecore.open(repo_path) if opened == "after" else early
    for name in ("chunked", "contiguous"):
        with pytest.raises(icecore.Error) as caught:
            repo[f"/x/{name}"][100:200]
        assert caught.value.kind == "source-changed"
        assert "x.h5" in caught.value.message
        assert caught.value.hint
    problems = icecore.open(repo_path).verify()
    assert {(item.kind, item.path) for item in problems} == {
        ("source-changed", "/x/chunked"),
        ("source-changed", "/x/contiguous"),
    }


def test_a_removed_file(linked: Path, repo_path: str) -> None:
    linked.unlink()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/x/chunked"].read()
    assert caught.value.kind == "source-missing"
    assert isinstance(caught.value, FileNotFoundError)
    assert {item.kind for item in icecore.open(repo_path).verify()} == {"source-missing"}


def test_a_folder_in_its_place(linked: Path, repo_path: str) -> None:
    linked.unlink()
    linked.mkdir()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/x/chunked"].read()
    assert caught.value.kind in ("source-changed", "source-missing", "io")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(linked: Path, repo_path: str) -> None:
    linked.chmod(0)
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/x/chunked"].read()
    assert caught.value.kind == "permission"


def test_the_original_brought_back_reads_again(linked: Path, repo_path: str) -> None:
    was = linked.stat()
    content = linked.read_bytes()
    truncate(linked)
    repo = icecore.open(repo_path)
    with pytest.raises(icecore.Error):
        repo["/x/chunked"].read()
    linked.write_bytes(content)
    os.utime(linked, ns=(was.st_atime_ns, was.st_mtime_ns))
    np.testing.assert_array_equal(repo["/x/chunked"].read(), DATA)


def test_links_outside_of_the_allowed_prefixes(linked: Path, repo_path: str, tmp_path: Path) -> None:
    for prefixes in ([], [f"file://{tmp_path}/elsewhere/"], ["https://example.org/"]):
        repo = icecore.open(repo_path, allow_links=prefixes)
        with pytest.raises(icecore.Error) as caught:
            repo["/x/chunked"].read()
        assert caught.value.kind == "link-not-allowed"
        assert isinstance(caught.value, PermissionError)
        assert "x.h5" in caught.value.message
    # a prefix is a folder, not the beginning of a name
    near = icecore.open(repo_path, allow_links=[f"file://{str(linked.parent)[:-1]}"])
    with pytest.raises(icecore.Error):
        near["/x/chunked"].read()
    allowed = icecore.open(repo_path, allow_links=[f"file://{linked.parent}/"])
    np.testing.assert_array_equal(allowed["/x/chunked"].read(), DATA)
