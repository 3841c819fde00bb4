"""What is written for the user appears whole or not at all; where it can't be, an error names it."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import h5py
import icecore
import numpy as np
import pytest
from icecore import cli
from icecore.filesystem.atomic_output import landing

ROWS = 20_000
Say: TypeAlias = Callable[[list[str]], tuple[int, str]]
READ, PLOT = ["read", "R", "/x/a"], ["plot", "R", "/x/a"]
QUERY, RESTORE = ["query", "R", "/t", "--where", "n > -1"], ["restore", "R", "/t"]
ASSAY = ["assay", "R", "--array", "/x/a", "--portable", "--seconds", "0"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """``/x/a``: 2.4 MB of noise; ``/t``: a table of text."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(5)
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = rng.normal(size=(3, 100_000))
    rows = "".join(f"{i},{value:.9f}\n" for i, value in enumerate(rng.normal(size=ROWS)))
    (folder / "t.csv").write_text("n,v\n" + rows)
    for name in ("x.h5", "t.csv"):
        icecore.pack(folder / name, folder / "r.icecore", group=f"/{name[0]}")
    return str(folder / "r.icecore")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """What the command line answers: its status and what it writes to stderr."""

    def saying(words: list[str]) -> tuple[int, str]:
        return cli.run(words), capsys.readouterr().err

    return saying


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 8 kB: for those who write it is like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize(
    ("verb", "suffix"),
    [
        *((READ, suffix) for suffix in (".npy", ".csv", ".parquet")),
        *((QUERY, suffix) for suffix in (".npy", ".csv", ".parquet")),
        (PLOT, ".png"),
        (ASSAY, ".html"),
        (RESTORE, ".csv"),
    ],
)
def test_a_file_that_finds_no_room(
    repo: str, say: Say, verb: list[str], suffix: str, tmp_path: Path, small_files: None
) -> None:
    target = tmp_path / f"out{suffix}"
    target.write_bytes(b"what was there")
    code, said = say([repo if word == "R" else word for word in verb] + ["-o", str(target)])
    assert code == 2, said
    assert f"error[io]: {target} can't be written" in said
    assert "the file size limit is 8,192 bytes" in said
    assert "ulimit -f" in said
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_bytes() == b"what was there"


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
def test_hdf5_minds_the_limit_on_files(
    repo: str, say: Say, suffix: str, tmp_path: Path, small_files: None
) -> None:
    code, said = say(["read", repo, "/x/a", "-o", str(tmp_path / f"x{suffix}")])
    assert code == 2, said
    assert "the file size limit is 8,192" in said
    assert "ulimit -f" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
def test_hdf5_does_not_begin_what_does_not_fit(
    repo: str, say: Say, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library ends the process where a file can't be closed."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    code, said = say(["read", repo, "/x/a", "-o", str(tmp_path / f"x{suffix}")])
    assert code == 2
    assert "2,000,000 are free" in said
    assert list(tmp_path.iterdir()) == []
    assert say(["read", repo, "/x/a", "0,:9", "-o", str(tmp_path / f"x{suffix}")])[0] == 0
    code, said = say(["demo", str(tmp_path / "demo")])
    assert code == 2
    assert "error[io]" in said


def test_a_device_stays_a_device(repo: str, say: Say, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.csv"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE, text=True)
    code, said = say(["read", repo, "/x/a", "0,:3", "-o", str(fifo)])
    assert code == 0, said
    out, _ = reader.communicate(timeout=30)
    assert len(out.splitlines()) == 4
    assert fifo.is_fifo()


def test_errors_inside_keep_their_names(tmp_path: Path) -> None:
    with pytest.raises(icecore.Error) as caught, landing(str(tmp_path / "x.bin")):
        raise OSError(errno.EROFS, "Read-only file system")
    assert caught.value.kind == "permission"
    assert "x.bin can't be written: Read-only file system" in caught.value.message


@pytest.mark.parametrize("by_link", [False, True])
def test_a_linked_file_is_not_written_over(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]], by_link: bool
) -> None:
    repo, files = tmp_path / "r.icecore", [tmp_path / "a b#%.h5", tmp_path / "n.npy"]
    with h5py.File(files[0], "w") as file:
        file["x"] = np.arange(100)
    np.save(files[1], np.arange(100))
    before = [file.read_bytes() for file in files]
    icecore.link(files, into=repo)
    outputs = files
    if by_link:
        outputs = [tmp_path / "other.h5", tmp_path / "other.npy"]
        for name, file in zip(outputs, files, strict=True):
            name.symlink_to(file)
    for output in outputs:
        commands = [["read", repo, "/n/n", "0:3"]]
        if output.suffix == ".npy":
            commands.append(["query", repo, "/n", "--where", "n < 3"])
        for command in commands:
            status, _, err = run(*command, "-o", output)
            assert (status, "error[invalid]" in err, "is linked by" in err) == (2, True, True)
    assert [file.read_bytes() for file in files] == before
    assert run("read", repo, "/n/n", "-o", tmp_path / "fresh.h5")[0] == 0
    assert icecore.open(repo).verify(deep=True) == []
