"""What somebody meets who tries things out: quotes, pipes, names left short, folders of everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: ``a b ü.h5``, and a repository that links it and holds a table of 50,000 rows."""
    folder = tmp_path / "new user ü"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    with h5py.File("a b ü.h5", "w") as file:
        file["x"] = np.arange(10.0)
    Path("t.csv").write_text("n,v\n" + "".join(f"{i},{i % 7}\n" for i in range(50_000)))
    icecore.link("a b ü.h5", into="moon.icecore")
    icecore.pack("t.csv", into="moon.icecore")
    return folder


def test_no_verb_is_no_error(run: Any) -> None:
    status, _, err = run()
    assert status == 2
    assert err.startswith("Usage: icecore")


def test_homes_and_links(place: Path, run: Any) -> None:
    os.symlink("a b ü.h5", "link.h5")
    os.symlink("moon.icecore", "moonlink")
    for i, source in enumerate(("~/a b ü.h5", "link.h5", "./a b ü.h5", "a b*.h5")):
        assert run("link", source, "--into", "~/made.icecore", "--group", f"/g{i}")[0] == 0
    assert (place / "made.icecore").is_dir()
    assert run("read", "~/made.icecore", "/g0/x", "1:3")[0] == 0
    assert "x" in run("ls", "moonlink")[1]


def test_a_name_left_short(place: Path, run: Any) -> None:
    status, _, err = run("ls", "moon")
    assert status == 2
    assert f"did you mean {place}/moon.icecore?" in err
    assert "make one" in run("ls", "sun")[2]


def test_a_folder_that_holds_repositories(place: Path, run: Any) -> None:
    """Their own files are nobody's data, though a seal looks like a table."""
    status, out, err = run("link", ".", "--into", "all.icecore", "--dry-run", "--keep-going")
    assert "seals" not in out + err
    icecore.pack(".", into="packed.icecore")
    assert set(icecore.open("packed.icecore").arrays) == {"/a b ü/x", "/t/n", "/t/v"}
    status, _, err = run("link", "moon.icecore", "--into", "again.icecore")
    assert status == 2
    assert "moon.icecore is a repository" in err
    assert not Path("again.icecore").exists()


def test_a_pipe_is_no_source(place: Path, run: Any) -> None:
    os.mkfifo("pipe.h5")
    for verb in ("link", "pack"):
        status, _, err = run(verb, "pipe.h5", "--into", "p.icecore")
        assert status == 2
        assert "error[format]: pipe.h5 is a pipe or a device, not a file" in err
    assert not Path("p.icecore").exists()


def test_a_reader_that_leaves(place: Path) -> None:
    """As ``head`` does: nothing is said, and a script with ``pipefail`` goes on."""
    command = [sys.executable, "-m", "icecore", "query", "moon.icecore", "/t"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b'"n","v"\n'
    child.stdout.close()
    assert (child.stderr.read(), child.wait(timeout=60)) == (b"", 0)


def test_the_root_has_one_slash(place: Path, run: Any) -> None:
    assert run("diff", "moon.icecore", "1CECHNKREP0F1RSTCMT0")[1].splitlines()[0] == "+ /"
