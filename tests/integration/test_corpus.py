"""The corpus tool over the real files beside the repository, and over files with known faults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
FAULTS = ("wrong", "crashed", "hung")


def corpus(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "corpus"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=3600)


def test_real_files_are_equal_or_named(tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip("no real files at ../shared/data")
    done = corpus(DATA, "--out", tmp_path / "report.json", "--seconds", "300")
    report = json.loads((tmp_path / "report.json").read_text())
    bad = [(name, o) for name, outcomes in report.items() for o in outcomes if o["word"] in FAULTS]
    assert not bad
    assert done.returncode == 0
    assert sum(o["word"] == "equal" for outcomes in report.values() for o in outcomes) > 1000


def test_outcomes(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    with h5py.File(folder / "good.h5", "w") as file:
        file["x"] = np.arange(10)
    whole = (folder / "good.h5").read_bytes()
    (folder / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "unknown.bin").write_bytes(bytes(range(7)) * 100)
    (folder / "table.csv").write_text("a,b\n" + "".join(f"{i},{i / 4}\n" for i in range(50)))
    done = corpus(folder, "--out", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    words = {Path(name).name: {o["word"] for o in outcomes} for name, outcomes in report.items()}
    assert words["good.h5"] == {"equal"}
    assert words["table.csv"] == {"equal"}
    assert words["cut.h5"] == {"refused"}
    assert words["unknown.bin"] == {"refused"}
    assert done.returncode == 0


def test_a_hanging_process_is_a_fault(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file["x"] = np.arange(10)
    done = corpus(tmp_path / "good.h5", "--seconds", "0.005")
    assert done.returncode == 1
    assert "HUNG" in done.stdout
