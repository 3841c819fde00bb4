"""Files that C++ ROOT writes, and real ones: icecore-root reads the values that uproot reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".integration"
FILES = ROOT.parent / "shared" / "data" / "root"

#: C++ types, with a different number of values in each entry
WRITE = """
import sys, ROOT
from pathlib import Path
folder = Path(sys.argv[1])
kinds = ROOT.RCompressionSetting.EAlgorithm
formats = ROOT.RDF.ESnapshotOutputFormat
for name, kind in {"zlib": kinds.kZLIB, "lz4": kinds.kLZ4, "zstd": kinds.kZSTD, "lzma": kinds.kLZMA}.items():
    for form in (formats.kTTree, formats.kRNTuple):
        options = ROOT.RDF.RSnapshotOptions()
        options.fCompressionAlgorithm, options.fCompressionLevel, options.fOutputFormat = kind, 5, form
        frame = ROOT.RDataFrame(20000).Define("x", "rdfentry_ * 0.5").Define("n", "int(rdfentry_ % 1000)")
        frame = frame.Define("f", "float(rdfentry_) / 3").Define("flag", "rdfentry_ % 3 == 0")
        frame = frame.Define("v", "std::vector<float>(rdfentry_ % 4, float(rdfentry_))")
        file = folder / f"{name}-{'tree' if form == formats.kTTree else 'ntuple'}.root"
        frame.Snapshot("t", str(file), ["x", "n", "f", "flag", "v"], options)
"""


def python_of(tool: str) -> str:
    program = TOOLS / tool / "bin" / "python"
    if not program.exists():
        pytest.skip(f"{tool} is not installed: make integration-deps")
    return str(program)


@pytest.fixture(scope="module")
def dump() -> str:
    """The program that writes all values of a ROOT file into a directory."""
    command = ["cargo", "build", "--release", "-q", "-p", "icecore-root", "--example", "dump"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=1800)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "release" / "examples" / "dump")


def compare(dump: str, folder: Path) -> str:
    """The counts of `tools/compare_root.py`; fails where a value differs."""
    command = [python_of("peers"), str(ROOT / "tools" / "compare_root.py"), dump, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_files_that_root_writes(dump: str, tmp_path: Path) -> None:
    writer = python_of("root")
    done = subprocess.run([writer, "-c", WRITE, str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.root"))) == 8
    counts = compare(dump, tmp_path)
    print(counts, file=sys.stderr)
    assert "refused" not in counts


def test_real_files(dump: str) -> None:
    if not FILES.is_dir():
        pytest.skip("no real files at ../shared/data")
    compare(dump, FILES)
