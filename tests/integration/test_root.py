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


#: RNTuple fields that other readers took for something else
UNUSUAL = """
import sys, ROOT
ROOT.gInterpreter.Declare(r'''
#include <atomic>
#include <bitset>
#include <optional>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
void make(const char *path) {
  auto model = ROOT::RNTupleModel::Create();
  const char *fields[][2] = {{"a", "std::atomic<int>"}, {"b", "std::bitset<70>"},
    {"v", "std::vector<std::bitset<5>>"}, {"o", "std::optional<float>"}, {"u", "std::unique_ptr<float>"}};
  for (auto &f : fields) model->AddField(ROOT::RFieldBase::Create(f[0], f[1]).Unwrap());
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "n", path);
  auto entry = writer->CreateEntry();
  auto a = entry->GetPtr<std::atomic<int>>("a");
  auto b = entry->GetPtr<std::bitset<70>>("b");
  auto v = entry->GetPtr<std::vector<std::bitset<5>>>("v");
  auto o = entry->GetPtr<std::optional<float>>("o");
  auto u = entry->GetPtr<std::unique_ptr<float>>("u");
  for (int i = 0; i < 50; i++) {
    *a = i * 1000003 - 20000000;
    b->reset(); b->set(i); b->set(69, i % 2);
    v->clear();
    for (int j = 0; j < i % 3; j++) v->push_back(std::bitset<5>(i + j));
    if (i % 4) { *o = i * 0.5f; *u = std::make_unique<float>(-i); } else { o->reset(); u->reset(); }
    writer->Fill(*entry);
    if (i == 20) writer->CommitCluster();
  }
}''')
ROOT.make(sys.argv[1])
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


def test_atomic_bitset_and_optional(tmp_path: Path) -> None:
    import icecore

    path = tmp_path / "unusual.root"
    command = [python_of("root"), "-c", UNUSUAL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    icecore.link(f"{path}:n", into=tmp_path / "r.icecore", group="/")
    icecore.pack(f"{path}:n", tmp_path / "p.icecore", group="/")
    rows = range(50)
    for name in ("r", "p"):
        found = icecore.open(tmp_path / f"{name}.icecore").table("/").arrays()
        assert found.a.to_list() == [i * 1000003 - 20000000 for i in rows]
        assert found.b.to_list() == [[j == i or (j == 69 and i % 2 == 1) for j in range(70)] for i in rows]
        assert found.v.to_list() == [
            [[bool((i + j) >> bit & 1) for bit in range(5)] for j in range(i % 3)] for i in rows
        ]
        assert found.o.to_list() == [i * 0.5 if i % 4 else None for i in rows]
        assert found.u.to_list() == [-float(i) if i % 4 else None for i in rows]
