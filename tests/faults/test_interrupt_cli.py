"""Ctrl-C on the command line: soon, without a traceback, and what is said of the commit is true."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.ingest.follow.follower import Follower
from icecore.writing.writer import Writer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def test_measuring_ends_soon(tmp_path: Path) -> None:
    """Of a block of 4 MB, which the slowest candidate alone takes seconds for."""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(0, 1 << 20, (1000, 1000)).astype("f4"))
    code = (
        "from icecore import _icecore, cli\n"
        "original = _icecore.assay_blocks\n"
        "def measured(*arguments):\n"
        "    print('measuring', flush=True)\n"
        "    return original(*arguments)\n"
        "_icecore.assay_blocks = measured\n"
        "cli.main(['assay', 'x.npy'])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "measuring\n"
    time.sleep(0.3)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, "icecore: error[interrupted]: stopped\n")
    assert time.monotonic() - began < 1.5


def test_a_check_ends_and_finds_nothing_good(tmp_path: Path) -> None:
    """Ctrl-C was taken for a fault of the progress bar: the check went on, and all was well with it."""
    with icecore.create(tmp_path / "r").writer() as w:
        for i in range(20):
            w.array(f"/x{i}", "f4", (50,), chunks=(1,))[...] = np.arange(50)
    calls: list[int] = []

    def progress(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.002)

    with pytest.raises(KeyboardInterrupt):
        icecore.open(tmp_path / "r").verify(True, progress)
    assert len(calls) < 500


def test_while_it_starts(tmp_path: Path) -> None:
    """The process ends as any that knows nothing of Ctrl-C: no module of it is in the way."""
    (tmp_path / "typer.py").write_text("import time\nprint('starting', flush=True)\ntime.sleep(60)\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "icecore", "ls"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "starting\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (-signal.SIGINT, "", "")


def test_a_study_that_is_terminated_leaves_no_scratch_folder(tmp_path: Path) -> None:
    """By a batch system, say: SIGTERM does what Ctrl-C does."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "icecore", "bench", "pds", "-o", "out"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    assert child.stderr.readline() == "generating 10 minutes of RDR text\n"
    assert [path.name.startswith("icecore-pds-") for path in scratch.iterdir()] == [True]
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (128 + signal.SIGTERM, "icecore: error[interrupted]: stopped\n")
    assert list(scratch.iterdir()) == []


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes while the commit is on its way: Python tells of it when that is over."""
    original = Writer._commit

    def commit(self: Writer, *arguments: Any, **options: Any) -> str:
        native = self._native

        class Native:
            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

            def commit(self, message: str) -> str:
                native.commit(message)
                raise KeyboardInterrupt

        self._native = Native()
        return original(self, *arguments, **options)

    monkeypatch.setattr(Writer, "_commit", commit)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", ["link", "pack"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_commit_that_was_made_is_told_of(tmp_path: Path, run: Any, verb: str, is_new: bool) -> None:
    np.save(tmp_path / "x.npy", np.arange(10.0))
    if not is_new:
        icecore.create(tmp_path / "r.icecore")
    status, _, err = run(verb, tmp_path / "x.npy", "--into", tmp_path / "r.icecore")
    assert status == 130
    said = re.fullmatch(
        r"icecore: error\[interrupted\]: stopped, but version (\w+) was committed before\n", err
    )
    assert said is not None, err
    assert said[1] == icecore.open(tmp_path / "r.icecore").snapshot_id
    assert icecore.open(tmp_path / "r.icecore")["/x/x"][...].tolist() == list(range(10))


def test_nothing_committed_is_told_of(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.arange(10.0))

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("icecore.writing.array_writer.ArrayWriter.finish", stop)
    monkeypatch.setattr("icecore.ingest.write.copy_arrays.copy_new", stop)
    status, _, err = run("pack", tmp_path / "x.npy", "--into", tmp_path / "r.icecore")
    assert (status, err) == (130, "icecore: error[interrupted]: stopped: nothing was committed\n")
    assert not (tmp_path / "r.icecore").exists()


@pytest.mark.usefixtures("interrupted")
def test_following_tells_of_it_too(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    np.save(tmp_path / "run" / "x.npy", np.arange(10.0))
    follower = Follower(tmp_path / "run", tmp_path / "r.icecore")
    with pytest.raises(KeyboardInterrupt, match=r"version \w+ was committed before"):
        [*follower.step(), *follower.step()]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_it_is_not_lost_where_python_drops_it(tmp_path: Path, name: str) -> None:
    """HDF5's objects run Python at their end, and what is raised there is ignored."""
    code = (
        "import signal, sys, time\n"
        "import icecore.cli\n"
        "class Ending:\n"
        "    def __del__(self):\n"
        f"        signal.raise_signal(signal.{name})\n"
        "def run(_):\n"
        "    Ending()\n"
        "    time.sleep(30)\n"
        "def main(*_):\n"
        "    icecore.cli.leave(icecore.cli.run(['ls']))\n"
        "icecore.cli.table = run\n"
        "icecore.cli.main = main\n"
        "from icecore.__main__ import main\n"
        "main()\n"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    status = 130 if name == "SIGINT" else 128 + signal.SIGTERM
    assert (done.returncode, done.stderr) == (status, "icecore: error[interrupted]: stopped\n")
    assert time.monotonic() - began < 20
