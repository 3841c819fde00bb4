"""Names of files and folders that are odd, and still somebody's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

needs_bytes = pytest.mark.skipif(sys.platform != "linux", reason="file names here are always Unicode")


def hdf5(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(9), chunks=(4,))
    return path


@pytest.mark.parametrize(
    "name", ["me@home.icecore", "100%.icecore", "a#b?c.icecore", "[x]* y.icecore", "ü.icecore"]
)
def test_a_new_repository_of_any_name(tmp_path: Path, name: str) -> None:
    source, place = hdf5(tmp_path / f"{name}.h5"), str(tmp_path / name)
    icecore.link(source, place, "/l")
    icecore.pack(source, place, "/p")
    for address in (place, f"{place}@main"):
        repo = icecore.open(address)
        assert repo["/l/x"][...].tolist() == repo["/p/x"][...].tolist() == list(range(9))
        assert repo.verify(deep=True) == []


def test_a_tilde_that_is_nobodys_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    hdf5(Path("~draft.h5"))
    for verb in ("link", "pack"):
        status, _, err = run(verb, "*.h5", "--into", f"~{verb}.icecore")
        assert status == 0, err
        assert run("read", f"~{verb}.icecore@main", "/~draft/x", "1:3")[0] == 0


def test_an_at_still_names_a_version(tmp_path: Path) -> None:
    icecore.create(tmp_path / "moon").tag("v1.icecore")
    assert icecore.open(f"{tmp_path}/moon@v1.icecore").ref == "v1.icecore"
    with pytest.raises(icecore.Error, match="at/moon: the path does not exist"):
        icecore.open(f"{tmp_path}/at/moon@v1")


@needs_bytes
def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    for source in (hdf5(tmp_path / "a.h5"), tmp_path / "x.npy"):
        odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9" + os.fsencode(source.name)))
        source.rename(odd)
        for verb in (icecore.link, icecore.pack):
            with pytest.raises(icecore.Error, match=r"dce9.*is not UTF-8") as refused:
                verb(odd, tmp_path / "r.icecore")
            assert refused.value.kind == "unsupported"
    with pytest.raises(icecore.Error, match=r"dce9.*is not UTF-8"):
        icecore.create(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9.icecore"))


@needs_bytes
def test_arguments_that_are_not_utf8_are_no_bugs(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    repo, odd = tmp_path / "r.icecore", os.fsdecode(b"\xe9")
    source = hdf5(tmp_path / "a.h5")
    icecore.pack(source, repo)
    for arguments in (
        ["pack", source, "--into", repo, "--group", odd],
        ["pack", source, "--into", repo, "--group", "/b", "-m", odd],
        ["read", repo, "/a/x", odd],
        ["tag", repo, odd],
        ["ls", f"{repo}@{odd}"],
    ):
        status, _, err = run(*arguments)
        assert (status, "error[invalid]" in err) == (2, True), err
    assert len(icecore.open(repo).log()) == 2
    named = source.rename(tmp_path / f"{odd}.h5")
    status, _, err = run("assay", named, "--array", "/x")
    assert (status, "is not UTF-8" in err) == (2, True), err


@needs_bytes
def test_folders_whose_names_are_not_utf8(tmp_path: Path) -> None:
    source = hdf5(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9")) / "a.h5")
    for verb in (icecore.link, icecore.pack):
        verb(source, tmp_path / "r.icecore", f"/{verb.__name__}")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/link/x"][...].tolist() == repo["/pack/x"][...].tolist() == list(range(9))
    assert repo.verify(deep=True) == []


def test_names_of_nothing(tmp_path: Path) -> None:
    """An unset variable is not the working directory, and a link that leads nowhere is told."""
    with pytest.raises(icecore.Error, match="is empty"):
        icecore.create("")
    (tmp_path / "x.nc").symlink_to("nowhere")
    with pytest.raises(icecore.Error) as caught:
        icecore.link(tmp_path / "x.nc", tmp_path / "r.icecore")
    assert "a link to nowhere" in caught.value.hint
